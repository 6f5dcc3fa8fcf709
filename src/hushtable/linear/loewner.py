"""Smallest covariance above several others in the Loewner order.

Minimises ``trace(S)`` subject to ``S >= S_j`` for all j (common-mechanism, equation 1).  Two matrices have a closed
form (Theorem 5.4); more are a semidefinite program, split first into the blocks that all of them share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.linear.cone import Cone, minimise

BLOCK_LIMIT = 64
"""Largest irreducible block for the semidefinite program (about 30 s on one core)."""

NEGLIGIBLE = 1e-10
"""Entries of rotated matrices, whose largest was 1, that count as zero: above what rounding leaves (1e-16 times the
order), below any link that matters.  With more, blocks that are linked are bounded apart; with less, rounding links
blocks."""


def least_upper_bound(matrices: Sequence[Floats]) -> Floats:
    """Minimum-trace matrix that is at least every one of the given symmetric positive definite ones."""
    if len(matrices) == 1:
        return matrices[0]
    if len(matrices) == 2:
        return _raised(upper_bound_of_two(*matrices), matrices)
    rotation, blocks = shared_blocks(matrices)
    rotated = [rotation.T @ s @ rotation for s in matrices]
    bound = np.zeros_like(matrices[0])
    for block in blocks:
        at = np.ix_(block, block)
        bound[at] = _bound_of_block([s[at] for s in rotated])
    bound = rotation @ bound @ rotation.T
    return _raised((bound + bound.T) / 2, matrices)


def upper_bound_of_two(first: Floats, second: Floats) -> Floats:
    """``(S1 + S2 + |S2 - S1|) / 2``, where ``|.|`` takes absolute eigenvalues."""
    values, vectors = np.linalg.eigh(second - first)
    rises = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return first + (rises + rises.T) / 2


def shared_blocks(matrices: Sequence[Floats]) -> tuple[Floats, list[NDArray[np.intp]]]:
    """A rotation, and index blocks outside which all rotated matrices vanish.

    The eigenvectors of a generic combination diagonalise matrices that commute; what remains connected is one block.
    """
    unit = [s / np.abs(s).max() for s in matrices]
    weights = [1.0 + (0.6180339887498949 * (j + 1)) % 1.0 for j in range(len(unit))]
    combination = np.tensordot(weights, np.stack(unit), axes=1)
    _, rotation = np.linalg.eigh(combination)
    linked = np.zeros(rotation.shape, bool)
    for s in unit:
        linked |= np.abs(rotation.T @ s @ rotation) > NEGLIGIBLE
    count, label = connected_components(sp.csr_matrix(linked), directed=False)
    return rotation, [np.flatnonzero(label == b) for b in range(count)]


def _bound_of_block(matrices: Sequence[Floats]) -> Floats:
    if len(matrices[0]) == 1:
        return np.maximum.reduce(matrices)
    kept = _without_dominated(matrices)
    if len(kept) == 1:
        return kept[0]
    if len(kept) == 2:
        return upper_bound_of_two(*kept)
    return _semidefinite(kept)


def _without_dominated(matrices: Sequence[Floats]) -> list[Floats]:
    kept: list[Floats] = []
    for s in matrices:
        if any(_at_least(k, s) for k in kept):
            continue
        kept = [k for k in kept if not _at_least(s, k)] + [s]
    return kept


def _at_least(upper: Floats, lower: Floats) -> bool:
    return float(np.linalg.eigvalsh(upper - lower)[0]) >= -1e-13 * float(np.abs(upper).max())


def _semidefinite(matrices: Sequence[Floats]) -> Floats:
    size = len(matrices[0])
    if size > BLOCK_LIMIT:
        raise WorkloadError(
            "linear.too-large",
            f"Three or more options share {size} queries that cannot be separated; the limit is {BLOCK_LIMIT}.",
            "Decide between two options at a time, or give marginals with independent noise.",
        )
    scale = max(float(np.abs(s).max()) for s in matrices)
    length = size * (size + 1) // 2
    cones: list[Cone] = [("semidefinite", size)] * len(matrices)
    status, triangle = minimise(
        _triangle(np.eye(size)),
        sp.vstack([-sp.identity(length)] * len(matrices)),
        -np.concatenate([_triangle(s / scale) for s in matrices]),
        cones,
        tolerance=1e-11,
    )
    if status != "solved":
        raise WorkloadError(
            "linear.not-solved",
            "The program for the common mechanism of three or more options was not solved.",
            "Decide between two options at a time.",
        )
    return _raised(_untriangle(triangle, size) * scale, matrices)


def _raised(bound: Floats, matrices: Sequence[Floats]) -> Floats:
    """``bound`` multiplied so that rounding and solver error do not leave it below any of the matrices."""
    factor = np.linalg.cholesky(bound)
    largest = 1.0
    for s in matrices:
        half = sl.solve_triangular(factor, s, lower=True)
        ratio = sl.solve_triangular(factor, half.T, lower=True)
        largest = max(largest, float(np.linalg.eigvalsh((ratio + ratio.T) / 2)[-1]))
    return bound * largest


def _triangle(matrix: Floats) -> Floats:
    """Upper triangle column by column, off-diagonal entries times sqrt(2)."""
    column, row = np.tril_indices(len(matrix))
    return matrix[row, column] * np.where(row == column, 1.0, np.sqrt(2.0))


def _untriangle(vector: Floats, size: int) -> Floats:
    column, row = np.tril_indices(size)
    matrix = np.zeros((size, size))
    matrix[row, column] = matrix[column, row] = vector / np.where(row == column, 1.0, np.sqrt(2.0))
    return matrix
