"""A parsed query against a schema: types, canonical form, and whether its WHERE can be true and false at all.

Everything is decided from public facts.  Comparisons of whole numbers and days become <= and >=; categories become
sets of declared values; so that equal questions have equal texts.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

from hushtable.deciders.columns import Column, Columns, find
from hushtable.deciders.queries import (
    COMPARE,
    And,
    Atom,
    In,
    IsNull,
    Like,
    Operator,
    Or,
    Predicate,
    Query,
    Relation,
    Term,
    all_of,
    any_of,
    atoms,
    literal,
)
from hushtable.deciders.satisfiable import possible_truths
from hushtable.errors import QueryError

_WORDS = {
    "categorical": "one of its declared values",
    "integer": "a number",
    "real": "a number",
    "boolean": "TRUE or FALSE",
    "date": "a date 'YYYY-MM-DD'",
}


def resolve(query: Query, columns: Columns) -> Query:
    """The same question in canonical form; QueryError when the schema cannot answer it or already does."""
    if query.column is not None:
        find(columns, query.column).grid()
    if query.where is None:
        return query
    where = _resolved(query.where, columns)
    if where is None:
        if all(isinstance(atom, IsNull) for atom in atoms(query.where)):
            return replace(query, where=None)
        raise _always()
    sometimes, not_always = possible_truths(where, columns)
    if not sometimes:
        raise _never()
    if not not_always:
        raise _always()
    return replace(query, where=where)


def _resolved(predicate: Predicate, columns: Columns) -> Predicate | None:
    """Canonical form; None when it is true of every possible row."""
    if isinstance(predicate, And):
        parts = tuple(part for part in (_resolved(p, columns) for p in predicate.parts) if part is not None)
        return all_of(parts) if parts else None
    if isinstance(predicate, Or):
        options = tuple(_resolved(part, columns) for part in predicate.parts)
        known = tuple(option for option in options if option is not None)
        return any_of(known) if len(known) == len(options) else None
    return _atom(predicate, find(columns, predicate.column))


def _atom(atom: Atom, column: Column) -> Predicate | None:
    if isinstance(atom, IsNull):
        return None if atom.negated and not column.nullable else atom
    if column.kind == "categorical":
        return _members(atom, column)
    if isinstance(atom, Like):
        raise _mistyped(column, "LIKE", "a comparison")
    if isinstance(atom, In):
        values = sorted({_typed(value, column) for value in atom.values})
        if len(values) > 1:
            return replace(atom, values=tuple(values))
        return _comparison(Relation(atom.column, "<>" if atom.negated else "=", values[0]), column)
    return _comparison(atom, column)


def _comparison(atom: Relation, column: Column) -> Predicate:
    value = _typed(atom.value, column)
    if isinstance(value, bool):
        if atom.operator not in ("=", "<>"):
            raise _mistyped(column, atom.operator, "= or <>")
        return Relation(atom.column, "=", value == (atom.operator == "="))
    if isinstance(value, date):
        return Relation(atom.column, *_whole_days(atom.operator, value))
    if column.kind == "integer" and isinstance(value, Fraction):
        return Relation(atom.column, *_whole(atom.operator, value))
    return replace(atom, value=value)


def _whole_days(operator: Operator, value: date) -> tuple[Operator, date]:
    """The same condition with both ends included; there is no day before the calendar's first or after its last."""
    if operator == "<" and value > date.min:
        return "<=", value - timedelta(days=1)
    if operator == ">" and value < date.max:
        return ">=", value + timedelta(days=1)
    return operator, value


def _whole(operator: Operator, value: Fraction) -> tuple[Operator, Fraction]:
    """The same condition on a whole number, with a whole right side where there is one."""
    if operator in ("<", "<="):
        return "<=", Fraction(math.ceil(value) - 1 if operator == "<" else math.floor(value))
    if operator in (">", ">="):
        return ">=", Fraction(math.floor(value) + 1 if operator == ">" else math.ceil(value))
    return operator, value


def _typed(value: Term, column: Column) -> Term:
    """The literal as a value of the column."""
    if column.kind == "date" and isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise _mistyped(column, literal(value), _WORDS["date"]) from None
    right = {"integer": Fraction, "real": Fraction, "boolean": bool, "date": date}[column.kind]
    if not isinstance(value, right):
        raise _mistyped(column, literal(value), _WORDS[column.kind])
    return value


def _members(atom: Relation | In | Like, column: Column) -> Predicate:
    """Any atom on a categorical attribute as a set of declared values."""
    negated = (isinstance(atom, In | Like) and atom.negated) or (
        isinstance(atom, Relation) and atom.operator == "<>"
    )
    if isinstance(atom, Like):
        chosen = _like(atom.pattern, column)
    elif isinstance(atom, In):
        chosen = {_declared(value, column) for value in atom.values}
    elif atom.operator in ("=", "<>"):
        chosen = {_declared(atom.value, column)}
    else:
        chosen = _ordered(atom.operator, atom.value, column)
    if negated and not column.other:
        chosen, negated = set(column.values) - chosen, False
    ordered = tuple(value for value in column.values if value in chosen)
    if not ordered:
        raise _never()
    if len(ordered) == 1:
        return Relation(atom.column, "<>" if negated else "=", ordered[0])
    return In(atom.column, ordered, negated)


def _declared(value: Term, column: Column) -> Term:
    for known in column.values:
        if known == value and isinstance(known, bool) == isinstance(value, bool):
            return known
    raise QueryError(
        "query.unknown-value",
        f"{literal(value)} is not a declared value of {column.name!r}.",
        f"Write for example {' or '.join(literal(known) for known in column.values[:3])}.",
    )


def _like(pattern: str, column: Column) -> set[Term]:
    texts = [value for value in column.values if isinstance(value, str)]
    if not texts:
        raise _mistyped(column, "LIKE", "= or IN")
    parts = {"%": ".*", "_": "."}
    expression = re.compile("".join(parts.get(char) or re.escape(char) for char in pattern), re.DOTALL)
    found: set[Term] = {text for text in texts if expression.fullmatch(text)}
    if not found:
        raise QueryError(
            "query.unknown-value",
            f"No declared value of {column.name!r} is like {literal(pattern)}.",
            f"Write for example {' or '.join(literal(known) for known in texts[:3])}.",
        )
    return found


def _ordered(operator: Operator, value: Term, column: Column) -> set[Term]:
    numbers = [known for known in column.values if isinstance(known, Fraction)]
    if len(numbers) < len(column.values) or not isinstance(value, Fraction):
        raise _mistyped(column, operator, "=, <>, IN or LIKE")
    return {known for known in numbers if COMPARE[operator](known, value)}


def _mistyped(column: Column, word: str, wanted: str) -> QueryError:
    return QueryError(
        "query.type-mismatch",
        f"{column.name!r} is {column.kind} and does not compare with {word[:40]}.",
        f"Compare it with {wanted}." if wanted in _WORDS.values() else f"Use {wanted}.",
    )


def _never() -> QueryError:
    return QueryError(
        "query.never-holds",
        "No row within the declared bounds and values can match the WHERE clause.",
        "Check the bounds in the schema and the conditions.",
    )


def _always() -> QueryError:
    return QueryError(
        "query.always-holds",
        "Every row within the declared bounds and values matches the WHERE clause.",
        "Leave the WHERE clause out.",
    )
