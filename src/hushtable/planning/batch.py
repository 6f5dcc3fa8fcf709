"""Exact plans that measure everything at once: residuals with correlated precision, or marginals independently.

A plan is public: it depends on sizes, weights and the budget alone.  It lists mechanisms with exact parameters, says
what they cost together, and predicts the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushtable import linear
from hushtable.arrays import is_whole
from hushtable.errors import BudgetError
from hushtable.marginals import AttributeSet, Layout, ResolvedWorkload, sorted_sets
from hushtable.measurement import DiscreteNoise, MarginalPart, ResidualPart, TablePart
from hushtable.planning.error_model import CellErrors, CellNoise, ErrorModel
from hushtable.planning.exact_plans import fitted, grid_amount
from hushtable.planning.problem import Problem
from hushtable.planning.residual import plan_variances
from hushtable.privacy import (
    CountNoise,
    GaussianNoise,
    LaplaceNoise,
    Price,
    discrete_gaussian_variance,
    shared_bound,
)

SETTLED = 10.0
"""From this parameter on a discrete Gaussian has it as its variance, beyond double precision."""

LEAST_VARIANCE = 2.0**-40
"""Variance of a noisy integer below which it is taken for this: with a large budget nearly every draw is 0 and its true
variance rounds to 0, by which nothing can be divided.  Errors are then stated as a millionth of a record, too large
rather than too small, and above the rounding of the sums that tables are."""


@dataclass(frozen=True)
class BatchPlan:
    """The marginals of a workload, and the one part that is measured for them.

    Every residual below them once, with its own precision; or every marginal with independent noise of equal size in
    its cells.  The errors of Laplace noise that is cut off are planned as without a bound, which they are below.
    """

    marginals: tuple[AttributeSet, ...]
    part: TablePart
    known: frozenset[AttributeSet] = frozenset()
    """Residuals that are known from elsewhere."""

    @property
    def noise(self) -> DiscreteNoise:
        """The noise of all that is measured."""
        return self.part.noise

    @property
    def measurements(self) -> int:
        """Sets that are measured."""
        return len(self.part.sets)

    def price(self, rows: int = 1) -> Price:
        """Exact cost for a person with at most ``rows`` rows."""
        return self.part.price(rows)

    def check(self, names: Sequence[str], largest: int) -> None:
        """Refuse what could overflow where a person counts as so many integers."""
        self.part.check(names, largest)

    def error_model(self) -> ErrorModel:
        """The errors that this plan will have, after least squares over all that it measures."""
        if isinstance(self.part, ResidualPart):
            model = residual_error_model(self.part.layout, self.part.precisions)
        else:
            model = marginal_error_model(self.part.layout, self.part.mechanisms)
        return model.knowing(self.known)

    def errors(self, alpha: float = 0.05) -> CellErrors:
        """Expected errors of the workload's marginals."""
        return self.error_model().errors(self.marginals, alpha)


def plan_residuals(
    workload: ResolvedWorkload, *, rho: Fraction, objective: str = "sum_variance", rows: int = 1
) -> BatchPlan:
    """The residual plan of ``residual_plan`` made exact; ``rho`` is per person with at most ``rows`` rows."""
    limit = grid_amount(rho, "rho") / check_rows(rows) ** 2
    return BatchPlan(workload.sets, residual_part(workload, limit, objective), workload.free)


def residual_part(
    workload: ResolvedWorkload, limit: Fraction, objective: str = "sum_variance"
) -> ResidualPart:
    """The residuals of a workload with the best precisions that cost at most ``limit`` for a row."""
    asked = workload.unknown
    problem = Problem.of(asked.sizes, asked.sets, asked.weights, asked.asks, asked.free)
    variances = plan_variances(problem, float(limit), objective)
    residuals = problem.residuals.sets

    def cost(precisions: tuple[Fraction, ...]) -> Fraction:
        return ResidualPart(workload.sizes, residuals, precisions).rho

    part = ResidualPart(workload.sizes, residuals, fitted((1.0 / variances).tolist(), limit, cost))
    part.check(workload.names)
    return part


def plan_identity(
    workload: ResolvedWorkload,
    *,
    rho: Fraction | None = None,
    epsilon: Fraction | None = None,
    delta: Fraction | int = 0,
    rows: int = 1,
) -> BatchPlan:
    """Independent noise per marginal: Gaussian when ``rho`` is given, Laplace when ``epsilon`` is.

    Laplace noise is cut off where that costs no more than ``delta``, if there is one.

    The split minimises the weighted sum of the measured cells' variances: precision ~ sqrt(w n) for Gaussian noise,
    1 / scale ~ (w n)^(1/3) for Laplace noise, with n the cells of a marginal.

    On levels a marginal with Gaussian noise is measured by its residuals, as it tells them (``linear.lattice``).
    """
    if (rho is None) == (epsilon is None):
        raise BudgetError("budget.currency", "Give either rho or epsilon.", "rho is for Gaussian noise.")
    scale, every, known = check_rows(rows), workload.sets, workload.free
    workload = workload.unknown
    size = np.array([float(w) for w in workload.weights]) * Layout(workload.sizes, workload.sets).lengths
    if rho is not None:
        limit, share = grid_amount(rho, "rho") / scale**2, np.sqrt(size)
        wanted = (share / share.sum() * (2.0 * float(limit))).tolist()
        if workload.has_levels:
            return BatchPlan(every, _by_residuals(workload, wanted, limit), known)
        precisions = fitted(wanted, limit, lambda given: sum(given, Fraction(0)) / 2)
        return BatchPlan(every, _marginals(workload, GaussianNoise, precisions), known)
    limit, share = grid_amount(epsilon or Fraction(0), "epsilon") / scale, np.cbrt(size)
    wanted = (share / share.sum() * float(limit)).tolist()
    part = _marginals(workload, LaplaceNoise, fitted(wanted, limit, lambda given: sum(given, Fraction(0))))
    if delta:
        part = replace(part, bound=shared_bound(part.noise.parameters, Fraction(delta), scale))
    return BatchPlan(every, part, known)


def _marginals(
    workload: ResolvedWorkload, law: type[CountNoise], precisions: tuple[Fraction, ...]
) -> MarginalPart:
    part = MarginalPart(workload.sizes, workload.sets, law, precisions)
    part.check(workload.names)
    return part


def _by_residuals(workload: ResolvedWorkload, wanted: Sequence[float], limit: Fraction) -> ResidualPart:
    """What marginals with these precisions in their cells tell of residuals, for at most ``limit`` for a row."""
    cells = {s: 1 / Fraction(p) for s, p in zip(workload.sets, wanted, strict=True)}
    told = linear.MarginalMechanism.from_tables(workload.sizes, cells).scaled(rho=limit).precisions
    sets = sorted_sets(tuple(told))

    def cost(precisions: tuple[Fraction, ...]) -> Fraction:
        return ResidualPart(workload.sizes, sets, precisions).rho

    part = ResidualPart(workload.sizes, sets, fitted([float(told[s]) for s in sets], limit, cost))
    part.check(workload.names)
    return part


def residual_error_model(layout: Layout, precisions: Sequence[Fraction]) -> ErrorModel:
    """Errors of residuals measured once each, from the true variance of the discrete noise.

    Blocks of a level have noise of several sizes: there the parameter stands for the variance, which is never above it.
    """
    variances = 1.0 / np.array([float(p) for p in precisions])
    span = layout.lengths.astype(np.float64)
    rough = (variances * span**2 < SETTLED) & ~layout.uneven
    for k in np.flatnonzero(rough).tolist():
        cells = int(layout.lengths[k])
        variances[k] = max(LEAST_VARIANCE, discrete_gaussian_variance(cells**2 / precisions[k])) / cells**2
    raw = {(): GaussianNoise(1 / precisions[layout.index[()]])} if () in layout.index else {}
    return ErrorModel(layout, variances, raw=raw)


def marginal_error_model(layout: Layout, noises: Sequence[CountNoise]) -> ErrorModel:
    """Errors of the residuals when marginals are measured with independent noise and combined by least squares.

    A marginal with cell variance s gives an estimate of every residual below it with variance ``s n_gamma / n_tau``.
    """
    problem = Problem.of(layout.sizes, layout.sets, [1.0] * len(layout.sets))
    cumulants = [cell_cumulants(noise) for noise in noises]
    precision = np.array([1.0 / variance for variance, _ in cumulants])
    combined = problem.pairs.superset_sums(precision / problem.cells, len(problem.span)) * problem.span
    sources = tuple(
        CellNoise(s, variance, fourth)
        for s, (variance, fourth) in zip(layout.sets, cumulants, strict=True)
        if fourth > 0.0
    )
    raw = {layout.sets[0]: noises[0]} if len(noises) == 1 else {}
    return ErrorModel(problem.residuals, 1.0 / combined, sources, raw)


def check_rows(rows: int) -> int:
    """Rows per person, a whole number of at least 1."""
    if not is_whole(rows) or rows < 1:
        raise BudgetError("budget.rows", "Rows per person must be a whole number of at least 1.", "Give 1.")
    return rows


@lru_cache(maxsize=8192)
def cell_cumulants(noise: CountNoise) -> tuple[float, float]:
    """True variance and fourth cumulant of the noise of one cell; discrete Gaussian noise counts as normal."""
    variance = noise.true_variance
    if noise.normal:
        return max(LEAST_VARIANCE, variance), 0.0
    if variance < LEAST_VARIANCE:
        return LEAST_VARIANCE, 3.0 * LEAST_VARIANCE**2
    return variance, variance**2 * noise.kurtosis
