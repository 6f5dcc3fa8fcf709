"""Fits of a table to noisy answers: ordinary and nonnegative least squares, max, sequential, reweighted and balanced.

Released answers in, nonnegative weights out (ordinary least squares may go below zero); no data, no budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet
from hushtable.microdata.answer_groups import Measurement, check_measurements, check_priorities
from hushtable.microdata.assemble import Builder, query_values
from hushtable.microdata.least_squares import ordinary
from hushtable.microdata.max_fit import max_fit
from hushtable.microdata.program import require_affordable, solve
from hushtable.microdata.reweight import Reweighted, reweight
from hushtable.microdata.sequential import sequential
from hushtable.microdata.wanted import checked_method
from hushtable.notebook import html_card

LOW_SHARE, SUM_SHARE = 1 / 1.5, 2.0
"""Balanced fitting: what a low answer weighs, and the sum of low answers, against the inverse of its variance.  The
best of six pairs on the two-dimensional synthetic tables; ADR 11 has what a firmer tie to the sum costs."""
MOST_CELLS = 4_000_000
"""Cells of a table that is fitted as a whole: a million with both marginals take about a second (ADR 11).  With more of
them, larger domains are fitted and take longer."""


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted table.

    ``certificate`` is the KKT residual relative to the largest answer: how far the optimality conditions are from
    holding exactly (for sequential fitting, the worst of its levels).
    """

    weights: Floats
    certificate: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        """The fit as plain JSON values."""
        return {
            "method": self.method,
            "certificate": self.certificate,
            "shape": list(self.weights.shape),
            "weights": self.weights.tolist(),
        }

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.weights.shape)) or "1"
        return f"<Fit by {self.method}: {shape} cells, sum {self.weights.sum():,.1f}>"

    def _repr_html_(self) -> str:
        facts = {"sum": f"{self.weights.sum():,.1f}", "KKT residual": f"{self.certificate:.1e}"}
        return html_card(repr(self).strip("<>"), facts)


class _Task(NamedTuple):
    """What is to be fitted; ``purse`` holds the multiplications that are left."""

    measurements: Sequence[Measurement]
    shape: tuple[int, ...]
    levels: tuple[tuple[int, ...], ...]
    confidence: float
    mask: NDArray[np.bool_] | None
    purse: Floats


_Fitted = tuple[Floats, float]
"""Weights and their KKT residual."""


def fit(
    measurements: Sequence[Measurement],
    shape: Sequence[int],
    method: str = "reweighted",
    priorities: Sequence[Sequence[int] | int] | None = None,
    confidence: float = 0.99,
    possible: ArrayLike | None = None,
    work: float = inf,
) -> Fit:
    """Fit a table of ``shape`` to measurements.

    ``priorities`` (sequential only) lists levels of measurement numbers, by default the order of the list, one level
    each.  ``confidence`` (reweighted and balanced) is the paper's gamma.  "balanced" holds the total at its least
    squares value and lets low answers weigh less one by one and more as a sum.  ``possible`` marks the cells that may
    be above 0.  A fit that takes more than ``work`` multiplications (about six thousand million a second) is refused.
    """
    lengths = check_measurements(measurements, shape)
    levels = check_priorities(priorities, len(measurements))
    checked_method(method)
    if not 0.5 <= confidence < 1.0:
        raise WorkloadError(
            "microdata.confidence", "The confidence must be at least 0.5 and below 1.", "Use 0.99."
        )
    if prod(lengths) > MOST_CELLS:
        raise WorkloadError(
            "microdata.too-large",
            f"The table has more than {MOST_CELLS:,} cells, too many for a fit of the whole domain.",
            "Leave --fit out: records are then generated from the released tables.",
        )
    task = _Task(measurements, lengths, levels, confidence, _mask(possible, lengths), np.array([work]))
    return Fit(*_WAYS[method](task), method)


def _ols(task: _Task) -> _Fitted:
    table = ordinary(task.measurements, task.shape)
    return table, _gradient(task.measurements, table)


def _sequential(task: _Task) -> _Fitted:
    _require_foreseen(task)
    return sequential(task.measurements, task.shape, task.levels, task.mask, task.purse)


def _max(task: _Task) -> _Fitted:
    _require_foreseen(task)
    return max_fit(task.measurements, task.shape, task.mask, task.purse)


def _nnls(task: _Task) -> _Fitted:
    builder = _builder(task)
    for given in task.measurements:
        builder.weigh(given, np.full(given.answers.size, 1.0 / given.noise.variance))
    return _solved(builder, task)


def _reweighted(task: _Task) -> _Fitted:
    builder = _builder(task)
    for given in task.measurements:
        _weigh_low(builder, given, reweight(given.answers, given.noise, task.confidence))
    return _solved(builder, task)


def _balanced(task: _Task) -> _Fitted:
    builder = _builder(task)
    for given in task.measurements:
        if given.axes != ():
            _weigh_low(builder, given, _mildly(given, task.confidence))
    total = np.array(max(0.0, float(ordinary(task.measurements, task.shape).sum())))
    builder.hold(Measurement((), total, task.measurements[0].noise), total)
    return _solved(builder, task)


_WAYS: dict[str, Callable[[_Task], _Fitted]] = {
    "ols": _ols,
    "nnls": _nnls,
    "max": _max,
    "sequential": _sequential,
    "reweighted": _reweighted,
    "balanced": _balanced,
}


def _builder(task: _Task) -> Builder:
    _require_foreseen(task)
    return Builder(task.shape, task.mask)


def _solved(builder: Builder, task: _Task) -> _Fitted:
    solution = solve(builder.program(), work=task.purse)
    return solution.x.reshape(task.shape), solution.residual


def _require_foreseen(task: _Task) -> None:
    marginals = [m.axes or () for m in task.measurements if m.matrix is None]
    require_foreseen(marginals, task.shape, task.purse)


def require_foreseen(marginals: Sequence[AttributeSet], shape: tuple[int, ...], purse: Floats) -> None:
    """Refuse a fit to so many marginals before it is begun: its rows alone can be more than memory holds."""
    partial = [axes for axes in marginals if len(axes) < len(shape)]
    rows, cells = sum(prod(shape[axis] for axis in axes) for axes in partial), prod(shape)
    require_affordable(rows, cells * len(partial), cells, purse)


def _weigh_low(builder: Builder, given: Measurement, found: Reweighted) -> None:
    """Algorithm 2: low answers count for little one by one, and in full as a sum."""
    matrix = given.matrix
    if matrix is not None and not (np.isin(matrix, (0.0, 1.0)).all() and (matrix.sum(axis=0) <= 1.0).all()):
        raise WorkloadError(
            "microdata.not-disjoint",
            "This fit needs queries that do not overlap within a measurement.",
            "Split the matrix into measurements of disjoint 0/1 rows, or use method nnls.",
        )
    builder.weigh(given, found.weights)
    if found.sum_weight > 0.0:
        answer = float(given.answers.ravel()[found.low].sum())
        builder.weigh_sum(given, found.low, found.sum_weight, answer)


def _mildly(given: Measurement, confidence: float) -> Reweighted:
    """Low answers as in Algorithm 2, with weights that do not depend on the unit of the counts."""
    found = reweight(given.answers, given.noise, confidence)
    certain = 1.0 / given.noise.variance
    weights = np.where(found.low, LOW_SHARE * certain, certain)
    return Reweighted(
        weights, found.low, SUM_SHARE * certain / max(1, int(found.low.sum())) * bool(found.low.any())
    )


def _gradient(measurements: Sequence[Measurement], table: Floats) -> float:
    """The normal equations' residual, in counts, relative to the largest answer."""
    gradient, curvature, scale = np.zeros(table.shape), 0.0, 1.0
    for given in measurements:
        gap = (query_values(given, table) - given.answers.ravel()) / given.noise.variance
        scale = max(scale, float(np.abs(given.answers).max()))
        if given.matrix is not None:
            gradient += (given.matrix.T @ gap).reshape(table.shape)
            curvature += float((given.matrix**2).sum(axis=0).max()) / given.noise.variance
        else:
            axes = given.axes or ()
            gradient += gap.reshape([n if k in axes else 1 for k, n in enumerate(table.shape)])
            curvature += 1.0 / given.noise.variance
    return float(np.abs(gradient).max() / curvature / scale)


def _mask(possible: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    if possible is None:
        return None
    mask = np.asarray(possible)
    if mask.shape != shape or mask.dtype != np.bool_:
        raise WorkloadError(
            "microdata.shape",
            "The mask of possible cells has another shape.",
            "Give one truth value per cell.",
        )
    return mask.ravel()
