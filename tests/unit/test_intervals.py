"""Half-widths: exact laws where they are known, coverage by simulation, and mutants that must fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import special, stats
from scipy.integrate import quad
from scipy.optimize import brentq

from hushtable.errors import WorkloadError
from hushtable.marginals import Layout, Workload, closure
from hushtable.planning import marginal_error_model, plan_identity, plan_residuals, quantiles
from hushtable.planning.quantiles import (
    SMALLEST_ALPHA,
    half_width,
    normal_spread,
    spread,
    variance_gamma_spread,
)
from hushtable.privacy import GaussianNoise, LaplaceNoise, gaussian_segments, laplace_segments
from hushtable.reconstruct import from_marginals, from_residuals
from simulation import by_run, linear_map
from thresholds import Z

RUNS = 20_000
APPROXIMATION = 0.004
"""How far the coverage of a matched variance-gamma law may lie from the nominal one for sums of a few Laplace noises;
measured below without sampling, by inversion of the exact characteristic function."""


@dataclass(frozen=True)
class Table:
    names: tuple[str, ...]
    sizes: tuple[int, ...]


def resolved(sets, sizes):
    return Workload(sets).resolve(Table(tuple(f"a{k}" for k in range(len(sizes))), sizes))


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 1e-4])
def test_one_laplace_noise_has_its_exact_quantile_and_many_the_normal_one(alpha):
    assert variance_gamma_spread(alpha, 3.0) == pytest.approx(-log(alpha) / 2**0.5, rel=1e-7)
    assert spread(alpha, 0.0)[0] == normal_spread(alpha) == pytest.approx(stats.norm.isf(alpha / 2))
    assert variance_gamma_spread(alpha, 2e-6) == pytest.approx(normal_spread(alpha), rel=1e-5)


@pytest.mark.parametrize("copies", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.001])
def test_a_sum_of_equal_laplace_noises_has_its_exact_quantile(copies, alpha):
    """n equal Laplace noises have excess kurtosis 3/n and are exactly variance-gamma; the judge integrates."""
    h = variance_gamma_spread(alpha, 3.0 / copies) * (2 * copies) ** 0.5

    def inside(t):
        return np.sin(h * t) / t / (1 + t * t) ** copies

    covered = 2 / np.pi * sum(quad(inside, k * np.pi / h, (k + 1) * np.pi / h)[0] for k in range(4000))
    assert covered == pytest.approx(1 - alpha, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9])
def test_half_widths_without_scipy_are_those_of_scipy(alpha):
    """The same function with scipy's ``erfc``, and its root by scipy's own search."""
    for excess in (0.01, 0.7, 3.0, 17.0):
        found = variance_gamma_spread(alpha, excess)
        assert found == pytest.approx(variance_gamma_spread(alpha, excess, special.erfc), rel=1e-12)
        scale, mass = quantiles._gamma_grid(3.0 / excess)
        root = brentq(
            lambda h, s=scale, m=mass: m @ special.erfc(h / np.sqrt(2 * s)) - alpha, 1e-9, 60, xtol=1e-15
        )
        assert found == pytest.approx(root, rel=1e-12)


def test_a_root_is_found_where_a_function_is_steep_or_already_0():
    assert quantiles._root(lambda t: 1e-4 * (exp(t) - 1 - t) - 40.0, 0.0, 60.0) == pytest.approx(
        brentq(lambda t: 1e-4 * (exp(t) - 1 - t) - 40.0, 0.0, 60.0, xtol=1e-15), rel=1e-12
    )
    assert quantiles._root(lambda t: t, 0.0, 3.0) == quantiles._root(lambda t: t, -3.0, 0.0) == 0.0
    assert quantiles._root(lambda t: t - 1.0, -1.0, 3.0) == 1.0
    assert quantiles._root(lambda t: 1.0 - t, 0.0, 3.0) == 1.0


def test_many_kurtoses_at_once_are_interpolated_to_1e_6():
    excess = np.linspace(0.001, 5.5, 300)
    found = spread(0.05, excess)
    for k in range(0, 300, 23):
        assert found[k] == pytest.approx(variance_gamma_spread(0.05, float(excess[k])), abs=1e-6)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(7, 2), Fraction(40)]
)
@pytest.mark.parametrize("alpha", [0.3, 0.05, 0.001])
def test_raw_integer_counts_have_the_smallest_sufficient_integer_half_width(scale, alpha):
    x = np.arange(-4000, 4001)
    for mass, width in (
        (np.exp(-np.abs(x) / float(scale)), half_width(LaplaceNoise(scale), alpha)),
        (np.exp(-(x**2) / (2 * float(scale))), half_width(GaussianNoise(scale), alpha)),
    ):
        mass = mass / mass.sum()
        assert mass[np.abs(x) > width].sum() <= alpha
        assert width == 0 or mass[np.abs(x) > width - 1].sum() > alpha


def test_a_huge_discrete_gaussian_is_treated_as_normal():
    assert half_width(GaussianNoise(Fraction(10**14)), 0.05) == pytest.approx(
        1e7 * normal_spread(0.05), rel=1e-6
    )


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan"), "0.05"])
def test_alpha_must_be_a_probability(alpha):
    with pytest.raises(WorkloadError) as caught:
        normal_spread(alpha)
    assert caught.value.code == "planning.alpha"


def test_half_widths_are_right_down_to_the_smallest_alpha_and_refused_below_it() -> None:
    """A Laplace noise of standard deviation 1 exceeds h with probability exp(-h * sqrt(2))."""
    for alpha in (1e-9, 1e-15, SMALLEST_ALPHA):
        assert spread(alpha, 3.0)[0] == pytest.approx(-log(alpha) / sqrt(2), rel=1e-6)
    for alpha in (9e-21, 1e-60, 1e-300, 5e-324):
        with pytest.raises(WorkloadError) as caught:
            spread(alpha, 3.0)
        assert caught.value.code == "planning.alpha-small"


CASES = {
    "single": (((0, 1),), (3, 4)),
    "disjoint": (((0,), (1,)), (3, 4)),
    "overlapping": (((0, 1), (1, 2)), (3, 4, 2)),
    "nested": (((0, 1), (0,), ()), (3, 4)),
    "three-way": (tuple(combinations(range(4), 3)), (2, 3, 2, 3)),
    "with-size-one": (((0, 1), (1, 2)), (3, 1, 4)),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_cumulants_equal_sums_of_powers_over_the_estimator_matrix(case):
    """Variance and fourth cumulant by structure against the explicit weights of every measured cell."""
    sets, sizes = CASES[case]
    layout = Layout(sizes, sets)
    noises = tuple(LaplaceNoise(Fraction(k + 3, 2)) for k in range(len(sets)))
    model = marginal_error_model(layout, noises)
    targets = Layout(sizes, closure(sets))
    matrix = linear_map(lambda y: from_marginals(layout, y, noises).estimate_all(targets), layout)
    variance = np.repeat([s.variance for s in model.sources], layout.lengths)
    fourth = np.repeat([s.fourth for s in model.sources], layout.lengths)
    found = model._fourth_cumulants(targets.sets)
    for k, target in enumerate(targets.sets):
        weights = matrix[:, targets.offsets[k] : targets.offsets[k + 1]]
        cells = (weights**2 * variance[:, None]).sum(axis=0)
        assert np.allclose(cells, model.variance(target), rtol=1e-7)
        assert np.allclose((weights**4 * fourth[:, None]).sum(axis=0), found[k], rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_matched_laplace_half_widths_cover_as_the_exact_law_says(case, alpha):
    """Inversion of the characteristic function of the (continuous) sum of Laplace noises, no sampling."""
    sets, sizes = CASES[case]
    layout = Layout(sizes, sets)
    noises = tuple(LaplaceNoise(Fraction(40 * (k + 3), 2)) for k in range(len(sets)))
    model = replace(marginal_error_model(layout, noises), raw={})
    targets = Layout(sizes, closure(sets))
    matrix = linear_map(lambda y: from_marginals(layout, y, noises).estimate_all(targets), layout)
    scales = np.repeat([float(noise.scale) for noise in noises], layout.lengths)
    widths = model.half_widths(targets.sets, alpha)
    for k in range(len(targets.sets)):
        weights = np.abs(matrix[:, targets.offsets[k]]) * scales
        covered = laplace_sum_coverage(weights[weights > 1e-12], widths[k])
        assert covered == pytest.approx(1 - alpha, abs=min(APPROXIMATION, 0.4 * alpha))


def laplace_sum_coverage(weights: np.ndarray, h: float) -> float:
    """P(|sum of Laplace noises of these scales| <= h): integral of sin(ht)/t times the product of 1/(1+b^2t^2)."""

    def inside(t):
        return np.sin(h * t) / t * np.exp(-np.log1p((weights[:, None] * t) ** 2).sum(axis=0))

    points, heights = np.polynomial.legendre.leggauss(24)
    total = 0.0
    for k in range(3000):
        t = (points + 1 + 2 * k) * (np.pi / h / 2)
        piece = heights @ inside(t) * (np.pi / h / 2)
        total += piece
        if abs(piece) < 1e-9:
            break
    return 2 / np.pi * total


def coverage(errors: np.ndarray, targets: Layout, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of cells within the half-width, by marginal: mean over runs and standard error of that mean."""
    means, deviations = [], []
    for k in range(len(targets.sets)):
        inside = np.abs(errors[:, targets.offsets[k] : targets.offsets[k + 1]]) <= widths[k]
        shares = inside.mean(axis=1)
        means.append(shares.mean())
        deviations.append(max(shares.std(), 0.01) / len(shares) ** 0.5)
    return np.array(means), np.array(deviations)


def simulated_errors(strategy: str, sets, sizes):
    """Errors of all estimated cells over RUNS releases, with the predicted error model."""
    workload = resolved(sets, sizes)
    targets = Layout(sizes, workload.sets)
    if strategy == "residual-planner":
        plan = plan_residuals(workload, rho=Fraction(1, 50))
        layout = plan.part.layout
        draws = gaussian_segments(plan.part.noise.parameters, (layout.lengths * RUNS).tolist()).draw()
        matrix = linear_map(
            lambda y: from_residuals(layout, y, plan.part.precisions).estimate_all(targets), layout
        )
    else:
        budget = (
            {"rho": Fraction(1, 20_000)} if strategy == "identity-gaussian" else {"epsilon": Fraction(1, 200)}
        )
        plan = plan_identity(workload, **budget)
        layout = plan.part.layout
        lengths = (layout.lengths * RUNS).tolist()
        if strategy == "identity-gaussian":
            draws = gaussian_segments(plan.part.noise.parameters, lengths).draw()
        else:
            draws = laplace_segments(plan.part.noise.parameters, lengths).draw()
        mechanisms = plan.part.mechanisms
        matrix = linear_map(lambda y: from_marginals(layout, y, mechanisms).estimate_all(targets), layout)
    return by_run(draws, layout, RUNS) @ matrix, targets, plan.error_model()


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("strategy", ["residual-planner", "identity-gaussian", "identity-laplace"])
def test_intervals_cover_95_percent_and_a_std_ten_percent_too_small_does_not(strategy, case):
    """False-alarm rate of thresholds.Z per marginal; the mutant shrinks every half-width by 10%."""
    sets, sizes = CASES[case]
    errors, targets, model = simulated_errors(strategy, sets, sizes)
    widths = model.half_widths(targets.sets, 0.05)
    covered, deviation = coverage(errors, targets, widths)
    assert (np.abs(covered - 0.95) < Z * deviation + APPROXIMATION).all()
    mutant, deviation = coverage(errors, targets, 0.9 * widths)
    assert (mutant < 0.95 - Z * deviation - APPROXIMATION).any()


def test_the_normal_quantile_would_be_wrong_for_laplace_noise():
    """At 99.9% one Laplace noise needs 4.88 standard deviations, a normal one 3.29."""
    errors, targets, model = simulated_errors("identity-laplace", *CASES["overlapping"])
    alpha = 0.001
    covered, deviation = coverage(errors, targets, model.half_widths(targets.sets, alpha))
    assert (np.abs(covered - (1 - alpha)) < Z * deviation).all()
    normal = np.sqrt(model.cell_variances(targets.sets)) * normal_spread(alpha)
    naive, _ = coverage(errors, targets, normal)
    assert (naive < 1 - 2.5 * alpha).all()


@pytest.mark.parametrize("kind", [GaussianNoise, LaplaceNoise])
def test_a_raw_count_is_a_whole_number_so_that_its_integer_interval_is_closed(kind):
    """Rounding errors of the algebra must not push a truth that lies exactly on the edge out of the interval."""
    layout = Layout((3, 7), ((0, 1),))
    truth = np.random.default_rng(8).integers(0, 10**9, layout.cells)
    noise = kind(Fraction(1))
    width = int(from_marginals(layout, truth, (noise,)).model.half_widths(layout.sets)[0])
    assert (from_marginals(layout, truth + width, (noise,)).estimate_all(layout) - width <= truth).all()
    assert (from_marginals(layout, truth - width, (noise,)).estimate_all(layout) + width >= truth).all()


def test_the_half_width_of_raw_laplace_counts_is_the_integer_quantile():
    layout = Layout((3, 2), ((0, 1),))
    estimates = from_marginals(layout, np.arange(6), (LaplaceNoise(Fraction(5)),))
    width = estimates.model.half_widths(((0, 1), (0,)), 0.1)[0]
    assert width == half_width(LaplaceNoise(Fraction(5)), 0.1)
    q = exp(-1 / 5)
    assert 2 * q ** (width + 1) / (1 + q) <= 0.1


def test_half_widths_exist_for_noise_of_any_kurtosis() -> None:
    """With large budgets nearly all Laplace noises are 0; the half-width is then Chebyshev's, which every law keeps."""
    from hushtable.planning.quantiles import spread

    excess = np.array([0.0, 3.0, 50.0, 1e3, 9e3, 1e6, 1e30, 1e300])
    for alpha in (0.001, 0.05, 0.5):
        found = spread(alpha, excess)
        assert np.isfinite(found).all() and (found > 0).all() and found.max() <= alpha**-0.5 + 1e-6
        assert found[-1] == pytest.approx(alpha**-0.5)


@pytest.mark.long
@pytest.mark.parametrize(("low", "high"), [(1e-5, 3.0), (1e-3, 99.0), (1.0, 9_900.0), (150.0, 9_900.0)])
def test_many_half_widths_at_once_are_never_narrower_than_each_by_itself(low: float, high: float) -> None:
    """And hardly wider, but near the jump to Chebyshev's bound, where nearly all of a law lies at 0."""
    kurtosis = np.geomspace(low, high, 173)
    alone = np.array([variance_gamma_spread(0.05, k) for k in kurtosis])
    together = spread(0.05, kurtosis)
    assert (together >= alone - 1e-5).all()
    assert np.median(together - alone) < 0.02
