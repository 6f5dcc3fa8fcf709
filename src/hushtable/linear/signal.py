"""Is there enough signal?  Deciding between options from released numbers.

Section 6.1 of common-mechanism: signal-to-noise ratios of the primary analysis, by point estimate or with three-sigma
bounds, and rules on the share of cells that reach a ratio; section 6.2: how much each option would still teach.
Everything is post-processing of what the common mechanism released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.linear.checks import SignalRule, checked_rule
from hushtable.linear.dense import LinearGaussian

Decision = Literal["enough", "too-weak", "undecided"]

SIGMAS = 3.0
"""The rule of its paper (Section 6.1): a wider band leaves more options undecided, a narrower one errs more often."""

EDGE = 1e-9
"""A ratio this close below the one wanted counts as reaching it: a count of 3 with deviation 1 has ratio 3."""


@dataclass(frozen=True, eq=False)
class Signal:
    """Signal-to-noise ratios of cells under one option: the estimate and three-sigma bounds around it."""

    point: Floats
    lower: Floats
    upper: Floats

    def share(self, ratio: float, *, bound: Literal["point", "lower", "upper"] = "point") -> float:
        """Fraction of the cells whose ratio (or bound of it) is at least ``ratio``."""
        values: Floats = getattr(self, bound)
        return float(np.mean(values >= ratio - EDGE * max(abs(ratio), 1.0)))

    def enough(self, *, share: float, ratio: float, rule: SignalRule = "point") -> bool:
        """Whether at least ``share`` of the cells reach ``ratio``; by the three-sigma rule even at the lower bound."""
        return (
            self.share(ratio, bound="lower" if checked_rule(rule) == "three-sigma" else "point")
            >= share - EDGE
        )

    def too_weak(self, *, share: float, ratio: float, rule: SignalRule = "three-sigma") -> bool:
        """Whether fewer than ``share`` of the cells reach it; by the three-sigma rule even at the upper bound."""
        return (
            self.share(ratio, bound="upper" if checked_rule(rule) == "three-sigma" else "point")
            < share - EDGE
        )

    def decide(self, *, share: float, ratio: float) -> Decision:
        """``enough`` or ``too-weak`` when the three-sigma bounds agree, else ``undecided``."""
        if self.enough(share=share, ratio=ratio, rule="three-sigma"):
            return "enough"
        return "too-weak" if self.too_weak(share=share, ratio=ratio) else "undecided"


def signal_to_noise(estimates: ArrayLike, variances: ArrayLike, option_variances: ArrayLike) -> Signal:
    """Ratios of the estimated counts to the noise that an option would add to them.

    ``estimates`` and their ``variances`` come from the common mechanism (``A* w*`` and the diagonal of ``A* S* A*'``);
    ``option_variances`` are those of the same cells under the option, by least squares.  All broadcast together.
    """
    values = np.asarray(estimates, np.float64)
    spread = SIGMAS * np.sqrt(_nonnegative("variances", variances))
    noise = np.sqrt(_nonnegative("option variances", option_variances))
    if (noise == 0).any() or not np.isfinite(values).all() or np.isnan(noise).any():
        raise WorkloadError(
            "linear.signal",
            "A cell has no finite estimate or no noise under the option.",
            "Give released estimates.",
        )
    point, lower, upper = np.broadcast_arrays(
        values / noise, (values - spread) / noise, (values + spread) / noise
    )
    return Signal(point, lower, upper)


def posterior(
    common: LinearGaussian,
    output: ArrayLike,
    queries: ArrayLike,
    *,
    prior_variance: ArrayLike,
    prior_mean: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Posterior mean and variance of queries given the common output, under a Gaussian prior on the counts.

    The prior is independent with ``prior_variance`` (a number or one per cell); section 6.2 leaves it to the analyst.
    """
    rows = np.atleast_2d(np.asarray(queries, np.float64))
    spread = np.broadcast_to(_nonnegative("prior variances", prior_variance), (common.cells,))
    mean = np.broadcast_to(np.asarray(prior_mean, np.float64), (common.cells,))
    noise = np.diag(common.covariance) if common.covariance.ndim == 1 else common.covariance
    shared = common.queries * spread
    gain = np.linalg.solve(shared @ common.queries.T + noise, shared).T
    centre = mean + gain @ (np.asarray(output, np.float64) - common.queries @ mean)
    variance = np.einsum("ij,j,ij->i", rows, spread, rows) - np.einsum(
        "ij,ij->i", rows @ gain, rows @ shared.T
    )
    return rows @ centre, np.maximum(variance, 0.0)


def variance_reduction(now: ArrayLike, then: ArrayLike) -> float:
    """Mean share of the present variance that an option would remove: which option teaches most (section 6.2).

    ``now`` are the variances of the option's queries given the common output (from ``posterior``, or over samples of
    consistent datasets), ``then`` those the option would give.  0 for queries it would not improve.
    """
    before, after = _nonnegative("variances", now), _nonnegative("variances", then)
    left = np.divide(after, before, out=np.ones(np.broadcast(before, after).shape), where=before > 0)
    return float(np.mean(1.0 - np.minimum(left, 1.0)))


def _nonnegative(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    if np.isnan(array).any() or (array < 0).any():
        raise WorkloadError("linear.signal", f"The {name} must not be negative.", "Give variances.")
    return array
