"""The errors of estimated marginals, before or after spending: variances, half-widths, expected L1.

The model holds the variance of every residual's estimate and, where noise is not Gaussian, what its fourth cumulant
needs.  A plan predicts with it; a reconstruction reports with it; both use the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, Incidence, Layout, kinds_of, spreads_of
from hushtable.planning.cumulants import power_sums
from hushtable.planning.l1_noise import l1_limits
from hushtable.planning.problem import prices
from hushtable.planning.quantiles import (
    discrete_gaussian_half_width,
    discrete_laplace_half_width,
    normal_spread,
    spread,
)
from hushtable.privacy import GaussianNoise, LaplaceNoise

RawNoise = Mapping[AttributeSet, GaussianNoise | LaplaceNoise]


class CellKinds(NamedTuple):
    """The variances of a marginal's cells: one for each kind of cells, which kind each category is, and how many."""

    variances: Floats
    of: tuple[NDArray[np.int64], ...]
    counts: Floats


class CellNoise(NamedTuple):
    """A marginal measured with independent, equal noise in every cell that is not Gaussian."""

    attributes: AttributeSet
    variance: float
    fourth: float
    """Fourth cumulant of the noise of one cell."""


@dataclass(frozen=True, eq=False)
class Errors:
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
    raw: RawNoise = field(default_factory=dict[AttributeSet, GaussianNoise | LaplaceNoise])

    def cell_variances(self, sets: Sequence[AttributeSet]) -> Floats:
        """Variance of a cell of each marginal: sum of ``s2 prod_tau (n - 1)/n prod_rest 1/n^2``."""
        return self._cell_variances(sets, Incidence.between(sets, self.residuals))

    def variance(self, attributes: AttributeSet) -> float:
        """Variance of a cell of one marginal."""
        return float(self.cell_variances([attributes])[0])

    def variances_of(self, layout: Layout) -> Floats:
        """Variance of every cell of some marginals, flat."""
        if not isinstance(self.residuals.sizes, Axes):
            return np.repeat(self.cell_variances(layout.sets), layout.lengths)
        flat = np.empty(layout.cells)
        for k, attributes in enumerate(layout.sets):
            found = self._kinds(attributes)
            layout.at(flat, k)[:] = (
                found.variances[np.ix_(*found.of)].ravel() if attributes else found.variances
            )
        return flat

    def half_widths_of(self, layout: Layout, alpha: float = 0.05) -> Floats:
        """Half-width at level ``1 - alpha`` of every cell of some marginals, flat."""
        if not isinstance(self.residuals.sizes, Axes):
            return np.repeat(self.half_widths(layout.sets, alpha), layout.lengths)
        widths = np.sqrt(self.variances_of(layout)) * normal_spread(alpha)
        for attributes in self.raw:
            if attributes in layout.index:
                layout.view(widths, attributes)[...] = self.half_widths([attributes], alpha)[0]
        return widths

    def half_widths(self, sets: Sequence[AttributeSet], alpha: float = 0.05) -> Floats:
        """Half-width at level ``1 - alpha`` of a cell of each marginal."""
        pairs = Incidence.between(sets, self.residuals)
        variances = self._cell_variances(sets, pairs)
        widths = np.sqrt(variances) * normal_spread(alpha)
        if self.sources:
            known = np.isfinite(variances) & (variances > 0)
            fourth = self._fourth_cumulants(sets, pairs)
            widths[known] = np.sqrt(variances[known]) * spread(alpha, fourth[known] / variances[known] ** 2)
        for k, attributes in enumerate(sets):
            noise = self.raw.get(attributes)
            if isinstance(noise, LaplaceNoise):
                widths[k] = discrete_laplace_half_width(noise.scale, alpha)
            elif noise is not None:
                widths[k] = discrete_gaussian_half_width(noise.variance, alpha)
        return widths

    def errors(self, sets: Sequence[AttributeSet], alpha: float = 0.05) -> Errors:
        """Standard deviation, half-width and expected L1 of each marginal."""
        std = np.sqrt(self.cell_variances(sets))
        cells = Layout(self.residuals.sizes, tuple(sets)).lengths.astype(np.float64)
        sums = std * cells
        if isinstance(self.residuals.sizes, Axes):
            kinds = map(self._kinds, sets)
            sums = np.array([float((np.sqrt(k.variances) * k.counts).sum()) for k in kinds])
        return Errors(tuple(sets), std, self.half_widths(sets, alpha), sqrt(2.0 / pi) * sums, alpha)

    def l1_limits(self, sets: Sequence[AttributeSet], beta: float) -> Floats:
        """With probability ``1 - beta`` the noise of a table adds up to at most this, for each table on its own."""
        pairs = Incidence.between(sets, self.residuals)
        variances = self._cell_variances(sets, pairs)
        known = np.isfinite(variances)
        cells = Layout(self.residuals.sizes, tuple(sets)).lengths.astype(np.float64)
        limits = np.full(len(sets), np.inf)
        if self.sources or isinstance(self.residuals.sizes, Axes):
            for n in np.unique(cells[known]):
                some = np.flatnonzero(known & (cells == n))
                limits[some] = n * self.half_widths([sets[k] for k in some.tolist()], beta / n)
            return limits
        spans = np.where(self._informative, self.variances, 0.0) * self.residuals.lengths
        there = pairs.members >= 0
        largest = np.zeros(len(sets))
        np.maximum.at(largest, pairs.owners[there], spans[pairs.members[there]])
        limits[known] = l1_limits(cells[known], variances[known], (largest / cells)[known], beta)
        return limits

    def _cell_variances(self, sets: Sequence[AttributeSet], pairs: Incidence) -> Floats:
        if isinstance(self.residuals.sizes, Axes):
            return np.array([float(self._kinds(s).variances.max()) for s in sets])
        target = Layout(self.residuals.sizes, tuple(sets))
        variances = pairs.subset_sums(self._shares, len(sets)) / target.lengths.astype(np.float64) ** 2
        variances[self._unknown(target, pairs)] = np.inf
        return variances

    @cached_property
    def _informative(self) -> NDArray[np.bool_]:
        """Residuals that are not zero by their sizes."""
        if isinstance(self.residuals.sizes, Axes):
            return np.fromiter(map(self.residuals.sizes.real, self.residuals.sets), bool)
        return (self.residuals.shapes != 1).all(axis=1)

    def _kinds(self, attributes: AttributeSet) -> CellKinds:
        """Variances on levels: ``sum (s2 / p) prod v`` over the residuals below; infinite where one is unknown."""
        if attributes not in self._known:
            self._known[attributes] = self._kinds_of(attributes)
        return self._known[attributes]

    @cached_property
    def _known(self) -> dict[AttributeSet, CellKinds]:
        return {}

    def _kinds_of(self, attributes: AttributeSet) -> CellKinds:
        axes, pairs = self.residuals.axes, Incidence.between((attributes,), self.residuals)
        ways, kinds = spreads_of(axes), [kinds_of(axes, a) for a in attributes]
        counts = reduce(np.multiply.outer, [k.counts for k in kinds], np.ones(()))
        variances, of = np.zeros(counts.shape), tuple(k.of for k in kinds)
        for tau, number, way in zip(axes.below(attributes), pairs.members.tolist(), pairs.ways, strict=True):
            if not axes.real(tau):
                continue
            noise = [ways.noise[ways.starts[w] + k.first] for w, k in zip(way, kinds, strict=True)]
            share = np.inf if number < 0 else self._levelled[number]
            added = reduce(np.multiply.outer, noise, np.ones(()))
            variances = variances + np.where(added > 0.0, share, 0.0) * np.where(added > 0.0, added, 1.0)
        return CellKinds(variances, of, counts)

    @cached_property
    def _levelled(self) -> Floats:
        """``s2 / p`` of each residual."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self._informative, self.variances / prices(self.residuals), 0.0)

    @cached_property
    def _shares(self) -> Floats:
        """What each residual adds to the variance of a cell, times the squared cells of the marginal."""
        spans = self.residuals.lengths.astype(np.float64)
        return np.where(self._informative, self.variances, 0.0) * prices(self.residuals) * spans**2

    def _unknown(self, target: Layout, pairs: Incidence) -> NDArray[np.bool_]:
        """Marginals with a residual that is neither listed nor zero by its sizes."""
        there = pairs.members >= 0
        listed = np.zeros(len(pairs.members), bool)
        listed[there] = self._informative[pairs.members[there]]
        have = np.bincount(pairs.owners[listed], minlength=len(target.sets))
        return have < 2 ** (target.shapes > 1).sum(axis=1)

    def _fourth_cumulants(self, sets: Sequence[AttributeSet], pairs: Incidence) -> Floats:
        result = np.zeros(len(sets))
        if not self.sources:
            return result
        layout, measured = self.residuals, tuple(s.attributes for s in self.sources)
        cells = Layout(layout.sizes, measured).lengths.astype(np.float64)
        fourth, variance = np.array([(s.fourth, s.variance) for s in self.sources]).T
        shares = fourth / variance**4 / cells**3
        above = Incidence.between(measured, layout).superset_sums(shares, len(layout.sets))
        finite = np.where(np.isfinite(self.variances), self.variances, 0.0)
        weight = finite * layout.lengths.astype(np.float64) ** 2
        table = Layout(layout.sizes, tuple(sets)).shapes
        power_sums(4, table, pairs.links, weight, above, result)
        return result
