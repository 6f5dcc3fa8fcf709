"""Variances of the cells of marginals, from those of the residuals that they are made of.

Without levels all cells of a marginal are alike, and one sum over its residuals says it; on levels they differ by the
blocks that they lie in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Incidence, Layout, kinds_of, spreads_of
from hushtable.planning.problem import prices


def cell_variances_of(residuals: Layout, variances: Floats) -> CellVariances:
    """What residuals with these variances (s2 of each) give."""
    return LevelCells(residuals, variances) if residuals.has_levels else AlikeCells(residuals, variances)


class CellVariances(ABC):
    """Variances of the cells of any marginals; infinite where a residual is unknown."""

    alike: bool
    """Whether all cells of a marginal have one variance."""

    def __init__(self, residuals: Layout, variances: Floats) -> None:
        self.residuals = residuals
        self.variances = variances

    @cached_property
    def informative(self) -> NDArray[np.bool_]:
        """Residuals that are not zero by their sizes."""
        return (self.residuals.widths != 1).all(axis=1)

    @abstractmethod
    def largest(self, sets: Sequence[AttributeSet]) -> Floats:
        """Of the widest cell of each marginal."""

    @abstractmethod
    def every(self, layout: Layout) -> Floats:
        """Of every cell of some marginals, flat."""

    @abstractmethod
    def std_sums(self, sets: Sequence[AttributeSet]) -> Floats:
        """Sum of the standard deviations of all cells, of each marginal."""


class AlikeCells(CellVariances):
    """Without levels: ``sum s2 prod_tau (n - 1)/n prod_rest 1/n^2`` over the residuals below."""

    alike = True

    def largest(self, sets: Sequence[AttributeSet]) -> Floats:
        pairs, target = Incidence.between(sets, self.residuals), Layout(self.residuals.sizes, tuple(sets))
        variances = pairs.subset_sums(self._shares, len(sets)) / target.lengths.astype(np.float64) ** 2
        variances[self._unknown(target, pairs)] = np.inf
        return variances

    def every(self, layout: Layout) -> Floats:
        return np.repeat(self.largest(layout.sets), layout.lengths)

    def std_sums(self, sets: Sequence[AttributeSet]) -> Floats:
        cells = Layout(self.residuals.sizes, tuple(sets)).lengths.astype(np.float64)
        return np.sqrt(self.largest(sets)) * cells

    @cached_property
    def _shares(self) -> Floats:
        """What each residual adds to the variance of a cell, times the squared cells of the marginal."""
        spans = self.residuals.lengths.astype(np.float64)
        return np.where(self.informative, self.variances, 0.0) * prices(self.residuals) * spans**2

    def _unknown(self, target: Layout, pairs: Incidence) -> NDArray[np.bool_]:
        """Marginals with a residual that is neither listed nor zero by its sizes."""
        there = pairs.members >= 0
        listed = np.zeros(len(pairs.members), bool)
        listed[there] = self.informative[pairs.members[there]]
        have = np.bincount(pairs.owners[listed], minlength=len(target.sets))
        return have < 2 ** (target.shapes > 1).sum(axis=1)


class CellKinds(NamedTuple):
    """The variances of a marginal's cells: one for each kind of cells, which kind each category is, and how many."""

    variances: Floats
    of: tuple[NDArray[np.int64], ...]
    counts: Floats


class LevelCells(CellVariances):
    """On levels: ``sum (s2 / p) prod v`` over the residuals below, v of each axis from ``marginals.spreads``."""

    alike = False

    def largest(self, sets: Sequence[AttributeSet]) -> Floats:
        return np.array([float(self._kinds(s).variances.max()) for s in sets])

    def every(self, layout: Layout) -> Floats:
        flat = np.empty(layout.cells)
        for k, attributes in enumerate(layout.sets):
            found = self._kinds(attributes)
            layout.at(flat, k)[:] = (
                found.variances[np.ix_(*found.of)].ravel() if attributes else found.variances
            )
        return flat

    def std_sums(self, sets: Sequence[AttributeSet]) -> Floats:
        return np.array([float((np.sqrt(k.variances) * k.counts).sum()) for k in map(self._kinds, sets)])

    def _kinds(self, attributes: AttributeSet) -> CellKinds:
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
            return np.where(self.informative, self.variances / prices(self.residuals), 0.0)
