"""The uncertainty principle: what nonnegative records can promise for d disjoint counts and for their sum.

Theorem 3 of uncertainty-principle-microdata bounds from below, Theorem 4 from above.  ``point_error`` is the largest
expected squared error C^2 of a count, ``sum_error`` the expected squared error D^2 of their sum, both over all tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt

import numpy as np

from hushtable.arrays import is_whole
from hushtable.errors import BudgetError, WorkloadError
from hushtable.microdata.noise import Noise
from hushtable.microdata.packing import excess_of, last_impossible
from hushtable.microdata.wanted import keeps_points
from hushtable.privacy import shared_bound


def lower_bound(
    *,
    d: int,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    sum_error: float | None = None,
    point_error: float | None = None,
    whole: bool = False,
) -> float:
    """The least error of one kind that any private mechanism with nonnegative records must admit.

    With ``sum_error`` the least ``point_error``, with ``point_error`` the least ``sum_error``.  The theorem's k is
    chosen best, and for zCDP so are its alpha and beta.  Squared errors in and out; 0 where the theorem says nothing.

    As published, the theorem takes every k > 0, and its proof compares tables with counts of alpha C + k.  ``whole``
    keeps to tables with whole counts: a little less, and true also where noise on whole numbers is all but zero.
    """
    excess = excess_of(_cells(d), *_privacy(epsilon, delta, rho), whole=whole)
    unit = 1.0 / epsilon if epsilon is not None else 1.0 / sqrt(rho or 1.0)
    if _one_error(sum_error, point_error) == "point":
        given = sqrt(point_error or 0.0)
        found = last_impossible(lambda s: excess(given, s), unit)
    else:
        given = sqrt(sum_error or 0.0)
        found = last_impossible(lambda c: excess(c, given), unit)
    return found * found


def upper_bound(
    *,
    d: int,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    sum_error: float | None = None,
    point_error: float | None = None,
) -> float:
    """The error of one kind that a mechanism of Theorem 4 guarantees when the other kind may be at most what is given.

    The sum-accurate mechanism divides its budget between sum and counts so as to use the allowance; the point-accurate
    one measures counts only.  Infinite where neither meets the allowance.  Squared errors in and out.
    """
    d = _cells(d)
    promises = _promises(d, *_privacy(epsilon, delta, rho))
    if _one_error(sum_error, point_error) == "sum":
        allowed = (point for point, total in promises if total <= (sum_error or 0.0) * (1 + 1e-12))
    else:
        allowed = (total for point, total in promises if point <= (point_error or 0.0) * (1 + 1e-12))
    return min(allowed, default=inf)


@dataclass(frozen=True)
class Promise:
    """What a mechanism of Theorem 4 guarantees for every table: squared errors of the worst count and of the sum."""

    point_error: float
    sum_error: float


def promise(d: int, accurate: str, noise: Noise) -> Promise:
    """Errors of records made from d counts with that noise ("point"), or from the counts and their sum ("sum").

    Before rounding to whole records, which moves a count by less than 1 and leaves the sum.
    """
    square, absolute = noise.moments
    if keeps_points(accurate):
        return Promise(square, square * d**2)
    return Promise(_spread(square, absolute, *noise.largest(_cells(d))), square)


def _promises(d: int, epsilon: float, delta: float, rho: float) -> list[tuple[float, float]]:
    """(point error, sum error) pairs that the mechanisms of Theorem 4 guarantee, over a fine grid of splits."""
    shares = np.concatenate([[0.5], np.geomspace(1e-4, 0.5, 400), 1.0 - np.geomspace(1e-4, 0.5, 400)])
    if rho > 0.0:
        found = [(0.5 / rho, 0.5 * d**2 / rho)]
        for share in shares:
            total, single = 0.5 / (share * rho), 0.5 / ((1.0 - share) * rho)
            found.append((_spread(total, sqrt(total), *Noise.gaussian(single).largest(d)), total))
        return found
    found = [(2.0 / epsilon**2, 2.0 * d**2 / epsilon**2)]
    for share in shares:
        one, other = 1.0 / (share * epsilon), 1.0 / ((1.0 - share) * epsilon)
        found.append((_spread(2.0 * one**2, one, *Noise.laplace(other).largest(d)), 2.0 * one**2))
    if delta > 0.0:
        scale = 2 / Fraction(epsilon)
        bound = shared_bound([scale, scale], Fraction(delta))
        cut = promise(d, "sum", Noise.truncated_geometric(0.5 * epsilon, bound))
        found.append((cut.point_error, cut.sum_error))
    return found


def _spread(square: float, absolute: float, largest: float, largest_square: float) -> float:
    """Equation 6: E z*^2 + 4 E|z*| E max|z| + 4 E max z^2."""
    return square + 4.0 * absolute * largest + 4.0 * largest_square


def _privacy(epsilon: float | None, delta: float | None, rho: float | None) -> tuple[float, float, float]:
    wrong = (
        (epsilon is None) == (rho is None)
        or (rho is not None and delta is not None)
        or not all(v is None or 0.0 < v < inf for v in (epsilon, rho))
        or not (delta is None or 0.0 <= delta < 1.0)
    )
    if wrong:
        raise BudgetError(
            "microdata.budget",
            "The privacy of the bound cannot be read.",
            "Give epsilon, epsilon and delta, or rho.",
        )
    return epsilon or 0.0, delta or 0.0, rho or 0.0


def _one_error(sum_error: float | None, point_error: float | None) -> str:
    given = [e for e in (sum_error, point_error) if e is not None]
    if len(given) != 1 or not given[0] >= 0.0:
        raise WorkloadError(
            "microdata.error", "Exactly one squared error must be given.", "Give sum_error or point_error."
        )
    return "sum" if sum_error is not None else "point"


def _cells(d: int) -> int:
    if not is_whole(d) or d < 1:
        raise WorkloadError("microdata.cells", "d must be a whole number of at least 1.", "Give d=100.")
    return int(d)
