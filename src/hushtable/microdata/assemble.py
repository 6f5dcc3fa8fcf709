"""From weighted groups of queries to the arrays of a ``Program``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.microdata.measurement import Measurement
from hushtable.microdata.program import Labels, Program, cell_labels, stack_labels, with_matrix


@dataclass(eq=False)
class Builder:
    """Collects queries of one table; answers about single cells go to the diagonal, all others become rows."""

    shape: tuple[int, ...]
    possible: NDArray[np.bool_] | None = None
    layers: list[Labels] = field(default_factory=list[Labels])
    counts: list[int] = field(default_factory=list[int])
    matrices: list[Floats] = field(default_factory=list[Floats])
    w: list[Floats] = field(default_factory=list[Floats])
    a: list[Floats] = field(default_factory=list[Floats])
    least: list[Floats] = field(default_factory=list[Floats])
    most: list[Floats] = field(default_factory=list[Floats])
    _late: list[tuple[Floats, ...]] = field(default_factory=list[tuple[Floats, ...]])

    def __post_init__(self) -> None:
        self.cells = prod(self.shape)
        self.d = np.zeros(self.cells)
        self.pull = np.zeros(self.cells)
        self.low = np.zeros(self.cells)
        self.high = np.full(self.cells, inf)

    def weigh(self, given: Measurement, weights: Floats) -> None:
        """Add ``weights/2 (query - answer)^2`` for every answer of a measurement."""
        flat = given.answers.ravel()
        if given.matrix is not None:
            self._matrix(given.matrix, weights, flat, np.full(len(flat), -inf), np.full(len(flat), inf))
        elif len(given.axes or ()) == len(self.shape):
            self.d += weights
            self.pull += weights * flat
        else:
            self._layer(given, weights, flat, np.full(len(flat), -inf), np.full(len(flat), inf))

    def hold(self, given: Measurement, values: Floats, *, reach: Floats | None = None) -> None:
        """Keep every query of a measurement at its value, or within ``reach`` of it."""
        flat = values.ravel()
        within = np.zeros(len(flat)) if reach is None else reach
        least, most = flat - within, flat + within
        if given.matrix is not None:
            self._matrix(given.matrix, np.zeros(len(flat)), flat, least, most)
        elif len(given.axes or ()) == len(self.shape):
            self.low, self.high = np.maximum(self.low, least), np.minimum(self.high, most)
        else:
            self._layer(given, np.zeros(len(flat)), flat, least, most)

    def limit(self, given: Measurement, weights: Floats, reach: float) -> None:
        """Add squared errors and keep each within ``reach`` noise standard deviations."""
        flat = given.answers.ravel()
        span = np.full(len(flat), reach * given.noise.std)
        if given.matrix is not None:
            self._matrix(given.matrix, weights, flat, flat - span, flat + span)
        elif len(given.axes or ()) == len(self.shape):
            self.weigh(given, weights)
            self.low = np.maximum(self.low, flat - span)
            self.high = np.minimum(self.high, np.maximum(flat + span, 0.0))
        else:
            self._layer(given, weights, flat, flat - span, flat + span)

    def weigh_sum(self, given: Measurement, chosen: NDArray[np.bool_], weight: float, answer: float) -> None:
        """Add ``weight/2 (sum of the chosen queries - answer)^2``."""
        if given.matrix is not None:
            row = given.matrix[chosen].sum(axis=0, keepdims=True)
            self._matrix(row, np.array([weight]), np.array([answer]), np.array([-inf]), np.array([inf]))
            return
        labels = cell_labels(self.shape, given.axes or ())
        layer = np.where(chosen, np.int32(0), np.int32(-1))[labels]
        self._rows(layer, 1, np.array([weight]), np.array([answer]), np.array([-inf]), np.array([inf]))

    def program(self) -> Program:
        """The finished program."""
        rows = stack_labels(self.layers, self.counts, self.cells)
        for matrix in self.matrices:
            rows = with_matrix(rows, matrix)
        for w, a, least, most in self._late:
            self.w.append(w)
            self.a.append(a)
            self.least.append(least)
            self.most.append(most)
        if self.possible is not None:
            self.high = np.where(self.possible, self.high, 0.0)
            self.low = np.where(self.possible, self.low, 0.0)
        b = np.divide(self.pull, self.d, out=np.zeros(self.cells), where=self.d > 0.0)
        return Program(
            rows, self.d, b, _joined(self.w), _joined(self.a), self.low, self.high, _joined(self.least),
            _joined(self.most),
        )  # fmt: skip

    def _layer(self, given: Measurement, w: Floats, a: Floats, least: Floats, most: Floats) -> None:
        self._rows(cell_labels(self.shape, given.axes or ()), len(a), w, a, least, most)

    def _rows(self, labels: Labels, count: int, w: Floats, a: Floats, least: Floats, most: Floats) -> None:
        self.layers.append(labels)
        self.counts.append(count)
        self.w.append(w)
        self.a.append(a)
        self.least.append(least)
        self.most.append(most)

    def _matrix(self, matrix: Floats, w: Floats, a: Floats, least: Floats, most: Floats) -> None:
        self.matrices.append(matrix)
        self._late.append((w, a, least, most))


def query_values(given: Measurement, table: Floats) -> Floats:
    """The answers of a measurement's queries on a table, flat."""
    if given.matrix is not None:
        return given.matrix @ table.ravel()
    axes = given.axes or ()
    return table.sum(axis=tuple(k for k in range(table.ndim) if k not in axes)).reshape(-1)


def _joined(parts: Iterable[Floats]) -> Floats:
    kept = list(parts)
    return np.concatenate(kept) if kept else np.zeros(0)
