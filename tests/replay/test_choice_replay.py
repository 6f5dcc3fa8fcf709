"""Choices and releases with reuse on neighbouring tables: whatever is not noisy is the same.

The noise source is replaced by a seeded one, here only.  Then the stored integers of two runs differ by what one person
adds, and files, sizes, entries, cards and sentences by nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neighbouring_tables import SECRET, TYPES, declared, neighbours, table, written

import hushtable as ht
from bit_sources import FixedBits
from hushtable import linear
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.privacy import sampler

NAMES = {key: key for key in TYPES}
RANDOM = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NOISY = ("measurements.parquet", "tables/", "answers.parquet")


def take_pairs(session: ht.Session) -> Any:
    options = [linear.marginals(session.schema, order=k) for k in (0, 1, 2)]
    choice = session.choose(options, budget=ht.ZCDP("0.5"))
    choice.advance()
    return choice.finish(2)


def take_buckets(session: ht.Session) -> Any:
    ages = (linear.buckets(5), linear.buckets(5, (2,)), linear.buckets(5, (1, 2, 3, 4)))
    rest = [(0,) * n for n in session.schema.sizes[1:]]
    choice = session.choose([linear.bucket_table([a, *rest]) for a in ages], budget=ht.ZCDP("0.5"))
    return choice.finish(1)


def abandon(session: ht.Session) -> None:
    options = [linear.marginals(session.schema, order=k) for k in (1, 2)]
    choice = session.choose(options, budget=ht.ZCDP("0.5"))
    choice.refine(rho="0.1")
    choice.abandon()


def reuse(session: ht.Session) -> Any:
    ones = ht.Workload.all_marginals(session.schema, order=1)
    session.release(ones, budget=ht.ZCDP("0.5"), strategy="residual-planner")
    pairs = ht.Workload.all_marginals(session.schema, order=2)
    return session.release(pairs, budget=ht.ZCDP("0.5"), reuse=True)


def too_dear(session: ht.Session) -> None:
    session.choose([linear.marginals(session.schema, order=k) for k in (1, 2)], budget=ht.ZCDP(10))


ACTIONS: dict[str, Callable[[ht.Session], Any]] = {
    "taking pairs": take_pairs,
    "taking buckets": take_buckets,
    "abandoning": abandon,
    "reuse": reuse,
    "beyond the budget": too_dear,
}


def observe(action: Callable[[ht.Session], Any], kind: str, rows: list[Any], folder: Path, patch: Any) -> Any:
    """Everything that is not noisy, and how many words of noise were drawn.

    Folders need names of one length: a payload says where the data are.
    """
    folder.mkdir()
    data = written(kind, rows, NAMES, folder)
    bits = FixedBits(seed=7)
    said = "done"
    with patch.context() as here:
        here.chdir(folder)
        here.setattr(sampler, "system_bits", lambda: bits)
        name = data.name if isinstance(data, Path) else data
        session = ht.Session.open(name, schema=declared(NAMES), ledger="a.ledger", budget=ht.ZCDP(5))
        try:
            made = action(session)
            if made is not None:
                made.save("out")
        except HushtableError as error:
            said = str(error)
    return seen(folder, said, len(bits.given))


def seen(folder: Path, said: str, bits: int) -> dict[str, Any]:
    ledger = ht.Ledger.open(folder / "a.ledger")
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("data."))
    names = [str(p.relative_to(folder)) for p in files]
    card = folder / "out" / "release.json"
    return {
        "said": said,
        "files": names,
        "sizes": [
            (n, p.stat().st_size) for n, p in zip(names, files, strict=True) if not any(x in n for x in NOISY)
        ],
        "entries": RANDOM.sub("#", json.dumps(ledger.export())),
        "card": RANDOM.sub("#", card.read_text()) if card.exists() else "",
        "bits": bits,
    }


@pytest.mark.parametrize("kind", ["csv", "polars"])
@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_but_noisy_numbers_differs_between_neighbours(
    action: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = observe(ACTIONS[action], kind, table(), tmp_path / "run-00", monkeypatch)
    assert (expected["said"] == "done") == (action != "beyond the budget")
    others = {"an empty table": [], **neighbours(kind)}
    for number, (name, rows) in enumerate(others.items(), start=1):
        found = observe(ACTIONS[action], kind, rows, tmp_path / f"run-{number:02}", monkeypatch)
        assert found == expected, name
        assert SECRET not in json.dumps(found)


def test_stored_integers_differ_by_what_one_person_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    for number, rows in enumerate((table(), neighbours("polars")["a row like any other"])):
        folder = tmp_path / str(number)
        observe(take_pairs, "polars", rows, folder, monkeypatch)
        drawn.append(ht.Release.load(folder / "out").answers)
    assert drawn[0].layout.sets == drawn[1].layout.sets
    sizes = drawn[0].layout.sizes
    for k, s in enumerate(drawn[0].layout.sets):
        where = slice(int(drawn[0].layout.offsets[k]), int(drawn[0].layout.offsets[k + 1]))
        moved = drawn[1].values[where] - drawn[0].values[where]
        assert (moved**2).sum() == np.prod([sizes[i] * (sizes[i] - 1) for i in s], dtype=np.int64)


def test_the_command_line_says_the_same_but_for_noisy_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    said = []
    for number, rows in enumerate((table(), *neighbours("csv").values())):
        folder = tmp_path / str(number)
        folder.mkdir()
        written("csv", rows, NAMES, folder)
        bits = FixedBits(seed=7)
        with monkeypatch.context() as here:
            here.chdir(folder)
            here.setattr(sampler, "system_bits", lambda bits=bits: bits)
            ht.Schema.from_dict(declared(NAMES)).save("schema.yaml")
            ht.Ledger.create("a.ledger", ht.ZCDP(5))
            flags = ["--schema", "schema.yaml", "--ledger", "a.ledger", "--budget", "rho=0.5"]
            code = run(["choose", "data.csv", *flags, "--orders", "1", "2", "--request", "c"])
            done = ["--ledger", "a.ledger", "--choice", "c"]
            code += run(["choose", "finish", *done, "--option", "1", "--out", "out"])
            code += run(["choose", "abandon", *done])
        printed = capfd.readouterr()
        text = re.sub(r" +\d+%", " #%", RANDOM.sub("#", printed.out + printed.err))
        said.append((code, text))
    assert len(set(said)) == 1 and said[0][0] == 1
    assert SECRET not in said[0][1]
