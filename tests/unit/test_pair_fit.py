"""Two-way tables of many attributes: the compiled loops against obvious NumPy, and how their work grows."""

from __future__ import annotations

import time
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.marginals import AttributeSet, Layout, centre
from hushtable.measurement import Residuals
from hushtable.reconstruct import maxent_loops, pair_loops
from hushtable.reconstruct.dispersion import DISPERSIONS
from hushtable.reconstruct.maxent import fit_maxent, start_tables
from hushtable.reconstruct.maxent_tables import MaxentTables
from hushtable.reconstruct.pair_fit import shrink_to_products
from hushtable.reconstruct.triples import flat_ones
from simulation import dependent_counts

SIZES = (3, 7, 2, 5)


def closure_of(axes: int) -> tuple[AttributeSet, ...]:
    return tuple(s for order in range(3) for s in combinations(range(axes), order))


def measured(known: tuple[AttributeSet, ...], seed: int) -> Residuals:
    """Residuals of a table with noise; only those of ``known`` pairs."""
    counts = dependent_counts(4000, seed, SIZES)
    layout = Layout(SIZES, tuple(s for s in closure_of(4) if len(s) < 2 or s in known))
    values, generator = np.empty(layout.cells), np.random.default_rng(seed)
    for s in layout.sets:
        table = counts.sum(axis=tuple(k for k in range(4) if k not in s))
        layout.view(values, s)[...] = centre(table + generator.normal(0.0, 12.0, table.shape))
    return Residuals(layout, values, np.full(len(layout.sets), 1.0 / 144.0))


def oriented(fitted: MaxentTables, a: int, b: int) -> np.ndarray:
    return fitted.pairs[a, b] if a < b else fitted.pairs[b, a].T


def beside(table: np.ndarray, axis: int) -> np.ndarray:
    along, out = np.moveaxis(table, axis, 0), np.zeros_like(np.moveaxis(table, axis, 0))
    for step, share in ((1, 1.0), (2, 0.5)):
        out[step:] += share * along[:-step]
        out[:-step] += share * along[step:]
    return np.moveaxis(out, 0, axis)


def prior_of(fitted: MaxentTables, pair: AttributeSet) -> np.ndarray:
    """The prior mean of a pair with NumPy and one fit."""
    (i, j), product = pair, fitted.products[pair]
    margins = maxent_loops.Margins(fitted.ones[i], fitted.ones[j])
    others = [k for k in range(4) if k not in pair]
    chains = [oriented(fitted, i, k) / fitted.ones[k] @ oriented(fitted, k, j) for k in others]
    if not fitted.residuals.known(pair):
        mean = max(chains, key=lambda chain: float(np.abs(chain - product).sum()))
        maxent_loops.scale_to_margins(mean, margins, 5)
        return mean
    smooth = [
        beside(fitted.pairs[pair], axis) / beside(product, axis) * product
        for axis in (0, 1)
        if product.shape[axis] >= 5
    ]
    logs = np.clip(np.log(np.maximum([*chains, *smooth], 1e-12) / product), -5.0, 5.0)
    maxent_loops.centre_logs(logs, margins, fitted.total)
    rows, columns = margins
    plain = rows[:, None] / columns.size + columns / rows.size - fitted.total / product.size
    mean, noise = np.empty_like(product), fitted.residuals.block_noise(pair)
    noisy = fitted.residuals.value(pair) + plain
    maxent_loops.fit_chains(noisy, product, logs, noise, margins, 4.0, DISPERSIONS, mean)
    return mean


@pytest.mark.parametrize("seed", range(4))
def test_prior_means_come_from_chains_and_neighbours(seed: int) -> None:
    known = tuple(s for k, s in enumerate(combinations(range(4), 2)) if k % 3 or seed % 2)
    residuals = measured(known, seed)
    fitted, found = start_tables(residuals, closure_of(4)), fit_maxent(residuals, closure_of(4))
    shrink_to_products(fitted, list(fitted.products))
    for pair in fitted.products:
        assert np.allclose(found.prior[pair], prior_of(fitted, pair), rtol=1e-6, atol=1e-6)
        assert np.allclose(found.table(pair).sum(axis=1), found.ones[pair[0]], rtol=1e-3)


def test_of_many_chains_those_farthest_from_independence_are_kept() -> None:
    axes, rng = 30, np.random.default_rng(2)
    shared = rng.integers(0, 2, 2000)
    columns = [np.where(rng.random(2000) < k / axes, shared, rng.integers(0, 2, 2000)) for k in range(axes)]
    sets = tuple(combinations(range(axes), 2))
    pairs = {(i, j): np.histogram2d(columns[i], columns[j], 2)[0] + 1.0 for i, j in sets}
    layout = Layout((2,) * axes, sets)
    flat = np.concatenate([pairs[s].reshape(-1) for s in sets])
    ones = {k: np.bincount(columns[k], minlength=2) + 2.0 for k in range(axes)}
    places = np.full((axes, axes), -1)
    for place, (i, j) in enumerate(sets):
        places[i, j] = places[j, i] = place
    around = pair_loops.Neighbourhood(np.array(sets), places, flat_ones(axes, ones), 2004.0)
    product = np.outer(ones[0], ones[1]) / 2004.0
    middles, far = pair_loops.strongest_chains(around, 0, 1, layout.tables(flat), product)
    away = {k: float(np.abs(pairs[0, k] / ones[k] @ (pairs[1, k]).T - product).sum()) for k in range(2, axes)}
    best = sorted(away, key=lambda k: -away[k])[: pair_loops.MOST_CHAINS]
    assert sorted(best) == middles.tolist() and np.allclose(far, [away[k] for k in sorted(best)])


@pytest.mark.parametrize(
    ("columns", "seconds"),
    [pytest.param(100, 20, marks=pytest.mark.long), pytest.param(200, 60, marks=pytest.mark.slow)],
)
def test_pairs_of_hundreds_of_columns_are_released_by_default_in_time(
    columns: int, seconds: int, tmp_path: Path
) -> None:
    """4,950 and 19,900 tables; processor time, because machines that test are shared."""
    rng = np.random.default_rng(5)
    domain = {f"c{k:03}": 2 + k % 4 for k in range(columns)}
    data = pl.DataFrame({name: rng.integers(0, size, 5_000) for name, size in domain.items()})
    session = ht.Session.open(
        data, schema=ht.Schema.from_domain(domain), ledger=tmp_path / "l", budget=ht.ZCDP(1)
    )
    start = time.process_time()
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP(1))
    assert len(release.published(release.workload)[0]) == sum(
        a * b for a, b in combinations(domain.values(), 2)
    )
    assert time.process_time() - start < seconds


def test_the_nth_largest_is_that_of_a_sorted_array() -> None:
    generator = np.random.default_rng(7)
    for size in (0, 1, 3, 4, 5, 40):
        values = generator.integers(0, 9, size).astype(np.float64)  # with ties
        wanted = np.sort(values)[size - 4] if size >= 4 else -1.0
        assert pair_loops.nth_largest(values, 4) == wanted
