"""Few large tables that hold many small ones: what is summed by weight is added to each of these once.

A table of counts can be had by bit planes, 64 records at a time; a table of weights or values cannot, so that what it
costs is one addition a record.  Sets that lie in a common larger one share that addition, and are summed from it at the
end.  The choice rests on public sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.marginals import AttributeSet, Layout

COVER_CELLS = 2**14
"""Cells of a larger table, unless it is one that was asked for: 128 KB of 64-bit sums stay in a second-level cache.
With 2^16 the tables of 66 attributes need half as many additions and take four times as long to sum at the end."""


@dataclass(frozen=True)
class Covers:
    """Sets that are added to, and for each set of a layout the one that it is summed from."""

    layout: Layout
    sets: tuple[AttributeSet, ...]
    of: tuple[int, ...]

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Positions in the layout that are summed from each cover."""
        found: list[list[int]] = [[] for _ in self.sets]
        for position, cover in enumerate(self.of):
            found[cover].append(position)
        return tuple(map(tuple, found))


def cover(layout: Layout) -> Covers:
    """Begin with the largest set that is left, and add whatever attribute brings most others in while there is room."""
    distinct = sorted(set(layout.sets), key=lambda s: (-len(s), s))
    start = np.concatenate([[0], np.cumsum([len(s) for s in distinct])]).astype(np.int64)
    axes = np.array([axis for s in distinct for axis in s], np.int64)
    sizes = np.array(layout.sizes, np.int64)
    of = np.full(len(distinct), -1, np.int64)
    covers: list[AttributeSet] = []
    for position in range(len(distinct)):
        if of[position] < 0:
            inside = np.zeros(len(sizes), np.bool_)
            grow(start, axes, sizes, of, inside, (position, len(covers), COVER_CELLS))
            covers.append(tuple(np.flatnonzero(inside).tolist()))
    place = dict(zip(distinct, of.tolist(), strict=True))
    return Covers(layout, tuple(covers), tuple(place[s] for s in layout.sets))


@njit(cache=True, nogil=True)
def grow(start: Any, axes: Any, sizes: Any, of: Any, inside: Any, job: Any) -> None:
    """Grow the cover ``number`` from the set ``first``; sets that lie in it are marked in ``of``.

    Set k has the attributes ``axes[start[k] .. start[k + 1] - 1]``.  An attribute's gain is the number of open sets
    that lack nothing else.
    """
    first, number, most = job
    cells = 1
    for i in range(start[first], start[first + 1]):
        inside[axes[i]] = True
        cells *= sizes[axes[i]]
    gains = np.empty(len(sizes), np.int64)
    while True:
        gains[:] = 0
        for k in range(first, len(of)):
            if of[k] >= 0:
                continue
            missing = 0
            lacked = 0
            for i in range(start[k], start[k + 1]):
                if not inside[axes[i]]:
                    missing += 1
                    lacked = axes[i]
            if missing == 0:
                of[k] = number
            elif missing == 1:
                gains[lacked] += 1
        best = -1
        for axis in range(len(sizes)):
            room = not inside[axis] and cells * sizes[axis] <= most
            if room and gains[axis] > 0 and (best < 0 or gains[axis] > gains[best]):
                best = axis
        if best < 0:
            return
        inside[best] = True
        cells *= sizes[best]


def spread(covers: Covers, sums: NDArray[np.int64], offsets: Ints, out: NDArray[np.int64]) -> None:
    """Sum each table of the layout from its cover; ``sums`` and ``out`` have one row per quantity."""
    layout = covers.layout
    for k, (attributes, members) in enumerate(zip(covers.sets, covers.members, strict=True)):
        shape = tuple(layout.sizes[axis] for axis in attributes)
        whole = sums[:, offsets[k] : offsets[k + 1]].reshape(-1, *shape)
        made = {attributes: whole}
        for position in members:
            wanted = layout.sets[position]
            out[:, layout.offsets[position] : layout.offsets[position] + prod(layout.shape(wanted))] = (
                _summed(made, attributes, wanted).reshape(len(out), -1)
            )


def _summed(
    made: dict[AttributeSet, NDArray[np.int64]], attributes: AttributeSet, wanted: AttributeSet
) -> NDArray[np.int64]:
    """One attribute after the other is summed out, and what lies on the way is kept for others."""
    here = attributes
    for axis in reversed(attributes):
        if axis not in wanted:
            below = tuple(a for a in here if a != axis)
            if below not in made:
                made[below] = made[here].sum(axis=1 + here.index(axis))
            here = below
    return made[here]


def offsets_of(layout: Layout, sets: Sequence[AttributeSet]) -> Ints:
    """Where the cells of each set begin, and where the last ends."""
    lengths = [prod(layout.sizes[axis] for axis in s) for s in sets]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
