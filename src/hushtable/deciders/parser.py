"""Text to query: our short form and plain SQL, read by sqlglot and rebuilt as our own frozen values.

Nothing of the text is passed on to an engine.  What is not listed here is refused with the offending word.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import cast, get_args

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hushtable.deciders.queries import (
    MIRRORED,
    Function,
    In,
    IsNull,
    Like,
    Operator,
    Predicate,
    Query,
    Relation,
    Term,
    all_of,
    any_of,
)
from hushtable.errors import QueryError

MAX_TEXT = 20_000
"""Characters of a query: a thousand conditions; the parser's time grows with its length."""
MAX_DEPTH = 100
"""Nested parentheses, well below the depth at which Python's stack ends."""
MOST_BYTES = 16 * 2**20
"""Of a file of queries, which is read whole: more than a batch of the longest ones may have."""
EXAMPLE = (
    "Write for example COUNT WHERE age >= 30 AND sex = 'F', or SELECT SUM(income) FROM t WHERE age < 65."
)

_SHORT = re.compile(
    r"\s*(COUNT|SUM|AVG|MEDIAN|QUANTILE)\b\s*(?P<inside>\((?:[^()\"]|\"(?:[^\"]|\"\")*\")*\))?\s*(?P<rest>.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_FUNCTIONS: dict[str, Function] = {name.lower(): name for name in get_args(Function)}


def parse(text: str) -> Query:
    """The query that the text asks; QueryError with the offending word for anything else."""
    if len(text) > MAX_TEXT:
        raise QueryError("query.too-long", f"A query has at most {MAX_TEXT} characters.", "Shorten it.")
    if any(ord(char) < 32 and char not in "\t\n\r" for char in text):
        raise _unreadable("A query has no control characters")
    statement = _statement(_as_sql(text))
    _only(statement, "kind", "expressions", "from_", "where")
    chosen = statement.expressions
    if len(chosen) != 1:
        raise _refused(chosen[1]) if chosen else _unreadable("SELECT needs an aggregate")
    aliases = _table_names(statement)
    where = statement.args.get("where")
    predicate = None if where is None else _predicate(where.this, aliases, 0)
    return _aggregate(chosen[0], predicate, aliases)


def parse_batch(text: str) -> tuple[Query, ...]:
    """One query per line; empty lines and lines that start with # or -- are skipped."""
    found: list[Query] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "--")):
            continue
        try:
            found.append(parse(stripped.rstrip(";")))
        except QueryError as error:
            raise QueryError(error.code, f"Line {number}: {error.message}", error.fix) from None
    if not found:
        raise QueryError("query.empty-batch", "The file has no query.", "Write one query per line.")
    return tuple(found)


def load_batch(path: str | Path) -> tuple[Query, ...]:
    """The queries of a text file."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig") if len(data) <= MOST_BYTES else None
    except (OSError, ValueError):
        text = None
    if text is None:
        raise QueryError(
            "query.unreadable-file",
            f"The file {Path(path).name!r} cannot be read as text of at most 16 MiB.",
            "Check the path.",
        )
    return parse_batch(text)


def _as_sql(text: str) -> str:
    """The short form as a SELECT; SQL as it is."""
    short = _SHORT.match(text)
    if short is None:
        if re.match(r"\s*SELECT\b", text, re.IGNORECASE):
            return text
        raise _unreadable(f"A query cannot start with {_first_word(text)}")
    inside, rest = short["inside"] or "(*)", short["rest"]
    if rest and not re.match(r"WHERE\b", rest, re.IGNORECASE):
        raise _unreadable(f"{short[1].upper()} cannot be followed by {_first_word(rest)}")
    return f"SELECT {short[1]}{inside} FROM t {rest}"


def _statement(sql: str) -> exp.Select:
    try:
        statements = sqlglot.parse(sql)
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        word = details[0].get("highlight") if details else None
        raise _unreadable(
            f"The query cannot be read near {word!r}" if word else "The query cannot be read"
        ) from None
    except RecursionError:
        raise _unreadable("The query is nested too deeply") from None
    if not statements or statements[0] is None:
        raise _unreadable("The query is empty")
    if len(statements) > 1:
        raise _refused(statements[1])
    if not isinstance(statements[0], exp.Select):
        raise _refused(statements[0])
    return statements[0]


def _table_names(statement: exp.Select) -> frozenset[str]:
    """The one table's name and alias, which may stand before a column."""
    source = statement.args.get("from_")
    if source is None:
        raise _unreadable("SELECT needs FROM and a name for the table")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise _refused(table)
    _only(table, "this", "alias")
    return frozenset(name for name in (table.name, table.alias) if name)


def _aggregate(node: exp.Expr, where: Predicate | None, tables: frozenset[str]) -> Query:
    inner = node.this if isinstance(node, exp.Alias) else node
    function = _FUNCTIONS.get(inner.key)
    if function is None:
        raise _refused(inner)
    if function == "COUNT":
        if inner.expressions:
            raise _refused(inner)
        if isinstance(inner.this, exp.Star) and not any(inner.this.args.values()):
            return Query("COUNT", None, where)
        counted = IsNull(_column(inner.this, tables), negated=True)
        return Query("COUNT", None, counted if where is None else all_of((counted, where)))
    column = _column(inner.this, tables)
    if function == "MEDIAN":
        return Query("MEDIAN", column, where, Fraction(1, 2))
    if function != "QUANTILE":
        return Query(function, column, where)
    quantile = _value(inner.args.get("quantile"))
    if not isinstance(quantile, Fraction) or not 0 < quantile < 1:
        raise QueryError(
            "query.bad-quantile",
            "A quantile is a number between 0 and 1.",
            "Write for example QUANTILE(age, 0.25).",
        )
    if quantile == Fraction(1, 2):
        return Query("MEDIAN", column, where, quantile)
    return Query("QUANTILE", column, where, quantile)


def _predicate(node: exp.Expr, tables: frozenset[str], depth: int) -> Predicate:
    if depth > MAX_DEPTH:
        raise _unreadable("The WHERE clause is nested too deeply")
    if isinstance(node, exp.Paren):
        return _predicate(node.this, tables, depth + 1)
    if isinstance(node, exp.Not):
        return _predicate(node.this, tables, depth + 1).negation()
    if isinstance(node, exp.And | exp.Or):
        join = all_of if isinstance(node, exp.And) else any_of
        parts = node.flatten(unnest=False)
        return join(tuple(_predicate(part, tables, depth + 1) for part in parts))
    if type(node) in _OPERATORS:
        return _comparison(node, _OPERATORS[type(node)], tables)
    if isinstance(node, exp.Between):
        return _between(node, tables)
    if isinstance(node, exp.In):
        return _membership(node, tables)
    if isinstance(node, exp.Like):
        return _likeness(node, tables)
    if isinstance(node, exp.Is):
        return _nullness(node, tables)
    if isinstance(node, exp.Column):
        return Relation(_column(node, tables), "=", True)
    raise _refused(node)


def _comparison(node: exp.Expr, operator: Operator, tables: frozenset[str]) -> Predicate:
    left, right = node.this, node.args.get("expression")
    if isinstance(left, exp.Column):
        return Relation(_column(left, tables), operator, _value(right))
    if not isinstance(right, exp.Column):
        raise _refused(left)
    return Relation(_column(right, tables), MIRRORED[operator], _value(left))


def _between(node: exp.Between, tables: frozenset[str]) -> Predicate:
    if node.args.get("symmetric"):
        raise _unreadable("BETWEEN SYMMETRIC is not part of the language")
    column = _column(node.this, tables)
    low, high = _value(node.args.get("low")), _value(node.args.get("high"))
    return all_of((Relation(column, ">=", low), Relation(column, "<=", high)))


def _membership(node: exp.In, tables: frozenset[str]) -> Predicate:
    _only(node, "this", "expressions")
    values = tuple(_value(value) for value in node.expressions)
    if not values:
        raise _unreadable("IN needs a list of values")
    column = _column(node.this, tables)
    return Relation(column, "=", values[0]) if len(values) == 1 else In(column, values)


def _likeness(node: exp.Like, tables: frozenset[str]) -> Predicate:
    pattern = _value(node.args.get("expression"))
    if not isinstance(pattern, str):
        raise _unreadable("LIKE needs a text in single quotes")
    inner = Like(_column(node.this, tables), pattern)
    return inner.negation() if node.args.get("negate") else inner


def _nullness(node: exp.Is, tables: frozenset[str]) -> Predicate:
    other = node.args.get("expression")
    if not isinstance(other, exp.Null):
        raise _refused(other)
    return IsNull(_column(node.this, tables))


def _column(node: exp.Expr | None, tables: frozenset[str]) -> str:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise _refused(node)
    _only(node, "this", "table")
    if node.table and node.table not in tables:
        raise _refused(node.args["table"])
    return node.name


def _value(node: exp.Expr | None) -> Term:
    if isinstance(node, exp.Paren):
        return _value(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else _number(node.this)
    if isinstance(node, exp.Neg):
        number = _value(node.this)
        if isinstance(number, Fraction):
            return -number
    if (
        isinstance(node, exp.Cast)
        and node.to.this == exp.DataType.Type.DATE
        and isinstance(node.this, exp.Literal)
    ):
        return _date(str(node.this.this))
    if isinstance(node, exp.Null):
        raise _unreadable("Nothing equals NULL", "Write IS NULL or IS NOT NULL.")
    raise _refused(node)


def _only(node: exp.Expr, *parts: str) -> None:
    """Refuse a node that says more than these parts."""
    for name, part in node.args.items():
        if part and name not in parts:
            raise _refused(part)


def _number(text: str) -> Fraction:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise _unreadable(f"{text!r} is not a number") from None
    if not number.is_finite() or abs(number.adjusted()) > 40:
        raise _unreadable(f"{text[:40]!r} is not a usable number")
    return Fraction(number)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _unreadable("A date is written DATE 'YYYY-MM-DD'") from None


def _first_word(text: str) -> str:
    words = text.split()
    return repr(words[0][:40]) if words else "nothing"


def _unreadable(message: str, fix: str = EXAMPLE) -> QueryError:
    return QueryError("query.unreadable", f"{message}.", fix)


def _refused(part: object) -> QueryError:
    """The refusal that names what was written, e.g. GROUP or DISTINCT."""
    node = cast("list[object]", part)[0] if isinstance(part, list) and part else cast("object", part)
    if isinstance(node, exp.Expr):
        try:
            word = node.sql()
        except (SqlglotError, RecursionError, ValueError):
            word = node.key.upper()
    else:
        word = str(node)
    word = " ".join(word.split())[:40]
    return QueryError("query.not-allowed", f"{word!r} is not part of the query language.", EXAMPLE)
