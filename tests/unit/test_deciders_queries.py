"""The query language: what it reads, what it refuses, canonical texts, types, and clauses that hold always or never."""

from __future__ import annotations

import itertools
import random
from datetime import date
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from decider_profiles import answer
from hushtable.deciders import Column, columns_of, load_batch, parse, parse_batch, resolve
from hushtable.deciders.queries import And, In, IsNull, Like, Query, Relation
from hushtable.deciders.satisfiable import possible_truths
from hushtable.errors import QueryError
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "sex": {"type": "categorical", "values": ["F", "M", "X"], "null": "category", "outside": "other"},
            "educ": {"type": "categorical", "values": ["12th", "Masters", "Bachelors", "Master's, old"]},
            "code": {"type": "categorical", "values": [1, 2, 5]},
            "age": {"type": "integer", "bounds": [0, 115], "width": 5},
            "income": {"type": "real", "bounds": [0, 500_000], "bins": 50, "resolution": 0.01},
            "loss": {"type": "real", "bounds": [-5, 5], "bins": 5},
            "member": {"type": "boolean"},
            "born": {"type": "date", "bounds": [date(1900, 1, 1), date(2025, 12, 31)], "width": "1 year"},
        }
    }
)
COLUMNS = columns_of(SCHEMA)


def canonical(text: str) -> str:
    return str(resolve(parse(text), COLUMNS))


# ---------------------------------------------------------------- reading


def test_the_short_form_and_sql_are_the_same_question() -> None:
    short = parse("COUNT WHERE age >= 30 AND sex = 'F'")
    assert short == parse("select count(*) from people where sex = 'F' and 30 <= age")
    expected = And((Relation("age", ">=", Fraction(30)), Relation("sex", "=", "F")))
    assert short == Query("COUNT", None, expected)


def test_every_aggregate_is_read() -> None:
    assert parse("SUM(income)") == parse("SELECT SUM(income) AS s FROM t") == Query("SUM", "income")
    assert parse("AVG(t.age)") == Query("AVG", "age")
    assert parse("MEDIAN(age)") == parse("QUANTILE(age, 0.5)") == Query("MEDIAN", "age", None, Fraction(1, 2))
    assert parse("QUANTILE(age, 0.9)") == Query("QUANTILE", "age", None, Fraction(9, 10))
    assert parse("COUNT(age)") == Query("COUNT", None, IsNull("age", negated=True))


def test_every_condition_is_read() -> None:
    found = parse(
        "COUNT WHERE NOT (a < 1 OR b IN (1, -2)) AND c LIKE 'x%' AND d IS NULL AND e BETWEEN 1 AND 2.5 AND f"
    )
    assert found.where == And(
        (
            Relation("a", ">=", Fraction(1)),
            In("b", (Fraction(1), Fraction(-2)), negated=True),
            Like("c", "x%"),
            IsNull("d"),
            Relation("e", "<=", Fraction(5, 2)),
            Relation("e", ">=", Fraction(1)),
            Relation("f", "=", True),
        )
    )


def test_not_is_pushed_through_everything() -> None:
    inside = "a = 1 OR NOT (b <> 'x' AND c IS NOT NULL) OR d NOT LIKE 'y'"
    assert (
        str(parse(f"COUNT WHERE NOT ({inside})"))
        == "COUNT WHERE a <> 1 AND b <> 'x' AND c IS NOT NULL AND d LIKE 'y'"
    )


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["age > 29", "age >= 30", "NOT age < 30", "age > 29.5", "29 < age"], "age >= 30"),
        (["sex = 'F'", "sex LIKE 'F'", "sex IN ('F')", "NOT sex <> 'F'"], "sex = 'F'"),
        (
            ["educ LIKE 'Master%'", "educ IN ('Master''s, old', 'Masters')"],
            "educ IN ('Master''s, old', 'Masters')",
        ),
        (["educ <> '12th'", "educ NOT IN ('12th')"], "educ IN ('Bachelors', 'Master''s, old', 'Masters')"),
        (["member", "member = TRUE", "NOT member <> TRUE", "NOT member = FALSE"], "member = TRUE"),
        (["code > 1", "code >= 2", "code IN (5, 2, 2)", "code <> 1"], "code IN (2, 5)"),
        (["born > '1999-12-31'", "born >= DATE '2000-01-01'"], "born >= DATE '2000-01-01'"),
        (["income = 3.50", "income = 35e-1"], "income = 3.5"),
        (["age = 3 AND (sex = 'M' AND code = 1)", "code = 1 AND sex = 'M' AND age = 3"], None),
        (["age IN (4, 3)", "age IN (3, 4, 4)"], "age IN (3, 4)"),
    ],
)
def test_equal_questions_have_equal_texts(texts: list[str], expected: str | None) -> None:
    found = {canonical(f"COUNT WHERE {text}") for text in texts}
    assert len(found) == 1
    if expected is not None:
        assert found == {f"COUNT WHERE {expected}"}
    again = found.pop()
    assert canonical(again) == again


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT COUNT(*) FROM t GROUP BY sex", "GROUP"),
        ("SELECT COUNT(*) FROM t HAVING COUNT(*) > 1", "HAVING"),
        ("SELECT COUNT(*) FROM t ORDER BY 1", "ORDER"),
        ("SELECT COUNT(*) FROM t LIMIT 3", "LIMIT"),
        ("SELECT DISTINCT COUNT(*) FROM t", "DISTINCT"),
        ("SELECT COUNT(DISTINCT age) FROM t", "DISTINCT"),
        ("SELECT COUNT(*) FROM t JOIN u ON t.a = u.a", "JOIN"),
        ("SELECT COUNT(*) FROM t, u", "u"),
        ("SELECT COUNT(*) FROM read_csv('x')", "READ_CSV"),
        ("SELECT COUNT(*) FROM (SELECT 1)", "SELECT 1"),
        ("SELECT COUNT(*) FROM other.t", "other"),
        ("SELECT COUNT(*) INTO z FROM t", "INTO"),
        ("SELECT COUNT(*) FILTER (WHERE age > 3) FROM t", "FILTER"),
        ("SELECT SUM(age) OVER () FROM t", "OVER"),
        ("SELECT COUNT(*), SUM(age) FROM t", "SUM"),
        ("SELECT * FROM t", "*"),
        ("SELECT MAX(age) FROM t", "MAX"),
        ("SELECT COUNT(*) FROM t UNION SELECT 1", "UNION"),
        ("COUNT WHERE age = 1; DROP TABLE t", "DROP"),
        ("DELETE FROM t", "DELETE"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", "WITH"),
        ("COUNT GROUP BY age", "GROUP"),
        ("COUNT WHERE age + 1 = 2", "age + 1"),
        ("COUNT WHERE ABS(age) = 2", "ABS"),
        ("COUNT WHERE age = income", "income"),
        ("COUNT WHERE age = (SELECT 1)", "SELECT"),
        ("COUNT WHERE age IN (SELECT 1)", "SELECT"),
        ("COUNT WHERE EXISTS (SELECT 1)", "EXISTS"),
        ("COUNT WHERE sex ILIKE 'f'", "ILIKE"),
        ("COUNT WHERE sex LIKE 'x' ESCAPE '!'", "ESCAPE"),
        ("COUNT WHERE age = ?", "?"),
        ("COUNT WHERE age = NULL", "NULL"),
        ("COUNT WHERE age IS TRUE", "TRUE"),
        ("COUNT WHERE CASE WHEN age = 1 THEN TRUE END", "CASE"),
        ("COUNT WHERE age::TEXT = '1'", "age"),
        ("COUNT WHERE u.age = 1", "u"),
        ("COUNT WHERE TRUE", "TRUE"),
        ("COUNT WHERE 1 = 1", "1"),
        ("SUM(age + 1)", "age + 1"),
        ("SUM(*)", "*"),
        ("SUM(DISTINCT age)", "DISTINCT"),
        ("COUNT WHERE age XOR member", "XOR"),
        ("MEDIAN age", "age"),
        ("COUNT WHERE", "WHERE"),
        ("", "nothing"),
    ],
)
def test_everything_else_is_refused_with_the_offending_word(text: str, word: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert caught.value.code in ("query.not-allowed", "query.unreadable")
    assert word in caught.value.message
    assert caught.value.fix


@pytest.mark.parametrize(
    "text",
    [
        "COUNT WHERE " + "(" * 400 + "age = 1" + ")" * 400,
        "COUNT WHERE " + "NOT " * 5000 + "age = 1",
        "COUNT WHERE age = 1e999",
        "COUNT WHERE age = 'unclosed",
        "COUNT WHERE born = DATE '1900-13-01'",
        "QUANTILE(age, 1.5)",
        "QUANTILE(age)",
        "x" * 30_000,
        "COUNT(\x00)",
    ],
)
def test_hostile_texts_are_refused_as_queries(text: str) -> None:
    with pytest.raises(QueryError):
        parse(text)


def test_any_prefix_or_shuffle_of_tokens_gives_a_query_or_a_refusal() -> None:
    words = "SELECT COUNT ( * ) FROM t WHERE age >= 30 AND NOT sex IN ( 'F' , 'M' ) OR born IS NULL ; BETWEEN"
    tokens = words.split(" ")
    rng = random.Random(7)
    for _ in range(300):
        text = " ".join(rng.choices(tokens, k=rng.randint(1, 12)))
        try:
            assert isinstance(parse(text), Query)
        except QueryError as error:
            assert error.code.startswith("query.")


# ---------------------------------------------------------------- batches


def test_a_batch_has_one_query_per_line(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text("# two questions\n\nCOUNT WHERE age > 3;\n-- and\n  MEDIAN(age)\n", encoding="utf-8")
    assert [str(query) for query in load_batch(path)] == ["COUNT WHERE age > 3", "MEDIAN(age)"]


def test_a_bad_line_is_named() -> None:
    with pytest.raises(QueryError, match=r"Line 3: 'GROUP BY a'"):
        parse_batch("COUNT\n\nSELECT COUNT(*) FROM t GROUP BY a\n")
    with pytest.raises(QueryError) as caught:
        parse_batch("# nothing\n")
    assert caught.value.code == "query.empty-batch"
    with pytest.raises(QueryError) as caught:
        load_batch("no-such-file.txt")
    assert caught.value.code == "query.unreadable-file"


# ---------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("COUNT WHERE agee = 1", "query.unknown-column"),
        ("SUM(agee)", "query.unknown-column"),
        ("COUNT WHERE age = 'x'", "query.type-mismatch"),
        ("COUNT WHERE age = TRUE", "query.type-mismatch"),
        ("COUNT WHERE age LIKE '3%'", "query.type-mismatch"),
        ("COUNT WHERE sex > 'F'", "query.type-mismatch"),
        ("COUNT WHERE sex BETWEEN 'A' AND 'Z'", "query.type-mismatch"),
        ("COUNT WHERE code LIKE '1'", "query.type-mismatch"),
        ("COUNT WHERE member = 1", "query.type-mismatch"),
        ("COUNT WHERE member > FALSE", "query.type-mismatch"),
        ("COUNT WHERE born = 1999", "query.type-mismatch"),
        ("COUNT WHERE born = 'yesterday'", "query.type-mismatch"),
        ("COUNT WHERE age", "query.type-mismatch"),
        ("COUNT WHERE sex = 'Q'", "query.unknown-value"),
        ("COUNT WHERE sex = 1", "query.unknown-value"),
        ("COUNT WHERE educ LIKE 'Q%'", "query.unknown-value"),
        ("SUM(sex)", "query.not-a-number"),
        ("MEDIAN(born)", "query.not-a-number"),
        ("SUM(loss)", "query.no-resolution"),
    ],
)
def test_types_are_checked_against_the_schema(text: str, code: str) -> None:
    with pytest.raises(QueryError) as caught:
        canonical(text)
    assert caught.value.code == code


def test_a_column_without_bounds_cannot_be_summed() -> None:
    with pytest.raises(QueryError) as caught:
        resolve(parse("SUM(pay)"), {"pay": Column("pay", "integer", resolution=Fraction(1))})
    assert caught.value.code == "query.no-bounds"


def test_counting_a_column_without_nulls_counts_rows() -> None:
    assert canonical("COUNT(age)") == canonical("COUNT(*)") == "COUNT"
    assert canonical("COUNT(age) WHERE age > 3") == "COUNT WHERE age >= 4"
    assert canonical("COUNT(sex)") == "COUNT WHERE sex IS NOT NULL"


# ---------------------------------------------------------------- always and never


NOT_A_QUESTION = {
    "query.never-holds": [
        "age > 115",
        "age < 0",
        "age = 3.5",
        "age = 1 AND age = 2",
        "age > 30 AND age < 31",
        "age BETWEEN 5 AND 3",
        "income < 0",
        "income > 3 AND income <= 3",
        "educ = '12th' AND educ = 'Masters'",
        "educ NOT IN ('12th', 'Masters', 'Bachelors', 'Master''s, old')",
        "member AND NOT member",
        "born < '1900-01-01'",
        "age IS NULL",
        "sex IS NULL AND sex = 'F'",
        "(age > 50 AND sex = 'F') AND (age < 20 OR sex = 'M')",
    ],
    "query.always-holds": [
        "age >= 0",
        "age <> 3.5",
        "age < 30 OR age >= 30",
        "age <= 30 OR age > 29",
        "income <= 500000",
        "educ = '12th' OR educ <> '12th'",
        "educ LIKE '%'",
        "member OR NOT member",
        "born BETWEEN '1900-01-01' AND '2025-12-31'",
        "sex IS NULL OR sex = 'F' OR sex <> 'F'",
        "age = 3 OR NOT (age = 3 AND member) ",
        "age IS NOT NULL OR sex = 'F'",
    ],
}


@pytest.mark.parametrize(
    ("code", "where"), [(code, w) for code, found in NOT_A_QUESTION.items() for w in found]
)
def test_a_clause_that_never_or_always_holds_is_refused(code: str, where: str) -> None:
    with pytest.raises(QueryError) as caught:
        canonical(f"COUNT WHERE {where}")
    assert caught.value.code == code


@pytest.mark.parametrize(
    "where",
    [
        "age > 114",
        "age >= 1",
        "age > 30 AND age < 32",
        "income > 3 AND income < 3.001",
        "income > 3 OR income < 3",
        "sex = 'F' OR sex <> 'F'",  # not true of a null
        "sex NOT IN ('F', 'M', 'X')",  # true of other values
        "born <> '1900-01-01'",
        "age <> 3 OR member",
    ],
)
def test_clauses_that_can_go_either_way_are_accepted(where: str) -> None:
    assert canonical(f"COUNT WHERE {where}")


@pytest.mark.long
def test_coverage_agrees_with_trying_every_row() -> None:
    columns = {
        "a": Column("a", "integer", Fraction(0), Fraction(4), resolution=Fraction(1), nullable=True),
        "b": Column("b", "categorical", values=("x", "y", "z"), other=True),
        "c": Column("c", "boolean", values=(False, True)),
    }
    pieces = [
        "a < {n}",
        "a = {n}",
        "a <> {n}",
        "a >= {n}",
        "a IS NULL",
        "b = 'x'",
        "b <> 'y'",
        "b IN ('y', 'z')",
        "c",
    ]
    rows = list(itertools.product([None, 0, 1, 2, 3, 4], ["x", "y", "z", "w"], [False, True]))
    rng = random.Random(11)
    seen = set()
    for _ in range(400):
        parts = [rng.choice(("", "NOT ")) + rng.choice(pieces).format(n=rng.randint(0, 4)) for _ in range(3)]
        text = f"COUNT WHERE {parts[0]} {rng.choice(('AND', 'OR'))} ({parts[1]} {rng.choice(('AND', 'OR'))} {parts[2]})"
        try:
            where = resolve(parse(text), columns).where
        except QueryError as error:
            seen.add(error.code)
            where = parse(text).where
            expected = [truth(where, dict(zip("abc", row, strict=True))) for row in rows]
            assert any(expected) is (error.code == "query.always-holds"), text
            assert all(expected) is (error.code == "query.always-holds"), text
            continue
        assert where is not None
        expected = [truth(where, dict(zip("abc", row, strict=True))) for row in rows]
        assert (any(expected), not all(expected)) == possible_truths(where, columns) == (True, True), text
    assert seen == {"query.always-holds", "query.never-holds"}


def truth(where: object, row: dict) -> bool:
    """A predicate on one row, by hand."""
    if isinstance(where, And):
        return all(truth(part, row) for part in where.parts)
    if hasattr(where, "parts"):
        return any(truth(part, row) for part in where.parts)
    value = row[where.column]
    if isinstance(where, IsNull):
        return (value is None) != where.negated
    if value is None:
        return False
    if isinstance(where, In):
        return (value in where.values) != where.negated
    assert isinstance(where, Relation)
    return {
        "=": value == where.value,
        "<>": value != where.value,
        "<": where.operator == "<" and value < where.value,
        "<=": where.operator == "<=" and value <= where.value,
        ">": where.operator == ">" and value > where.value,
        ">=": where.operator == ">=" and value >= where.value,
    }[where.operator]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "<>"])
@pytest.mark.parametrize("day", [date.min, date(999, 12, 31), date(2000, 1, 1), date.max])
def test_comparisons_with_any_day_of_the_calendar_mean_what_they_say(operator: str, day: date) -> None:
    bounds = [date.min, date.max]
    schema = Schema.from_dict({"attributes": {"d": {"type": "date", "bounds": bounds, "width": "100 years"}}})
    means = {
        "<": int.__lt__,
        "<=": int.__le__,
        ">": int.__gt__,
        ">=": int.__ge__,
        "=": int.__eq__,
        "<>": int.__ne__,
    }
    numbers = {date.min, date.max, day} | {date.fromordinal(max(day.toordinal() - 1, 1))}
    rows = sorted(numbers | {date.fromordinal(min(day.toordinal() + 1, date.max.toordinal()))})
    expected = sum(means[operator](row.toordinal(), day.toordinal()) for row in rows)
    try:
        query = resolve(parse(f"COUNT WHERE d {operator} DATE '{day.isoformat()}'"), columns_of(schema))
    except QueryError as error:
        assert expected == {"query.never-holds": 0, "query.always-holds": len(rows)}[error.code]
        return
    assert answer(query, pl.DataFrame({"d": rows}), columns_of(schema)) == expected
