"""Checks on neighbouring tables: whatever is not the verdict is the same.

Verdicts are the only random part of a check; everything else that is shown, stored or written must not change when one
row does, even for questions that no row matches.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from neighbouring_tables import KINDS, SECRET, TYPES, declared, neighbours, table, written

import hushtable as ht
from hushtable.cli.app import run
from hushtable.deciders import DECIDERS
from hushtable.errors import HushtableError

NAMES = {key: key for key in TYPES}
RANDOM = re.compile(r"[0-9a-f]{64}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
QUERIES = {"count": "COUNT", "sum": "SUM(age)", "median": "MEDIAN(age)", "avg": "AVG(age)"}
BATCH = [
    *(f"{head} WHERE sex = 'F' OR income > 500" for head in QUERIES.values()),
    "COUNT WHERE age IS NULL AND member",
    "SUM(age) WHERE age = 79 AND income < 0.001",
    "QUANTILE(age, 0.1) WHERE NOT member",
]


def synthetic() -> pl.DataFrame:
    """Public rows; some match each question."""
    rows = [
        {
            "age": 79 if k % 9 == 0 else k % 80,
            "sex": "FM"[k % 2],
            "income": 25.0 * (k % 18),
            "member": k % 3 > 0,
        }
        for k in range(200)
    ]
    return pl.DataFrame(rows).with_columns(
        pl.when(pl.col("age") == 50).then(None).otherwise("age").alias("age")
    )


def observe(kind: str, rows: list[Any], folder: Path, asked: list[str], **options: Any) -> Any:
    """Everything that a check leaves behind or says, without the verdicts."""
    folder.mkdir()
    data = written(kind, rows, NAMES, folder)
    ledger = folder / "a.ledger"
    session = ht.Session.open(data, schema=declared(NAMES), ledger=ledger, budget=ht.PureDP(5))
    try:
        verdicts = session.check(asked, synthetic(), tau=9, budget=ht.PureDP(2), **options)
        said = [replace(one, satisfied=False).to_dict() for one in verdicts]
    except HushtableError as error:
        said = str(error)
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "payloads" in str(path)
    }
    stored = b"".join(
        p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and "data" not in p.name
    )
    entries = RANDOM.sub("?", json.dumps(session.ledger.export(), sort_keys=True))
    return said, sizes, re.sub(r'"ledger": "[0-9a-f]{32}"', "", entries), SECRET.encode() in stored


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_the_verdicts_differs_between_neighbours(kind: str, tmp_path: Path) -> None:
    base = observe(kind, table(), tmp_path / "base", BATCH)
    assert isinstance(base[0], list) and not base[3]
    for number, (name, rows) in enumerate({**neighbours(kind), "an empty table": []}.items()):
        assert observe(kind, rows, tmp_path / str(number), BATCH) == base, name


@pytest.mark.parametrize("decider", DECIDERS)
def test_every_decider_leaves_the_same_traces(decider: str, tmp_path: Path) -> None:
    asked = [f"{QUERIES[DECIDERS[decider].aggregate.name]} WHERE member"]
    tables = {
        "base": table(),
        "one": [*table(), {"age": None, "sex": SECRET, "income": 5.0, "member": True}],
        "none": [],
    }
    seen = [observe("polars", rows, tmp_path / name, asked, decider=decider) for name, rows in tables.items()]
    assert seen[0] == seen[1] == seen[2]


def test_refusals_are_the_same_sentence(tmp_path: Path) -> None:
    for number, asked in enumerate((["COUNT WHERE nobody = 1"], ["SUM(income)"], ["COUNT WHERE age > 99"])):
        said = {
            str(observe("csv", rows, tmp_path / f"{number}-{name}", asked))
            for name, rows in {"base": table(), "bad": [*table(), b"\xff\xfe,,Xq7Secret"], "none": []}.items()
        }
        assert len(said) == 1


def test_the_command_says_the_same_but_for_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = set()
    for name, rows in (("base", table()), ("more", [*table(), b'"33,Xq7Secret']), ("none", [])):
        folder = tmp_path / name
        folder.mkdir()
        written("csv", rows, NAMES, folder)
        monkeypatch.chdir(folder)
        synthetic().write_csv("synthetic.csv")
        Path("schema.yaml").write_text(json.dumps(declared(NAMES)), encoding="utf-8")
        assert run(["ledger", "create", "a.ledger", "--budget", "epsilon=1"]) == 0
        capsys.readouterr()
        flags = ["--schema", "schema.yaml", "--ledger", "a.ledger", "--synthetic", "synthetic.csv"]
        code = run(
            [
                "check",
                "data.csv",
                *flags,
                "--query",
                "COUNT WHERE age > 20",
                "--tau",
                "9",
                "--budget",
                "epsilon=1",
            ]
        )
        out, err = capsys.readouterr()
        spoken = re.sub(r"^(Yes|No): (.*?) is( not)? within", r"Verdict: \2 within", RANDOM.sub("?", out))
        told.add((code, spoken, err))
    assert len(told) == 1
    assert SECRET not in str(told)
