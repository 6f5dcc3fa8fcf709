"""Private selection: gaps between exact counts and public estimates, and the scores that ``draw`` chooses by.

The choice is made by the exact exponential mechanism, with the privacy cost of ``privacy.mechanism.Selection``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.kernel.gap_loops import (
    LARGEST_GAP,
    CentredChanges,
    distances,
    fill_gaps,
    subtract_changes,
    supersets_of,
)
from hushtable.marginals import Incidence, Layout, in_ranges
from hushtable.measurement import GRID, LARGEST_PENALTY, Select


class Scores(NamedTuple):
    """What the exponential mechanism draws from: numbers of candidates, their scores, and what multiplies these."""

    candidates: Ints
    scores: Ints
    factor: Fraction


class _Scored:
    """L1 norms of the marginals of a layout, by which one of them is drawn."""

    _rating: _Rating | None = None

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._norms = np.zeros(len(layout.sets), np.int64)

    def scores(self, request: Select) -> Scores:
        """What a marginal is drawn from with the request's epsilon."""
        last = self._rating
        if last is None or last.weights is not request.weights or last.penalty != request.penalty:
            self._rating = last = _Rating.of(request, self._layout)
        return last.scores(self._norms, request.epsilon)


class Gaps(_Scored):
    """True counts less estimates for every marginal of a closure, with their L1 norms, updated in place.

    ``cells`` holds the exact counts and is taken over: 64-bit cells become doubles that hold whole numbers, those of 32
    bits saturate at 2^31 steps of the grid.
    """

    def __init__(self, layout: Layout, cells: NDArray[Any]) -> None:
        super().__init__(layout)
        self._cells = cells.view(np.float64) if cells.dtype == np.int64 else cells
        self._limit = float(min(np.iinfo(cells.dtype).max, LARGEST_GAP))
        in_ranges(
            fill_gaps, layout.lengths, layout.offsets, GRID, self._limit, cells, self._cells, self._norms
        )
        below = Incidence.between(layout.sets, layout)
        self._below, self._gaps = below.links, layout.tables(self._cells)
        above = below.upward(len(layout.sets))
        self._above = above.starts, above.numbers
        self._slots = np.full(len(layout.sets), -1, np.int64)
        self._marks = np.zeros(len(layout.sets), np.bool_)
        self._found = np.empty(len(layout.sets), np.int64)

    def update(self, changes: tuple[tuple[int, NDArray[np.float64]], ...]) -> None:
        """Move the estimates: only the marginals above a changed residual are touched."""
        if not changes:
            return
        numbers = np.array([k for k, _ in changes], np.int64)
        chosen = self._found[: supersets_of(numbers, *self._above, self._marks, self._found)]
        flat = np.concatenate([change.ravel() for _, change in changes])
        offsets = np.cumsum([0, *(change.size for _, change in changes)])
        self._slots[numbers] = np.arange(len(numbers))
        moves = CentredChanges(self._slots, offsets, flat, float(GRID), self._limit)
        work = self._layout.lengths[chosen]
        in_ranges(subtract_changes, work, chosen, self._below, moves, self._gaps, self._norms)
        self._slots[numbers] = -1


class Distances(_Scored):
    """L1 distances, on the grid, of exact counts from the public tables of selection requests."""

    def __init__(self, layout: Layout, counts: Ints) -> None:
        super().__init__(layout)
        self._counts = counts

    def update(self, numbers: Ints, tables: NDArray[np.float64]) -> None:
        """Compare the numbered marginals with their tables."""
        layout = self._layout
        where = (layout.offsets, self._counts, tables, GRID, self._norms)
        in_ranges(distances, layout.lengths[numbers], numbers, *where)


@dataclass(frozen=True, eq=False)
class _Rating:
    """The public part of the scores, which stays the same from round to round until the penalty changes."""

    weights: Ints
    penalty: float
    candidates: Ints
    places: slice | Ints
    """The candidates again; a slice where they follow each other."""
    rated: Ints
    """Weights of the candidates."""
    penalties: Ints
    """round(penalty cells) of the candidates, on the grid."""
    sensitivity: int

    def scores(self, norms: Ints, epsilon: Fraction) -> Scores:
        """Scores of the candidates, from which one is drawn."""
        scores = norms[self.places] - self.penalties
        scores *= self.rated
        return Scores(self.candidates, scores, selection_factor(epsilon, self.sensitivity))

    @classmethod
    def of(cls, request: Select, layout: Layout) -> _Rating:
        candidates = np.flatnonzero(request.weights)
        penalties = np.minimum(request.penalty * GRID * layout.lengths[candidates], LARGEST_PENALTY)
        largest = int(request.weights.max())
        rated = request.weights[candidates]
        whole = np.rint(penalties).astype(np.int64)
        first, last = int(candidates[0]), int(candidates[-1]) + 1
        places = slice(first, last) if last - first == len(candidates) else candidates
        return cls(request.weights, request.penalty, candidates, places, rated, whole, GRID * largest)


def selection_factor(epsilon: Fraction, sensitivity: int) -> Fraction:
    """What scores are multiplied by: epsilon / (2 sensitivity)."""
    return epsilon / (2 * sensitivity)
