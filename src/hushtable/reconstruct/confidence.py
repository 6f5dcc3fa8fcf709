"""Intervals around estimated cells, from the error model of a reconstruction."""

from __future__ import annotations

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import Layout
from hushtable.reconstruct.mle import ResidualEstimates


def half_widths(estimates: ResidualEstimates, layout: Layout, alpha: float = 0.05) -> Floats:
    """One half-width for each marginal of ``layout`` (all cells of a marginal share it); infinite when unmeasured.

    Gaussian noise: the normal quantile.  Laplace noise: the quantile of the variance-gamma law with the variance and
    kurtosis of the cell.  A marginal read off as one raw noisy count per cell: the exact integer quantile.
    """
    return estimates.model.half_widths(layout.sets, alpha)


def intervals(estimates: ResidualEstimates, layout: Layout, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Lower and upper ends for every cell of ``layout``, flat."""
    centre = estimates.estimate_all(layout)
    reach = np.repeat(half_widths(estimates, layout, alpha), np.diff(layout.offsets))
    return centre - reach, centre + reach
