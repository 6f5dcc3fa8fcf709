"""Two-way tables: the noisy table drawn to a prior mean, as far as the dispersion of all tables makes likely.

The prior mean comes from chains of other two-way tables (if i and k, and k and j, are known, so is something of i and
j) and from each cell's neighbours.  All pairs of a closure lie in one flat array; what callers see are views of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, in_ranges
from hushtable.reconstruct import pair_loops as loops
from hushtable.reconstruct.dispersion import DISPERSIONS, dispersions_by_set
from hushtable.reconstruct.maxent_tables import MaxentTables
from hushtable.reconstruct.triples import flat_ones

SWEPT = 50
"""Passes over its cells that fitting a pair takes, about: how work is shared between threads."""


def fit_pairs(fitted: MaxentTables, pairs: Sequence[AttributeSet]) -> None:
    """Fit the two-way tables: first drawn to independence, then to what chains of the first ones say."""
    fit = _Pairs.of(fitted, pairs)
    products = fit.flat(fitted.products)
    prior, taken = fit.chained(products, fit.shrunk(products))
    fitted.pairs = fit.views(fit.shrunk(prior, taken))
    fitted.prior = fit.views(prior)


def shrink_to_products(fitted: MaxentTables, pairs: Sequence[AttributeSet]) -> None:
    """Fit some two-way tables, drawn to independence."""
    fit = _Pairs.of(fitted, pairs)
    products = fit.flat(fitted.products)
    fitted.pairs = fit.views(fit.shrunk(products))
    fitted.prior = fit.views(products)


def independent_pairs(
    sizes: tuple[int, ...], pairs: Sequence[AttributeSet], total: float, ones: dict[int, Floats]
) -> dict[AttributeSet, Floats]:
    """The products of one-way tables."""
    layout = Layout(sizes, tuple(pairs))
    flat = np.empty(layout.cells)
    around = _neighbourhood(layout, total, ones)
    in_ranges(loops.multiply_pairs, layout.lengths, around, layout.tables(flat))
    return _views(layout, flat)


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a fit, and what was measured of them."""

    fitted: MaxentTables
    layout: Layout
    measured: Layout
    """Of the pairs that were."""
    around: loops.Neighbourhood
    noisy: loops.NoisyPairs

    @staticmethod
    def of(fitted: MaxentTables, pairs: Sequence[AttributeSet]) -> _Pairs:
        """With the noisy tables that have the fitted one-way margins."""
        residuals = fitted.residuals
        layout = Layout(residuals.layout.sizes, tuple(pairs))
        around = _neighbourhood(layout, fitted.total, fitted.ones)
        known = tuple(s for s in layout.sets if residuals.known(s))
        numbers = np.array([layout.index[s] for s in known], np.int64)
        measured = Layout(layout.sizes, known)
        cells = [residuals.value(s).reshape(-1) for s in known]
        rows = np.full(len(layout.sets), -1)
        rows[numbers] = np.arange(len(numbers))
        noise = np.array([residuals.block_noise(s) for s in known])
        flat = np.concatenate([np.empty(0), *cells])
        noisy = loops.NoisyPairs(numbers, measured.offsets[:-1], flat, noise, rows, DISPERSIONS)
        in_ranges(loops.add_margins, measured.lengths, around, noisy)
        return _Pairs(fitted, layout, measured, around, noisy)

    def flat(self, tables: dict[AttributeSet, Floats]) -> Floats:
        """Some tables as one flat array."""
        return np.concatenate([np.empty(0), *(tables[s].reshape(-1) for s in self.layout.sets)])

    def views(self, flat: Floats) -> dict[AttributeSet, Floats]:
        """The tables of a flat array."""
        return _views(self.layout, flat)

    def shrunk(self, prior: Floats, taken: Floats | None = None) -> Floats:
        """Every measured pair drawn towards its prior mean, of which it takes the dispersions; the others: the mean.

        ``taken``: how many numbers of each pair its mean was fitted to; around such a mean a pair seems to vary less.
        """
        layout, noisy, residuals = self.layout, self.noisy, self.fitted.residuals
        pairs, measured = prior.copy(), self.measured.sets
        if not measured:
            return pairs
        likelihoods = np.empty((len(measured), DISPERSIONS.size))
        means, work = layout.tables(prior), self.measured.lengths
        spent = np.zeros(len(layout.sets)) if taken is None else taken
        in_ranges(loops.noisy_likelihoods, work, noisy, spent, means, likelihoods)
        found = dispersions_by_set(residuals, measured, self.fitted.total, likelihoods)
        self.fitted.dispersion = found
        strength = np.array([1.0 / (residuals.precision(s) * phi) for s, phi in found.items()])
        in_ranges(loops.shrink_pairs, SWEPT * work, self.around, noisy, strength, means, layout.tables(pairs))
        return pairs

    def chained(self, products: Floats, pairs: Floats) -> tuple[Floats, Floats]:
        """Prior means from chains of fitted pairs, and how many of each pair's own numbers they took up."""
        layout, prior, taken = self.layout, np.empty_like(products), np.zeros(len(self.layout.sets))
        chains = min(len(self.fitted.ones), loops.MOST_CHAINS)
        tables = (layout.tables(products), layout.tables(pairs), layout.tables(prior))
        work = layout.lengths * (SWEPT + chains**2)
        in_ranges(loops.chain_pairs, work, self.around, self.noisy, *tables, taken)
        return prior, taken


def _neighbourhood(layout: Layout, total: float, ones: dict[int, Floats]) -> loops.Neighbourhood:
    """What compiled loops need to know of all pairs of a layout."""
    axes = np.array(layout.sets, np.int64).reshape(-1, 2)
    places = np.full((len(layout.sizes), len(layout.sizes)), -1)
    places[axes[:, 0], axes[:, 1]] = places[axes[:, 1], axes[:, 0]] = np.arange(len(axes))
    return loops.Neighbourhood(axes, places, flat_ones(len(layout.sizes), ones), total)


def _views(layout: Layout, flat: Floats) -> dict[AttributeSet, Floats]:
    return {s: layout.view(flat, s) for s in layout.sets}
