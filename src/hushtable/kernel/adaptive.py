"""The handle of an adaptive release: exact counts behind three questions, each answered with noise.

``measure`` gives noisy residuals, ``select`` one chosen marginal, ``compare`` noisy L1 distances: each of them computes
what noise will be added to, and hands back what draws the noise.  Exact counts, gaps and scores never leave; nothing
here charges: the loop in ``rounds`` does, between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.kernel.counter import Counter
from hushtable.kernel.gap_loops import distances
from hushtable.kernel.select import Distances, Gaps
from hushtable.marginals import AttributeSet, Layout, lift_all
from hushtable.marginals.threads import in_ranges
from hushtable.measurement import GRID, Compare, Measure, Request, Select
from hushtable.privacy import BitSource, discrete_gaussian_segments

Drawing = Callable[[], Ints]
"""Draws noise and gives the reply; to be called once, after the charge."""

PASS_CELLS = 150_000_000
"""Cells tabulated in one pass when counts are kept narrow."""


class Confidential:
    """Exact counts of a closure.

    ``wide`` keeps every count in memory in 64 bits; otherwise marginals of more than two attributes are counted again
    whenever they are asked for, and gaps are kept in 32 bits.
    """

    def __init__(
        self,
        counter: Counter,
        layout: Layout,
        *,
        wide: bool = True,
        scored: bool = True,
        bits: BitSource | None = None,
    ) -> None:
        self._counter = counter if wide else counter.staged()
        self._layout, self._bits, self._wide = layout, bits, wide
        kept = layout if wide else Layout(layout.sizes, tuple(s for s in layout.sets if len(s) <= 2))
        self._kept = kept
        self._counts = self._counter.tabulate(kept)
        self._gaps: Gaps | Distances | None = None
        if scored:
            self._gaps = Gaps(layout, self._counts.copy() if wide else self._narrow_counts())

    def update(self, request: Request) -> None:
        """Take over the public part of a request: the changes of the estimates that a selection is scored against."""
        if not isinstance(request, Select):
            return
        if request.tables is not None and request.numbers is not None:
            if not isinstance(self._gaps, Distances):
                self._gaps = Distances(self._layout, self._counts)
            self._gaps.update(request.numbers, request.tables)
        elif isinstance(self._gaps, Gaps):
            self._gaps.update(request.changes)

    def prepare(self, request: Request) -> Drawing:
        """Read, count and compute all that the reply needs but its noise; what is handed back draws, and once."""
        self.update(request)
        if isinstance(request, Measure):
            return self.measure(request)
        if isinstance(request, Compare):
            return self.compare(request)
        return self.select(request)

    def measure(self, request: Measure) -> Drawing:
        """Lifted residuals plus discrete Gaussian noise of the request's variances."""
        exact = lift_all(request.layout, self._tables(request.layout))
        variances = [mechanism.noise_variance for mechanism in request.mechanisms]
        return self._noisy(exact, variances, request.layout.lengths.tolist())

    def select(self, request: Select) -> Drawing:
        """One marginal, by private selection."""
        if self._gaps is None:
            raise ValueError("This handle keeps no gaps.")
        selecting = self._gaps.prepare(request)
        return lambda: np.array([selecting(self._bits)], np.int64)

    def compare(self, request: Compare) -> Drawing:
        """L1 distances of true marginals from the request's tables, on the grid, plus discrete Gaussian noise."""
        layout = request.layout
        exact = np.empty(len(layout.sets), np.int64)
        for first, last in _passes(layout):
            part = Layout(layout.sizes, layout.sets[first:last])
            tables = request.tables[layout.offsets[first] : layout.offsets[last]]
            norms = np.empty(last - first, np.int64)
            counts = self._tables(part)
            in_ranges(distances, part.lengths, part.offsets, counts, tables, GRID, norms)
            exact[first:last] = norms
        return self._noisy(exact, [request.variance], [len(exact)])

    def _noisy(self, exact: Ints, variances: Sequence[Fraction], lengths: Sequence[int]) -> Drawing:
        return lambda: exact + discrete_gaussian_segments(variances, lengths, bits=self._bits)

    def _tables(self, layout: Layout) -> Ints:
        """Exact counts of the given sets, flat; those that are not kept are counted again."""
        missing = tuple(s for s in layout.sets if s not in self._kept.index)
        again = Layout(layout.sizes, missing) if missing else self._kept
        counted = self._counter.tabulate(again) if missing else self._counts
        flat = np.empty(layout.cells, np.int64)
        for k, attributes in enumerate(layout.sets):
            where = slice(int(layout.offsets[k]), int(layout.offsets[k + 1]))
            flat[where] = self._one(attributes, again, counted)
        return flat

    def _one(self, attributes: AttributeSet, again: Layout, counted: Ints) -> Ints:
        home, flat = (self._kept, self._counts) if attributes in self._kept.index else (again, counted)
        k = home.index[attributes]
        return flat[home.offsets[k] : home.offsets[k + 1]]

    def _narrow_counts(self) -> NDArray[Any]:
        """Counts of the whole closure in 32 bits, saturated, a part at a time."""
        layout = self._layout
        cells = np.empty(layout.cells, np.int32)
        for first, last in _passes(layout):
            part = Layout(layout.sizes, layout.sets[first:last])
            counts = self._counter.tabulate(part)
            cells[layout.offsets[first] : layout.offsets[last]] = np.minimum(counts, np.iinfo(np.int32).max)
        return cells


def _passes(layout: Layout) -> list[tuple[int, int]]:
    """Ranges of consecutive sets of about ``PASS_CELLS`` cells."""
    parts = layout.offsets[1:] // PASS_CELLS
    cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(layout.sets)]
    return [(first, last) for first, last in pairwise(cuts) if last > first]
