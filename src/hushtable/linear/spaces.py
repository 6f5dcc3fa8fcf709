"""Row spaces: standard form of a mechanism, intersections, a canonical orthonormal basis.

All ranks are decided relative to the largest singular value.  Plain linear algebra: nothing here knows what a query is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats

RANK = 1e-6
"""Singular values below this fraction of the largest count as zero (a ratio of 1e12 between precisions)."""

ANGLE = 1e-8
"""Sines of angles between two spaces below this count as zero: above the rounding of orthonormal bases (1e-15), below
an angle that anyone means.  What rounding adds for badly conditioned queries is added to it."""

SLACK = 1e-8
"""Relative excess of precision that counts as rounding, for well conditioned queries: a decomposition leaves less."""

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Standard:
    """A mechanism with unit noise and independent queries ``diag(scales) @ basis`` (common-mechanism, Algorithm 2).

    ``basis`` is (k, d) with orthonormal rows, ``scales`` (k,) is positive and falls.
    """

    scales: Floats
    basis: Floats

    @property
    def rank(self) -> int:
        return len(self.scales)

    def coordinates(self, rows: Floats) -> Floats:
        """``A`` with ``rows = A @ queries``, for rows inside the space: ``rows @ pinv(queries)``."""
        return (rows @ self.basis.T) / self.scales

    def outside(self, rows: Floats) -> float:
        """Largest norm of what a row has outside the space, relative to the row."""
        norms = np.linalg.norm(rows, axis=1)
        beyond = np.linalg.norm(rows - (rows @ self.basis.T) @ self.basis, axis=1)
        return float(np.max(np.divide(beyond, norms, out=np.zeros_like(norms), where=norms > 0), initial=0.0))

    @property
    def condition(self) -> float:
        """Largest over smallest scale; its square is the ratio of the largest to the smallest variance."""
        return float(self.scales[0] / self.scales[-1]) if self.rank else 1.0

    def rounding(self) -> float:
        """How far rounding may turn the space: errors relative to the largest scale, seen by the smallest."""
        return 16 * self.basis.shape[1] ** 0.5 * EPSILON * self.condition

    def slack(self) -> float:
        """How far rounding may change a precision, relatively: a covariance matrix squares the condition."""
        return SLACK + 4 * EPSILON * self.condition**2


def standardise(whitened: Floats) -> Standard:
    """Standard form of the mechanism with these queries and unit noise."""
    rows = np.linalg.qr(whitened, mode="r") if len(whitened) > whitened.shape[1] else whitened
    _, scales, basis = np.linalg.svd(rows, full_matrices=False)
    rank = int((scales > RANK * scales[0]).sum()) if scales.size and scales[0] > 0 else 0
    return Standard(scales[:rank], basis[:rank])


def intersection(bases: Sequence[Floats], tolerance: float = ANGLE) -> Floats:
    """Canonical orthonormal basis (rows) of what spaces with the given orthonormal bases share.

    A vector of the first space lies in the second when nothing of it is left outside: the sines of the angles are the
    singular values of ``(I - P2) V1``, and those that vanish give the null space of ``(I - P1) + (I - P2)``.
    """
    shared = bases[0]
    for basis in bases[1:]:
        if not len(shared):
            break
        if len(basis) == basis.shape[1]:
            continue
        outside = shared - (shared @ basis.T) @ basis
        gram_side, sines, _ = np.linalg.svd(outside, full_matrices=True)
        padded = np.zeros(len(shared))
        padded[: len(sines)] = sines
        shared = gram_side[:, padded <= tolerance].T @ shared
    return canonical(shared)


def canonical(basis: Floats) -> Floats:
    """The orthonormal basis in echelon form with positive pivots: it depends on the space only."""
    rank, cells = basis.shape
    if rank == cells:
        return np.eye(cells)
    if rank == 0:
        return basis
    rotation, upper = np.linalg.qr(basis[:, :rank])
    pivots = np.diagonal(upper)
    if (np.abs(pivots) <= 1e-6).any():
        rotation = _echelon_rotation(basis)
        pivots = np.ones(rank)
    return (rotation * np.sign(pivots)).T @ basis


def _echelon_rotation(basis: Floats) -> Floats:
    """Gram-Schmidt over the columns, left to right, skipping those that depend on earlier ones."""
    rank = len(basis)
    rotation = np.zeros((rank, rank), order="F")
    found = 0
    for column in basis.T:
        left = column
        for _ in range(2):
            left = left - rotation[:, :found] @ (rotation[:, :found].T @ left)
        norm = float(np.linalg.norm(left))
        if norm > 1e-7:
            rotation[:, found] = left / norm
            found += 1
            if found == rank:
                break
    return rotation
