"""Bounds on the L1 error of whole tables, moved from what a loop proved to the tables that are released."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet, Layout
from hushtable.planning.claims import Claim
from hushtable.reconstruct.fits import Fitted

Floats = NDArray[np.float64]


def l1_bounds(
    claims: Sequence[Claim],
    sets: Sequence[AttributeSet],
    fitted: Fitted,
    unbiased: Fitted,
    sizes: tuple[int, ...],
) -> Floats:
    """For each set the smallest bound on the L1 distance of its fitted table from the truth; infinite where none.

    By the triangle inequality: the distance between the claim's table and the fitted one is added.
    """
    best = np.full(len(sets), np.inf)
    for claim in claims:
        held = {s: k for k, s in enumerate(claim.sets)}
        wanted = [j for j, s in enumerate(sets) if s in held]
        if not wanted:
            continue
        layout = Layout(sizes, tuple(sets[j] for j in wanted))
        final = fitted.estimate_all(layout)
        then = unbiased.estimate_all(layout) if claim.tables is None else _picked(claim, layout)
        away = np.add.reduceat(np.abs(final - then), layout.offsets[:-1])
        limits = claim.limits[[held[s] for s in layout.sets]] + away
        best[wanted] = np.minimum(best[wanted], limits)
    return best


def _picked(claim: Claim, layout: Layout) -> Floats:
    """The claim's tables in the order of ``layout``."""
    whole = Layout(layout.sizes, claim.sets)
    tables = claim.tables if claim.tables is not None else np.zeros(whole.cells)
    return np.concatenate([whole.view(tables, s).reshape(-1) for s in layout.sets])
