"""Questions that cut a band in two: what a synthetic file says of a part of a band was made up inside it.

Records of a release know the bin of a number or day and nothing finer, so an answer that depends on the inside of a
bin compares the truth with an even spread.  From the schema and the query alone.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from hushtable.deciders.queries import Atom, In, Query, Relation, Term, atoms
from hushtable.schema import Binned, Schema, bins

AGGREGATES = ("SUM", "AVG", "MEDIAN", "QUANTILE")


def band_cuts(schema: Schema, query: Query) -> tuple[str, ...]:
    """A sentence for each attribute whose bands the query looks into."""
    told: dict[str, str] = {}
    for atom in () if query.where is None else atoms(query.where):
        made = schema.attributes.get(atom.column)
        if isinstance(made, Binned) and any(not _at_edges(made, ends) for ends in _ends(made, atom)):
            told[atom.column] = (
                f"The condition on {atom.column!r} cuts a band in two: records made from a release are spread evenly "
                "inside bands, so that the synthetic answer is partly made up there."
            )
    if query.function in AGGREGATES and query.column not in (None, *told):
        made = schema.attributes.get(str(query.column))
        if isinstance(made, Binned) and not _single(made):
            told[str(query.column)] = (
                f"{query.function} depends on where in its bands {query.column!r} lies: records made from a release "
                "are spread evenly there."
            )
    return tuple(told.values())


def _ends(made: Binned, atom: Atom) -> list[tuple[Fraction, ...]]:
    """Where an atom cuts the line, on the scale of ``starts``."""
    if isinstance(atom, Relation):
        return [_cuts(made, atom.operator, atom.value)]
    return [_cuts(made, "=", value) for value in atom.values] if isinstance(atom, In) else []


def _cuts(made: Binned, operator: str, value: Term) -> tuple[Fraction, ...]:
    number = _number(value)
    if number is None:
        return ()
    after = number + made.step
    if operator in (">=", "<"):
        return (number,)
    return (after,) if operator in (">", "<=") else (number, after)


def _number(value: Term) -> Fraction | None:
    if isinstance(value, date):
        return Fraction(bins.day_number(value))
    return value if isinstance(value, Fraction) else None


def _at_edges(made: Binned, ends: tuple[Fraction, ...]) -> bool:
    """Whether all ends lie between bins or outside of all; a single point of a real line never does."""
    if len(set(ends)) < len(ends):
        return not made.starts[0] <= ends[0] <= made.starts[-1]
    edges = set(map(Fraction, made.starts))
    return all(end in edges or not edges or not made.starts[0] < end < made.starts[-1] for end in ends)


def _single(made: Binned) -> bool:
    """Whether every bin is one value."""
    return made.kind != "real" and made.regular == made.starts[-1] - made.starts[0]
