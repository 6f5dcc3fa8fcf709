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
from typing import Any, NamedTuple

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
    order = np.argsort(axes, kind="stable")
    having = np.repeat(np.arange(len(distinct)), np.diff(start))[order]
    begins = np.searchsorted(axes[order], np.arange(len(layout.sizes) + 1)).astype(np.int64)
    inside, of = grow(OpenSets(start, axes, begins, having), np.array(layout.sizes, np.int64), COVER_CELLS)
    covers = tuple(tuple(np.flatnonzero(row).tolist()) for row in inside)
    place = dict(zip(distinct, of.tolist(), strict=True))
    return Covers(layout, covers, tuple(place[s] for s in layout.sets))


class OpenSets(NamedTuple):
    """Sets from large to small: k has the attributes ``axis[start[k] .. start[k + 1] - 1]``; those with an attribute a
    are ``having[begin[a] .. begin[a + 1] - 1]``."""

    start: NDArray[np.int64]
    axis: NDArray[np.int64]
    begin: NDArray[np.int64]
    having: NDArray[np.int64]


@njit(cache=True, nogil=True)
def grow(sets: Any, sizes: Any, most: int) -> Any:
    """A row for each cover with its attributes marked, and for each set the cover that it lies in.

    An attribute's gain is the number of open sets that lack nothing else: kept up to date from what each set lacks, so
    that a step looks at the sets with one attribute alone.
    """
    number = len(sets.start) - 1
    of, lacking, gains = np.full(number, -1, np.int64), np.diff(sets.start), np.empty(len(sizes), np.int64)
    covers = np.zeros((max(number, 1), len(sizes)), np.bool_)
    found = 0
    for first in range(number):
        if of[first] >= 0:
            continue
        inside, cells, best = covers[found], 1, -1
        gains[:] = 0
        for k in range(number - 1, -1, -1):  # the smallest sets lack one attribute, or none, of any cover
            if lacking[k] > 1:
                break
            if of[k] < 0 and lacking[k] == 1:
                gains[sets.axis[sets.start[k]]] += 1
            elif of[k] < 0:
                of[k] = found
        step = sets.start[first]
        while True:
            if step < sets.start[first + 1]:
                best = sets.axis[step]
                step += 1
            else:
                best = -1
                for axis in range(len(sizes)):
                    room = not inside[axis] and cells * sizes[axis] <= most
                    if room and gains[axis] > 0 and (best < 0 or gains[axis] > gains[best]):
                        best = axis
            if best < 0:
                break
            inside[best] = True
            cells *= sizes[best]
            for k in sets.having[sets.begin[best] : sets.begin[best + 1]]:
                lacking[k] -= 1
                if of[k] < 0 and lacking[k] == 0:
                    of[k] = found
                elif of[k] < 0 and lacking[k] == 1:
                    for axis in sets.axis[sets.start[k] : sets.start[k + 1]]:
                        if not inside[axis]:
                            gains[axis] += 1
        for axis in np.flatnonzero(inside):
            for k in sets.having[sets.begin[axis] : sets.begin[axis + 1]]:
                lacking[k] += 1
        found += 1
    return covers[:found], of


def spread(covers: Covers, sums: NDArray[np.int64], offsets: Ints, out: NDArray[np.int64]) -> None:
    """Sum each table of the layout from its cover; ``sums`` and ``out`` have one row per quantity."""
    layout = covers.layout
    for k, (attributes, members) in enumerate(zip(covers.sets, covers.members, strict=True)):
        made = {attributes: np.ascontiguousarray(sums[:, offsets[k] : offsets[k + 1]])}
        longest = sorted(attributes, key=lambda axis: -layout.sizes[axis])
        for position in members:
            table = _summed(made, attributes, [a for a in longest if a not in layout.sets[position]], layout)
            begin = layout.offsets[position]
            out[:, begin : begin + table.shape[1]] = table


def _summed(
    made: dict[AttributeSet, NDArray[np.int64]], attributes: AttributeSet, lost: list[int], layout: Layout
) -> NDArray[np.int64]:
    """One attribute after the other is summed out, the longest first, and what lies on the way is kept for others."""
    here = attributes
    for axis in lost:
        below = tuple([a for a in here if a != axis])
        if below not in made:
            given, length = made[here], layout.sizes[axis]
            inner = prod([layout.sizes[a] for a in here if a > axis])
            made[below] = np.zeros((len(given), given.shape[1] // length), np.int64)
            sum_out(given, length, inner, made[below])
        here = below
    return made[here]


@njit(cache=True, nogil=True)
def sum_out(given: Any, length: int, inner: int, out: Any) -> None:
    """Add up an axis of this length, of flat tables in rows; ``inner`` cells lie between two of its categories."""
    outer = given.shape[1] // (length * inner)
    for row in range(given.shape[0]):
        for o in range(outer):
            for k in range(length):
                begin = (o * length + k) * inner
                for i in range(inner):
                    out[row, o * inner + i] += given[row, begin + i]


def offsets_of(layout: Layout, sets: Sequence[AttributeSet]) -> Ints:
    """Where the cells of each set begin, and where the last ends."""
    lengths = [prod(layout.sizes[axis] for axis in s) for s in sets]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
