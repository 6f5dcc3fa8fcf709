"""The loops behind exact errors equal slow sums in NumPy over the same noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushtable.deciders import Facts, Interval, laplace, noise_loops, tally
from hushtable.deciders.svt import SumSparse

RNG_SEED = 20261116


def plain_smooth(weights: np.ndarray, scale: float) -> np.ndarray:
    return np.convolve(weights, laplace.mass(laplace.support(scale), scale))


def plain_first_reached(weights: np.ndarray, start: int, counts: np.ndarray, scale: float) -> np.ndarray:
    points = start + np.arange(len(weights))
    reached = np.exp([laplace.log_at_least(points - count, scale) for count in counts])
    survived = np.vstack([np.ones(len(points)), np.cumprod(1 - reached, axis=0)])
    found = (weights * survived[:-1] * reached).sum(axis=1)
    found[-1] += (weights * survived[-1]).sum()
    return found


def plain_satisfied(decider: SumSparse, sums: np.ndarray) -> np.ndarray:
    size = len(sums)
    scale, noises = decider.noise[2 + size], decider.noise[3 + size : 3 + 2 * size]
    steps = laplace.support(scale)
    weights = laplace.mass(steps, scale)
    above, inside = np.zeros(len(steps)), np.zeros(len(steps))
    found = np.zeros(size)
    for j, (q, noise) in enumerate(zip(sums, noises, strict=True)):
        lift = np.ceil(steps * 2.0 ** (j + 1 - decider.bits))
        above += laplace.log_at_most(lift + (decider.interval.last - int(q)), noise)
        inside += laplace.log_at_most(lift + (decider.interval.first - 1 - int(q)), noise)
        found[j] = np.dot(weights, np.exp(above) * -np.expm1(inside))
    return found


@pytest.mark.parametrize("scale", [0.3, 2.0, 17.5])
def test_smoothing_is_the_convolution_with_the_noise(scale: float) -> None:
    weights = np.random.default_rng(RNG_SEED).random(40)
    found, plain = laplace.smooth(weights, scale), plain_smooth(weights, scale)
    assert len(found) == len(plain)
    middle = slice(len(laplace.support(scale)) // 2, -(len(laplace.support(scale)) // 2))
    np.testing.assert_allclose(found[middle], plain[middle], rtol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 9.0, 36.0])
def test_the_first_count_that_reaches_the_threshold_is_a_plain_product(scale: float) -> None:
    rng = np.random.default_rng(RNG_SEED)
    weights = rng.random(300)
    weights /= weights.sum()
    counts = np.sort(rng.integers(0, 320, 7))
    found = noise_loops.first_reached(weights, 5, counts, scale)
    np.testing.assert_allclose(found, plain_first_reached(weights, 5, counts, scale), rtol=1e-9, atol=1e-15)
    assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 4), Fraction(2), Fraction(40)])
@pytest.mark.parametrize("bound", [1, 2, 13, 5_000, 2_000_000])
@pytest.mark.parametrize("moved", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(40)])
def test_the_chance_of_a_verdict_is_a_plain_sum_over_the_threshold_noise(
    epsilon: Fraction, bound: int, moved: Fraction
) -> None:
    rng = np.random.default_rng(RNG_SEED)
    values = (bound * rng.random(200) ** 4).astype(np.int64)
    centre = moved * max(1, int(values.sum()))
    decider = SumSparse(epsilon, Facts(Interval(centre, max(Fraction(1), centre / 8)), range(bound + 1)))
    exact = tally(values, decider.edges)
    found = decider._satisfied_by_level(exact)
    np.testing.assert_allclose(
        found, plain_satisfied(decider, exact.cumulative_sums()), rtol=1e-9, atol=1e-14
    )


@pytest.mark.parametrize("epsilon", [4_000, 10**6, 10**9])
@pytest.mark.parametrize("moved", [Fraction(1, 2), Fraction(1), Fraction(3, 2)])
def test_noise_that_rounds_to_nothing_decides_by_the_truth(epsilon: int, moved: Fraction) -> None:
    """One step of noise is then hundreds of scales, and the factors of its tail overflow."""
    values = np.array([0, 1, 5, 5, 6])
    centre = moved * int(values.sum())
    decider = SumSparse(Fraction(epsilon), Facts(Interval(centre, Fraction(2)), range(7)))
    exact = tally(values, decider.edges)
    found = decider._satisfied_by_level(exact)
    plain = plain_satisfied(decider, exact.cumulative_sums())
    np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-14)
