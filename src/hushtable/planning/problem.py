"""The public numbers of a planning problem: prices, error shares and pairs, as arrays.

With n the axis lengths: a residual ``tau`` measured with variance ``s2`` costs ``p / (2 s2)`` of rho, where
``p = prod (n - 1) / n``, and adds ``s2 p (n_tau / n_gamma)^2`` to the variance of every cell of a marginal ``gamma``
above it (aim-grem, Propositions 4.3 and 4.4).

On levels n is the length of the widest block of an axis, other blocks have noise ``s2 p_b / p``, and the residual adds
``(s2 / p) prod v`` to a cell, v of each axis from ``marginals.spreads``: it differs by cell (proofs/levels.md).  A row
pays for residuals whose blocks it shares with others: there may be several kinds of rows (``kinds``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, is_whole
from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.marginals import Ask, AttributeSet, Incidence, Layout, closure, spreads_of
from hushtable.planning.asked import asked_totals

IDLE = 0.01
"""What a residual counts that no interval asks for, as a share of the least that one does: it is measured, so that
every cell of the table has an error bar, at about a hundredth of the price; more would take it from the intervals."""
ROUNDING = 1e-9
"""Gains below this share of the largest are sums that cancel but for rounding."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A workload in numbers; ``residuals`` is the closure without sets that hold an attribute of size 1.

    Such a residual is identically zero: it needs no measurement and has no error.
    """

    sizes: tuple[int, ...]
    marginals: tuple[AttributeSet, ...]
    weights: Floats
    residuals: Layout
    pairs: Incidence
    price: Floats
    """p of each residual."""
    span: Floats
    """Cells n_tau of each residual's marginal."""
    cells: Floats
    """Cells n_gamma of each marginal."""
    kinds: NDArray[np.bool_]
    """Kinds of rows by residuals: which of them a row pays for; one kind that pays for all unless levels are uneven."""
    asks: tuple[tuple[Ask, ...], ...] = ()

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        marginals: Sequence[AttributeSet],
        weights: Sequence[float | Fraction],
        asks: Sequence[Sequence[Ask]] = (),
        free: Collection[AttributeSet] = (),
    ) -> Problem:
        """Lay out the problem of the given marginals (sorted, distinct) and positive weights.

        ``asks`` are the ranges that count in place of single categories, by marginal; ``free`` are residuals that are
        known, which cost nothing and add nothing to any variance.
        """
        lengths = Axes.kept(sizes)
        sets, axes = tuple(marginals), Axes.of(lengths)
        kept = tuple(s for s in closure(sets, lengths) if axes.real(s) and s not in free)
        residuals = Layout(lengths, kept)
        rows = axes.row_classes({a for s in kept for a in s})
        return cls(
            lengths,
            sets,
            np.array([float(w) for w in weights]),
            residuals,
            Incidence.between(sets, residuals),
            prices(residuals),
            residuals.lengths.astype(np.float64),
            Layout(lengths, sets).lengths.astype(np.float64),
            np.array([[row.issuperset(s) for s in kept] for row in rows], bool),
            tuple(tuple(asked) for asked in asks),
        )

    @cached_property
    def gains(self) -> Floats:
        """``sqrt(W / p)`` of each residual, W what a unit of its s2 adds to the weighted variances of all cells.

        Without levels ``W = p n_tau^2 Y`` with ``Y`` the sum of ``w / n_gamma`` over the marginals above.
        """
        count = len(self.span)
        if self.asks:
            return self._asked_gains()
        if not self.residuals.has_levels:
            return self.span * np.sqrt(self.pairs.superset_sums(self.weights / self.cells, count))
        there = self.pairs.members >= 0
        added = (
            self.pairs.way_products(spreads_of(self.residuals.axes).totals) * self.weights[self.pairs.owners]
        )
        return np.sqrt(np.bincount(self.pairs.members[there], added[there], count)) / self.price

    def _asked_gains(self) -> Floats:
        """The same where sums over ranges count: for each pair the product over axes of what is asked of it."""
        axes, added = self.residuals.axes, np.zeros(len(self.span))
        for gamma, weight, asks in zip(self.marginals, self.weights.tolist(), self.asks, strict=True):
            for tau, total in asked_totals(axes, gamma, asks):
                if tau in self.residuals.index:
                    added[self.residuals.index[tau]] += weight * total
        found = np.sqrt(added) / self.price
        idle = found <= ROUNDING * found.max()
        return np.where(idle, IDLE * found[~idle].min(), found)

    def cell_variances(self, s2: Floats) -> Floats:
        """Variance of a cell of each marginal when residual k has variance ``s2[k]``."""
        return self.pairs.subset_sums(s2 * self.price * self.span**2, len(self.marginals)) / self.cells**2

    def rho(self, s2: Floats) -> float:
        """Cost of measuring every residual with the given variances."""
        return float((self.price / (2 * s2)).sum())


def prices(layout: Layout) -> Floats:
    """p = prod (n - 1) / n of each set, n of the widest blocks."""
    lengths = np.where(layout.widths == 0, np.inf, layout.widths)
    return (1.0 - 1.0 / lengths).prod(axis=1)


def checked_sets(sizes: Sequence[int], marginals: Sequence[Sequence[int | str]]) -> tuple[AttributeSet, ...]:
    """The marginals as sorted tuples; unknown, repeated or missing axes are refused."""
    if not all(is_whole(n) and n >= 1 for n in sizes):
        raise WorkloadError(
            "workload.sizes", "Every size must be a whole number of at least 1.", "Correct sizes."
        )
    if not all(is_whole(i) for m in marginals for i in m):
        raise WorkloadError(
            "workload.unknown-attribute",
            "A marginal names an attribute that is not an axis number.",
            "Resolve the workload with its schema first, or give axis numbers.",
        )
    sets = tuple(tuple(sorted(int(i) for i in m)) for m in marginals)
    if not sets:
        raise WorkloadError(
            "workload.empty", "The workload has no marginal.", "List at least one, () is the total."
        )
    for attributes in sets:
        if len(set(attributes)) != len(attributes):
            raise WorkloadError(
                "workload.duplicate-attribute",
                f"Marginal {attributes} names an axis twice.",
                "Name each axis once.",
            )
        if attributes and not (attributes[0] >= 0 and attributes[-1] < len(sizes)):
            raise WorkloadError(
                "workload.unknown-attribute",
                f"Marginal {attributes} names an axis outside 0..{len(sizes) - 1}.",
                "Give one size for each axis.",
            )
    if len(set(sets)) != len(sets):
        raise WorkloadError(
            "workload.duplicate-marginal", "A marginal occurs twice.", "Remove one of the two."
        )
    return sets
