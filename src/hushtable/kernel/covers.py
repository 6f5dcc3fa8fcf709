"""Few large tables that hold many small ones: what is summed by weight is added to each of these once.

A table of counts can be had by bit planes, 64 records at a time; a table of weights or values cannot, so that what it
costs is one addition a record.  Sets that lie in a common larger one share that addition, and are summed from it at the
end.  The choice rests on public sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.marginals import AttributeSet, Layout, in_ranges

COVER_CELLS = 2**14
"""Cells of a larger table, unless it is one that was asked for: 128 KB of 64-bit sums stay in a second-level cache.
With 2^16 the tables of 66 attributes need half as many additions and take four times as long to sum at the end."""


@dataclass(frozen=True)
class Covers:
    """Sets that are added to, and for each set of a layout the one that it is summed from."""

    layout: Layout
    sets: tuple[AttributeSet, ...]
    of: tuple[int, ...]


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


class SummingOut(NamedTuple):
    """Covers and what is summed from them: cover c has the attributes ``axis[start[c] .. start[c + 1] - 1]``, in order,
    and the sets ``member[first[c] .. first[c + 1] - 1]`` of the layout; set k has the attributes
    ``own[begin[k] .. begin[k + 1] - 1]``."""

    start: NDArray[np.int64]
    axis: NDArray[np.int64]
    first: NDArray[np.int64]
    member: NDArray[np.int64]
    begin: NDArray[np.int64]
    own: NDArray[np.int64]
    sizes: NDArray[np.int64]
    place: NDArray[np.int64]
    """Where the cells of each set begin in the layout."""


def spread(covers: Covers, sums: NDArray[np.int64], out: NDArray[np.int64], *, threads: int | None) -> None:
    """Sum each table of the layout from its cover; ``sums`` and ``out`` have one row per quantity."""
    layout, of = covers.layout, np.array(covers.of, np.int64)
    plan = SummingOut(
        *_ragged(covers.sets),
        np.searchsorted(np.sort(of), np.arange(len(covers.sets) + 1)).astype(np.int64),
        np.argsort(of, kind="stable").astype(np.int64),
        *_ragged(layout.sets),
        np.array(layout.sizes, np.int64),
        np.array(layout.offsets, np.int64),
    )
    offsets = offsets_of(layout, covers.sets)
    if threads == 1:
        sum_covers(0, len(covers.sets), plan, sums, offsets, out)
    else:
        in_ranges(sum_covers, np.diff(offsets) * len(sums), plan, sums, offsets, out)


def _ragged(sets: Sequence[AttributeSet]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each set begins, and the attributes of all."""
    lengths = np.fromiter(map(len, sets), np.int64, len(sets))
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return begins, np.fromiter(chain.from_iterable(sets), np.int64, int(begins[-1]))


@njit(cache=True, nogil=True)
def sum_covers(first: int, stop: int, plan: Any, sums: Any, offsets: Any, out: Any) -> None:
    """Tables of the covers ``first .. stop - 1``, each by summing out its other attributes, the longest first.

    Tables that lose the same attributes at first share these steps: in the order of what they lose, one path of tables
    from the cover down is kept, and only its end changes.
    """
    for cover in range(first, stop):
        every = plan.axis[plan.start[cover] : plan.start[cover + 1]]
        axes = every[plan.sizes[every] > 1]
        lengths = plan.sizes[axes]
        order = np.argsort(-lengths, kind="mergesort")
        members = plan.member[plan.first[cover] : plan.first[cover + 1]]
        losses = np.empty(len(members), np.int64)
        for k in range(len(members)):
            losses[k] = lost_of(axes[order], plan.own[plan.begin[members[k]] : plan.begin[members[k] + 1]])
        table = sums[:, offsets[cover] : offsets[cover + 1]]
        path = np.empty((len(sums), table.shape[1] if losses.any() else 0), np.int64)
        begins = np.zeros(
            len(axes) + 1, np.int64
        )  # of the tables below the cover: each has half of the cells or less
        gone, steps, depth, held = np.zeros(len(axes), np.bool_), np.empty(len(axes), np.int64), 0, 0
        for k in np.argsort(-losses, kind="mergesort"):
            changed = losses[k] ^ held
            while depth > 0 and 1 << steps[depth - 1] <= changed:
                depth -= 1
                gone[order[len(axes) - 1 - steps[depth]]] = False
                held ^= 1 << steps[depth]
            for bit in range(len(axes) - 1, -1, -1):
                if (losses[k] ^ held) & (1 << bit):
                    axis, inner = order[len(axes) - 1 - bit], 1
                    for later in range(axis + 1, len(axes)):
                        inner *= 1 if gone[later] else lengths[later]
                    above = table if depth == 0 else path[:, begins[depth - 1] : begins[depth]]
                    begins[depth + 1] = begins[depth] + above.shape[1] // lengths[axis]
                    sum_out(above, lengths[axis], inner, path[:, begins[depth] : begins[depth + 1]])
                    gone[axis], steps[depth] = True, bit
                    held ^= 1 << bit
                    depth += 1
            found = table if depth == 0 else path[:, begins[depth - 1] : begins[depth]]
            out[:, plan.place[members[k]] : plan.place[members[k]] + found.shape[1]] = found


@njit(cache=True, nogil=True)
def lost_of(ranked: Any, kept: Any) -> int:
    """The attributes that a set lacks, as bits: the first of ``ranked`` is the highest."""
    lost = 0
    for axis in ranked:
        lacks = True
        for one in kept:
            lacks = lacks and one != axis
        lost = 2 * lost + lacks
    return lost


@njit(cache=True, nogil=True)
def sum_out(given: Any, length: int, inner: int, out: Any) -> None:
    """Add up an axis of this length, of flat tables in rows; ``inner`` cells lie between two of its categories."""
    for row in range(given.shape[0]):
        whole, less = given[row], out[row]
        for o in range(len(less) // inner):
            here, to = o * length * inner, o * inner
            for i in range(inner):
                less[to + i] = whole[here + i]
            for k in range(1, length):
                for i in range(inner):
                    less[to + i] += whole[here + k * inner + i]


def offsets_of(layout: Layout, sets: Sequence[AttributeSet]) -> Ints:
    """Where the cells of each set begin, and where the last ends."""
    lengths = [prod(layout.sizes[axis] for axis in s) for s in sets]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
