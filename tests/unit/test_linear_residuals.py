"""Mechanisms made of marginals: exact arithmetic per residual against matrices, figures of the paper, Monte Carlo."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import inf, prod
from typing import Any

import numpy as np
import pytest

from bit_sources import SeededBits
from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.linear import LinearGaussian, MarginalMechanism
from hushtable.marginals import centre
from thresholds import Z

Set = tuple[int, ...]
Tables = dict[Set, np.ndarray]


def matrix_of(sizes: Set, tables: Mapping[Set, Any]) -> LinearGaussian:
    """The same marginals as explicit rows, one per cell, built cell by cell."""
    rows, noise = [], []
    records = list(np.ndindex(*sizes))
    for gamma, variance in tables.items():
        for cell in np.ndindex(*(sizes[i] for i in gamma)):
            rows.append([float(tuple(record[i] for i in gamma) == cell) for record in records])
            noise.append(float(variance))
    return LinearGaussian(rows, np.diag(noise))


def random_tables(rng: np.random.Generator, d: int) -> dict[Set, Fraction]:
    every = list(chain.from_iterable(combinations(range(d), k) for k in range(d + 1)))
    chosen = [s for s in every if rng.random() < 0.4] or [(0,)]
    return {s: Fraction(int(rng.integers(1, 50)), int(rng.integers(1, 9))) for s in chosen}


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "orders", "saved"),
    [
        ((2,) * 7, (1, 2), Fraction(75, 100)),
        ((2,) * 7, (1, 7), Fraction(625, 10000)),
        ((101, 2), (1, 2), Fraction(51, 101)),
    ],
)
def test_budget_saved_is_the_papers_figure_exactly_and_by_matrices(
    sizes: Set, orders: tuple[int, int], saved: Fraction
):
    """Tables 2 to 6: 75%, 6.25%, 50.495%."""
    options = [linear.marginals(sizes, order=k, rho="0.125") for k in orders]
    assert linear.budget_saved(options) == saved
    assert linear.budget_saved([m.dense() for m in options]) == pytest.approx(float(saved), rel=1e-9)
    assert round(100 * float(Fraction(51, 101)), 3) == 50.495


@pytest.mark.long
@pytest.mark.parametrize("cases", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_common_residual_and_price_agree_with_matrices_on_random_options(cases):
    rng = np.random.default_rng(1)
    for _ in range(cases):
        sizes = tuple(int(n) for n in rng.integers(1, 4, size=3))
        tables = [random_tables(rng, 3) for _ in range(int(rng.integers(2, 5)))]
        options = [MarginalMechanism.from_tables(sizes, t) for t in tables]
        dense = [matrix_of(sizes, t) for t in tables]
        for m, matrix in zip(options, dense, strict=True):
            assert m.dense().cost == pytest.approx(matrix.cost)
            assert matrix.profile == pytest.approx(np.full(prod(sizes), float(m.profile)))
        c, by_matrices = linear.common(options), linear.common(dense)
        assert c.dense().cost == pytest.approx(by_matrices.cost, abs=1e-9)
        assert float(c.rho) == pytest.approx(by_matrices.rho)
        for m, matrix in zip(options, dense, strict=True):
            r = linear.residual(m, c)
            left = matrix.cost - by_matrices.cost
            assert (0 if r is None else r.dense().cost) == pytest.approx(left, abs=1e-8)
            assert linear.equivalent(c if r is None else linear.stack([c, r]), m)


@pytest.mark.long
def test_answerability_agrees_with_matrices():
    rng = np.random.default_rng(2)
    found = set()
    for _ in range(80):
        b, a = (random_tables(rng, 2) for _ in range(2))
        if rng.random() < 0.5:
            b = {s: 4 * v for s, v in a.items() if rng.random() < 0.7} or {(): Fraction(1000)}
        answer = linear.answerable(
            MarginalMechanism.from_tables((2, 3), b), from_=MarginalMechanism.from_tables((2, 3), a)
        )
        assert answer == linear.answerable(matrix_of((2, 3), b), from_=matrix_of((2, 3), a))
        found.add(answer)
    assert found == {True, False}


def test_the_parts_of_every_option_cost_exactly_what_the_option_costs():
    options = [linear.marginals((3, 4, 5, 2), order=k, rho="0.1") for k in (1, 2, 3)]
    c = linear.common(options)
    for m in options:
        r = linear.residual(m, c)
        assert m.rho == Fraction(1, 10) and c.profile + (r.profile if r else 0) == m.profile


def test_folding_and_the_joint_answer_agree_for_marginals():
    options = [linear.marginals((3, 4, 5, 2), order=k, rho=1) for k in (1, 2, 3)]
    steps = linear.ladder(options)
    assert linear.equivalent(steps[0], linear.common(options))
    assert linear.equivalent(steps[1], linear.common(options[1:]))
    assert all(linear.answerable(a, from_=b) for a, b in pairwise(steps))


def test_cell_variances_are_those_of_least_squares():
    """Seven binary attributes: 2.25/rho for a 1-way cell from all six tables that hold it, not 21/rho."""
    one, two = (linear.marginals((2,) * 7, order=k, rho=1) for k in (1, 2))
    assert two.cell_variance((0,)) == pytest.approx(2.25)
    assert two.cell_variance((0, 1, 2)) == inf
    tables = {(0,): Fraction(2), (1, 2): Fraction(3), (0, 2): Fraction(1)}
    m = MarginalMechanism.from_tables((3, 2, 4), tables)
    for gamma in [(), (0,), (1,), (2,), (1, 2), (0, 2)]:
        queries = matrix_of((3, 2, 4), {gamma: 1}).queries
        assert linear.query_variances(m.dense(), queries) == pytest.approx(
            np.full(len(queries), m.cell_variance(gamma))
        )
    assert one.cell_variance(()) < two.cell_variance(())


@pytest.mark.long
def test_sixty_attributes_and_ten_to_the_thirty_cells_are_planned_in_five_seconds():
    sizes = tuple(2 + (7 * k) % 5 for k in range(60))
    assert prod(sizes) > 10**30
    start = time.perf_counter()
    options = [linear.marginals(sizes, order=k, rho="0.1") for k in (1, 2, 3)]
    steps = linear.ladder(options)
    saved = linear.budget_saved(options)
    parts = [linear.residual(m, steps[0]) for m in options]
    assert time.perf_counter() - start < 5
    assert len(steps[0].precisions) == 61 and 0 < saved < 1
    assert all(steps[0].profile + p.profile == Fraction(1, 5) for p in parts)
    with pytest.raises(WorkloadError, match=r"linear\.too-large"):
        options[0].dense()


def released(m: MarginalMechanism, x: np.ndarray, rng: np.random.Generator | None) -> Tables:
    """Centred residuals of the data ``x`` with the mechanism's noise (none without a generator)."""
    out: Tables = {}
    for tau, s2 in m.variances.items():
        mu = x.sum(axis=tuple(i for i in range(x.ndim) if i not in tau)).astype(float)
        noise = 0.0 if rng is None else rng.normal(scale=float(s2) ** 0.5, size=mu.shape)
        out[tau] = centre(mu + noise)
    return out


def test_recreated_tables_have_the_true_mean():
    x = np.random.default_rng(3).integers(0, 20, size=(3, 2, 4))
    options = [linear.marginals(x.shape, order=k, rho=1) for k in (1, 2)]
    c = linear.common(options)
    for m in options:
        r = linear.residual(m, c)
        tables = linear.recreate(m, c, r, released(c, x, None), released(r, x, None) if r else None)
        for gamma, table in tables.items():
            assert table == pytest.approx(x.sum(axis=tuple(i for i in range(3) if i not in gamma)))


@pytest.mark.long
@pytest.mark.parametrize("exact", [True, False])
def test_recreated_tables_have_the_variances_of_the_option_taken(exact: bool):
    """3,000 draws, 66 entries; see ``thresholds`` for the rate of each.  Consistent tables must fail."""
    sizes, draws = (2, 3), 3000
    m = MarginalMechanism.from_tables(sizes, {(0,): 2, (1,): 3, (0, 1): 4})
    c = linear.common([m, linear.marginals(sizes, order=1, rho="0.05")])
    r = linear.residual(m, c)
    x, rng, bits = np.zeros(sizes, int), np.random.default_rng(4), SeededBits(5)
    sample = []
    for _ in range(draws):
        got = linear.recreate(m, c, r, released(c, x, rng), released(r, x, rng), exact=exact, bits=bits)
        sample.append(np.concatenate([got[g].ravel() for g in m.tables]))
    wanted = np.diag(np.repeat([2.0, 3.0, 4.0], [2, 3, 6]))
    found = np.array(sample).T @ np.array(sample) / draws
    error = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) + wanted**2) / draws)
    assert (np.abs(found - wanted) < Z * error).all() == exact


def test_consistent_tables_have_the_least_squares_covariance():
    sizes = (2, 3)
    m = MarginalMechanism.from_tables(sizes, {(0,): 2, (0, 1): 4})
    c = linear.common([m, linear.marginals(sizes, order=1, rho="0.05")])
    r = linear.residual(m, c)
    columns = []
    for part, other in ((c, r), (r, c)):
        quiet = released(other, np.zeros(sizes, int), None)
        for tau, s2 in part.variances.items():
            shape = tuple(sizes[i] for i in tau)
            for cell in np.ndindex(*shape):
                impulse = np.zeros(shape)
                impulse[cell] = float(s2) ** 0.5
                loud = released(part, np.zeros(sizes, int), None) | {tau: centre(impulse)}
                got = linear.recreate(m, c, r, *((loud, quiet) if part is c else (quiet, loud)))
                columns.append(np.concatenate([got[g].ravel() for g in m.tables]))
    dense = m.dense()
    fitted = dense.queries @ np.linalg.pinv(dense.cost, hermitian=True) @ dense.queries.T
    assert np.array(columns).T @ np.array(columns) == pytest.approx(fitted, abs=1e-9)


def test_options_of_different_kinds_go_through_matrices():
    m = linear.marginals((2, 3), order=1, rho=1)
    total = LinearGaussian(np.ones((1, 6)), [[1.0]])
    c = linear.common([m, total])
    assert isinstance(c, LinearGaussian) and len(c.queries) == 1
    assert linear.equivalent(linear.stack([c, linear.residual(m, c)]), m)
    assert linear.equivalent(m, m.dense())


def test_an_option_without_a_budget_is_scaled_later():
    m = linear.marginals((2, 3), order=1)
    assert not m.fixed and m.scaled(rho="0.3").fixed and m.scaled(rho="0.3").rho == Fraction(3, 10)
    given = linear.marginals((2, 3), order=1, rho=0.3)
    assert given == m.scaled(rho=0.3) and given.tables[(0,)] == Fraction(10, 3)


def test_a_value_that_cannot_vary_adds_no_residual():
    m = linear.marginals((1, 3), order=1, rho=1)
    assert set(m.precisions) == {(), (1,)} and m.cell_variance((0,)) < inf
    assert m.dense().profile == pytest.approx(np.full(3, float(m.profile)))


def test_a_schema_gives_sizes_and_names():
    class People:
        names, sizes = ("age", "sex"), (5, 2)

    assert linear.marginals(People, order=1, rho=1) == linear.marginals((5, 2), order=1, rho=1)
    named = linear.marginals(People, sets=[("sex",), ("age", "sex")], rho=1)
    assert set(named.tables) == {(1,), (0, 1)}


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("linear.sizes", lambda: linear.marginals((2, 0), order=1)),
        ("linear.sizes", lambda: linear.marginals((), order=0)),
        ("linear.sizes", lambda: linear.marginals(7, order=1)),
        ("linear.order", lambda: linear.marginals((2, 2), order=3)),
        ("linear.order", lambda: linear.marginals((2, 2))),
        ("linear.order", lambda: linear.marginals((2, 2), order=1, sets=[(0,)])),
        ("linear.rho", lambda: linear.marginals((2, 2), order=1, rho=0)),
        ("linear.rho", lambda: linear.marginals((2, 2), order=1, rho=float("nan"))),
        ("linear.attributes", lambda: linear.marginals((2, 2), sets=[(0, 2)])),
        ("linear.attributes", lambda: MarginalMechanism.from_tables((2, 2), {(0, 1): 1, (1, 0): 1})),
        ("linear.variance", lambda: MarginalMechanism.from_tables((2, 2), {(0,): 0})),
        ("linear.empty", lambda: MarginalMechanism.from_tables((2, 2), {})),
        ("linear.empty", lambda: linear.common([])),
        ("linear.kind", lambda: linear.common([3])),  # type: ignore[list-item]
        ("linear.too-large", lambda: linear.marginals((2,) * 100, order=5)),
        (
            "linear.domains",
            lambda: linear.common([linear.marginals((2, 3), order=1), linear.marginals((3, 2), order=1)]),
        ),
        (
            "linear.not-common",
            lambda: linear.residual(linear.marginals((2, 2), order=1), linear.marginals((2, 2), order=2)),
        ),
        (
            "linear.output",
            lambda: linear.recreate(*[linear.marginals((2, 2), order=1)] * 2, None, {(): np.zeros(())}, None),
        ),
    ],
)
def test_bad_requests_are_refused_with_a_code(code: str, call: Any):
    with pytest.raises(WorkloadError) as refused:
        call()
    assert refused.value.code == code
