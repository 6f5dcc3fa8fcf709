"""The worked example of the how-to on choosing has the outcome that the page describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "choose-an-analysis.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_census_example_gives_small_regions_coarse_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, dict[str, tuple[int, int, float]]] = {}
    exec(compile(blocks()[1], str(PAGE), "exec"), names)
    taken = names["taken"]
    assert [left for _, _, left in taken.values()] == [0, 0, 0, 0]
    assert taken["hamlet"][:2] == (0, 2) and taken["city"][:2] == (3, 46)
    assert [option for option, _, _ in taken.values()] == sorted(option for option, _, _ in taken.values())
