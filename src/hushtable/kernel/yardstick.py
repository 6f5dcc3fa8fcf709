"""The yardstick of a table's error: the plain random sample that would be as wrong.

A sample that keeps each record with probability f and scales counts by 1/f errs by E|B/f - n| in a cell of n records,
B binomial.  That mean deviation has a closed form (De Moivre): with v = floor(n f) + 1 it is
2 v C(n,v) f^v (1-f)^(n-v+1) / f.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from hushtable.arrays import Floats, Ints

_SMALLEST = 1e-7
_STEPS = 45
"""Smallest share that is told from none, a record in ten million, and halvings of the logarithm from it to 1: they
leave 16 / 2^45, so a share is right to 12 digits.  With fewer steps it has fewer digits."""


def sample_share(counts: Ints, times: Ints, l1: float) -> float:
    """The share of records whose plain sample has expected L1 error ``l1``, on ``times`` cells of each of ``counts``.

    1 when only the whole data are as good, 0 when even an empty sample is no worse.
    """
    there = counts > 0
    cells, weights = counts[there].astype(np.float64), times[there].astype(np.float64)
    if l1 <= 0 or not cells.size:
        return 1.0
    if l1 >= expected_l1(cells, weights, _SMALLEST):
        return 0.0
    low, high = np.log(_SMALLEST), 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if expected_l1(cells, weights, float(np.exp(middle))) > l1:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def expected_l1(cells: Floats, weights: Floats, share: float) -> float:
    """Sum over cells of E|B/f - n| for samples of a share f of the records."""
    if share >= 1.0:
        return 0.0
    v = np.floor(cells * share) + 1
    ways = gammaln(cells + 1) - gammaln(v + 1) - gammaln(np.maximum(cells - v, 0) + 1)
    logs = np.log(2 * v) + ways + v * np.log(share) + (cells - v + 1) * np.log1p(-share)
    deviation = np.where(v > cells, 0.0, np.exp(logs))
    return float((weights * deviation).sum() / share)
