"""The matrix of the dual that ``minimax`` solves, with all that its methods ask of it.

Small ones are plain arrays: loading scipy takes longer than to plan with them.  Large ones are sparse, most of whose
entries are zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from hushtable.arrays import Floats, Ints

SMALL = 1 << 16
"""Entries up to which a matrix is an array: half a megabyte, and at most a few milliseconds a step.  With more, larger
plans do without scipy (0.3 s to load) and multiply more zeros."""


class RootRows(ABC):
    """Rows are (orbits of) marginals or kinds of records, columns residuals."""

    @classmethod
    def of(cls, entries: Floats) -> RootRows:
        """The same as an array says."""
        return _Dense(entries) if entries.size <= SMALL else _Sparse(_sparse().csr_array(entries))

    @classmethod
    def summed(cls, values: Floats, rows: Ints, columns: Ints, shape: tuple[int, int]) -> RootRows:
        """With these values at these places, added up where a place occurs again."""
        if shape[0] * shape[1] <= SMALL:
            entries = np.zeros(shape)
            np.add.at(entries, (rows, columns), values)
            return _Dense(entries)
        matrix = _sparse().csr_array((values, (rows, columns)), shape=shape)
        matrix.sum_duplicates()
        return _Sparse(matrix)

    @abstractmethod
    def times(self, of_columns: Floats) -> Floats:
        """A x."""

    @abstractmethod
    def back(self, of_rows: Floats) -> Floats:
        """A'u."""

    @abstractmethod
    def gram(self, of_columns: Floats) -> Floats:
        """A diag(x) A', dense."""

    @abstractmethod
    def back_gram(self, of_rows: Floats) -> Floats:
        """A' diag(u) A, dense."""

    @abstractmethod
    def some_columns(self, columns: Ints) -> RootRows:
        """Those columns alone."""

    @abstractmethod
    def at(self, rows: Ints, columns: Ints) -> Floats:
        """One entry for each pair."""

    @abstractmethod
    def own_columns(self) -> Ints:
        """For each row a column that only this row has, or -1."""

    @abstractmethod
    def solve(self, system: Floats, right: Floats) -> Floats:
        """The solution of a dense, positive definite system, or ``LinAlgError`` or ``ValueError``."""


class _Dense(RootRows):
    def __init__(self, entries: Floats) -> None:
        self._entries = entries

    def times(self, of_columns: Floats) -> Floats:
        return self._entries @ of_columns

    def back(self, of_rows: Floats) -> Floats:
        return self._entries.T @ of_rows

    def gram(self, of_columns: Floats) -> Floats:
        return (self._entries * of_columns) @ self._entries.T

    def back_gram(self, of_rows: Floats) -> Floats:
        return (self._entries.T * of_rows) @ self._entries

    def some_columns(self, columns: Ints) -> RootRows:
        return _Dense(self._entries[:, columns])

    def at(self, rows: Ints, columns: Ints) -> Floats:
        return self._entries[rows, columns]

    def own_columns(self) -> Ints:
        there = self._entries != 0.0
        return _owned(len(there), *np.nonzero(there & (there.sum(axis=0) == 1)))

    def solve(self, system: Floats, right: Floats) -> Floats:
        if not (np.isfinite(system).all() and np.isfinite(right).all()):
            raise ValueError("The system is not finite.")
        lower = np.linalg.cholesky(system)
        return np.asarray(np.linalg.solve(lower.T, np.linalg.solve(lower, right)), np.float64)


class _Sparse(RootRows):
    def __init__(self, matrix: Any) -> None:  # of scipy, which has no types
        self._matrix = matrix

    def times(self, of_columns: Floats) -> Floats:
        return np.asarray(self._matrix @ of_columns)

    def back(self, of_rows: Floats) -> Floats:
        return np.asarray(self._matrix.T @ of_rows)

    def gram(self, of_columns: Floats) -> Floats:
        return (self._matrix @ _sparse().diags_array(of_columns) @ self._matrix.T).toarray()

    def back_gram(self, of_rows: Floats) -> Floats:
        return (self._matrix.T @ _sparse().diags_array(of_rows) @ self._matrix).toarray()

    def some_columns(self, columns: Ints) -> RootRows:
        return _Sparse(_sparse().csr_array(self._matrix[:, columns]))

    def at(self, rows: Ints, columns: Ints) -> Floats:
        found = self._matrix[rows, columns]  # an array or, in later versions of scipy, sparse
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, np.float64).ravel()

    def own_columns(self) -> Ints:
        by_column = _sparse().csc_array(self._matrix)
        single = np.flatnonzero(np.diff(by_column.indptr) == 1)
        return _owned(self._matrix.shape[0], by_column.indices[by_column.indptr[single]], single)

    def solve(self, system: Floats, right: Floats) -> Floats:
        from scipy.linalg import cho_factor, cho_solve

        return cho_solve(cho_factor(system, lower=True), right)


def _owned(count: int, rows: Ints, columns: Ints) -> Ints:
    own = np.full(count, -1)
    own[rows] = columns
    return own


def _sparse() -> Any:
    import scipy.sparse

    return scipy.sparse
