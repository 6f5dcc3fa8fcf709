"""Decomposition into residuals and back, against the paper's example and explicit Kronecker matrices."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import WorkloadError
from hushtable.marginals import centre, decompose, lift, reconstruct

AGE_BY_EDUCATION = np.array([[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]])


def subtraction(n: int) -> np.ndarray:
    return np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)])


def kron(matrices: list[np.ndarray]) -> np.ndarray:
    return reduce(np.kron, matrices, np.eye(1))


def decompose_matrix(sizes: tuple[int, ...], gamma: tuple[int, ...], tau: tuple[int, ...]) -> np.ndarray:
    """T of aim-grem, eq. 3, rows in the order of gamma's axes."""
    return kron([subtraction(sizes[i]) if i in tau else np.ones((1, sizes[i])) for i in gamma])


def subsets(axes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [s for k in range(len(axes) + 1) for s in combinations(axes, k)]


@pytest.mark.parametrize(
    ("tau", "residual"),
    [((), 100), ((0,), [5, 9, 30]), ((1,), [1, 12]), ((0, 1), [[4, 13], [-6, 6], [11, 13]])],
)
def test_the_worked_example_of_the_paper_decomposes_as_printed(tau, residual):
    assert decompose(AGE_BY_EDUCATION, (0, 1), tau).tolist() == residual


@pytest.mark.parametrize(
    ("tau", "twelfths"),
    [
        ((), [[100] * 3] * 4),
        ((0,), [[-44] * 3, [-24] * 3, [-8] * 3, [76] * 3]),
        ((1,), [[-13, -10, 23]] * 4),
        # The paper prints 32 in row 2; rows of this part must add to zero, so it is 33.
        ((0, 1), [[41, 14, -55], [-27, -6, 33], [41, -58, 17], [-55, 50, 5]]),
    ],
)
def test_the_worked_example_of_the_paper_reconstructs_as_printed(tau, twelfths):
    part = reconstruct(decompose(AGE_BY_EDUCATION, (0, 1), tau), tau, (0, 1), (4, 3))
    # The parts for single attributes are printed over 12, smeared over the other attribute.
    assert np.allclose(part * 12, np.array(twelfths), atol=1e-12)


def test_integers_stay_integers_and_fractions_stay_exact():
    assert decompose(AGE_BY_EDUCATION.astype(np.uint8), (0, 1), (0, 1)).dtype == np.int64
    exact = np.array([[Fraction(int(x)) for x in row] for row in AGE_BY_EDUCATION], object)
    total = sum(reconstruct(decompose(exact, (0, 1), t), t, (0, 1), (4, 3)) for t in subsets((0, 1)))
    assert (total == exact).all()
    assert all(isinstance(x, Fraction) for x in total.ravel())


@pytest.mark.parametrize("gamma", list(permutations((2, 5, 7))))
def test_any_order_of_axes_is_followed_on_both_sides(gamma):
    sizes = {2: 4, 5: 3, 7: 2}
    rng = np.random.default_rng(1)
    sorted_marginal = rng.integers(0, 50, (4, 3, 2))
    mu = sorted_marginal.transpose([(2, 5, 7).index(axis) for axis in gamma])
    for tau in subsets((2, 5, 7)):
        plain = decompose(sorted_marginal, (2, 5, 7), tau)
        for order in permutations(tau):
            zeta = decompose(mu, gamma, order)
            assert zeta.shape == tuple(sizes[axis] - 1 for axis in order)
            assert (zeta == plain.transpose([tau.index(axis) for axis in order])).all()
            part = reconstruct(zeta, order, gamma, [sizes[axis] for axis in gamma])
            expected = reconstruct(plain, tau, (2, 5, 7), (4, 3, 2))
            assert np.allclose(part, expected.transpose([(2, 5, 7).index(axis) for axis in gamma]))


@pytest.mark.long
@given(st.lists(st.integers(1, 4), min_size=0, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_parts_add_up_to_the_marginal_and_match_kronecker_matrices(sizes, seed):
    gamma = tuple(range(len(sizes)))
    mu = np.random.default_rng(seed).integers(-1000, 1000, sizes)
    total = np.zeros(sizes)
    for tau in subsets(gamma):
        matrix = decompose_matrix(tuple(sizes), gamma, tau)
        zeta = decompose(mu, gamma, tau)
        assert np.array_equal(zeta.ravel(), matrix @ mu.ravel())
        part = reconstruct(zeta, tau, gamma, sizes)
        assert np.allclose(part.ravel(), np.linalg.pinv(matrix) @ zeta.ravel(), atol=1e-8)
        total = total + part
    assert np.allclose(total, mu, atol=1e-9)


@given(st.lists(st.integers(1, 5), min_size=0, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_lift_is_the_integer_kronecker_product_and_centre_its_quotient(sizes, seed):
    mu = np.random.default_rng(seed).integers(0, 1000, sizes)
    matrix = kron([n * np.eye(n) - np.ones((n, n)) for n in sizes])
    lifted = lift(mu)
    assert lifted.dtype == np.int64
    assert np.array_equal(lifted.ravel(), matrix @ mu.ravel())
    assert np.allclose(centre(mu), lifted / max(mu.size, 1), atol=1e-9)


def test_the_centred_form_equals_the_reconstruction_of_the_same_residual():
    mu = np.random.default_rng(3).integers(0, 99, (4, 3, 5))
    part = reconstruct(decompose(mu, (0, 1, 2), (0, 2)), (0, 2), (0, 1, 2), (4, 3, 5))
    assert np.allclose(part, centre(mu.sum(axis=1))[:, None, :] / 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: decompose(AGE_BY_EDUCATION, (0,), ()),
        lambda: decompose(AGE_BY_EDUCATION, (0, 0), ()),
        lambda: decompose(AGE_BY_EDUCATION, (0, 1), (2,)),
        lambda: decompose(AGE_BY_EDUCATION, (0, -1), ()),
        lambda: decompose(AGE_BY_EDUCATION, (0, 1), (1, 1)),
        lambda: decompose(AGE_BY_EDUCATION, (0, True), ()),
        lambda: decompose(np.array(["a"]), (0,), ()),
        lambda: decompose(np.zeros((0, 2)), (0, 1), ()),
        lambda: reconstruct([1, 2], (0,), (0,), (4,)),
        lambda: reconstruct([1, 2], (0,), (0,), (3, 3)),
        lambda: reconstruct([1, 2], (0,), (1,), (3,)),
        lambda: reconstruct([1, 2], (0,), (0, 1), (3, 0)),
    ],
)
def test_axes_that_do_not_fit_are_refused_with_a_code(call):
    with pytest.raises(WorkloadError) as caught:
        call()
    assert caught.value.code == "workload.axes"
