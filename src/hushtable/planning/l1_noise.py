"""How much the noise of a whole table can add up to: tails of the L1 norm of Gaussian noise with known covariance.

The noise e of a table of n cells has one variance v in every cell and a covariance whose largest eigenvalue is m.
Three bounds hold with probability 1 - beta each, and all three are known before the noise is drawn, so that the least
of them holds with that probability as well:

    n sqrt(2 v / pi) + sqrt(2 n m ln(1 / beta))  the mean of |e|_1, and a tail: as a function of independent normal
                                                 variables it changes by at most sqrt(n m) times their distance
                                                 (Borell; Tsirelson, Ibragimov, Sudakov)
    sqrt(n m chi2(n, beta))                      |e|_1 <= sqrt(n) |e|_2, and |e|_2^2 / m is at most chi-square
    n sqrt(v) z(beta / (2 n))                    every cell lies within its quantile shared out over the cells

Adding up half-widths at 95% would be none of these: of many cells, five in a hundred lie outside.
"""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np

from hushtable.arrays import Floats


def l1_limits(cells: Floats, variance: Floats, largest: Floats, beta: float) -> Floats:
    """The least of the three bounds for each table."""
    from scipy.special import chdtri, ndtri  # takes longer to load than to plan

    mean = cells * np.sqrt(2.0 * variance / pi)
    around = mean + np.sqrt(2.0 * log(1.0 / beta) * cells * largest)
    squares = np.sqrt(cells * largest * chdtri(cells, beta))
    shared = cells * np.sqrt(variance) * -ndtri(beta / (2.0 * cells))
    return np.minimum(around, np.minimum(squares, shared))


def l1_limit(cells: float, variance: float, largest: float, beta: float) -> float:
    """The first bound for one table; loops call it every round."""
    return cells * sqrt(2.0 * variance / pi) + sqrt(2.0 * log(1.0 / beta) * cells * largest)
