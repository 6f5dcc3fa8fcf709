"""Draws of the system's bits against exact probabilities, and wrong distributions that the same tests reject.

Each chi-square test fails by chance at the rate `thresholds.FALSE_ALARM`; there are about fifty of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray

from bit_sources import SeededBits
from hushtable.errors import BudgetError
from hushtable.privacy import (
    BitSource,
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    gaussian_segments,
    laplace_segments,
    uniform_below,
)
from hushtable.selftest.noise_check import gaussian_below, laplace_below
from thresholds import DRAWS, LEAST_EXPECTED, MUTANT_SCALE, Z, chi_square_threshold

SCALES = ["0.3", "0.5", "0.9", "1", "1.5", "3", "7.7", "40", "1000", "1e6", "1e9", "1e12"]

Tail = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def statistic(drawn: NDArray[np.int64], below: Tail, scale: float) -> tuple[float, int]:
    """Chi-square over about thirty cells of similar probability and the number of cells."""
    guess = np.quantile(drawn.astype(float), np.linspace(0, 1, 31)[1:-1])
    edges = np.unique(np.round(np.concatenate((guess, [-3, -2, -1, 0, 1, 2, 3, 4] if scale < 3 else []))))
    while True:
        chance = np.diff(np.concatenate(([0.0], below(edges, scale), [1.0])))
        poor = np.flatnonzero(chance * drawn.size < LEAST_EXPECTED)
        if poor.size == 0:
            break
        edges = np.delete(edges, min(int(poor[0]), edges.size - 1))
    seen = np.histogram(drawn, np.concatenate(([-np.inf], edges, [np.inf])))[0]
    expected = chance * drawn.size
    return float(((seen - expected) ** 2 / expected).sum()), chance.size


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
def test_gaussians_have_their_exact_probabilities(scale: str) -> None:
    value, cells = statistic(discrete_gaussian(Fraction(scale) ** 2, DRAWS), gaussian_below, float(scale))
    assert value < chi_square_threshold(cells)


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
def test_laplacians_have_their_exact_probabilities(scale: str) -> None:
    value, cells = statistic(discrete_laplace(scale, DRAWS), laplace_below, float(scale))
    assert value < chi_square_threshold(cells)


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
def test_scales_that_are_one_percent_wrong_are_noticed(scale: str) -> None:
    wrong, bits = Fraction(scale) * MUTANT_SCALE, SeededBits(1)
    value, cells = statistic(discrete_gaussian(wrong**2, DRAWS, bits=bits), gaussian_below, float(scale))
    assert value > chi_square_threshold(cells)
    value, cells = statistic(discrete_laplace(wrong, 2 * DRAWS, bits=bits), laplace_below, float(scale))
    assert value > chi_square_threshold(cells)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES[:9])
def test_twenty_million_draws_still_fit(scale: str) -> None:
    for drawn, below in (
        (discrete_gaussian(Fraction(scale) ** 2, 20 * DRAWS), gaussian_below),
        (discrete_laplace(Fraction(scale), 20 * DRAWS), laplace_below),
    ):
        value, cells = statistic(drawn, below, float(scale))
        assert value < chi_square_threshold(cells)


@pytest.mark.parametrize(
    "draw", [lambda: discrete_gaussian(10**16, DRAWS), lambda: discrete_laplace(10**8, DRAWS)]
)
def test_wide_noise_is_fair_in_its_last_digits_and_signs(draw: Callable[[], NDArray[np.int64]]) -> None:
    drawn = draw()
    for modulus in (2, 3, 64, 1000):
        seen = np.bincount(drawn % modulus, minlength=modulus)
        expected = drawn.size / modulus
        assert ((seen - expected) ** 2 / expected).sum() < chi_square_threshold(modulus)
    assert abs((drawn > 0).sum() - (drawn < 0).sum()) < Z * math.sqrt(drawn.size)
    centred = drawn / np.std(drawn)
    assert abs((centred[1:] * centred[:-1]).sum()) < Z * math.sqrt(drawn.size)


@pytest.mark.long
def test_segments_have_the_distribution_of_their_own_scale() -> None:
    scales = [Fraction(1, 2), Fraction(3), Fraction(1000)] * 20_000
    for many, below, power in (
        (gaussian_segments, gaussian_below, 2),
        (laplace_segments, laplace_below, 1),
    ):
        drawn = many([s**power for s in scales], [10] * len(scales)).draw().reshape(-1, 3, 10)
        for k in range(3):
            value, cells = statistic(drawn[:, k].ravel(), below, float(scales[k]))
            assert value < chi_square_threshold(cells)
            mistaken, cells = statistic(drawn[:, k - 1].ravel(), below, float(scales[k]))
            assert mistaken > chi_square_threshold(cells)


def two_sample(a: NDArray[np.int64], b: NDArray[np.int64], reach: int) -> tuple[float, int]:
    rows = np.array([np.bincount(np.clip(x, -reach, reach) + reach, minlength=2 * reach + 1) for x in (a, b)])
    expected = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / rows.sum()
    return float(((rows - expected) ** 2 / expected).sum()), 2 * reach + 1


@pytest.mark.long
def test_opendp_draws_from_the_same_distributions() -> None:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    zeros = [0] * 20_000
    theirs = np.array(dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=2.0)(zeros))
    value, cells = two_sample(theirs, discrete_gaussian(4, DRAWS), 4)
    assert value < chi_square_threshold(cells)
    assert two_sample(theirs, discrete_gaussian(5, DRAWS), 4)[0] > chi_square_threshold(cells)
    theirs = np.array(dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=1.5)(zeros))
    value, cells = two_sample(theirs, discrete_laplace("1.5", DRAWS), 4)
    assert value < chi_square_threshold(cells)
    assert two_sample(theirs, discrete_laplace("1.8", DRAWS), 4)[0] > chi_square_threshold(cells)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000])
def test_uniform_integers_are_uniform(bound: int) -> None:
    drawn = uniform_below(bound, DRAWS // 4)
    seen = np.bincount(drawn, minlength=bound)
    assert seen.size == bound and ((seen - drawn.size / bound) ** 2).sum() * bound / drawn.size < (
        chi_square_threshold(max(bound, 2))
    )


def test_uniform_integers_reach_their_whole_range() -> None:
    drawn = uniform_below(2**63, 1000)
    assert drawn.min() >= 0 and drawn.max() > 2**62
    near = uniform_below(3 * 2**61, DRAWS // 4)  # a quarter of all words is superfluous here
    seen = np.bincount(near >> 61, minlength=3)
    assert ((seen - near.size / 3) ** 2).sum() * 3 / near.size < chi_square_threshold(3)


@pytest.mark.parametrize("chance", ["0", "1", "1/2", "1/3", "0.999", "1e-4"])
def test_bernoulli_draws_have_their_chance(chance: str) -> None:
    p, drawn = float(Fraction(chance)), bernoulli(chance, DRAWS)
    assert drawn.dtype == np.bool_
    assert abs(drawn.sum() - p * DRAWS) <= Z * math.sqrt(p * (1 - p) * DRAWS)


@pytest.mark.parametrize("x", ["0", "1/3", "1", "5", "1000"])
def test_bernoulli_draws_of_an_exponential_have_their_chance(x: str) -> None:
    p, drawn = math.exp(-float(Fraction(x))), bernoulli_exp(x, (100, DRAWS // 100))
    assert drawn.shape == (100, DRAWS // 100)
    assert abs(drawn.sum() - p * DRAWS) <= Z * math.sqrt(p * (1 - p) * DRAWS)


def selection_statistic(scores: list[int], factor: str, tested: str, bits: BitSource | None = None) -> float:
    drawn = np.array([exponential_mechanism(scores, factor, bits=bits) for _ in range(20_000)])
    weights = np.exp(float(Fraction(tested)) * (np.array(scores) - max(scores)))
    expected = weights / weights.sum() * drawn.size
    seen = np.bincount(drawn, minlength=len(scores))
    return float(((seen - expected) ** 2 / expected).sum())


@pytest.mark.long
@pytest.mark.parametrize(
    ("scores", "factor"),
    [
        ([0, 1, 2, 3], "0.5"),
        ([5, 5, 5], "3"),
        ([10**6, 10**6 - 1000, 10**6 + 500], "0.001"),
        ([1, 9, 4, -3], "0"),
    ],
)
def test_selection_has_its_exact_probabilities(scores: list[int], factor: str) -> None:
    assert selection_statistic(scores, factor, factor) < chi_square_threshold(len(scores))


@pytest.mark.long
def test_selection_with_a_factor_ten_percent_wrong_is_noticed() -> None:
    assert selection_statistic([0, 1, 2, 3], "1.1", "1", SeededBits(2)) > chi_square_threshold(4)


def test_selection_at_the_edges() -> None:
    assert exponential_mechanism([7], "1e9") == 0
    assert exponential_mechanism([-(2**62), 2**62 - 1], Fraction(1, 10**3)) == 1
    assert exponential_mechanism(np.array([0, 3], dtype=np.uint8), "1e400") == 1
    assert exponential_mechanism([0, 1], "1e-400") in (0, 1)
    for scores in ([], [0.5], [[1, 2]], ["a"]):
        with pytest.raises(BudgetError, match=r"noise\.scores"):
            exponential_mechanism(scores, 1)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match=r"noise\.too-large"):
        exponential_mechanism([0, 2**62], 1)
    with pytest.raises(BudgetError, match=r"noise\.too-large"):
        exponential_mechanism(np.array([0, 2**64 - 1], dtype=np.uint64), 1)
    with pytest.raises(BudgetError, match=r"noise\.factor"):
        exponential_mechanism([0, 1], -1)


def test_edge_scales_and_shapes() -> None:
    assert not discrete_gaussian("1e-700", 1000).any() and not discrete_laplace("1e-700", 1000).any()
    assert not discrete_gaussian("0.0001", 1000).any()
    assert discrete_gaussian(2, 0).shape == (0,) and discrete_laplace(2, (3, 0)).shape == (3, 0)
    assert gaussian_segments([], []).draw().size == 0
    assert discrete_gaussian(2, ()).shape == () and discrete_laplace(2, (2, 3, 4)).dtype == np.int64
    for draw, largest in ((discrete_gaussian, 2**114), (discrete_laplace, 2**53)):
        assert np.abs(draw(largest, 1000)).max() < 2**62
        for bad, code in (
            (2 * largest, "too-large"),
            ("1e4000", "too-large"),
            (0, "not-positive"),
            (-1, "not-positive"),
        ):
            with pytest.raises(BudgetError, match=code):
                draw(bad, 1)
        for bad in ("x", float("nan"), True):
            with pytest.raises(BudgetError, match=r"budget\.unreadable"):
                draw(bad, 1)
    with pytest.raises(BudgetError, match=r"noise\.lengths"):
        gaussian_segments([Fraction(1)], [1, 2])
    with pytest.raises(BudgetError, match=r"noise\.lengths"):
        gaussian_segments([Fraction(1)], [-1])
    with pytest.raises(BudgetError, match=r"noise\.bound"):
        uniform_below(0, 1)
    with pytest.raises(BudgetError, match=r"noise\.chance"):
        bernoulli("1.5")
    with pytest.raises(BudgetError, match=r"noise\.chance"):
        bernoulli_exp(-1)
