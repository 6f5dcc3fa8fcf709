"""A stranger's path: the README is followed to the letter, with a file of the stranger's own."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from pages import (
    ROOT,
    RUNS,
    SCHEMA_TEXT,
    Workplace,
    blocks,
    commands,
    inside,
    run_block,
    run_command,
    write_people,
)

README = ROOT / "README.md"
SECTION = "Your own CSV in five commands"


def section(title: str) -> str:
    text = README.read_text(encoding="utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def stranger_blocks() -> list:
    start = README.read_text(encoding="utf-8").partition(f"## {SECTION}\n")[0].count("\n")
    end = start + section(SECTION).count("\n") + 1
    return [b for b in blocks(README) if start <= b.line <= end]


def write_strangers_file(folder: Path) -> None:
    """Allotments of a gardening club: nothing of it is in the demonstration."""
    draw = random.Random(5)
    soils, glass = ("clay", "sand", "loam"), ("ja", "nein", "")
    rows = [(draw.choice(soils), str(draw.randrange(20, 400)), draw.choice(glass)) for _ in range(1500)]
    lines = ["soil,square_metres,greenhouse", *(",".join(row) for row in rows)]
    (folder / "mine.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def follow_the_review(schema: Path) -> None:
    """What the README says to do with the draft, and nothing else."""
    told = section(SECTION)
    assert "rename `unreviewed:` to `reviewed:`" in told and "delete the line `reviewed: []`" in told
    lines = [
        line for line in schema.read_text(encoding="utf-8").splitlines() if line.strip() != "reviewed: []"
    ]
    text = "\n".join("  reviewed:" if line.strip() == "unreviewed:" else line for line in lines)
    schema.write_text(text + "\n", encoding="utf-8")


def test_a_stranger_gets_tables_with_error_bars_in_five_commands(tmp_path: Path) -> None:
    write_strangers_file(tmp_path)
    place = Workplace(tmp_path)
    typed = [(b, c) for b in stranger_blocks() for c in commands(b)]
    assert len(typed) == 5
    with inside(tmp_path):
        for block, command in typed:
            words = command.words.replace("COLUMN COLUMN", "soil greenhouse")
            printed = run_command(type(command)(words, ()), place, block)
            if "hush init" in words:
                follow_the_review(tmp_path / "mine.yaml")
    rows = [line.split() for line in printed.splitlines() if line.startswith(("clay", "sand", "loam"))]
    true = pl.read_csv("mine.csv" if Path("mine.csv").exists() else tmp_path / "mine.csv")
    assert len(rows) >= 6 and "lower" in printed and "upper" in printed
    clay_yes = true.filter((pl.col("soil") == "clay") & (pl.col("greenhouse") == "ja")).height
    estimates = [float(row[2].replace(",", "")) for row in rows if row[0] == "clay"]
    assert min(abs(e - clay_yes) for e in estimates) < 60
    assert (tmp_path / "tables" / "release.json").exists()


def test_the_tour_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    write_people(tmp_path, 50_000)
    place = Workplace(tmp_path)
    own = {b.line for b in stranger_blocks()}
    with inside(tmp_path):
        for block in blocks(README):
            if block.line not in own and block.language in RUNS and not block.skipped:
                run_block(block, place)
    assert (tmp_path / "spring" / "release.json").exists()


def test_the_schema_of_the_tour_is_the_one_that_the_snippets_use() -> None:
    assert SCHEMA_TEXT in [b.text for b in blocks(README) if b.language == "yaml"]


def test_no_placeholder_is_left() -> None:
    for page in (README, *(ROOT / "docs").rglob("*.md")):
        assert not re.search(r"@@|TODO|TBD|XXX", page.read_text(encoding="utf-8")), page


@pytest.mark.slow
def test_a_fresh_clone_gets_there_with_real_processes(tmp_path: Path) -> None:
    """Installs from the lock file, so it needs a package index; takes minutes."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    write_strangers_file(clone)
    shell = shutil.which("sh")
    assert shell is not None
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    first = True
    for block in stranger_blocks():
        text = block.text.replace("COLUMN COLUMN", "soil greenhouse")
        done = subprocess.run(
            [shell, "-e", "-c", text],
            cwd=clone,
            env=clean,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        if first:
            follow_the_review(clone / "mine.yaml")
        first = False
    assert "clay" in done.stdout and "upper" in done.stdout
