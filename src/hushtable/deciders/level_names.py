"""Names of levels in a question, as conditions on the attribute that they are levels of.

Rows are read on the finest level: a category of a tree's level stands for all of its leaves, a bin of a coarser level
for its interval.  What is asked afterwards names attributes alone.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable.axes import Axes
from hushtable.deciders.columns import value_of
from hushtable.deciders.queries import (
    And,
    Atom,
    In,
    IsNull,
    Or,
    Predicate,
    Query,
    Relation,
    Term,
    all_of,
    any_of,
)
from hushtable.errors import QueryError
from hushtable.privacy import exact_number
from hushtable.schema import Binned, Categorical

if TYPE_CHECKING:
    from hushtable.schema import Attribute, Schema


def on_attributes(query: Query, schema: Schema) -> Query:
    """The same question without names of levels."""
    if not schema.has_levels:
        return query
    column = query.column
    if column is not None and column not in schema.attributes and column in schema.names:
        column = _attribute(schema, column)
    where = None if query.where is None else _replaced(query.where, schema)
    return replace(query, column=column, where=where)


def _attribute(schema: Schema, level: str) -> str:
    """The attribute of a level."""
    return list(schema.attributes)[Axes.of(schema.sizes).owners[schema.axis(level)]]


def _replaced(predicate: Predicate, schema: Schema) -> Predicate:
    if isinstance(predicate, And):
        return all_of(tuple(_replaced(part, schema) for part in predicate.parts))
    if isinstance(predicate, Or):
        return any_of(tuple(_replaced(part, schema) for part in predicate.parts))
    name = predicate.column
    if name in schema.attributes or name not in schema.names:
        return predicate
    attribute, axis = _attribute(schema, name), schema.axis(name)
    if axis in schema.record_axes or isinstance(predicate, IsNull):
        return replace(predicate, column=attribute)
    return _on_finest(predicate, attribute, axis, schema)


def _on_finest(atom: Atom, attribute: str, axis: int, schema: Schema) -> Predicate:
    """An atom about a coarser level: the categories that it holds for, by what lies inside them."""
    level, leaf = schema.of_axis(axis), schema.axis(attribute)
    wanted = _matched(atom, level)
    finest = schema.attributes[attribute]
    if isinstance(finest, Categorical):
        above = Axes.of(schema.sizes).codes_above(leaf, axis)
        inside = [value_of(v) for code, v in enumerate(finest.values) if int(above[code]) in wanted]
        return In(attribute, tuple(inside))
    return any_of(tuple(_interval(attribute, level, code) for code in sorted(wanted)))


def _matched(atom: Atom, level: Attribute) -> set[int]:
    """Codes of the regular categories for which an atom holds; only equality and lists have a meaning here."""
    given: tuple[Term, ...] = ()
    negated = False
    if isinstance(atom, Relation) and atom.operator in ("=", "<>"):
        given, negated = (atom.value,), atom.operator == "<>"
    elif isinstance(atom, In):
        given, negated = atom.values, atom.negated
    texts = {str(int(v)) if isinstance(v, Fraction) and v.denominator == 1 else str(v) for v in given}
    known = {label: code for code, label in enumerate(level.labels[: level.regular])}
    if not texts or not texts <= known.keys():
        raise QueryError(
            "query.level",
            f"A condition on the level {level.name!r} is no comparison with its categories.",
            f"Write for example {level.name} = '{level.labels[0]}', or IN with several.",
        )
    codes = {known[text] for text in texts}
    found = set(range(level.regular)) - codes if negated else codes
    if not found:
        raise QueryError("query.never", "The condition on a level never holds.", "Leave it out.")
    return found


def _interval(attribute: str, level: Attribute, code: int) -> Predicate:
    low, high = level.values_of(code)
    ends = [exact_number(end, "end") if isinstance(end, int | float) else end for end in (low, high)]
    open_end = isinstance(level, Binned) and level.step == 0 and code < level.regular - 1
    upper = Relation(attribute, "<" if open_end else "<=", ends[1])
    return all_of((Relation(attribute, ">=", ends[0]), upper))
