"""What is measured: integer queries of one table with independent discrete noise, and their exact price.

A part says which marginals it needs, turns their exact counts into integers, and gives the noise of each.  Here are
residuals and marginals; the parts of choices between other queries are in ``linear_parts``.  Nothing here sees data by
itself or draws noise: the kernel does both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.marginals import AttributeSet, Counting, Layout, lift_all, sorted_sets
from hushtable.measurement.arithmetic import check_arithmetic, check_cell_noise
from hushtable.privacy import (
    LAWS,
    CountNoise,
    GaussianNoise,
    Price,
    ResidualNoise,
    TruncatedNoise,
    total_price,
)

if TYPE_CHECKING:
    computed_once = property  # is read like one, and may stand where one was promised
else:
    from functools import cached_property as computed_once


@dataclass(frozen=True, eq=False)
class DiscreteNoise:
    """Independent discrete noise of consecutive integers, run by run.

    ``parameters`` are those of its ``law`` (variances of a discrete Gaussian, scales of a discrete Laplace), and
    ``lengths`` how many integers each is for.  Noise with a ``bound`` is cut off there.  With ``places`` the integers
    that it is for are these, in that order, and all others are 0 for every table.
    """

    law: type[CountNoise]
    parameters: Sequence[Fraction]
    lengths: Sequence[int]
    bound: int | None = None
    places: Ints | None = None


class Part(ABC):
    """Integers of one table that are measured together."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The marginals to count."""

    @property
    def counting(self) -> tuple[Counting, ...]:
        """All that is counted for it, whose counts ``exact`` takes one after the other."""
        return (Counting(self.layout),)

    @property
    def cells(self) -> int:
        """How many integers it is."""
        return self.layout.cells

    @property
    @abstractmethod
    def noise(self) -> DiscreteNoise:
        """What is added to the integers."""

    @property
    @abstractmethod
    def rho(self) -> Fraction:
        """Exact zCDP cost for one row, of the dearest record."""

    def price(self, rows: int = 1) -> Price:
        """Exact cost for a person with at most ``rows`` rows."""
        return Price(None, self.rho * rows**2)

    @abstractmethod
    def exact(self, counts: Ints) -> Ints:
        """The integers that noise is added to, from the counts of ``layout``."""

    @abstractmethod
    def check(self) -> None:
        """Refuse what could overflow, from public sizes."""


@dataclass(frozen=True, eq=False)
class ResidualPart(Part):
    """Residuals, each with its own precision (1 / s2), in the integer form of ``ResidualNoise``."""

    sizes: tuple[int, ...]
    sets: tuple[AttributeSet, ...]
    precisions: tuple[Fraction, ...]

    @classmethod
    def of(cls, sizes: tuple[int, ...], precisions: Mapping[AttributeSet, Fraction]) -> ResidualPart:
        """The residuals of a mapping, small ones first."""
        sets = sorted_sets(tuple(precisions))
        return cls(sizes, sets, tuple(precisions[s] for s in sets))

    @computed_once
    def layout(self) -> Layout:
        """The marginals to count, which is also where the integers lie."""
        return Layout(self.sizes, self.sets)

    @computed_once
    def mechanisms(self) -> tuple[ResidualNoise, ...]:
        """The noise of each residual."""
        pairs, widest = zip(self.sets, self.precisions, strict=True), self.layout.axes.widest
        return tuple(ResidualNoise(tuple(widest[i] for i in s), p) for s, p in pairs)

    @computed_once
    def rho(self) -> Fraction:
        """Every record costs the same, but for levels: there one pays for the residuals whose blocks it shares with
        others, and the dearest is charged (proofs/levels.md)."""
        return max(self.row_prices, default=Fraction(0))

    @computed_once
    def row_prices(self) -> tuple[Fraction, ...]:
        """What the dearer kinds of records cost, for one row."""
        if not self.layout.has_levels:
            return (total_price(self.mechanisms).rho,)
        kinds = self.layout.axes.row_classes({a for s in self.sets for a in s})
        pairs = list(zip(self.sets, self.mechanisms, strict=True))
        return tuple(total_price([m for s, m in pairs if kind.issuperset(s)]).rho for kind in kinds)

    @computed_once
    def noise(self) -> DiscreteNoise:
        """One variance per residual; on levels one for each length of blocks."""
        if self.layout.has_levels:
            return level_noise(self.layout, self.mechanisms)
        variances = [mechanism.noise_variance for mechanism in self.mechanisms]
        return DiscreteNoise(GaussianNoise, variances, self.layout.lengths.tolist())

    def exact(self, counts: Ints) -> Ints:
        """Lifted residuals."""
        return lift_all(self.layout, counts)

    def to_dict(self) -> dict[str, Any]:
        """What a reader needs beside sets and precisions: nothing."""
        return {}

    def again(self, sets: tuple[AttributeSet, ...], precisions: tuple[Fraction, ...]) -> ResidualPart:
        """The same with sets and noise as they were stored."""
        return replace(self, sets=sets, precisions=precisions)

    def check(self, names: Sequence[str] = (), largest: int = 1) -> None:
        """Refuse what could overflow, from public sizes and what a row has; ``names`` are for the message."""
        check_arithmetic(self.layout.axes.widest, self.sets, self.precisions, names, largest)


@dataclass(frozen=True, eq=False)
class MarginalPart(Part):
    """The cells of marginals, each marginal with noise of its own.

    ``precisions`` are 1 / variance of discrete Gaussian or 1 / scale of discrete Laplace noise.  With a ``bound``
    Laplace noise is cut off there, for a delta.
    """

    sizes: tuple[int, ...]
    sets: tuple[AttributeSet, ...]
    law: type[CountNoise]
    precisions: tuple[Fraction, ...]
    bound: int | None = None

    @computed_once
    def layout(self) -> Layout:
        """The marginals, which are also where the integers lie."""
        return Layout(self.sizes, self.sets)

    @computed_once
    def mechanisms(self) -> tuple[CountNoise, ...]:
        """The noise of each marginal."""
        return tuple(self.law(1 / p) for p in self.precisions)

    @property
    def rho(self) -> Fraction:
        """Every record costs the same."""
        return self.price().rho

    def price(self, rows: int = 1) -> Price:
        """Exact cost for a person with at most ``rows`` rows; what is cut off costs a delta."""
        whole = total_price(self.mechanisms, rows)
        if self.bound is None:
            return whole
        tails = sum((TruncatedNoise(1 / p, self.bound).delta(rows) for p in self.precisions), Fraction(0))
        return Price(whole.xi, whole.rho, tails)

    @property
    def noise(self) -> DiscreteNoise:
        """One parameter per marginal."""
        return DiscreteNoise(
            self.law, [1 / p for p in self.precisions], self.layout.lengths.tolist(), self.bound
        )

    def exact(self, counts: Ints) -> Ints:
        """The counts themselves."""
        return counts

    def to_dict(self) -> dict[str, Any]:
        """What a reader needs beside sets and precisions."""
        return {"marginals": {"noise": self.law.name, "bound": self.bound}}

    def again(self, sets: tuple[AttributeSet, ...], precisions: tuple[Fraction, ...]) -> MarginalPart:
        """The same with sets and noise as they were stored."""
        return replace(self, sets=sets, precisions=precisions)

    def check(self, names: Sequence[str] = (), largest: int = 1) -> None:
        """Refuse what could overflow, from public sizes and what a row has; ``names`` are for the message."""
        deviations = [noise.true_variance**0.5 for noise in self.mechanisms]
        check_cell_noise(self.sets, deviations, names, largest)


def stored_part(
    told: Mapping[str, Any],
    sizes: tuple[int, ...],
    sets: tuple[AttributeSet, ...],
    precisions: tuple[Fraction, ...],
) -> TablePart:
    """The part whose ``to_dict`` was stored, with its sets and precisions."""
    law = told.get("marginals")
    if law is None:
        return ResidualPart(sizes, sets, precisions)
    return MarginalPart(sizes, sets, LAWS[law["noise"]], precisions, law["bound"])


def level_noise(layout: Layout, mechanisms: Sequence[ResidualNoise]) -> DiscreteNoise:
    """Noise of residuals on levels, by the lengths n of the blocks that a cell lies in.

    The widest blocks have the noise of ``ResidualNoise``, all others as much less as a row moves them less, so that it
    pays the same in each: variance ~ prod n (n - 1).  A cell without neighbours is 0 and has none.
    """
    parameters: list[Fraction] = []
    lengths: list[int] = []
    places: list[Ints] = [np.empty(0, np.int64)]
    for k, (attributes, mechanism) in enumerate(zip(layout.sets, mechanisms, strict=True)):
        moved = np.ones(1, np.int64)
        for axis in attributes:
            n = layout.axes.block_sizes(axis)
            moved = np.multiply.outer(moved, n * (n - 1)).ravel()
        widest = prod(n * (n - 1) for n in mechanism.sizes)
        kinds, of = np.unique(moved, return_inverse=True)
        order = np.argsort(of, kind="stable")
        counts = np.bincount(of.ravel(), minlength=len(kinds))
        for square, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            if square > 0:
                parameters.append(mechanism.noise_variance * Fraction(square, widest))
                lengths.append(count)
        places.append(layout.offsets[k] + order[int(counts[0]) if kinds[0] == 0 else 0 :])
    return DiscreteNoise(GaussianNoise, parameters, lengths, places=np.concatenate(places))


TablePart = ResidualPart | MarginalPart
"""Parts that tell about whole marginals of the schema."""
