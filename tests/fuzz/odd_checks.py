"""A made file through init, preflight and release: its rows are counted as meant, and no message holds a value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from odd_files import SECRET, OddFile

import hushtable as ht
from hushtable.cli.app import run


def check(seed: int, file: OddFile, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``seed`` is named where something is wrong."""
    (folder / file.name).write_bytes(file.data)
    (folder / "s.yaml").write_text(yaml.safe_dump(file.schema), encoding="utf-8")
    meant = file.meant
    found = ht.preflight(folder / file.name, schema=folder / "s.yaml")
    assert found.rows == meant["rows"], seed
    assert sum(kind.rows for kind in found.malformed) == meant["malformed"], seed
    assert (found.dropped, found.nobody, found.cut) == (meant["dropped"], meant["nobody"], meant["cut"]), seed
    assert found.people is not None and found.people.persons == meant["persons"], seed
    for column in found.columns:
        seen = {name: getattr(column, name) for name in ("nulls", "unreadable", "below", "above", "dropped")}
        assert seen == {name: meant["columns"][column.attribute][name] for name in seen}, (seed, column)
    capsys.readouterr()
    known = [str(folder / file.name), "--schema", str(folder / "s.yaml"), "--ledger", str(folder / "l")]
    said: list[str] = []
    assert run(["init", str(folder / file.name), "--out", str(folder / "draft.yaml")]) in (0, 1, 2)
    drafted = (folder / "draft.yaml").read_text(encoding="utf-8") if (folder / "draft.yaml").exists() else ""
    assert SECRET not in drafted, seed
    assert run(["preflight", *known, "--json"]) == 0
    shown = capsys.readouterr()
    told = shown.out[shown.out.index('{\n  "stamp"') :]
    hints = json.loads(told)["hints"]
    said += [
        shown.out[: shown.out.index('{\n  "stamp"')],
        shown.err,
        json.dumps(hints),
        json.loads(told)["warning"],
    ]
    ht.Ledger.create(folder / "l", ht.ZCDP(1))
    asked = ["--order", "1", "--budget", "rho=0.01", "--strategy", "residual-planner", "--no-report"]
    assert run(["release", *known, *asked, "--out", str(folder / "out")]) == 0
    shown = capsys.readouterr()
    said += [shown.out, shown.err]
    assert not [text for text in said if SECRET in text], seed
