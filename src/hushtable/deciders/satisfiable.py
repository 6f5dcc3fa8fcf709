"""Whether a WHERE clause can be true, and can be not true, of rows that the schema allows.

The constants of the clause cut each attribute's domain into classes of values that no atom tells apart.  One value per
class is enough: the clause is evaluated on their product.  Structural zeros are not taken into account.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

from hushtable.deciders.columns import Column, Columns
from hushtable.deciders.queries import COMPARE, And, Atom, In, IsNull, Or, Predicate, Relation, atoms

MAX_CASES = 1 << 20
"""Combinations that are tried, some 0.1 s; a clause with more is asked as it is."""
_OTHER = object()


def possible_truths(where: Predicate, columns: Columns) -> tuple[bool, bool]:
    """(can be true, can be not true); both are assumed when the clause has too many cases to try."""
    names = sorted({atom.column for atom in atoms(where)})
    cases = {name: _representatives(columns[name], where) for name in names}
    count = math.prod(map(len, cases.values()))
    if count > MAX_CASES:
        return True, True
    truth = _truth(where, cases, count)
    return truth != 0, truth != (1 << count) - 1


def _truth(where: Predicate, cases: dict[str, list[Any]], count: int) -> int:
    """One bit for each case, the last column's values running fastest; whole numbers of so many bits need no arrays."""
    if isinstance(where, And | Or):
        join = int.__and__ if isinstance(where, And) else int.__or__
        return reduce(join, (_truth(part, cases, count) for part in where.parts))
    names, values = list(cases), cases[where.column]
    inner = math.prod(len(cases[name]) for name in names[names.index(where.column) + 1 :])
    once = "".join("01"[_holds(where, value)] * inner for value in values)
    return int(once * (count // len(once)), 2)


def _holds(atom: Atom, value: Any) -> bool:
    if isinstance(atom, IsNull):
        return (value is None) != atom.negated
    if value is None:
        return False
    if isinstance(atom, In):
        return (value in atom.values) != atom.negated
    if not isinstance(atom, Relation):
        return False
    if value is _OTHER:
        return atom.operator != "="
    return bool(COMPARE[atom.operator](value, atom.value))


def _representatives(column: Column, where: Predicate) -> list[Any]:
    constants = _constants(column.name, where)
    found: list[Any]
    if column.low is not None and column.high is not None:
        found = _points(column, constants)
    else:
        unmentioned = [value for value in column.values if value not in constants]
        found = [value for value in column.values if value in constants] + unmentioned[:1]
        if column.other:
            found.append(_OTHER)
    if column.nullable:
        found.append(None)
    return found


def _constants(name: str, where: Predicate) -> set[Any]:
    found: set[Any] = set()
    for atom in atoms(where):
        if atom.column == name and isinstance(atom, Relation):
            found.add(atom.value)
        elif atom.column == name and isinstance(atom, In):
            found.update(atom.values)
    return found


def _points(column: Column, constants: set[Any]) -> list[Any]:
    """Bounds, constants, and something between each two of them."""
    low: Any = column.low
    high: Any = column.high
    inside = sorted({low, high, *(value for value in constants if low <= value <= high)})
    between: set[Any] = set()
    for left, right in pairwise(inside):
        if isinstance(left, date):
            between.update({left + timedelta(days=1), right - timedelta(days=1)})
        elif column.kind == "integer":
            between.update({Fraction(math.floor(left) + 1), Fraction(math.ceil(right) - 1)})
        else:
            between.add((left + right) / 2)
    points = {value for value in {*inside, *between} if low <= value <= high}
    if column.kind == "integer":
        points = {value for value in points if value.denominator == 1}
    return sorted(points)
