"""Two tables with levels that differ by one person: the same answers but for noisy numbers, refusals and exit codes.

The person lives where nobody else does, in a place that no tree has, or is of no age: what is said must not tell.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hushtable.cli.app import run

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, district], tree: {North: [a, b, c], South: [d, e], Isles: [f]}}
  age: {type: integer, bounds: [0, 99], levels: {group: [18, 65], decade: [10, 18, 30, 40, 50, 65, 80], year: 1}}
  sex: {type: categorical, values: [F, M]}
impossible: [{age: 0-17, place: f}]
"""
TABLES = "- [region, group, sex]\n- [district, sex]\n- [district, group]\n"
PAID = ["people.csv", "--schema", "s.yaml", "--ledger", "l", "--workload", "w.yaml", "--budget", "rho=0.1"]
COMMANDS = (
    ["ledger", "create", "l", "--budget", "rho=1"],
    ["release", *PAID, "--strategy", "residual-planner", "--out", "one"],
    ["release", *PAID, "--strategy", "auto", "--out", "two"],
    ["release", *PAID, "--strategy", "residual-planner", "--reuse", "--out", "again"],
    ["release", *PAID[:-1], "rho=9", "--out", "dear"],
    ["release", *PAID, "--out", "one"],
    ["table", "one", "region", "sex"],
    ["table", "one", "age=18-64", "sex"],
    ["table", "one", "age=5-64", "sex"],
    ["table", "one", "sex", "--area", "a", "--area", "f"],
    ["table", "one", "sex", "--area", "nowhere"],
    ["table", "one", "decade", "sex"],
    ["export", "one", "--publish", "--format", "csv", "--out", "published"],
    ["export", "two", "--publish", "--format", "px", "--out", "published-two"],
    ["compare", "two", "one"],
    ["compare", "again", "one"],
    ["rehearse", "people.csv", "--schema", "s.yaml", "--workload", "w.yaml", "--budget", "rho=0.1"],
    ["plan", "--schema", "s.yaml", "--workload", "w.yaml", "--want", "region,sex=10"],
    ["ledger", "verify", "l"],
)
CODES = [0, 0, 0, 0, 1, 1, 0, 0, 2, 0, 2, 2, 0, 0, 0, 2, 1, 0, 0]
"""With which every command ends, so that each is seen to answer or to refuse what it should."""
PERSONS = {
    "alone in a region": {"place": "f", "age": 40, "sex": "F"},
    "in no tree": {"place": "elsewhere", "age": 40, "sex": "F"},
    "where nobody can be": {"place": "f", "age": 3, "sex": "M"},
    "of no age": {"place": "a", "age": None, "sex": "M"},
}


def written(folder: Path, person: dict[str, object] | None) -> Path:
    """A folder with a table of 400 people, none of them in Isles, and perhaps one more."""
    chance, n = np.random.default_rng(4), 400
    held = {
        "place": chance.choice(list("abcde"), n).tolist(),
        "age": chance.integers(0, 100, n).tolist(),
        "sex": chance.choice(["F", "M"], n).tolist(),
    }
    frame = pl.DataFrame(held)
    if person is not None:
        frame = pl.concat([frame, pl.DataFrame([person], schema=frame.schema)])
    folder.mkdir()
    frame.write_csv(folder / "people.csv")
    (folder / "s.yaml").write_text(SCHEMA)
    (folder / "w.yaml").write_text(TABLES)
    return folder


def without_numbers(text: str) -> str:
    """What is said, with numbers, their bars, names of requests and the room that all these take left out."""
    text = re.sub(r"\b[0-9a-f]{8,}(-[0-9a-f]+)*\b", "#", text)
    text = re.sub(r"[-+]?\d[\d,.]*(e[-+]?\d+)?%?", "#", text)
    return re.sub(r"[-─═█▓▒░ ]+", " ", text)


def told(folder: Path, monkeypatch, capsys) -> list[tuple[int, str, str]]:
    """Exit code, output and messages of every command."""
    monkeypatch.chdir(folder)
    found = []
    for command in COMMANDS:
        code = run(command)
        said = capsys.readouterr()
        found.append((code, without_numbers(said.out), without_numbers(said.err)))
    return found


def files(folder: Path) -> list[tuple[str, str]]:
    """Every file that was written for others, with its first line if it is a table."""
    made = sorted(
        p for out in ("published", "published-two", "one", "two") for p in (folder / out).rglob("*.*")
    )
    names = [str(path.relative_to(folder)) for path in made]
    heads = [path.read_text().partition("\n")[0] if path.suffix == ".csv" else "" for path in made]
    return list(zip(names, heads, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("person", PERSONS)
def test_commands_on_levels_say_the_same_of_two_neighbours(tmp_path, person, monkeypatch, capsys):
    without, beside = written(tmp_path / "a", None), written(tmp_path / "b", PERSONS[person])
    one, other = (told(folder, monkeypatch, capsys) for folder in (without, beside))
    apart = [
        (command, *said) for command, *said in zip(COMMANDS, one, other, strict=True) if said[0] != said[1]
    ]
    assert not apart
    assert [code for code, _, _ in one] == CODES
    assert files(without) == files(beside) != []
