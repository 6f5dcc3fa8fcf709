"""Bounds on the L1 error of whole tables: the least of all that is proved, for the tables that are released.

    noise    a table measured in full is its unbiased estimate plus noise of known covariance
    cells    the cells of any other one, or of a rough one, lie between bounds from its sub-tables; with P what the true
             cells can exceed the fitted ones by, Q what they can fall short by, and D the difference of the two sums,
             the distance is at most P + Q, 2 P - D and 2 Q + D
    total    no two tables differ by more than what both add up to; the true one adds up to the number of records,
             which lies in its measured interval
    claims   what a loop proved about the tables of some moment

A fit that differs from the table of a bound adds the distance between the two (triangle inequality).  The levels of
the four add up to BETA.  Noise of residuals that were measured several times, at precisions that depended on earlier
replies, is taken for Gaussian, as in the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout
from hushtable.measurement import Claim
from hushtable.planning import CELLS, NOISE, TOTAL
from hushtable.reconstruct.bounds import Bounder
from hushtable.reconstruct.fits import Fitted
from hushtable.reconstruct.mle import ResidualEstimates

PART = 2**21
"""Cells of the tables that are looked at together: 16 MB for each of their numbers.  It bounds memory."""


def l1_bounds(
    claims: Sequence[Claim], sets: Sequence[AttributeSet], fitted: Fitted, estimates: ResidualEstimates
) -> Floats:
    """For each set the least bound on the L1 distance of its fitted table from the truth; infinite where none.

    Each holds with probability ``1 - BETA``.
    """
    whole = Layout(estimates.layout.sizes, tuple(sets))
    noise, records = estimates.model.l1_limits(whole.sets, NOISE), _records(estimates)
    cells = _Cells(estimates, whole.sets, np.isinf(noise), records)
    places = [Layout(whole.sizes, claim.sets) for claim in claims]
    parts: list[Floats] = []
    for numbers in np.split(np.arange(len(sets)), np.flatnonzero(np.diff(whole.offsets[1:] // PART)) + 1):
        layout = Layout(whole.sizes, tuple(whole.sets[int(k)] for k in numbers))
        final = fitted.estimate_all(layout)
        unbiased = final if fitted is estimates else estimates.estimate_all(layout)
        moved = 0.0 if unbiased is final else _norms(layout, final - unbiased)
        best = np.minimum(_norms(layout, final) + records[1], noise[numbers] + moved)
        np.minimum(best, cells.limits(layout, final), out=best)
        for claim, place in zip(claims, places, strict=True):
            np.minimum(best, _limits(claim, place, layout, final, moved), out=best)
        parts.append(best)
    return np.concatenate(parts)


class _Cells:
    """Limits from bounds of single cells that hold together, for tables that were not measured in full or roughly."""

    def __init__(
        self,
        estimates: ResidualEstimates,
        sets: Sequence[AttributeSet],
        unknown: NDArray[np.bool_],
        records: tuple[float, float],
    ) -> None:
        self._records, self._bounder = records, Bounder(estimates, sets, CELLS)
        bounded = np.flatnonzero(unknown | self._bounder.rough(sets))
        self._sets = frozenset(sets[k] for k in bounded.tolist())
        sizes = estimates.layout.sizes
        below = [prod(sizes[a] + 1 for a in s) - prod(sizes[a] for a in s) for s in self._sets]
        self._shared = max(below, default=1)

    def limits(self, layout: Layout, final: Floats) -> Floats:
        """For each table of ``layout``; infinite for those that have no such bounds."""
        low, high = self._records
        found = np.full(len(layout.sets), np.inf)
        for k, s in enumerate(layout.sets):
            if s in self._sets:
                table = final[layout.offsets[k] : layout.offsets[k + 1]]
                bounds = self._bounder.from_below(s, shared=self._shared)
                above = float(np.maximum(bounds.upper - table, 0.0).sum())
                short = float(np.maximum(table - bounds.lower, 0.0).sum())
                fitted = float(table.sum())
                found[k] = min(above + short, 2.0 * above + fitted - low, 2.0 * short + high - fitted)
        return found


def _limits(claim: Claim, place: Layout, layout: Layout, final: Floats, moved: Floats | float) -> Floats:
    """What a claim says of the ``final`` tables; ``moved`` is how far these lie from the unbiased estimates."""
    held = np.array([place.index.get(s, -1) for s in layout.sets], np.int64)
    limits = np.where(held >= 0, claim.limits[held], np.inf)
    if claim.tables is None:
        return limits + moved
    for k in np.flatnonzero(held >= 0).tolist():
        then = claim.tables[place.offsets[held[k]] : place.offsets[held[k] + 1]]
        limits[k] += np.abs(final[layout.offsets[k] : layout.offsets[k + 1]] - then).sum()
    return limits


def _records(estimates: ResidualEstimates) -> tuple[float, float]:
    """Between these lies the number of records, with probability 1 - TOTAL; 0 and infinity when it was not measured."""
    total = Layout(estimates.layout.sizes, ((),))
    reach = float(estimates.model.half_widths(total.sets, TOTAL)[0])
    measured = float(estimates.estimate_all(total)[0])
    return max(0.0, measured - reach), max(0.0, measured + reach)


def _norms(layout: Layout, flat: Floats) -> Floats:
    return np.add.reduceat(np.abs(flat), layout.offsets[:-1])
