"""Bounds on the L1 error of whole released tables, computed once and kept on the card."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod

from hushtable.marginals import AttributeSet
from hushtable.measurement import Claim
from hushtable.planning.claims import BETA
from hushtable.reconstruct.l1_bounds import l1_bounds
from hushtable.release.bundle import MOST_TABLE_CELLS
from hushtable.release.card import L1Bounds
from hushtable.release.release import Release


def bounded(workload: Sequence[AttributeSet], sizes: Sequence[int]) -> bool:
    """Whether a workload is small enough for bounds of its whole tables, which are as many numbers as it has cells."""
    return sum(prod(sizes[i] for i in s) for s in workload) <= MOST_TABLE_CELLS


def with_l1_bounds(release: Release, claims: Sequence[Claim]) -> Release:
    """The same release, its card holding one bound per marginal of the workload (None where nothing is proved).

    Each holds for its own table with probability 1 - BETA.  Workloads that are too large to be written have no such
    bounds.
    """
    sizes = release.schema.sizes
    if not bounded(release.workload, sizes):
        return release
    bounds = l1_bounds(claims, release.workload, release.fitted, release.estimates)
    records = tuple(round(b, 3) if isfinite(b) else None for b in bounds.tolist())
    return release.with_bounds(L1Bounds(confidence=1.0 - BETA, records=records))
