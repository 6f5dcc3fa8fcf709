"""How many jobs an engine will run is said before anything is charged, and is true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from engine_in_pieces import Engine, Pieces
from foreign_counters import known_openers

import hushtable as ht
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.engines import engine_counter
from hushtable.marginals import COVERAGE, Counting, Layout
from hushtable.planning import AimPlan, Keeping
from hushtable.watching import WatchNotes

SCHEMA = ht.Schema.from_dict(
    {"attributes": {name: {"type": "integer", "bounds": [0, 3]} for name in ("a", "b", "c")}}
)
WORKLOAD = ht.Workload.all_marginals(SCHEMA, order=3)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with known_openers():
        yield


class Noted:
    """A session on an engine, and what was told with how much of the budget was spent by then."""

    def __init__(self, folder: Path) -> None:
        chance = np.random.default_rng(1)
        self.engine = Engine(Random(1))
        a, b = chance.integers(0, 4, (2, 2_000))
        rows = Pieces(pa.table({"a": a, "b": b, "c": (a + b) % 4}), 3, self.engine)  # no pair tells of c
        self.session = ht.Session.open(rows, schema=SCHEMA, ledger=folder / "ledger", budget=ht.ZCDP(2))
        self.told: list[tuple[str, int]] = []

    def release(self, strategy: str) -> None:
        with WatchNotes(self._take):
            self.session.release(WORKLOAD, budget=ht.ZCDP(1), strategy=strategy)

    def _take(self, text: str) -> None:
        charges = sum(len(holding.charges) for holding in self.session.ledger.reservations())
        self.told.append((text, charges))


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", text)]


def test_a_table_of_several_passes_says_how_many_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_counter, "PASS_CELLS", 50)
    noted = Noted(tmp_path)
    noted.release("residual-planner")
    ((text, charges),) = noted.told
    _, jobs = numbers(text)
    assert charges == 0 and noted.engine.jobs == jobs > 1


def test_totals_share_a_pass_and_what_is_left_out_takes_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"sums": {name: {"bounds": [0, 3], "resolution": 1} for name in "ab"}, "coverage": "1%"}
    declared = ht.Schema.from_dict(SCHEMA.to_dict() | more)
    sets = tuple(s for order in (1, 2, 3) for s in combinations(range(3), order))  # 124 cells
    wanted = [Counting(Layout(declared.sizes, sets), of) for of in ("sum(a)", "rows", "sum(b)")]
    wanted.insert(1, Counting(Layout((len(declared.losses),), ((0,),)), COVERAGE))
    chance = np.random.default_rng(2)
    rows = pa.table({name: chance.integers(-1, 5, 300) for name in "abc"})
    expected = [found.tolist() for found in open_counter(rows, declared).totals(wanted)]
    for most, jobs in ((1 << 24, 2), (150, 4)):
        monkeypatch.setattr(engine_counter, "PASS_CELLS", most)
        engine, told = Engine(Random(1)), list[str]()
        with WatchNotes(told.append):
            found = open_counter(Pieces(rows, 3, engine), declared).totals(wanted)
        assert [one.tolist() for one in found] == expected and any(expected[1])
        assert engine.jobs == jobs == numbers(told[0])[1]


def test_rounds_that_count_again_say_how_often_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AimPlan, "ways", lambda self, reader: {Keeping(wide=False, large=True): 0})
    noted = Noted(tmp_path)
    noted.release("aim")
    ((text, charges),) = noted.told
    (most,) = numbers(text)
    before = 2  # pairs, and gaps of all candidates
    assert charges == 0 and before < noted.engine.jobs <= before + most


def test_one_job_is_not_worth_a_word(tmp_path: Path) -> None:
    for strategy in ("identity", "aim"):
        (tmp_path / strategy).mkdir()
        noted = Noted(tmp_path / strategy)
        noted.release(strategy)
        assert not noted.told and noted.engine.jobs == 1
