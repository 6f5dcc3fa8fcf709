"""From weighted groups of queries to the arrays of a ``Program``."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.microdata.answer_groups import Measurement
from hushtable.microdata.program import Labels, Program, cell_labels, stack_labels, with_matrix


class _Terms(NamedTuple):
    """What a group of rows costs: weights, answers and, where there are any, limits; one of each per row."""

    w: Floats
    a: Floats
    limits: tuple[Floats, Floats] | None = None


@dataclass(eq=False)
class Builder:
    """Collects queries of one table; answers about single cells go to the diagonal, all others become rows."""

    shape: tuple[int, ...]
    possible: NDArray[np.bool_] | None = None
    layers: list[tuple[Labels, _Terms]] = field(default_factory=list[tuple[Labels, _Terms]])
    matrices: list[tuple[Floats, _Terms]] = field(default_factory=list[tuple[Floats, _Terms]])

    def __post_init__(self) -> None:
        self.cells = prod(self.shape)
        self.d = np.zeros(self.cells)
        self.pull = np.zeros(self.cells)
        self.low = np.zeros(self.cells)
        self.high = np.full(self.cells, inf)

    def weigh(self, given: Measurement, weights: Floats) -> None:
        """Add ``weights/2 (query - answer)^2`` for every answer of a measurement."""
        self._add(given, _Terms(weights, given.answers.ravel()))

    def hold(self, given: Measurement, values: Floats) -> None:
        """Keep every query of a measurement at its value."""
        flat = values.ravel()
        self._add(given, _Terms(np.zeros(len(flat)), flat, (flat, flat)))

    def limit(self, given: Measurement, weights: Floats, reach: float) -> None:
        """Add squared errors and keep each within ``reach`` noise standard deviations."""
        flat, span = given.answers.ravel(), reach * given.noise.std
        most = np.maximum(flat + span, 0.0) if self._is_diagonal(given) else flat + span
        self._add(given, _Terms(weights, flat, (flat - span, most)))

    def weigh_sum(self, given: Measurement, chosen: NDArray[np.bool_], weight: float, answer: float) -> None:
        """Add ``weight/2 (sum of the chosen queries - answer)^2``."""
        terms = _Terms(np.array([weight]), np.array([answer]))
        if given.matrix is not None:
            self.matrices.append((given.matrix[chosen].sum(axis=0, keepdims=True), terms))
            return
        labels = cell_labels(self.shape, given.axes or ())
        self.layers.append((np.where(chosen, np.int32(0), np.int32(-1))[labels], terms))

    def program(self) -> Program:
        """The finished program."""
        terms = [terms for _, terms in (*self.layers, *self.matrices)]
        counts = [len(found.a) for _, found in self.layers]
        rows = stack_labels([labels for labels, _ in self.layers], counts, self.cells)
        for matrix, _ in self.matrices:
            rows = with_matrix(rows, matrix)
        if self.possible is not None:
            self.high = np.where(self.possible, self.high, 0.0)
            self.low = np.where(self.possible, self.low, 0.0)
        b = np.divide(self.pull, self.d, out=np.zeros(self.cells), where=self.d > 0.0)
        w, a = _joined([t.w for t in terms]), _joined([t.a for t in terms])
        least, most = np.full(len(a), -inf), np.full(len(a), inf)
        first = 0
        for found in terms:
            where = slice(first, first := first + len(found.a))
            if found.limits is not None:
                least[where], most[where] = found.limits
        return Program(rows, self.d, b, w, a, self.low, self.high, least, most)

    def _is_diagonal(self, given: Measurement) -> bool:
        return given.matrix is None and len(given.axes or ()) == len(self.shape)

    def _add(self, given: Measurement, terms: _Terms) -> None:
        if given.matrix is not None:
            self.matrices.append((given.matrix, terms))
        elif self._is_diagonal(given):
            self.d += terms.w
            self.pull += terms.w * terms.a
            if terms.limits is not None:
                least, most = terms.limits
                self.low, self.high = np.maximum(self.low, least), np.minimum(self.high, most)
        else:
            self.layers.append((cell_labels(self.shape, given.axes or ()), terms))


def query_values(given: Measurement, table: Floats) -> Floats:
    """The answers of a measurement's queries on a table, flat."""
    if given.matrix is not None:
        return given.matrix @ table.ravel()
    axes = given.axes or ()
    return table.sum(axis=tuple(k for k in range(table.ndim) if k not in axes)).reshape(-1)


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0)
