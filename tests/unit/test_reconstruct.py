"""Estimates from noisy answers: generalised least squares with explicit matrices is the judge."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest

from hushtable.errors import WorkloadError
from hushtable.marginals import Layout, closure, lift
from hushtable.measurement import Answers, MarginalPart, ResidualPart
from hushtable.planning import BatchPlan, marginal_error_model
from hushtable.privacy import (
    GaussianNoise,
    LaplaceNoise,
    discrete_gaussian_variance,
    discrete_laplace_variance,
    gaussian_segments,
)
from hushtable.reconstruct import from_answers, from_marginals, from_residuals
from simulation import by_run, linear_map
from thresholds import Z

SIZES = (3, 2, 4)


def marginal_matrix(attributes, sizes=SIZES):
    """The 0/1 matrix that sums a flat table to a marginal."""
    matrix = np.eye(1)
    for i, n in enumerate(sizes):
        matrix = np.kron(matrix, np.eye(n) if i in attributes else np.ones((1, n)))
    return matrix


def lifted_matrix(attributes, sizes=SIZES):
    matrix = np.eye(1)
    for i, n in enumerate(sizes):
        matrix = np.kron(matrix, n * np.eye(n) - 1 if i in attributes else np.ones((1, n)))
    return matrix


def least_squares(rows, answers, variances, targets):
    """Minimum-variance linear estimate of target @ x, and its covariance, from answers = rows @ x + noise."""
    weight = np.concatenate([np.full(len(r), 1 / v) for r, v in zip(rows, variances, strict=True)])
    design = np.vstack(rows)
    information = np.linalg.pinv(design.T @ (weight[:, None] * design), hermitian=True, rcond=1e-12)
    x = information @ (design.T @ (weight * np.concatenate(answers)))
    return [(t @ x, t @ information @ t.T) for t in targets]


def table(seed=0, sizes=SIZES):
    return np.random.default_rng(seed).integers(0, 30, sizes)


def marginal(array, attributes):
    return array.sum(axis=tuple(i for i in range(array.ndim) if i not in attributes))


WORKLOADS = [
    ((0, 1), (1, 2)),
    ((0, 1, 2),),
    ((0,), (1,), (2,)),
    ((0, 1), (0,), (), (2,)),
]


@pytest.mark.parametrize("sets", WORKLOADS)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_noisy_marginals_give_generalised_least_squares_and_its_variances(sets, noise):
    rng = np.random.default_rng(1)
    layout = Layout(SIZES, sets)
    answers = [marginal(table(), s) + rng.integers(-5, 6, layout.shape(s)) for s in sets]
    scales = [Fraction(k + 2, 3) for k in range(len(sets))]
    if noise == "gaussian":
        noises = tuple(GaussianNoise(s) for s in scales)
        variances = [discrete_gaussian_variance(s) for s in scales]
    else:
        noises = tuple(LaplaceNoise(s) for s in scales)
        variances = [discrete_laplace_variance(s) for s in scales]
    flat = np.concatenate([a.ravel() for a in answers]).astype(np.int64)
    estimates = from_marginals(layout, flat, noises)
    targets = closure(sets)
    expected = least_squares(
        [marginal_matrix(s) for s in sets],
        [a.ravel() for a in answers],
        variances,
        [marginal_matrix(t) for t in targets],
    )
    for target, (values, covariance) in zip(targets, expected, strict=True):
        assert np.allclose(estimates.marginal(target).ravel(), values, atol=1e-8)
        assert np.allclose(np.diag(covariance), estimates.variance(target), rtol=1e-8)


@pytest.mark.parametrize("sets", WORKLOADS)
def test_noisy_residuals_give_generalised_least_squares_and_its_variances(sets):
    rng = np.random.default_rng(2)
    residuals = closure(sets)
    layout = Layout(SIZES, residuals)
    precisions = [Fraction(k + 1, 4) for k in range(len(residuals))]
    answers = [lift(marginal(table(), s)) + rng.integers(-9, 10, layout.shape(s)) for s in residuals]
    flat = np.concatenate([a.ravel() for a in answers]).astype(np.int64)
    estimates = from_residuals(layout, flat, precisions)
    variances = [
        discrete_gaussian_variance(prod(layout.shape(s)) ** 2 / p)
        for s, p in zip(residuals, precisions, strict=True)
    ]
    expected = least_squares(
        [lifted_matrix(s) for s in residuals],
        [a.ravel() for a in answers],
        variances,
        [marginal_matrix(t) for t in residuals],
    )
    for target, (values, covariance) in zip(residuals, expected, strict=True):
        assert np.allclose(estimates.marginal(target).ravel(), values, atol=1e-8)
        assert np.allclose(np.diag(covariance), estimates.variance(target), rtol=1e-8)


def test_repeated_and_mixed_measurements_combine_as_least_squares():
    rng = np.random.default_rng(3)
    counts = table()
    first = Layout(SIZES, closure([(0, 1)]))
    second = Layout(SIZES, ((0, 1), (1, 2)))
    lifted = [lift(marginal(counts, s)) + rng.integers(-9, 10, first.shape(s)) for s in first.sets]
    plain = [marginal(counts, s) + rng.integers(-3, 4, second.shape(s)) for s in second.sets]
    precisions = [Fraction(1, 5), Fraction(1, 2), Fraction(1, 3), Fraction(1, 7)]
    once = np.concatenate([a.ravel() for a in lifted])
    residuals = ResidualPart(SIZES, first.sets, tuple(precisions))
    marginals = MarginalPart(SIZES, second.sets, GaussianNoise, (Fraction(1, 12), Fraction(1, 15)))
    parts = [
        Answers(residuals, once),
        Answers(marginals, np.concatenate([a.ravel() for a in plain])).residuals(),
        Answers(residuals, once + 1),
    ]
    together = from_answers(Answers.pooled(SIZES, parts))
    spans = [prod(first.shape(s)) for s in first.sets]
    variances = [discrete_gaussian_variance(n * n / p) for n, p in zip(spans, precisions, strict=True)]
    rows = [lifted_matrix(s) for s in first.sets]
    targets = closure(second.sets)
    expected = least_squares(
        [*rows, *(marginal_matrix(s) for s in second.sets), *rows],
        [*(a.ravel() for a in lifted), *(a.ravel() for a in plain), *(a.ravel() + 1 for a in lifted)],
        [*variances, 12.0, 15.0, *variances],
        [marginal_matrix(t) for t in targets],
    )
    for target, (values, covariance) in zip(targets, expected, strict=True):
        assert np.allclose(together.marginal(target).ravel(), values, atol=1e-8)
        assert np.allclose(np.diag(covariance), together.variance(target), rtol=1e-8)


def test_one_way_tables_measure_the_total_once_each():
    """d one-way marginals with variance s know the total with precision sum 1 / (n_i s)."""
    layout = Layout(SIZES, ((0,), (1,), (2,)))
    model = marginal_error_model(layout, (GaussianNoise(Fraction(20)),) * 3)
    assert 1 / model.variance(()) == pytest.approx(sum(1 / (n * 20) for n in SIZES))


def test_shared_sub_tables_agree_between_all_estimates():
    rng = np.random.default_rng(4)
    sizes = (5, 3, 4, 2)
    layout = Layout(sizes, tuple(combinations(range(4), 3)))
    estimates = from_marginals(layout, rng.integers(0, 99, layout.cells), (LaplaceNoise(Fraction(3)),) * 4)
    tables = {s: estimates.marginal(s) for s in layout.sets}
    for a, b in combinations(layout.sets, 2):
        common = tuple(sorted(set(a) & set(b)))
        down = [
            t.sum(axis=tuple(k for k, i in enumerate(s) if i not in common))
            for s, t in ((a, tables[a]), (b, tables[b]))
        ]
        assert np.allclose(down[0], down[1], atol=1e-9)


def test_what_was_never_measured_counts_as_zero_and_has_no_variance():
    layout = Layout(SIZES, ((), (0,)))
    estimates = from_residuals(layout, np.array([100, 0, 10, -10]), [Fraction(1), Fraction(1)])
    assert np.isinf(estimates.variance((0, 1)))
    assert not estimates.measured((0, 1))
    assert estimates.measured((0,))
    assert np.isinf(estimates.errors([(0, 1)]).half_width[0])
    assert np.allclose(
        estimates.marginal((0, 1)), np.repeat(estimates.marginal((0,))[:, None] / 2, 2, axis=1)
    )


def test_an_attribute_of_size_one_is_known_without_measurement():
    layout = Layout((3, 1), ((0, 1),))
    estimates = from_marginals(layout, np.array([5, 6, 7]), (GaussianNoise(Fraction(100)),))
    assert estimates.measured((0, 1))
    assert estimates.variance((0, 1)) == pytest.approx(100)
    assert np.allclose(estimates.marginal((0, 1)).ravel(), [5, 6, 7])


def test_answers_of_every_form_lead_to_the_same_functions():
    layout = Layout(SIZES, ((0, 1),))
    values = np.arange(6)
    for kind in (GaussianNoise, LaplaceNoise):
        answers = Answers(MarginalPart(SIZES, layout.sets, kind, (Fraction(1, 9),)), values)
        expected = from_marginals(layout, values, (kind(Fraction(9)),))
        assert np.array_equal(from_answers(answers).values, expected.values)
        assert from_answers(answers).variance((0, 1)) == expected.variance((0, 1))
    answers = Answers(ResidualPart(SIZES, layout.sets, (Fraction(1, 5),)), values)
    assert from_answers(answers).precisions == pytest.approx([1 / 5])


@pytest.mark.parametrize("shrink", [1, Fraction(9, 10)])
def test_predicted_variances_match_simulation_and_reject_noise_ten_percent_too_small(shrink):
    """Mean squared error over 20,000 runs against the prediction, one z-score per marginal."""
    sizes, runs = (3, 4), 20_000
    part = ResidualPart(sizes, closure([(0, 1)]), tuple(Fraction(1, k) for k in (7, 3, 5, 2)))
    plan, layout = BatchPlan(((0, 1),), part), part.layout
    noise = [variance * shrink**2 for variance in part.noise.parameters]
    draws = by_run(gaussian_segments(noise, [n * runs for n in layout.lengths.tolist()]).draw(), layout, runs)
    matrix = linear_map(
        lambda answers: from_residuals(layout, answers, part.precisions).estimate_all(layout), layout
    )
    errors = draws @ matrix
    model = plan.error_model()
    scores = []
    for k, s in enumerate(layout.sets):
        cells = errors[:, layout.offsets[k] : layout.offsets[k + 1]]
        squares = (cells**2).mean(axis=1) / model.variance(s)
        scores.append((squares.mean() - 1) / (squares.std() / runs**0.5))
    if shrink == 1:
        assert np.abs(scores).max() < Z
    else:
        assert max(scores) < -Z


def test_adult_size_reconstruction_takes_a_fraction_of_a_second():
    sizes = (28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2)
    target = Layout(sizes, tuple(combinations(range(15), 3)))
    layout = Layout(sizes, closure(target.sets))
    answers = np.random.default_rng(5).integers(-99, 99, layout.cells)
    precisions = [Fraction(1, 3)] * len(layout.sets)
    from_residuals(layout, answers, precisions).estimate_all(target)
    started = time.perf_counter()
    flat = from_residuals(layout, answers, precisions).estimate_all(target)
    assert time.perf_counter() - started < 3
    assert flat.shape == (target.cells,)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: from_residuals(Layout((2,), ((0,),)), np.array([1, 2]), []), "reconstruct.noise"),
    ],
)
def test_measurements_that_do_not_fit_together_are_refused(call, code):
    with pytest.raises(WorkloadError) as caught:
        call()
    assert caught.value.code == code
