"""What an engine may do to rows on their way: counts are exact, or refused; never anything else."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from engine_in_pieces import FAULTS, Engine, Fault, Parts, Pieces

import hushtable as ht
from hushtable.deciders import plan_check
from hushtable.errors import SourceError
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.engines import EngineCounter, engine_counter, parcels, tasks
from hushtable.marginals import COVERAGE, Counting, Layout

FIELDS = {
    "sex": {"type": "categorical", "values": ["F", "M"], "null": "category"},
    "age": {"type": "integer", "bounds": [0, 99], "width": 10},
    "income": {"type": "real", "bounds": [0, 10], "bins": 5, "resolution": 0.01},
}
SEEDS, MANY_SEEDS = 1, 40
ALWAYS_EXACT = {"shuffled", "sent twice"}


def schema(limit: int | None) -> ht.Schema:
    capped = {} if limit is None else {"person": "who", "max_rows_per_person": limit}
    sums = {"income": {"bounds": [0, 8], "resolution": 0.01}}
    return ht.Schema.from_dict({"attributes": FIELDS, "coverage": "1%", "sums": sums, **capped})


def table(rows: int, seed: int = 1) -> pa.Table:
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "who": pa.array(chance.integers(0, rows // 3, rows)),
            "sex": pa.array(
                np.array(["F", "M", None, "?"])[chance.integers(0, 4, rows)].tolist(), pa.string()
            ),
            "age": pa.array(chance.integers(-5, 120, rows)),
            "income": pa.array(np.round(chance.random(rows) * 12, 2)),
        }
    )


TABLE = table(72)
LAYOUT = Layout(schema(None).sizes, tuple(s for k in range(3) for s in combinations(range(3), k)))


def questions(declared: ht.Schema) -> Any:
    public = pl.DataFrame({"sex": ["F", "M"], "age": [30, 40], "income": [1.0, 2.0]})
    asked = ["COUNT WHERE sex = 'F'", "SUM(income)", "MEDIAN(age)"]
    return plan_check(declared, asked, public, tau=3, budget=ht.PureDP(3)).questions


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few buckets, small parcels and sums in stretches: what large tables meet, small ones meet here."""
    monkeypatch.setattr(engine_counter, "BUCKETS", 8)
    monkeypatch.setattr(tasks, "FLUSH_ROWS", 20)
    monkeypatch.setattr(tasks, "PARCEL_ROWS", 9)
    monkeypatch.setattr(tasks, "PARCEL_BYTES", 12)
    monkeypatch.setattr(parcels, "STRETCH", 16)
    monkeypatch.setattr(engine_counter, "DIRECT_BYTES", 0)


def integers(counter: Any, declared: ht.Schema) -> list[int]:
    staged = counter.staged()
    found = [counter.tabulate(LAYOUT), staged.tabulate(LAYOUT), staged.tabulate(LAYOUT)]
    losses = Layout((len(declared.losses),), ((0,),))
    wanted = [Counting(LAYOUT, "sum(income)"), Counting(losses, COVERAGE), Counting(LAYOUT)]
    found += [*counter.totals(wanted), *staged.totals(wanted)]
    for tally in counter.tally(questions(declared)):
        found += [tally.counts, tally.sums]
    return np.concatenate(found).tolist()


def on_engine(declared: ht.Schema, faults: tuple[Fault, ...], seed: int, parts: int = 5) -> list[int] | str:
    engine = Engine(Random(seed), faults)
    counter = EngineCounter(Pieces(TABLE, parts, engine).frame(), declared).keyed("a ledger")
    try:
        return integers(counter, declared)
    except SourceError as error:
        return error.code


def require_exact_or_refused(fault: str, limit: int | None, seeds: range) -> None:
    declared = schema(limit)
    exact = integers(open_counter(TABLE, declared).keyed("a ledger"), declared)
    found = [on_engine(declared, FAULTS[fault], seed) for seed in seeds]
    assert all(one == exact or one == "source.two-versions" for one in found)
    if fault in ALWAYS_EXACT or (limit is None and fault == "misled"):
        assert all(one == exact for one in found)


@pytest.mark.long
@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_counts_are_exact_or_refused(fault: str, limit: int | None) -> None:
    require_exact_or_refused(fault, limit, range(SEEDS))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 1, 2, 5])
@pytest.mark.parametrize("fault", FAULTS)
def test_counts_are_exact_or_refused_many_times(fault: str, limit: int | None) -> None:
    require_exact_or_refused(fault, limit, range(SEEDS, MANY_SEEDS))


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 64])
def test_counts_do_not_depend_on_how_rows_are_divided(parts: int) -> None:
    for limit in (None, 2):
        declared = schema(limit)
        exact = integers(open_counter(TABLE, declared).keyed("a ledger"), declared)
        assert on_engine(declared, (), 1, parts) == exact


def wrong(declared: ht.Schema, fault: str) -> bool:
    """Whether a fault gives counts that are neither exact nor refused, in one of many first passes.

    People are named by keys that nobody can foresee, so which rows a fault meets is left to chance.
    """
    exact = open_counter(TABLE, declared).tabulate(LAYOUT)
    for seed in range(200):
        engine = Engine(Random(seed), FAULTS[fault])
        try:
            found = EngineCounter(Pieces(TABLE, 5, engine).frame(), declared).tabulate(LAYOUT)
        except SourceError:
            continue
        if not np.array_equal(found, exact):
            return True
    return False


@pytest.mark.long
def test_without_one_of_the_checks_wrong_counts_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(parcels.Arrivals, "is_new", lambda self, parcel: parcel.number != parcels.LAST)
        patch.setattr(parcels.Arrivals, "whole", True)
        assert wrong(schema(5), "sent twice")
    for fault in ("lost", "misled"):
        with monkeypatch.context() as patch:
            patch.setattr(parcels, "_whole", lambda facts, buckets: True)
            assert wrong(schema(1), fault)

    def added(self: parcels.PartialSums, stretch: int, senders: Any, numbers: Any) -> None:
        self._senders[stretch] = [(0, 0)]
        before = self._sums.get(stretch)
        self._sums[stretch] = numbers.copy() if before is None else before + numbers

    with monkeypatch.context() as patch:
        patch.setattr(parcels.PartialSums, "_add", added)
        assert wrong(schema(None), "tried twice")


@pytest.mark.long
def test_a_pass_in_two_versions_is_run_again_and_then_refused() -> None:
    calls: list[int] = []

    def once_lost(engine: Engine, verb: str, parts: Parts) -> Parts:
        if verb == "gathered":
            calls.append(1)
        return [part[1:] for part in parts] if verb == "gathered" and len(calls) < engine.workers else parts

    declared = schema(1)
    for bad_runs, code in ((2, None), (9, "source.two-versions")):
        calls.clear()
        engine = Engine(Random(1), (once_lost,))
        counter = EngineCounter(Pieces(TABLE, 5, engine).frame(), declared)
        engine.workers = bad_runs
        if code is None:
            expected = open_counter(TABLE, declared).tabulate(LAYOUT)
            np.testing.assert_array_equal(counter.tabulate(LAYOUT), expected)
            continue
        with pytest.raises(SourceError) as caught:
            counter.tabulate(LAYOUT)
        assert caught.value.code == code and engine.jobs == engine_counter.TRIES


@pytest.mark.long
@pytest.mark.parametrize("limit", [None, 2])
def test_rows_that_change_between_passes_are_refused(limit: int | None) -> None:
    declared = schema(limit)
    pieces = Pieces(TABLE)
    counter = EngineCounter(pieces.frame(), declared)
    counter.tabulate(LAYOUT)
    counter.tally(questions(declared))
    pieces.table = pa.concat_tables([TABLE.slice(1), table(1 * 3, seed=5).slice(0, 1)])
    for again in (counter, counter.staged()):
        with pytest.raises(SourceError) as caught:
            again.tabulate(LAYOUT)
        assert caught.value.code == "source.changed"
    with pytest.raises(SourceError) as caught:
        counter.tally(questions(declared))
    assert caught.value.code == "source.changed"
    pieces.table = TABLE.take(pa.array(np.random.default_rng(3).permutation(len(TABLE))))
    counter.tabulate(LAYOUT)  # another order is no change


def test_large_layouts_go_in_passes_over_codes_that_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_counter, "PASS_CELLS", 10)
    declared = schema(None)
    reads: list[int] = []

    def seen(engine: Engine, verb: str, parts: Parts) -> Parts:
        reads.extend([1] if verb == "chosen" else [])
        return parts

    engine = Engine(Random(1), (seen,))
    found = EngineCounter(Pieces(TABLE, 5, engine).frame(), declared).tabulate(LAYOUT)
    np.testing.assert_array_equal(found, open_counter(TABLE, declared).tabulate(LAYOUT))
    assert engine.jobs > 3 and len(reads) == 1


@pytest.mark.parametrize("limit", [None, 2])
def test_rows_that_count_travel_in_small_parcels_however_many_there_are(limit: int | None) -> None:
    """An engine hands over so many parcels at once: what a task holds of them is bounded by the size of one."""
    seen: list[int] = []

    def weighed(engine: Engine, verb: str, parts: Parts) -> Parts:
        if verb == "fewer":
            batches = [batch for part in parts for batch in part if "number" in batch.schema.names]
            seen.extend(
                len(data)
                for batch in batches
                for data, number in zip(batch["data"].to_pylist(), batch["number"].to_pylist(), strict=True)
                if number != parcels.LAST
            )
        return parts

    declared = schema(limit)
    counter = EngineCounter(Pieces(TABLE, 5, Engine(Random(1), (weighed,))).frame(), declared)
    np.testing.assert_array_equal(
        counter.staged().tabulate(LAYOUT), open_counter(TABLE, declared).tabulate(LAYOUT)
    )
    assert len(seen) > 7 and max(seen) <= tasks.PARCEL_BYTES


def test_fewer_tasks_count_where_their_sums_would_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks_run: list[int] = []

    def counted(engine: Engine, verb: str, parts: Parts) -> Parts:
        tasks_run.extend([len(parts)] if verb == "fewer" else [])
        return parts

    expected = open_counter(TABLE, schema(None)).tabulate(LAYOUT)
    for allowed, most in ((1 << 28, 3), (8 * (LAYOUT.cells + 3), 2), (1, 1)):
        monkeypatch.setattr(engine_counter, "GATHERED_BYTES", allowed)
        frame = Pieces(TABLE, 5, Engine(Random(1), (counted,))).frame()
        np.testing.assert_array_equal(EngineCounter(frame, schema(None)).tabulate(LAYOUT), expected)
        assert tasks_run.pop() == most


def test_many_small_parts_are_sent_to_buckets_by_few_tasks() -> None:
    """Each task that sends says something to every bucket, however few rows it has."""
    senders: list[set[int]] = []

    def seen(engine: Engine, verb: str, parts: Parts) -> Parts:
        named = [
            batch for part in parts for batch in part if verb == "gathered" and "part" in batch.schema.names
        ]
        senders.extend([{number for batch in named for number in batch["part"].to_pylist()}] if named else [])
        return parts

    declared = schema(2)
    counter = EngineCounter(Pieces(TABLE, 64, Engine(Random(1), (seen,))).frame(), declared)
    expected = open_counter(TABLE, declared).tabulate(LAYOUT)
    for way in (counter, counter.staged()):
        np.testing.assert_array_equal(way.tabulate(LAYOUT), expected)
    assert senders == [{0, 1, 2}, {0, 1, 2}]


def test_levels_are_counted_as_elsewhere() -> None:
    leveled = {"type": "integer", "bounds": [0, 99], "levels": {"half": 50, "ten": 10}}
    declared = ht.Schema.from_dict({"attributes": {"age": leveled, "sex": FIELDS["sex"]}, "person": "who"})
    axes = declared.sizes
    layout = Layout(axes, tuple(combinations(range(len(axes)), 1)))
    found = EngineCounter(Pieces(TABLE).frame(), declared).tabulate(layout)
    np.testing.assert_array_equal(found, open_counter(TABLE, declared).tabulate(layout))
    assert found.any() and len(axes) == 3


@pytest.mark.parametrize("limit", [None, 2])
def test_weights_are_added_up_as_elsewhere(limit: int | None) -> None:
    capped = {} if limit is None else {"person": "who", "max_rows_per_person": limit}
    weight = {"column": "income", "bounds": [0, 9]}
    declared = ht.Schema.from_dict({"attributes": FIELDS, "weight": weight, **capped})
    found = EngineCounter(Pieces(TABLE).frame(), declared).tabulate(LAYOUT)
    np.testing.assert_array_equal(found, open_counter(TABLE, declared).tabulate(LAYOUT))
    assert found[0] > open_counter(TABLE, schema(limit)).tabulate(LAYOUT)[0]


def test_other_versions_are_refused_where_the_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    older = tuple(
        (name, "1.0" if name == "numba" else found) for name, found in engine_counter.own_versions()
    )
    monkeypatch.setattr(engine_counter, "own_versions", lambda: older)
    with pytest.raises(SourceError) as caught:
        EngineCounter(Pieces(TABLE).frame(), schema(None)).tabulate(LAYOUT)
    assert caught.value.code == "source.other-versions"


@pytest.mark.long
def test_tasks_import_nothing_that_spends_or_draws() -> None:
    """Checked in a process of its own, after tasks of every kind have run."""
    program = """
import sys
import pyarrow as pa
from hushtable.kernel.sources.engines.engine_frame import Place
from hushtable.kernel.sources.engines import row_sums, tasks
from hushtable.kernel.sources.engines.lake_frame import ReadFirst
from hushtable.kernel.sources.lake_files import LakeColumn, LakeFiles
from hushtable.kernel.sources.engines.versions import own_versions
from hushtable.kernel.sources.tallying import Asked
from hushtable.deciders.parser import parse
schema = '{attributes: {n: {type: integer, bounds: [0, 9]}}, person: who}'
rows = pa.RecordBatch.from_pydict({"n": [1, 2, 3], "who": [1, 1, 2]})
tallies = row_sums.TallySum((Asked(parse("SUM(n) WHERE n > 1"), (3,)), Asked(parse("COUNT"), ())))
for wanted in (row_sums.TableSum((10,), ((((0,),), "rows"),)), tallies, row_sums.LossSum(4)):
    reader = tasks.PartReader(schema, "", bytes(16), bytes(16), wanted.view, own_versions(), 8)
    list(ReadFirst(LakeFiles.of([LakeColumn("n", pa.int64())], []), 1, tasks.LabelRows(reader))(iter([]), Place(0, 0)))
    moved = list(tasks.LabelRows(reader)(iter([rows]), Place(0, 0)))
    kept = list(tasks.KeepRows(reader)(iter(moved), Place(0, 1)))
    list(tasks.AddSums()(tasks.CountParcels(reader, wanted)(iter(kept), Place(0, 2)), Place(0, 3)))
loaded = [name for name in sys.modules if name.startswith("hushtable.")]
bad = ("session", "ledger", "cli", "privacy.bits", "privacy.sampler", "kernel.draw", "kernel.spending", "release",
       "kernel.sources.openers", "kernel.sources.postgres", "microdata", "planning", "reconstruct")
print([name for name in loaded if name.removeprefix("hushtable.").startswith(bad)])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
