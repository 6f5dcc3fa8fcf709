"""Every notebook runs from an empty folder, and prints what it shows, apart from the noise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from site_notebooks import executed, notebooks

ALIKE = 0.8
"""Share of the shown lines that must be printed; a verdict or a widest table may differ by chance."""


def skeleton(line: str) -> str:
    """A line without what differs from run to run: numbers, hashes and the widths of columns."""
    plain = re.sub(r"\b[0-9a-f]{16,64}\b", "H", re.sub(r"<[^>]*>", " ", line))
    plain = re.sub(r"[-+−]?\d[\d,.:]*%?", "N", plain)
    return " ".join(re.sub(r"[─═┌┐└┘├┤┬┴┼╪╞╡]+", "", plain).split())


def shown(cell: Any) -> list[str]:
    """The lines below a cell; where an object has HTML, its text stands for it."""
    texts = [o.text if o.output_type == "stream" else "".join(o.data["text/plain"]) for o in cell.outputs]
    return [s for text in texts for line in text.splitlines() if (s := skeleton(line))]


@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    again = executed(path, tmp_path)
    nbformat.validate(kept)
    for before, after in zip(kept.cells, again.cells, strict=True):
        if before.cell_type != "code":
            continue
        assert before.execution_count, f"never run: {before.source[:60]}"
        wanted, printed = shown(before), set(shown(after))
        share = sum(line in printed for line in wanted) / len(wanted) if wanted else 1.0
        assert share >= ALIKE, f"{before.source[:200]}\nshows {wanted}\nprinted {sorted(printed)}"


def test_a_changed_output_is_noticed() -> None:
    assert skeleton("left: rho=0.4") == skeleton("left: rho=0.395")
    assert skeleton("<b>left</b>: rho=0.4") != skeleton("remaining: rho=0.4")


@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_a_notebook_holds_nothing_of_the_machine_it_ran_on(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(?:home|root|tmp|work|Users)/|Traceback|Warning", text)
