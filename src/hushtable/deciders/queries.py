"""Questions to a decider: an aggregate over the rows that a WHERE clause selects, as frozen values.

A predicate is in negation normal form: NOT has been pushed into the atoms, which is exact under SQL's three-valued
logic (De Morgan's laws hold in it).  An atom on a null is not true, negated or not, so a row is selected exactly when
the predicate is true with every such atom read as false.  ``str`` gives the canonical text: equal questions about
the same schema have equal texts once they are resolved.  Parsing is in ``parser``, checking in ``canonical``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Self, cast

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
Function = Literal["COUNT", "SUM", "AVG", "MEDIAN", "QUANTILE"]
Term = str | bool | Fraction | date

NEGATED: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class Relation:
    """column operator value."""

    column: str
    operator: Operator
    value: Term

    def __str__(self) -> str:
        return f"{quote(self.column)} {self.operator} {literal(self.value)}"

    def negation(self) -> Predicate:
        """NOT of it."""
        return Relation(self.column, NEGATED[self.operator], self.value)


class _Negatable:
    """An atom that has its own NOT."""

    negated: bool

    @property
    def _not(self) -> str:
        return "NOT " if self.negated else ""

    def negation(self) -> Self:
        """NOT of it."""
        return replace(cast(Any, self), negated=not self.negated)


@dataclass(frozen=True)
class In(_Negatable):
    """column [NOT] IN (values)."""

    column: str
    values: tuple[Term, ...]
    negated: bool = False

    def __str__(self) -> str:
        values = ", ".join(sorted({literal(value) for value in self.values}))
        return f"{quote(self.column)} {self._not}IN ({values})"


@dataclass(frozen=True)
class Like(_Negatable):
    """column [NOT] LIKE pattern, with % for any text and _ for any character."""

    column: str
    pattern: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{quote(self.column)} {self._not}LIKE {literal(self.pattern)}"


@dataclass(frozen=True)
class IsNull(_Negatable):
    """column IS [NOT] NULL: the one atom that can hold on a null."""

    column: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{quote(self.column)} IS {self._not}NULL"


@dataclass(frozen=True)
class And:
    """All parts hold."""

    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)

    def negation(self) -> Predicate:
        """NOT of it."""
        return any_of(tuple(part.negation() for part in self.parts))


@dataclass(frozen=True)
class Or:
    """Some part holds."""

    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " OR ".join(str(part) for part in self.parts)

    def negation(self) -> Predicate:
        """NOT of it."""
        return all_of(tuple(part.negation() for part in self.parts))


Atom = Relation | In | Like | IsNull
Predicate = Atom | And | Or


@dataclass(frozen=True)
class Query:
    """One aggregate; ``column`` is None for COUNT, ``quantile`` is set for MEDIAN and QUANTILE."""

    function: Function
    column: str | None = None
    where: Predicate | None = None
    quantile: Fraction | None = None

    def __str__(self) -> str:
        head: str = self.function
        if self.column is not None:
            inside = quote(self.column)
            if self.function == "QUANTILE" and self.quantile is not None:
                inside += f", {literal(self.quantile)}"
            head += f"({inside})"
        return head if self.where is None else f"{head} WHERE {self.where}"

    @property
    def columns(self) -> frozenset[str]:
        """Every column that the query reads."""
        named = frozenset[str]() if self.column is None else frozenset({self.column})
        return named if self.where is None else named | {atom.column for atom in atoms(self.where)}


def all_of(parts: tuple[Predicate, ...]) -> Predicate:
    """AND: nested ones opened, repeated ones dropped, in canonical order."""
    flat = _flat(And, parts)
    return flat[0] if len(flat) == 1 else And(flat)


def any_of(parts: tuple[Predicate, ...]) -> Predicate:
    """OR, likewise."""
    flat = _flat(Or, parts)
    return flat[0] if len(flat) == 1 else Or(flat)


def _flat(kind: type[And] | type[Or], parts: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    opened = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    unique = {str(part): part for part in opened}
    return tuple(unique[text] for text in sorted(unique))


def atoms(predicate: Predicate) -> tuple[Atom, ...]:
    """The atoms of a predicate, from left to right."""
    if isinstance(predicate, And | Or):
        return tuple(atom for part in predicate.parts for atom in atoms(part))
    return (predicate,)


def quote(name: str) -> str:
    """A column name in canonical text."""
    plain = name.isascii() and name.isidentifier() and name.upper() not in RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


def literal(value: Term) -> str:
    """A value in canonical text, as SQL writes it; numbers as plain decimals."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    text = value.isoformat() if isinstance(value, date) else value
    quoted = "'" + text.replace("'", "''") + "'"
    return f"DATE {quoted}" if isinstance(value, date) else quoted


_RESERVED_TEXT = (
    "AND OR NOT IN IS NULL LIKE BETWEEN WHERE SELECT FROM COUNT SUM AVG MEDIAN QUANTILE TRUE FALSE DATE"
)
RESERVED = frozenset(_RESERVED_TEXT.split(" "))
