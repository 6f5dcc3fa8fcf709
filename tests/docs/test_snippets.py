"""Every snippet of the documentation runs, and prints what its page shows, apart from the noise."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pages import ROOT, RUNS, Workplace, alike, blocks, commands, inside, pages, run_block, write_people

from hushtable.cli.app import run

PEOPLE = 3000
OWN_TESTS = ("README.md",)

WITH_SNIPPETS = [
    page
    for page in pages()
    if page.name not in OWN_TESTS and any(b.language in RUNS and not b.skipped for b in blocks(page))
]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a how-to page may take for granted: data, schema, a ledger with room, a release of all pairs."""
    folder = tmp_path_factory.mktemp("docs")
    write_people(folder, PEOPLE)
    with inside(folder):
        assert run(["ledger", "create", "people.ledger", "--budget", "rho=20"]) == 0
        known = [
            "--schema",
            "people.yaml",
            "--ledger",
            "people.ledger",
            "--order",
            "2",
            "--budget",
            "rho=0.1",
        ]
        assert run(["release", "people.csv", *known, "--out", "out"]) == 0
    return folder


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_run(page: Path, prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    place = Workplace(folder)
    with inside(folder):
        for block in blocks(page):
            if not block.skipped:
                run_block(block, place)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_snippet_escapes_the_tests(page: Path) -> None:
    """Blocks that are not run say why, and what looks like a snippet has a language that is run."""
    assert [b.place for b in blocks(page) if b.skipped and len(b.skipped) < 10] == []
    known = {*RUNS, "yaml", "toml", "text", "sql", "json", ""}
    assert [b.place for b in blocks(page) if b.language not in known] == []
    hidden = [b for b in blocks(page) if b.language not in RUNS and not b.skipped]
    assert [
        b.place for b in hidden if re.search(r"^\s*(\$|hush |import |from \w+ import)", b.text, re.M)
    ] == []


def test_a_changed_message_is_noticed() -> None:
    printed = "Released 6 tables, 145 cells, to out\n  remaining  rho=0.4\n"
    assert alike(["Released 7 tables, 9,145 cells, to out", "  remaining  rho=0.3"], printed) == 1
    assert alike(["Published 6 tables, 145 cells, to out", "  left  rho=0.4"], printed) == 0


def test_console_blocks_are_taken_apart() -> None:
    block = next(b for b in blocks(ROOT / "README.md") if b.language == "console")
    assert all(c.words.startswith(("hush", "make", ".venv/bin/")) for c in commands(block))
