"""Tables of other things than rows, measured beside them: totals of a column, what was left out.

A row adds a whole number to such a table, of at most ``largest`` in size, so that it moves the table as far as that
many rows would move a table of counts: the same integers, the same noise, and that price (proofs/sums.md).  Several
quantities that are measured together are one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.errors import WorkloadError
from hushtable.marginals import ROWS, AttributeSet, Counting, Layout
from hushtable.measurement.parts import (
    DiscreteNoise,
    MarginalPart,
    Part,
    TablePart,
    computed_once,
    stored_part,
)
from hushtable.privacy import GaussianNoise, Price


@dataclass(frozen=True, eq=False)
class QuantityPart(Part):
    """Tables of a quantity of which a row has at most ``largest``, in at most ``touched`` cells of a table."""

    of: str
    table: TablePart
    largest: Fraction | int = 1
    touched: int = 1

    def __post_init__(self) -> None:
        # Contrasts of two cells may point the same way (both attributes differ): their squares do not just add.
        if self.touched > 1 and not isinstance(self.table, MarginalPart):
            raise WorkloadError(
                "release.many-cells",
                "What a row has in several cells of a table is measured cell by cell.",
                "Please report this.",
            )

    @property
    def layout(self) -> Layout:
        """The marginals to add up."""
        return self.table.layout

    @property
    def counting(self) -> tuple[Counting, ...]:
        """Of this quantity."""
        return (Counting(self.layout, self.of),)

    @property
    def noise(self) -> DiscreteNoise:
        """As of counts."""
        return self.table.noise

    @property
    def rho(self) -> Fraction:
        """Squared sensitivity grows by the square of what a row has, and with the cells that it is in."""
        return self.table.rho * self.largest**2 * self.touched

    def price(self, rows: int = 1) -> Price:
        """Exact cost for a person with at most ``rows`` rows, of weight 1."""
        if self.noise.law is GaussianNoise:
            return Price(None, self.rho * rows**2)
        return self.table.price(ceil(rows * self.largest * self.touched))

    def exact(self, counts: Ints) -> Ints:
        """As of counts."""
        return self.table.exact(counts)

    def check(self, names: Sequence[str] = ()) -> None:
        """Refuse what could overflow, from public sizes; ``names`` are for the message."""
        self.table.check(names, ceil(self.largest))


@dataclass(frozen=True, eq=False)
class StackedPart(QuantityPart):
    """Tables of several quantities, ``counted`` one by one and laid one after the other in one table.

    ``largest`` is the most that a row has of all of them together: the root of the sum of squares, so that the noise
    must be Gaussian.
    """

    counted: tuple[Counting, ...] = ()

    @property
    def counting(self) -> tuple[Counting, ...]:
        """Each of them."""
        return self.counted


@dataclass(frozen=True, eq=False)
class JointPart(Part):
    """Several quantities that are measured at once, with noise of one law."""

    parts: tuple[QuantityPart, ...]

    @classmethod
    def of(cls, first: TablePart | None, others: Iterable[QuantityPart]) -> JointPart:
        """Tables of counts, if any, and of other quantities."""
        counted = () if first is None else (QuantityPart(ROWS, first),)
        return cls((*counted, *others))

    def __post_init__(self) -> None:
        if len({(part.noise.law, part.noise.bound) for part in self.parts}) != 1:
            raise WorkloadError(
                "release.two-laws",
                "Counts and totals are measured together, with noise of one law.",
                "Leave `truncation` out of the budget.",
            )

    @property
    def layout(self) -> Layout:
        """That of the first quantity; what lies where is known by each of them."""
        return self.parts[0].layout

    @property
    def counting(self) -> tuple[Counting, ...]:
        """What each quantity needs, in order."""
        return tuple(one for part in self.parts for one in part.counting)

    @property
    def cells(self) -> int:
        """Integers of all quantities."""
        return sum(part.cells for part in self.parts)

    @property
    def sets(self) -> tuple[AttributeSet, ...]:
        """The sets of all quantities, one after the other."""
        return tuple(s for part in self.parts for s in part.table.sets)

    @property
    def precisions(self) -> tuple[Fraction, ...]:
        """Of each set."""
        return tuple(p for part in self.parts for p in part.table.precisions)

    @computed_once
    def noise(self) -> DiscreteNoise:
        """The noise of all, one after the other."""
        every = [part.noise for part in self.parts]
        first = every[0]
        places = None
        if any(noise.places is not None for noise in every):
            starts = np.cumsum([0, *(part.cells for part in self.parts)])
            shifted = [
                start + (np.arange(part.cells) if noise.places is None else noise.places)
                for start, part, noise in zip(starts[:-1], self.parts, every, strict=True)
            ]
            places = np.concatenate(shifted)
        parameters = [p for noise in every for p in noise.parameters]
        lengths = [n for noise in every for n in noise.lengths]
        return DiscreteNoise(first.law, parameters, lengths, first.bound, places)

    @property
    def rho(self) -> Fraction:
        """The quantities' own, added up."""
        return sum((part.rho for part in self.parts), Fraction(0))

    def price(self, rows: int = 1) -> Price:
        """The quantities' own, added up."""
        first, *others = (part.price(rows) for part in self.parts)
        return sum(others, first)

    def exact(self, counts: Ints) -> Ints:
        """The integers of each, one after the other."""
        return np.concatenate([part.exact(own) for part, own in self._split(counts)])

    def check(self) -> None:
        """Refuse what could overflow, from public sizes."""
        for part in self.parts:
            part.check()

    def _split(self, flat: Ints) -> Iterable[tuple[QuantityPart, Ints]]:
        ends = np.cumsum([part.cells for part in self.parts])[:-1]
        return zip(self.parts, np.split(flat, ends), strict=True)

    def to_dict(self) -> dict[str, Any]:
        """What a reader needs beside sets and precisions."""
        return {"quantities": [_told(part) for part in self.parts]}

    def again(self, sets: tuple[AttributeSet, ...], precisions: tuple[Fraction, ...]) -> JointPart | None:
        """The same quantities with sets and noise as they were stored; None where those were others."""
        if sets != self.sets or len(precisions) != len(sets):
            return None
        made: list[QuantityPart] = []
        for part in self.parts:
            many = len(part.table.sets)
            made.append(replace(part, table=part.table.again(part.table.sets, precisions[:many])))
            precisions = precisions[many:]
        return JointPart(tuple(made))


def _told(part: QuantityPart) -> dict[str, Any]:
    told = {"of": part.of, "sets": len(part.table.sets), "sizes": list(part.table.sizes)}
    return {**told, **part.table.to_dict()}


def quantities_in(
    told: Sequence[Mapping[str, Any]],
    sizes: tuple[int, ...],
    sets: tuple[AttributeSet, ...],
    precisions: tuple[Fraction, ...],
    values: Ints,
) -> dict[str, tuple[TablePart, Ints]]:
    """What ``facts`` described: of each quantity its tables and their noisy integers."""
    found: dict[str, tuple[TablePart, Ints]] = {}
    for one in told:
        many, given = int(one["sets"]), tuple(one["sizes"])
        own = sizes if given == tuple(sizes) else given
        table = stored_part(one, own, sets[:many], precisions[:many])
        cells = table.layout.cells
        found[str(one["of"])] = table, values[:cells]
        sets, precisions, values = sets[many:], precisions[many:], values[cells:]
    return found
