"""Queries on frames against SQLite's own reading of the same SQL, with nulls, and on Arrow and pandas tables."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from decider_profiles import answer
from hushtable.deciders import check_header, columns_of, grid_values, matching, parse, resolve
from hushtable.errors import QueryError
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "sex": {"type": "categorical", "values": ["F", "M", "X"], "null": "category"},
            "code": {"type": "categorical", "values": [1, 2, 5], "null": "category"},
            "age": {"type": "integer", "bounds": [0, 99], "width": 5, "null": "category"},
            "pay": {
                "type": "real",
                "bounds": [-100, 1000],
                "bins": 10,
                "resolution": 0.25,
                "null": "category",
            },
            "member": {"type": "boolean", "null": "category"},
            "born": {
                "type": "date",
                "bounds": [date(1990, 1, 1), date(2000, 12, 31)],
                "width": "1 year",
                "null": "category",
            },
        }
    }
)
COLUMNS = columns_of(SCHEMA)


def frame(rows: int = 3000) -> pl.DataFrame:
    rng = random.Random(1)

    def maybe(value: object) -> object:
        return None if rng.random() < 0.15 else value

    return pl.DataFrame(
        {
            "sex": [maybe(rng.choice("FMX")) for _ in range(rows)],
            "code": [maybe(rng.choice((1, 2, 5))) for _ in range(rows)],
            "age": [maybe(rng.randint(0, 99)) for _ in range(rows)],
            "pay": [maybe(rng.randint(-400, 4000) / 4) for _ in range(rows)],
            "member": [maybe(rng.random() < 0.5) for _ in range(rows)],
            "born": [maybe(date(1990, 1, 1) + timedelta(days=rng.randint(0, 4000))) for _ in range(rows)],
        },
        schema_overrides={"age": pl.Int64, "pay": pl.Float64, "code": pl.Int64},
    )


FRAME = frame()
PIECES = (
    "age > 40",
    "age <= 12.5",
    "age BETWEEN 20 AND 60",
    "age NOT BETWEEN 20 AND 60",
    "age IN (3, 50, 77)",
    "age NOT IN (3, 50, 77)",
    "age IS NULL",
    "sex = 'F'",
    "sex <> 'F'",
    "sex LIKE '_'",
    "sex NOT LIKE 'M%'",
    "sex IN ('F', 'X')",
    "sex IS NOT NULL",
    "code >= 2",
    "code = 5",
    "pay < 12.25",
    "pay <> 100",
    "member",
    "member = FALSE",
    "born >= DATE '1995-06-01'",
    "born < '1993-01-01'",
)


def clauses(count: int) -> list[str]:
    rng = random.Random(2)

    def clause(depth: int) -> str:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(PIECES)
        inner = f"({clause(depth - 1)} {rng.choice(('AND', 'OR'))} {clause(depth - 1)})"
        return rng.choice(("", "", "NOT ")) + inner

    return [*PIECES, *(clause(3) for _ in range(count))]


@pytest.mark.long
def test_counts_agree_with_sqlite_under_three_valued_logic() -> None:
    checked = 0
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE t ({', '.join(FRAME.columns)})")
        texts = FRAME.with_columns(pl.col("born").cast(pl.String))  # SQLite compares dates as ISO texts
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", texts.rows())
        for where in clauses(150):
            query = parse(f"COUNT WHERE {where}")
            try:
                query = resolve(query, COLUMNS)
            except QueryError as error:
                assert error.code in ("query.never-holds", "query.always-holds"), where
                continue
            dates_as_texts = where.replace("DATE '", "'")
            expected = database.execute(f"SELECT COUNT(*) FROM t WHERE {dates_as_texts}").fetchone()
            assert answer(query, FRAME, COLUMNS) == expected[0], where
            checked += 1
    assert checked > 120


@pytest.mark.parametrize(
    "where", ["", " WHERE sex = 'F'", " WHERE age > 98 AND pay > 0", " WHERE NOT member"]
)
def test_aggregates_are_those_of_the_values_that_are_not_null(where: str) -> None:
    condition = {
        "": pl.lit(True),
        " WHERE sex = 'F'": pl.col("sex") == "F",
        " WHERE age > 98 AND pay > 0": (pl.col("age") > 98) & (pl.col("pay") > 0),
        " WHERE NOT member": ~pl.col("member"),
    }[where]
    pays = sorted(Fraction(v) for v in FRAME.filter(condition)["pay"].drop_nulls())

    def found(head: str) -> Fraction:
        return answer(resolve(parse(head + where), COLUMNS), FRAME, COLUMNS)

    assert found("SUM(pay)") == sum(pays)
    assert found("AVG(pay)") == Fraction(sum(pays)) / len(pays)
    assert found("MEDIAN(pay)") == pays[-(-len(pays) // 2) - 1]
    assert found("QUANTILE(pay, 0.9)") == pays[-(-9 * len(pays) // 10) - 1]
    assert found("COUNT(pay)") == len(pays)


def test_values_come_in_grid_steps_clamped_to_the_bounds() -> None:
    data = pl.DataFrame({"pay": [-500.0, -100.0, 0.26, 0.3, None, float("nan"), 99999.0]})
    query = resolve(parse("SUM(pay)"), COLUMNS)
    assert grid_values(query, data, COLUMNS).tolist() == [-400, -400, 1, 1, 4000]


def test_arrow_pandas_and_texts_are_read_alike() -> None:
    query = resolve(
        parse("COUNT WHERE age > 40 AND sex <> 'M' AND member AND born < '1996-01-01' AND code = 2"), COLUMNS
    )
    expected = answer(query, FRAME, COLUMNS)
    assert expected > 0
    assert answer(query, FRAME.to_arrow(), COLUMNS) == expected
    assert answer(query, FRAME.to_pandas(), COLUMNS) == expected
    assert answer(query, FRAME.select(pl.all().cast(pl.String)), COLUMNS) == expected
    assert answer(query, FRAME.with_columns(pl.col("sex").cast(pl.Categorical)), COLUMNS) == expected


def test_an_integer_with_a_fraction_is_not_a_value() -> None:
    data = pl.DataFrame({"age": [3.0, 3.5, 4.0]})
    assert answer(resolve(parse("COUNT WHERE age <= 50"), COLUMNS), data, COLUMNS) == 2


def test_an_empty_selection_has_a_count_and_a_sum_only() -> None:
    nobody = FRAME.clear()
    assert answer(resolve(parse("COUNT WHERE age = 3"), COLUMNS), nobody, COLUMNS) == 0
    assert answer(resolve(parse("SUM(pay) WHERE age = 3"), COLUMNS), nobody, COLUMNS) == 0
    for head in ("AVG(pay)", "MEDIAN(pay)"):
        with pytest.raises(QueryError) as caught:
            answer(resolve(parse(head), COLUMNS), nobody, COLUMNS)
        assert caught.value.code == "query.no-synthetic-answer"


def test_files_with_other_columns_are_refused() -> None:
    check_header(FRAME.columns, COLUMNS)
    with pytest.raises(QueryError) as caught:
        check_header([*FRAME.columns, "secret"], COLUMNS)
    assert caught.value.code == "query.extra-column"
    with pytest.raises(QueryError) as caught:
        check_header(FRAME.columns[1:], COLUMNS)
    assert caught.value.code == "query.missing-column"
    with pytest.raises(QueryError) as caught:
        matching(resolve(parse("COUNT WHERE age = 3"), COLUMNS), FRAME.drop("age"), COLUMNS)
    assert caught.value.code == "query.missing-column"
    with pytest.raises(QueryError) as caught:
        matching(parse("COUNT"), np.zeros(3), COLUMNS)
    assert caught.value.code == "query.not-a-frame"
