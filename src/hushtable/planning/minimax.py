"""The plan that minimises the largest cell variance, with a certificate of how close to the optimum it is.

The dual of ``min t: w Var_gamma <= t, rho spent`` is concave: for weights ``y`` on the marginals the best plan is the
closed form of ``residual``, and its value bounds ``t`` from below.  With ``u = y / n_gamma^2`` and
``q = prod (n - 1)`` the dual is ``max sum_tau q sqrt(U_tau) - b.u / 2`` over ``u >= 0``, where ``U_tau`` adds ``u``
over the marginals above ``tau`` and ``b = n_gamma^2 / w``.  It is solved by a primal-dual interior method.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from math import comb, prod

import numpy as np

from hushtable.marginals import AttributeSet, kinds_of, spreads_of
from hushtable.planning.problem import Floats, Problem
from hushtable.planning.root_rows import RootRows

TOLERANCE = 1e-9
"""Relative gap at which the search for the best plan ends: far below what is printed.  Less takes more steps, more is a
plan further from its proved bound."""
WARM, FIRST_ORDER = 30, 3000
"""Rounds of the first-order method: before the interior one, which needs a start of the right sizes, and instead of it.
Not tuned; a round is a product with a sparse matrix, a step of the interior method a dense system."""
LEAST_SLACK = 1e-3
"""Slacks start at this part of their row or above: inside the cone, where the interior method has to be."""
MOST_STEPS = 200
"""Steps of the interior method, at most; u is a valid bound wherever they end."""
CENTRING, NEAREST = 0.1, 0.99
"""A step aims at a tenth of the present complementarity and at most this part of the way to the border, as
interior methods usually do.  Bolder ones take fewer steps and fail more often; not tuned."""
DENSE = 6000
"""Largest dense linear system, 288 MB; beyond it a first-order method takes over, which takes many more steps."""


@dataclass(frozen=True, eq=False)
class MinimaxPlan:
    """Variances, the largest weighted cell variance they give, and a proved lower bound for any plan."""

    variances: Floats
    largest: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the plan can be from the optimum, relatively."""
        return self.largest / self.bound - 1.0


@dataclass(frozen=True, eq=False)
class RootDual:
    """max sum q sqrt(A'u) - b.u / 2 over u >= 0; rows of A are (orbits of) marginals, columns of residuals."""

    matrix: RootRows
    q: Floats
    b: Floats


def minimax_variances(problem: Problem, rho: float) -> MinimaxPlan:
    """Minimise the largest ``w Var(cell)`` over the marginals of the problem at cost ``rho``."""
    if problem.residuals.has_levels:
        return _on_levels(problem, rho)
    of_marginal, of_residual = _orbits(problem) or (
        np.arange(len(problem.marginals)),
        np.arange(len(problem.span)),
    )
    dual = _dual(problem, of_marginal, of_residual)
    u = solve_roots(dual)
    root = problem.span * np.sqrt(dual.matrix.back(u)[of_residual])
    value = float((problem.price * root).sum())
    variances = value / (2.0 * rho) / root
    bound = float(dual.q @ np.sqrt(dual.matrix.back(u))) ** 2 / float(dual.b @ u) / (2.0 * rho)
    return MinimaxPlan(variances, float((problem.weights * problem.cell_variances(variances)).max()), bound)


def _on_levels(problem: Problem, rho: float) -> MinimaxPlan:
    """The same where the cells of a marginal differ: one unknown for each kind of cells.

    The bound is that of rows which pay for every residual; where there are none, the plan is scaled up to ``rho``.
    """
    axes, pairs = problem.residuals.axes, problem.pairs
    ways = spreads_of(axes)
    rows: list[np.ndarray] = []
    for g, gamma in enumerate(problem.marginals):
        kinds = [kinds_of(axes, a) for a in gamma]
        added = np.zeros((prod(len(k.first) for k in kinds), len(problem.span)))
        for link in range(pairs.starts[g], pairs.starts[g + 1]):
            if pairs.members[link] >= 0:
                own = pairs.ways[link][len(pairs.ways[link]) - len(gamma) :]
                noise = [ways.noise[ways.starts[w] + k.first] for w, k in zip(own, kinds, strict=True)]
                added[:, pairs.members[link]] = reduce(np.multiply.outer, noise, np.ones(())).ravel()
        rows.append(problem.weights[g] * added)
    matrix = np.unique(np.concatenate(rows), axis=0) / problem.price
    q = np.sqrt(problem.price)
    u = solve_roots(RootDual(RootRows.of(matrix), q, np.ones(len(matrix))))
    spread = np.sqrt(matrix.T @ u)
    variances = float((q * spread).sum()) / (2.0 * rho) * q / spread
    variances *= float((problem.kinds @ (problem.price / (2.0 * variances))).max()) / rho
    return MinimaxPlan(
        variances, float((matrix @ variances).max()), float(q @ spread) ** 2 / float(u.sum()) / (2.0 * rho)
    )


def _orbits(problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """Orbit numbers of marginals and of residuals when equal sizes may be exchanged, None when they may not.

    A workload is unchanged by every exchange of two attributes of equal size when each of its size patterns occurs as
    often as it can, with one weight.  The dual is concave, so some optimum is constant on orbits.
    """
    classes = Counter(problem.sizes)
    patterns = [_pattern(s, problem.sizes) for s in problem.marginals]
    weights: dict[tuple[int, ...], set[float]] = {}
    for pattern, weight in zip(patterns, problem.weights.tolist(), strict=True):
        weights.setdefault(pattern, set()).add(weight)
    for pattern, occurs in Counter(patterns).items():
        possible = prod(comb(classes[n], k) for n, k in Counter(pattern).items())
        if occurs != possible or len(weights[pattern]) > 1:
            return None
    residual_patterns = [_pattern(s, problem.sizes) for s in problem.residuals.sets]
    for pattern, occurs in Counter(residual_patterns).items():
        if occurs != prod(comb(classes[n], k) for n, k in Counter(pattern).items()):
            return None  # some residuals are known from elsewhere
    return _numbered(patterns), _numbered(residual_patterns)


def _pattern(attributes: AttributeSet, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(sizes[i] for i in attributes))


def _numbered(patterns: list[tuple[int, ...]]) -> np.ndarray:
    number = {pattern: k for k, pattern in enumerate(dict.fromkeys(patterns))}
    return np.array([number[pattern] for pattern in patterns])


def _dual(problem: Problem, of_marginal: np.ndarray, of_residual: np.ndarray) -> RootDual:
    """The dual with one unknown per orbit: entry (G, T) counts the marginals of orbit G above one residual of T."""
    counts = np.bincount(of_residual)
    pairs = problem.pairs.members >= 0
    rows, columns = of_marginal[problem.pairs.owners[pairs]], of_residual[problem.pairs.members[pairs]]
    shape = (int(of_marginal.max()) + 1, len(counts))
    matrix = RootRows.summed(1.0 / counts[columns], rows, columns, shape)
    q = np.bincount(of_residual, problem.price * problem.span)
    b = np.bincount(of_marginal, problem.cells**2 / problem.weights)
    return RootDual(matrix, q.astype(np.float64), b.astype(np.float64))


def solve_roots(dual: RootDual) -> Floats:
    """An almost optimal ``u > 0``; every ``u > 0`` gives a valid bound, so accuracy is checked by the caller."""
    own = dual.matrix.own_columns()
    rest = np.setdiff1d(np.arange(len(dual.q)), own[own >= 0])
    if min(len(dual.b), len(rest)) > DENSE:
        return _multiplicative(dual)
    u = _multiplicative(dual, rounds=WARM)
    slack = np.maximum(dual.b / 2 - _gradient(dual, u), LEAST_SLACK * dual.b)
    system = _Newton(dual, own, rest)
    count = len(u)
    for _ in range(MOST_STEPS):
        gradient = _gradient(dual, u)
        complementarity = float(u @ slack)
        scale = float(dual.b @ u)
        infeasible = float(np.abs(u * (gradient - dual.b / 2 + slack)).sum())
        if max(complementarity, infeasible) <= TOLERANCE * scale / 4:
            break
        centre = CENTRING * complementarity / count
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = system.solve(u, slack, gradient - dual.b / 2 + centre / u)
        except (np.linalg.LinAlgError, ValueError):  # weights too far apart for the system: slower, and sure
            return _multiplicative(dual)
        move = centre / u - slack - slack / u * step
        length = min(_longest(u, step), _longest(slack, move))
        u = u + length * step
        slack = slack + length * move
        if not (u.min() > 0.0 and slack.min() > 0.0):
            return _multiplicative(dual)
    return u


class _Newton:
    """Solves ``(H + diag(slack / u)) x = r``, H the negative Hessian, by the smaller of two dense systems."""

    def __init__(self, dual: RootDual, own: np.ndarray, rest: np.ndarray) -> None:
        self._dual = dual
        self._own = own
        self._rest = rest
        self._low = dual.matrix.some_columns(rest)
        self._by_residual = len(rest) < len(dual.b)

    def solve(self, u: Floats, slack: Floats, right: Floats) -> Floats:
        matrix = self._dual.matrix
        curve = self._dual.q / 4 / matrix.back(u) ** 1.5
        diagonal = slack / u
        if not self._by_residual:
            dense = matrix.gram(curve)
            dense[np.diag_indices_from(dense)] += diagonal
            return matrix.solve(dense, right)
        has_own = self._own >= 0
        weight = matrix.at(np.flatnonzero(has_own), self._own[has_own])
        diagonal[has_own] += curve[self._own[has_own]] * weight**2
        inner = self._low.back_gram(1 / diagonal)
        inner[np.diag_indices_from(inner)] += 1 / curve[self._rest]
        back = matrix.solve(inner, self._low.back(right / diagonal))
        return (right - self._low.times(back)) / diagonal


def _multiplicative(dual: RootDual, rounds: int = FIRST_ORDER) -> Floats:
    """Monotone updates ``u *= (gradient / (b / 2))``, rescaled; the gap is checked every ten rounds."""
    u = 1.0 / (dual.b * len(dual.b))
    for k in range(rounds):
        gradient = _gradient(dual, u)
        value = 2.0 * float(u @ gradient)
        ratio = gradient / (dual.b * value / 2)
        if k % 10 == 0 and ratio.max() - 1 < TOLERANCE:
            break
        u = u * ratio
        u = u / float(dual.b @ u)
    value = 2.0 * float(u @ _gradient(dual, u))
    return u * value**2


def _gradient(dual: RootDual, u: Floats) -> Floats:
    return dual.matrix.times(dual.q / 2 / np.sqrt(dual.matrix.back(u)))


def _longest(position: Floats, step: Floats) -> float:
    down = step < 0
    return min(1.0, NEAREST * float((-position[down] / step[down]).min())) if down.any() else 1.0
