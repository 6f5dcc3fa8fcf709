"""One-way tables: the hidden chain against an enumeration of all its paths, medians against quadrature, and gains."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm

from hushtable.marginals import put_free
from hushtable.marginals.free_counts import LEAST_FREE
from hushtable.reconstruct import maxent_loops, one_way_loops
from hushtable.reconstruct.one_way import one_way_table, to_simplex


def chain(seed: int, values: int = 4, levels: int = 3) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    likelihoods = rng.random((values, levels))
    kernels = rng.dirichlet(np.ones(levels), (2, levels))
    return likelihoods, kernels, rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(levels))


@pytest.mark.parametrize("seed", range(3))
def test_what_other_values_say_of_a_level_is_the_sum_over_all_paths(seed: int) -> None:
    likelihoods, kernels, kinds, shares = chain(seed)
    values, levels = likelihoods.shape
    steps = kinds[0] * shares + np.tensordot(kinds[1:], kernels, 1)
    expected = np.zeros_like(likelihoods)
    for path in product(range(levels), repeat=values):
        weight = shares[path[0]] * np.prod([steps[a, b] for a, b in pairwise(path)])
        for i in range(values):
            others = np.prod([likelihoods[j, path[j]] for j in range(values) if j != i])
            expected[i, path[i]] += weight * others
    found = one_way_loops.learn_levels(likelihoods, kernels, np.eye(levels), kinds, shares, 0)
    parts = found / found.sum(axis=1, keepdims=True)
    assert np.allclose(parts, expected / expected.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(3))
def test_steps_and_draws_are_counted_as_over_all_paths(seed: int) -> None:
    likelihoods, kernels, kinds, shares = chain(seed, values=3)
    values, levels = likelihoods.shape
    seen, drawn, total = np.zeros(3), np.zeros(levels), 0.0
    for path in product(range(levels), repeat=values):
        for how in product(range(3), repeat=values - 1):
            weight = shares[path[0]] * np.prod([likelihoods[i, path[i]] for i in range(values)])
            for i, kind in enumerate(how):
                near = kernels[kind - 1, path[i], path[i + 1]] if kind else shares[path[i + 1]]
                weight *= kinds[kind] * near
            total += weight
            drawn[path[0]] += weight
            for i, kind in enumerate(how):
                seen[kind] += weight
                drawn[path[i + 1]] += weight * (kind == 0)
    steps, ahead, behind = np.empty((levels, levels)), np.empty((values, levels)), np.empty((values, levels))
    one_way_loops.put_steps(kernels, kinds, shares, steps)
    one_way_loops.go_forward(likelihoods, steps, shares, ahead)
    found = np.zeros(3), np.zeros(levels)
    one_way_loops.go_back(likelihoods, kernels, kinds, shares, ahead, behind, *found)
    assert np.allclose(found[0], seen / total) and np.allclose(found[1], drawn / total)


def test_medians_halve_the_law_of_a_count() -> None:
    rng, edges = np.random.default_rng(1), np.array([0.0, 1.0, 4.0, 20.0, 100.0])
    for y in (-7.0, 0.5, 3.0, 30.0, 99.0):
        weights = rng.dirichlet(np.ones(4))
        median = one_way_loops.median_of(weights, y, 5.0, edges)
        below = 0.0
        for weight, low, high in zip(weights, edges, edges[1:], strict=False):
            within = norm(y, 5.0)
            inside = within.cdf(np.clip(median, low, high)) - within.cdf(low)
            below += weight * inside / (within.cdf(high) - within.cdf(low))
        assert below == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("values", [2, 7, 8, 60])
@pytest.mark.parametrize("deviation", [0.01, 30.0, 1e5])
def test_tables_are_nonnegative_and_add_up_whatever_the_noise(values: int, deviation: float) -> None:
    noisy = np.random.default_rng(values).normal(0.0, deviation, values) + 1000.0 / values
    table = one_way_table(noisy, deviation, 1000.0)
    assert (table >= 0.0).all() and table.sum() == pytest.approx(1000.0)
    if deviation < 1.0:
        assert np.abs(table - noisy).max() < 10.0 * deviation + 0.2


def test_sparse_and_smooth_attributes_lie_closer_to_the_truth_than_the_nearest_table() -> None:
    """Means of 60 draws, the gain five standard errors beyond a tenth: chance fails one run in a million."""
    sparse = np.zeros(40)
    sparse[[3, 17]] = 4_000.0, 900.0
    smooth = 5_000.0 * norm(20.0, 8.0).pdf(np.arange(40)) / norm(20.0, 8.0).pdf(np.arange(40)).sum()
    rng = np.random.default_rng(4)
    for truth in (sparse, smooth):
        gains: list[float] = []
        for _ in range(60):
            noise = rng.normal(0.0, 60.0, truth.size)
            noisy = truth + noise - noise.mean()
            nearest = np.abs(to_simplex(noisy, truth.sum()) - truth).sum()
            gains.append(float(np.abs(one_way_table(noisy, 60.0, truth.sum()) - truth).sum() / nearest))
        error = np.std(gains) / np.sqrt(len(gains))
        assert np.mean(gains) + 5.0 * error < 0.9


def test_values_in_no_order_lose_little() -> None:
    rng = np.random.default_rng(5)
    truth = rng.permutation(np.geomspace(50.0, 3_000.0, 15))
    ratios: list[float] = []
    for _ in range(60):
        noise = rng.normal(0.0, 100.0, truth.size)
        noisy = truth + noise - noise.mean()
        nearest = np.abs(to_simplex(noisy, truth.sum()) - truth).sum()
        ratios.append(float(np.abs(one_way_table(noisy, 100.0, truth.sum()) - truth).sum() / nearest))
    assert np.mean(ratios) < 1.05


@pytest.mark.long
def test_what_sums_leave_free_is_the_variance_of_a_cell_given_its_margins() -> None:
    """Tables with given margins are permutations of one column against the other: variances over all of 7! / 1."""
    rows, columns = np.array([0, 0, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1, 1])
    rng = np.random.default_rng(6)
    drawn = np.array([np.histogram2d(rows, rng.permutation(columns), (3, 2))[0] for _ in range(4_000)])
    mean = np.outer(np.bincount(rows), np.bincount(columns)) / 7.0
    free = np.empty(6)
    put_free(mean.ravel(), np.array([3, 2]), free)
    part = (free.reshape(3, 2) / mean) ** 2  # of pairs it is the root
    expected = mean * part * (2.0 / 3.0) * (1.0 / 2.0) * 7.0 / 6.0
    assert np.allclose(drawn.var(axis=0), expected, rtol=0.12)  # five standard errors of a variance


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (3, 1, 4, 2)])
def test_what_sums_leave_free_is_taken_along_every_attribute(shape: tuple[int, ...]) -> None:
    table = np.random.default_rng(7).gamma(0.5, 20.0, shape)
    free = np.empty(table.size)
    put_free(table.ravel(), np.array([*shape, 0, 0]), free)
    expected = table.copy()
    for axis, n in enumerate(shape):
        if n > 1:
            left = np.maximum(1.0 - table / table.sum(axis=axis, keepdims=True), LEAST_FREE)
            expected *= left * n / (n - 1.0)
    if sum(n > 1 for n in shape) == 2:
        expected = np.sqrt(expected * table)
    assert np.allclose(free.reshape(shape), expected)


def test_weights_of_chains_take_up_as_many_numbers_as_the_trace_says() -> None:
    rng = np.random.default_rng(8)
    made = rng.normal(size=(6, 9))
    hessian, t = made @ made.T, np.array([0.3, 0.0, 1.0, maxent_loops.CHAINED, 0.2, 0.7])
    inside = [0, 2, 4, 5]
    part = hessian[np.ix_(inside, inside)]
    expected = np.trace(part @ np.linalg.inv(part + np.eye(4) / 4.0))
    assert maxent_loops.fitted_numbers(hessian, 4.0, t) == pytest.approx(expected)
