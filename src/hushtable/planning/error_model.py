"""The errors of estimated marginals, before or after spending: variances, half-widths, expected L1.

The model holds the variance of every residual's estimate and, where noise is not Gaussian, what its fourth cumulant
needs.  A plan predicts with it; a reconstruction reports with it; both use the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, pi, sqrt
from typing import NamedTuple

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import Ask, AttributeSet, Incidence, Layout, sorted_sets
from hushtable.planning.asked import asked_totals, asked_weight
from hushtable.planning.cell_variances import CellVariances, cell_variances_of
from hushtable.planning.cumulants import power_sums
from hushtable.planning.l1_noise import l1_limits
from hushtable.planning.problem import prices
from hushtable.planning.quantiles import half_width, normal_spread, spread
from hushtable.privacy import CountNoise

EDGE = 2.0**-20
"""Of a step that is no whole number, added to half-widths of raw counts: multiples of such a step are rounded, and a
truth that lies just on an end must not fall out.  Counts below 2^33 steps are rounded by less."""

RawNoise = Mapping[AttributeSet, CountNoise]


class CellNoise(NamedTuple):
    """A marginal measured with independent, equal noise in every cell that is not Gaussian."""

    attributes: AttributeSet
    variance: float
    fourth: float
    """Fourth cumulant of the noise of one cell."""


@dataclass(frozen=True, eq=False)
class CellErrors:
    """Expected errors of marginals, in the order asked for; infinite where something was never measured.

    The cells of a marginal on levels may differ: then these are of its widest ones.
    """

    sets: tuple[AttributeSet, ...]
    std: Floats
    """Standard deviation of one cell."""
    half_width: Floats
    """A cell lies this far from the truth, or less, with probability 1 - alpha."""
    l1: Floats
    """Expected sum of absolute errors of a table (normal law)."""
    alpha: float


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """What is known of the errors of residual estimates.

    ``variances[k]`` is s2 of residual k: its centred estimate has covariance ``s2 prod (I - 11'/n)``, on levels that of
    the widest blocks, the others in proportion (``problem``).  ``raw`` names
    marginals whose estimate is a single noisy integer per cell.  Residuals that are not listed are unknown, except
    those with an attribute of size 1, which are zero.
    """

    residuals: Layout
    variances: Floats
    sources: tuple[CellNoise, ...] = ()
    raw: RawNoise = field(default_factory=dict[AttributeSet, CountNoise])
    unit: float = 1.0
    """How many persons an integer of raw noise is."""

    def scaled(self, unit: float) -> ErrorModel:
        """The errors of the same answers where each integer is so many persons."""
        if unit == 1.0:
            return self
        sources = tuple(CellNoise(s, v * unit**2, fourth * unit**4) for s, v, fourth in self.sources)
        return replace(self, variances=self.variances * unit**2, sources=sources, unit=self.unit * unit)

    def knowing(self, known: frozenset[AttributeSet]) -> ErrorModel:
        """The same where some residuals are known from elsewhere: they have no error, measured or not."""
        if not known:
            return self
        sizes, axes = self.residuals.sizes, self.residuals.axes
        sets = sorted_sets(tuple({*self.residuals.sets, *known}))
        own = dict(zip(self.residuals.sets, self.variances.tolist(), strict=True))
        variances = np.array([0.0 if s in known else own[s] for s in sets])
        raw = {s: noise for s, noise in self.raw.items() if known.isdisjoint(axes.below(s))}
        return ErrorModel(Layout(sizes, sets), variances, self.sources, raw, self.unit)

    def cell_variances(self, sets: Sequence[AttributeSet]) -> Floats:
        """Variance of a cell of each marginal: sum of ``s2 prod_tau (n - 1)/n prod_rest 1/n^2``."""
        return self._cells.largest(sets)

    def variance(self, attributes: AttributeSet) -> float:
        """Variance of a cell of one marginal."""
        return float(self.cell_variances([attributes])[0])

    def variances_of(self, layout: Layout) -> Floats:
        """Variance of every cell of some marginals, flat."""
        return self._cells.every(layout)

    def half_widths_of(self, layout: Layout, alpha: float = 0.05) -> Floats:
        """Half-width at level ``1 - alpha`` of every cell of some marginals, flat."""
        if self._cells.alike:
            return np.repeat(self.half_widths(layout.sets, alpha), layout.lengths)
        widths = np.sqrt(self.variances_of(layout)) * normal_spread(alpha)
        for attributes in self.raw:
            if attributes in layout.index:
                layout.view(widths, attributes)[...] = self.half_widths([attributes], alpha)[0]
        return widths

    def half_widths(self, sets: Sequence[AttributeSet], alpha: float = 0.05) -> Floats:
        """Half-width at level ``1 - alpha`` of a cell of each marginal."""
        variances = self._cells.largest(sets)
        widths = np.sqrt(variances) * normal_spread(alpha)
        if self.sources:
            known = np.isfinite(variances) & (variances > 0)
            fourth = self._fourth_cumulants(sets)
            widths[known] = np.sqrt(variances[known]) * spread(alpha, fourth[known] / variances[known] ** 2)
        for k, attributes in enumerate(sets):
            if attributes in self.raw:
                widths[k] = half_width(self.raw[attributes], alpha)
                if self.unit != 1.0:
                    widths[k] = self.unit * (widths[k] + EDGE)
        return widths

    def errors(self, sets: Sequence[AttributeSet], alpha: float = 0.05) -> CellErrors:
        """Standard deviation, half-width and expected L1 of each marginal."""
        std, sums = np.sqrt(self._cells.largest(sets)), self._cells.std_sums(sets)
        return CellErrors(tuple(sets), std, self.half_widths(sets, alpha), sqrt(2.0 / pi) * sums, alpha)

    def asked_variances(self, sets: Sequence[AttributeSet], asks: Sequence[Sequence[Ask]]) -> Floats:
        """The mean variance of what is asked of each marginal: of all ranges, prefixes or the given intervals."""
        axes, found = self.residuals.axes, np.zeros(len(sets))
        own = dict(zip(self.residuals.sets, (self.variances / prices(self.residuals)).tolist(), strict=True))
        for k, (gamma, asked) in enumerate(zip(sets, asks, strict=True)):
            for tau, total in asked_totals(axes, gamma, asked):
                if axes.real(tau) and total > 0:
                    found[k] += total * own.get(tau, inf)
            found[k] /= asked_weight(axes, gamma, asked)
        return found

    def l1_limits(self, sets: Sequence[AttributeSet], beta: float) -> Floats:
        """With probability ``1 - beta`` the noise of a table adds up to at most this, for each table on its own."""
        pairs = Incidence.between(sets, self.residuals)
        variances = self._cells.largest(sets)
        known = np.isfinite(variances)
        cells = Layout(self.residuals.sizes, tuple(sets)).lengths.astype(np.float64)
        limits = np.full(len(sets), np.inf)
        if self.sources or not self._cells.alike:
            for n in np.unique(cells[known]):
                some = np.flatnonzero(known & (cells == n))
                limits[some] = n * self.half_widths([sets[k] for k in some.tolist()], beta / n)
            return limits
        spans = np.where(self._cells.informative, self.variances, 0.0) * self.residuals.lengths
        there = pairs.members >= 0
        largest = np.zeros(len(sets))
        np.maximum.at(largest, pairs.owners[there], spans[pairs.members[there]])
        limits[known] = l1_limits(cells[known], variances[known], (largest / cells)[known], beta)
        return limits

    @cached_property
    def _cells(self) -> CellVariances:
        return cell_variances_of(self.residuals, self.variances)

    def _fourth_cumulants(self, sets: Sequence[AttributeSet]) -> Floats:
        if not self.sources:
            return np.zeros(len(sets))
        layout, measured = self.residuals, tuple(s.attributes for s in self.sources)
        cells = Layout(layout.sizes, measured).lengths.astype(np.float64)
        fourth, variance = np.array([(s.fourth, s.variance) for s in self.sources]).T
        shares = fourth / variance**4 / cells**3
        above = Incidence.between(measured, layout).superset_sums(shares, len(layout.sets))
        finite = np.where(np.isfinite(self.variances), self.variances, 0.0)
        weight = finite * layout.lengths.astype(np.float64) ** 2
        table = Layout(layout.sizes, tuple(sets)).shapes
        return power_sums(4, table, Incidence.between(sets, layout).links, weight, above)
