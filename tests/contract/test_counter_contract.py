"""What every counter must do, those that somebody else registered too: exact integers, one snapshot, neighbours apart.

Expected integers are counted one by one from rows and codes that were worked out by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from engine_in_pieces import Engine, Pieces, shuffled
from foreign_counters import Cluster, as_sqlite, known_openers
from source_kinds import COLUMNS, FIELDS, KINDS, ROWS, SCHEMA, arrow_table, kept

import hushtable as ht
from hushtable.deciders import Question, plan_check
from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.sources import open_counter
from hushtable.marginals import COVERAGE, Counting, Layout
from hushtable.schema import Schema
from rows_kept import mark_rank, smallest

COUNTERS = {
    **KINDS,
    "sqlite": lambda rows, folder: as_sqlite(arrow_table(rows), folder / "people.db"),
    "cluster": lambda rows, folder: Cluster(arrow_table(rows)),
    "engine": lambda rows, folder: Pieces(arrow_table(rows)),
    "engine without order": lambda rows, folder: Pieces(arrow_table(rows), 7, Engine(Random(2), (shuffled,))),
}
SETS = tuple(s for order in (0, 1, 2, 6) for s in combinations(range(6), order))
LAYOUT = Layout(SCHEMA.sizes, SETS)
Rows = Sequence[tuple[tuple[Any, ...], tuple[int, ...] | None]]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with known_openers():
        yield


@pytest.fixture(params=list(COUNTERS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Rows], Any]:
    return lambda rows: COUNTERS[request.param](rows, tmp_path)


def capped(limit: int) -> Schema:
    return Schema.from_dict({"attributes": FIELDS, "person": "person", "max_rows_per_person": limit})


def counted(rows: Rows) -> np.ndarray:
    """All tables of the layout, one row after another."""
    flat = np.zeros(LAYOUT.cells, np.int64)
    for _, code in rows:
        for attributes in SETS:
            LAYOUT.view(flat, attributes)[tuple(code[k] for k in attributes)] += 1
    return flat


@pytest.mark.long
def test_tables_are_counted_one_by_one_in_every_pass_and_when_staged(make: Callable[[Rows], Any]) -> None:
    counter = open_counter(make(ROWS), SCHEMA)
    staged = counter.staged()
    for found in (counter, counter, staged, staged):
        tables = found.tabulate(LAYOUT)
        assert tables.dtype == np.int64
        np.testing.assert_array_equal(tables, counted(kept(ROWS)))


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_at_most_k_rows_of_a_person_count_in_tables_and_tallies(
    make: Callable[[Rows], Any], limit: int
) -> None:
    for ledger in ("", "another"):
        counter = open_counter(make(ROWS), capped(limit)).keyed(ledger)
        expected = kept(ROWS, limit, ledger)
        np.testing.assert_array_equal(counter.tabulate(LAYOUT), counted(expected))
        (rows,) = counter.tally(asked("COUNT"))
        assert rows.rows == len(expected)


MARKS = {
    3: (0, 0, 4, 0, 0, 0, 0),
    4: (0, 0, 4, 0, 0, 0, 0),
    5: (0, 2, 0, 0, 0, 0, 1),
    6: (0, 1, 0, 0, 0, 0, 1),
    7: (0, 0, 1, 0, 0, 0, 1),
    8: (0, 0, 0, 0, 0, 1, 1),
    9: (0, 0, 0, 4, 0, 0, 0),
    10: (0, 0, 0, 4, 0, 0, 0),
}
"""What befalls some of the rows, in each field and at last whether they are dropped, worked out by hand: 1 no value, 2
not a declared value, 4 moved to a bound."""
LOSSES = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 4), (3, 2), (3, 4), (5, 1), (6, 1)]
"""The counters, in the order of the schema: place of the field, and what befell it."""


@pytest.mark.long
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_what_is_left_out_is_counted_by_hand_and_by_person(
    make: Callable[[Rows], Any], limit: int | None
) -> None:
    capped = {} if limit is None else {"person": "person", "max_rows_per_person": limit}
    declared = Schema.from_dict({"attributes": FIELDS, "coverage": "1%", **capped})
    marks = [(ROWS[k][0][0], found) for k, found in MARKS.items()]
    if limit is not None:
        ranked = [(who, mark_rank(who.encode(), found, "l"), (who, found)) for who, found in marks if who]
        marks = smallest(ranked, limit)
    expected = [sum(found[field] == fate for _, found in marks) for field, fate in LOSSES]
    counter = open_counter(make(ROWS), declared).keyed("l")
    wanted = [Counting(LAYOUT), Counting(Layout((len(LOSSES),), ((0,),)), COVERAGE)]
    for again in (counter, counter.staged()):
        tables, lost = again.totals(wanted)
        assert lost.tolist() == expected
        np.testing.assert_array_equal(tables, counted(kept(ROWS, limit, "l")))


def asked(*texts: str) -> list[Question]:
    public = pl.from_arrow(arrow_table(kept(ROWS))).rename({"Age in years; 'q'": "age"})
    return list(
        plan_check(
            SCHEMA, list(texts), public.select(SCHEMA.names), tau=3, budget=ht.PureDP(len(texts))
        ).questions
    )


def test_tallies_are_those_of_plain_values(make: Callable[[Rows], Any]) -> None:
    questions = asked(
        "COUNT WHERE sex = 'F' AND member",
        "COUNT WHERE sex IS NULL OR born >= DATE '1995-01-01'",
        "SUM(age) WHERE zip <> 300",
        "MEDIAN(age)",
    )
    found = open_counter(make(ROWS), SCHEMA).tally(questions)
    people = [dict(zip(COLUMNS[2:], raw[2:], strict=True)) for raw, _ in kept(ROWS)]
    ages = [min(max(row["Age in years; 'q'"], 0), 115) for row in people]
    inside = ht.Schema.from_dict({"attributes": FIELDS}).attributes["born"].bounds
    assert found[0].rows == sum(row["sex"] == "F" and row["member"] is True for row in people)
    since = [row["born"] if inside[0] <= row["born"] <= inside[1] else None for row in people]
    assert found[1].rows == sum(
        row["sex"] is None or (born is not None and born.isoformat() >= "1995-01-01")
        for row, born in zip(people, since, strict=True)
    )
    chosen = [age for age, row in zip(ages, people, strict=True) if row["zip"] != 300]
    assert (found[2].rows, found[2].total) == (len(chosen), sum(chosen))
    edges = questions[3].decider.edges
    assert found[3].cumulative_rows().tolist() == [sum(age <= edge for age in ages) for edge in edges]


@pytest.mark.long
def test_one_person_more_changes_what_that_persons_rows_may_change(make: Callable[[Rows], Any]) -> None:
    schema = capped(2)
    whole = open_counter(make(ROWS), schema).tabulate(LAYOUT)
    for person in ("p1", "p2", "p3", "p4", None):
        rest = [(raw, code) for raw, code in ROWS if raw[0] != person]
        fewer = open_counter(make(rest), schema).tabulate(LAYOUT)
        np.testing.assert_array_equal(whole - fewer, counted(kept([r for r in ROWS if r not in rest], 2)))
        assert (whole >= fewer).all() and whole[0] - fewer[0] <= 2


def test_an_empty_table_counts_nothing(make: Callable[[Rows], Any]) -> None:
    counter = open_counter(make([]), SCHEMA)
    assert not counter.tabulate(LAYOUT).any()
    assert [tally.rows for tally in counter.tally(asked("COUNT", "SUM(age)"))] == [0, 0]


def test_probing_tells_names_and_no_rows_and_decides_what_fits(make: Callable[[Rows], Any]) -> None:
    headers = open_counter(make(ROWS), SCHEMA).probe()
    assert all(sorted(header.names) == sorted(COLUMNS) for header in headers)
    fewer = open_counter(make(ROWS[:4]), SCHEMA).probe()
    assert {name for header in fewer for name in header.names} == set(COLUMNS)
    lacking = Schema.from_dict({"attributes": {**FIELDS, "size": {"type": "boolean"}}})
    with pytest.raises(SchemaError) as caught:
        open_counter(make(ROWS), lacking)
    assert caught.value.code == "source.unknown-column"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "list of parquet"])
def test_files_that_change_between_passes_are_refused(kind: str, tmp_path: Path) -> None:
    data = KINDS[kind](ROWS, tmp_path)
    counter = open_counter(data, SCHEMA)
    counter.tabulate(LAYOUT)
    KINDS[kind](ROWS[:-1], tmp_path)
    for again in (counter.tabulate, counter.staged().tabulate):
        with pytest.raises(SourceError) as caught:
            again(LAYOUT)
        assert caught.value.code == "source.changed"
    with pytest.raises(SourceError) as caught:
        counter.tally(asked("COUNT"))
    assert caught.value.code == "source.changed"
