"""What AIM's rounds compare candidates with, and how the comparison follows what was measured.

Sums of residuals are the published score.  Tables of maximum entropy, which the caller fits after each measurement only
where something changed, see more of what is already known; their rounds are as large as AIM's or smaller: at first the
budget would last for sixteen rounds per attribute and for one per marginal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import Incidence, Layout, assemble
from hushtable.planning.round_loops import moved_norm
from hushtable.planning.state import Changes, State

Refit = Callable[[State, Sequence[int]], tuple[Ints, Floats]]
"""From a state and the numbers of the residuals that changed: the marginals fitted again, and all tables, flat."""

ROUNDS_PER_ATTRIBUTE = 16
"""AIM's size of rounds (sigma_0^2 = 16 d / (1.8 rho)).  With more, a round is noisier and chooses again sooner; a
closure with more marginals than that gets one round for each, which was better on binary tables and alike on adult (ADR
10)."""
MOST_PER_ATTRIBUTE = 128
"""Closures with more marginals for each attribute are measured by the published rounds and fitted once: on the ACS
stand-in (45,760 marginals of 66) the loop with tables had five times the error (ADR 10) and fits them in every round.
Where the border is best is not known."""


class Against(NamedTuple):
    """What a selection compares true counts with: changes of estimates, or tables and which of them are new."""

    changes: Changes = ()
    numbers: Ints | None = None
    tables: Floats | None = None


class Scorer(Protocol):
    """The estimates that candidates are compared with."""

    rounds: int
    """Rounds that the whole budget would last for, at the size of the first."""
    work: int
    """Cells touched so far."""

    def start(self, state: State, changes: Changes) -> None:
        """Take over what the first measurement told."""
        ...

    def against(self) -> Against:
        """What the next selection is scored against."""
        ...

    def away(self, state: State, chosen: int, changes: Changes) -> float:
        """L1 distance of the chosen marginal, as it was just measured, from what it was compared with."""
        ...

    def moved(self, state: State, chosen: int, changes: Changes) -> float:
        """Take over what was measured, after ``away``; gives how far that moved the chosen marginal's estimate."""
        ...


def rounds_of_residuals(layout: Layout) -> int:
    """Rounds that the budget would last for where candidates are compared with sums of residuals."""
    return 2 * len(layout.sets)


class ResidualScorer:
    """Unbiased estimates: sums of residuals."""

    def __init__(self, layout: Layout, below: Incidence) -> None:
        self.rounds, self.work = rounds_of_residuals(layout), 0
        self._layout, self._below = layout, below
        there = below.members >= 0
        above = np.bincount(below.members[there], layout.lengths[below.owners[there]], len(layout.sets))
        self._work_above = above.astype(np.int64)
        self._changes: Changes = ()
        self._away = 0.0

    def start(self, state: State, changes: Changes) -> None:
        """Take over what the first measurement told."""
        self._changes = changes

    def against(self) -> Against:
        """The changes since the last selection."""
        return Against(self._changes)

    def away(self, state: State, chosen: int, changes: Changes) -> float:
        """L1 distance between the new and the previous estimate of the chosen marginal."""
        below = self._below
        first, last = below.starts[chosen], below.starts[chosen + 1]
        mask_of = dict(zip(below.members[first:last].tolist(), below.masks[first:last].tolist(), strict=True))
        masks = np.array([mask_of[k] for k, _ in changes], np.int64)
        starts = np.array([0, *accumulate(len(change) for _, change in changes)], np.int64)
        flat = np.concatenate([change for _, change in changes])
        cells = int(self._layout.lengths[chosen])
        self._away = moved_norm(self._layout.shapes[chosen], masks, starts, flat, cells)
        return self._away

    def moved(self, state: State, chosen: int, changes: Changes) -> float:
        """The same distance: the estimate is what was measured."""
        self._changes = changes
        self.work += len(self._layout.sets) + sum(int(self._work_above[k]) for k, _ in changes)
        return self._away


class TableScorer:
    """Tables that ``refit`` makes of all that is known."""

    def __init__(self, layout: Layout, refit: Refit) -> None:
        attributes = max(1, sum(len(s) == 1 for s in layout.sets))
        self.rounds, self.work = max(ROUNDS_PER_ATTRIBUTE * attributes, len(layout.sets)), 0
        self._layout, self._refit = layout, refit
        self._numbers: Ints = np.empty(0, np.int64)
        self._tables: Floats = np.empty(0)
        self._before: Floats = np.empty(0)

    def start(self, state: State, changes: Changes) -> None:
        """Fit all tables."""
        self._numbers, self._tables = self._refit(state, [k for k, _ in changes])

    def against(self) -> Against:
        """All tables, and those that were fitted again."""
        return Against((), self._numbers, self._tables)

    def away(self, state: State, chosen: int, changes: Changes) -> float:
        """L1 distance of the chosen table from its unbiased estimate."""
        layout = self._layout
        self._before = self._tables[self._cells(chosen)].copy()
        unbiased = assemble(layout, state.values, Layout(layout.sizes, (layout.sets[chosen],)))
        return float(np.abs(self._before - unbiased).sum())

    def moved(self, state: State, chosen: int, changes: Changes) -> float:
        """Fit again where something changed; the L1 distance of the chosen table from itself before."""
        self.start(state, changes)
        self.work += int(self._layout.lengths[self._numbers].sum())
        return float(np.abs(self._tables[self._cells(chosen)] - self._before).sum())

    def _cells(self, chosen: int) -> slice:
        return slice(self._layout.offsets[chosen], self._layout.offsets[chosen + 1])
