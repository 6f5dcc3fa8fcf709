"""Common and residual mechanisms of matrices, against a modelling language, the definitions and Monte Carlo."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from bit_sources import SeededBits
from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.linear import LinearGaussian
from hushtable.linear.loewner import least_upper_bound, shared_blocks
from hushtable.linear.spaces import canonical, intersection
from thresholds import Z

Matrix = np.ndarray


def random_mechanism(rng: np.random.Generator, cells: int, rank: int, extra: int = 0) -> LinearGaussian:
    """Queries of the given rank, ``extra`` of them dependent on the others, correlated noise."""
    rows = rng.normal(size=(rank, cells))
    rows = np.vstack([rows, rng.normal(size=(extra, rank)) @ rows])
    root = rng.normal(size=(rank + extra, rank + extra + 2))
    return LinearGaussian(rows, root @ root.T * 10 ** rng.uniform(-1, 1))


def random_pair(rng: np.random.Generator, cells: int, shared: int, own: int) -> list[LinearGaussian]:
    """Two mechanisms whose row spaces share exactly ``shared`` dimensions."""
    inside = rng.normal(size=(shared, cells))
    pair = []
    for _ in range(2):
        rows = np.vstack([inside, rng.normal(size=(own, cells))])
        rows = np.linalg.qr(rng.normal(size=(shared + own, shared + own)))[0] @ rows
        root = rng.normal(size=(shared + own, shared + own + 2))
        pair.append(LinearGaussian(rows, root @ root.T))
    return pair


def restricted(c: LinearGaussian, m: LinearGaussian) -> Matrix:
    """Covariance with which ``m`` answers the queries of ``c``."""
    return c.queries @ np.linalg.pinv(m.cost, rcond=1e-10, hermitian=True) @ c.queries.T


def is_maximal(c: LinearGaussian, options: list[LinearGaussian]) -> bool:
    """Nothing can be taken off the covariance: the null spaces of ``S - S_j`` together span everything.

    If ``D >= 0`` can be taken off, its range lies in the range of every ``S - S_j``; and the other way round.
    """
    nulls = []
    scale = np.abs(c.covariance).max()
    for m in options:
        values, vectors = np.linalg.eigh(c.covariance - restricted(c, m))
        nulls.append(vectors[:, values < 1e-6 * scale])
    return bool(np.linalg.matrix_rank(np.hstack(nulls), tol=1e-4) == len(c.queries))


def test_example_3_8_the_total_with_variance_one_and_a_half():
    total = LinearGaussian([[1, 1, 1]], [[1.0]])
    both = LinearGaussian([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], 2 * np.eye(4))
    c = linear.common([total, both])
    assert linear.query_variances(c, [[1, 1, 1]]) == pytest.approx([1.5], rel=1e-14)
    assert linear.equivalent(c, LinearGaussian([[1, 1, 1]], [[1.5]]))
    assert linear.answerable(LinearGaussian([[1, 1, 1]], [[2.0]]), from_=c)


def test_example_3_12_two_marginals_share_the_total_with_variance_three():
    first, second = np.kron(np.eye(3), np.ones((1, 3))), np.kron(np.ones((1, 3)), np.eye(3))
    m1, m2 = LinearGaussian(first, np.eye(3)), LinearGaussian(second, np.eye(3))
    c = linear.common([m1, m2])
    assert c.queries == pytest.approx(np.full((1, 9), 1 / 3), rel=1e-14)
    assert linear.equivalent(c, LinearGaussian(np.ones((1, 9)), [[3.0]]))
    differences = np.array([[0, 1, -1], [-1, 1, 0]])
    for m, rows in ((m1, differences @ first), (m2, differences @ second)):
        assert linear.equivalent(linear.residual(m, c), LinearGaussian(rows, [[2, 1], [1, 2]]))
    combined = linear.recreate(m1, c, linear.residual(m1, c), *outputs(m1, c, np.arange(9.0)))
    assert combined == pytest.approx(first @ np.arange(9.0))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_the_closed_form_attains_the_optimum_of_the_semidefinite_program(seed: int):
    rng = np.random.default_rng(seed)
    pair = random_pair(rng, cells=8, shared=int(rng.integers(1, 5)), own=int(rng.integers(0, 3)))
    c = linear.common(pair)
    k = len(c.queries)
    bound = cp.Variable((k, k), symmetric=True)
    program = cp.Problem(cp.Minimize(cp.trace(bound)), [bound - restricted(c, m) >> 0 for m in pair])
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert np.trace(c.covariance) == pytest.approx(program.value, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("cases", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_the_common_mechanism_is_answerable_from_all_and_maximal_on_random_cases(cases):
    rng = np.random.default_rng(7)
    for _ in range(cases):
        pair = random_pair(rng, cells=7, shared=int(rng.integers(1, 4)), own=int(rng.integers(0, 4)))
        c = linear.common(pair)
        assert all(linear.answerable(c, from_=m) for m in pair)
        assert is_maximal(c, pair)
        noisier = LinearGaussian(c.queries, 1.01 * c.covariance)
        assert not is_maximal(noisier, pair), "a hundredth more noise must be noticed"


def test_no_common_mechanism_is_above_ours_by_the_definition():
    """Definition 3.9 with an independent solver: the largest X between ours and the options is ours."""
    pair = random_pair(np.random.default_rng(11), cells=4, shared=3, own=1)
    c = linear.common(pair)
    x = cp.Variable((4, 4), symmetric=True)
    program = cp.Problem(cp.Maximize(cp.trace(x)), [x - c.cost >> 0, *(m.cost - x >> 0 for m in pair)])
    program.solve(solver=cp.CLARABEL)
    assert program.value == pytest.approx(np.trace(c.cost), rel=1e-5)


def test_the_maximal_answer_depends_on_the_basis_so_equality_would_be_the_wrong_test():
    rng = np.random.default_rng(5)
    pair = [LinearGaussian(np.eye(2), s) for s in (np.diag([1.0, 4.0]), np.array([[3.0, 1.0], [1.0, 2.0]]))]
    ours = linear.common(pair)
    skew = rng.normal(size=(2, 2))
    other_covariance = least_upper_bound([skew @ m.covariance @ skew.T for m in pair])
    other = LinearGaussian(skew, other_covariance)
    assert all(linear.answerable(other, from_=m) for m in pair) and not linear.equivalent(ours, other)
    back = np.linalg.inv(skew)
    assert is_maximal(LinearGaussian(np.eye(2), back @ other_covariance @ back.T), pair)


@pytest.mark.long
def test_the_answer_does_not_depend_on_how_the_options_are_written():
    rng = np.random.default_rng(13)
    for _ in range(20):
        a, b = random_pair(rng, cells=6, shared=2, own=2)
        mix = rng.normal(size=(4, 4))
        same = LinearGaussian(mix @ a.queries, mix @ a.covariance @ mix.T)
        c, d = linear.common([a, b]), linear.common([b, same])
        assert linear.equivalent(c, d)
        assert c.queries == pytest.approx(d.queries, abs=1e-7), "the basis is canonical"


@pytest.mark.long
@pytest.mark.parametrize("pairs", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_common_and_residual_together_are_equivalent_to_the_target_on_random_mechanisms(pairs):
    rng = np.random.default_rng(17)
    nothing_shared = 0
    for _ in range(pairs):
        cells = int(rng.integers(2, 8))
        pair = [
            random_mechanism(rng, cells, int(rng.integers(1, cells + 1)), int(rng.integers(0, 3)))
            for _ in range(2)
        ]
        c = linear.common(pair)
        dimension = sum(np.linalg.matrix_rank(m.queries) for m in pair) - np.linalg.matrix_rank(
            np.vstack([m.queries for m in pair])
        )
        assert (0 if c is None else len(c.queries)) == dimension
        nothing_shared += c is None
        for m in pair:
            parts = [p for p in (c, linear.residual(m, c)) if p is not None]
            assert linear.equivalent(linear.stack(parts), m)
            assert sum(p.cost for p in parts) == pytest.approx(m.cost, abs=1e-7 * np.abs(m.cost).max())
    assert nothing_shared > pairs / 25


@pytest.mark.long
def test_recreated_answers_have_the_mean_and_the_least_squares_covariance_of_the_target():
    rng = np.random.default_rng(19)
    for _ in range(50):
        m, other = random_mechanism(rng, 5, 3, extra=2), random_mechanism(rng, 5, 4)
        c = linear.common([m, other])
        r = linear.residual(m, c)
        x = rng.normal(size=5)
        assert linear.recreate(m, c, r, *outputs(m, c, x)) == pytest.approx(m.queries @ x, abs=1e-7)
        a, b = np.eye(len(c.queries)), np.eye(len(r.queries))
        from_common = linear.recreate(m, c, r, a, np.zeros((len(b), len(a))))
        from_residual = linear.recreate(m, c, r, np.zeros((len(a), len(b))), b)
        found = from_common @ c.covariance @ from_common.T + from_residual @ from_residual.T
        fitted = m.queries @ np.linalg.pinv(m.cost, hermitian=True, rcond=1e-10) @ m.queries.T
        assert found == pytest.approx(fitted, abs=1e-7 * np.abs(fitted).max())
        gap = np.linalg.eigvalsh(m.covariance - found)
        assert gap[0] > -1e-8 * gap[-1] and gap[-1] > 1e-3, "less noise than the target when rows depend"


@pytest.mark.parametrize("exact", [True, False])
def test_exact_recreation_has_the_covariance_of_the_target_and_without_noise_it_does_not(exact: bool):
    """200,000 draws of nine entries; see ``thresholds`` for the rate.  Without the noise the test must fail."""
    draws = 200_000
    rng = np.random.default_rng(23)
    m = LinearGaussian([[1, 1], [1, 0], [0, 1]], 2 * np.eye(3))
    c = linear.common([m, LinearGaussian([[1, 1]], [[1.0]])])
    r = linear.residual(m, c)
    common_noise = np.linalg.cholesky(c.covariance) @ rng.normal(size=(len(c.queries), draws))
    residual_noise = rng.normal(size=(len(r.queries), draws))
    found = linear.recreate(m, c, r, common_noise, residual_noise, exact=exact, bits=SeededBits(29))
    error = np.sqrt((np.outer(np.diag(m.covariance), np.diag(m.covariance)) + m.covariance**2) / draws)
    close = np.abs(found @ found.T / draws - m.covariance) < Z * error
    assert close.all() == exact


def test_exact_recreation_needs_a_source_of_bits():
    m = LinearGaussian([[1, 1]], [[1.0]])
    with pytest.raises(WorkloadError, match=r"linear\.bits"):
        linear.recreate(m, m, None, [1.0], None, exact=True)


def test_without_anything_in_common_there_is_no_common_mechanism():
    a, b = LinearGaussian([[1, 0, 0]], [1]), LinearGaussian([[1, 1e-3, 0], [0, 0, 1]], [1, 1])
    assert linear.common([a, b]) is None and linear.budget_saved([a, b]) == 0
    assert linear.residual(a, None) is a
    assert linear.recreate(a, None, a, None, [5.0]) == pytest.approx([5.0])


def test_a_common_mechanism_leaves_no_residual_of_itself():
    m = LinearGaussian([[1, 1], [1, 0]], [1, 2])
    c = linear.common([m, m])
    assert linear.equivalent(c, m) and linear.residual(m, c) is None
    assert linear.recreate(m, c, None, c.queries @ [3.0, 4.0], None) == pytest.approx([7.0, 3.0])


def test_a_residual_of_something_that_is_not_common_is_refused():
    m = LinearGaussian([[1, 1]], [[2.0]])
    for bad in (LinearGaussian([[1, 1]], [[1.0]]), LinearGaussian([[1, 0]], [[9.0]])):
        with pytest.raises(WorkloadError, match=r"linear\.not-common"):
            linear.residual(m, bad)


def test_row_spaces_whose_projections_do_not_commute_intersect_correctly():
    """Planes in space that meet in one line at an angle of 30 degrees."""
    first = np.array([[1.0, 0, 0], [0, 1, 0]])
    second = np.array([[1.0, 0, 0], [0, np.cos(np.pi / 6), np.sin(np.pi / 6)]])
    turn = np.linalg.qr(np.random.default_rng(31).normal(size=(3, 3)))[0]
    line = intersection([first @ turn, second @ turn])
    assert line.shape == (1, 3) and np.abs(line @ turn[0]) == pytest.approx(1.0)
    onto_first, onto_second = first.T @ first, second.T @ second
    assert not np.allclose(onto_first @ onto_second, onto_second @ onto_first)


def test_the_canonical_basis_depends_on_the_space_only():
    rng = np.random.default_rng(37)
    for spoil in (False, True):
        rows = rng.normal(size=(3, 6))
        if spoil:
            rows[:, 0] = 0
            rows[:, 2] = 2 * rows[:, 1]
        found = []
        for _ in range(2):
            basis = np.linalg.qr((rng.normal(size=(3, 3)) @ rows).T)[0].T
            found.append(canonical(basis))
        assert found[0] == pytest.approx(found[1], abs=1e-9)
        assert found[0] @ found[0].T == pytest.approx(np.eye(3))
        pivots = [row[np.abs(row) > 1e-9][0] for row in found[0]]
        assert min(pivots) > 0


def random_covariances(rng: np.random.Generator, count: int, size: int) -> list[Matrix]:
    roots = rng.normal(size=(count, size, size))
    return [r @ r.T + 0.1 * np.eye(size) for r in roots]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_three_or_more_options_attain_the_joint_optimum(seed: int):
    rng = np.random.default_rng(100 + seed)
    options = [LinearGaussian(np.eye(4), s) for s in random_covariances(rng, int(rng.integers(3, 6)), 4)]
    c = linear.common(options)
    bound = cp.Variable((4, 4), symmetric=True)
    program = cp.Problem(cp.Minimize(cp.trace(bound)), [bound - m.covariance >> 0 for m in options])
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert np.trace(c.covariance) == pytest.approx(program.value, rel=1e-7)
    assert all(linear.answerable(c, from_=m) for m in options) and is_maximal(c, options)
    for m in options:
        assert linear.equivalent(linear.stack([c, linear.residual(m, c)]), m)
    folded = linear.common([linear.common(options[:2]), *options[2:]])
    assert np.trace(folded.covariance) >= np.trace(c.covariance) * (1 - 1e-9)


def test_shared_blocks_split_the_program_without_changing_its_optimum():
    rng = np.random.default_rng(41)
    sizes = (3, 2, 1, 1)
    blocks = [random_covariances(rng, 3, k) for k in sizes]
    turn = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    options = []
    for j in range(3):
        whole, at = np.zeros((7, 7)), 0
        for k, block in zip(sizes, blocks, strict=True):
            whole[at : at + k, at : at + k] = block[j]
            at += k
        options.append(turn @ whole @ turn.T)
    assert sorted(map(len, shared_blocks(options)[1])) == [1, 1, 2, 3]
    separate = sum(np.trace(least_upper_bound(block)) for block in blocks)
    assert np.trace(least_upper_bound(options)) == pytest.approx(separate, rel=1e-8)


@pytest.mark.long
def test_many_options_with_matrices_that_commute_need_no_program():
    turn = np.linalg.qr(np.random.default_rng(43).normal(size=(200, 200)))[0]
    values = np.random.default_rng(44).uniform(1, 2, size=(4, 200))
    bound = least_upper_bound([(turn * v) @ turn.T for v in values])
    assert bound == pytest.approx((turn * values.max(axis=0)) @ turn.T)


@pytest.mark.long
def test_a_program_that_is_too_large_is_refused_by_size():
    options = [LinearGaussian(np.eye(70), s) for s in random_covariances(np.random.default_rng(47), 3, 70)]
    with pytest.raises(WorkloadError, match=r"linear\.too-large"):
        linear.common(options)


def test_every_step_of_a_ladder_is_answerable_from_the_next():
    rng = np.random.default_rng(53)
    options = [LinearGaussian(np.eye(3), s) for s in random_covariances(rng, 4, 3)]
    steps = linear.ladder(options)
    assert len(steps) == 4 and steps[-1] is options[-1]
    for k in range(3):
        assert linear.answerable(steps[k], from_=steps[k + 1])
        assert linear.answerable(steps[k], from_=options[k])


@pytest.mark.slow
def test_a_dense_pair_with_two_thousand_cells_is_decomposed_in_a_minute():
    """About 10 s on one thread."""
    first, second = (linear.marginals((20, 10, 10), order=k, rho=1) for k in (2, 3))
    c = linear.common([first.dense(), second.dense()])
    assert c.cost == pytest.approx(linear.common([first, second]).dense().cost, abs=1e-9)


def outputs(m: LinearGaussian, c: LinearGaussian, x: Matrix) -> tuple[Matrix, Matrix]:
    return c.queries @ x, linear.residual(m, c).queries @ x
