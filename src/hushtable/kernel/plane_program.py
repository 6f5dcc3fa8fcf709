"""The program that counts a family of marginals from bit planes, and where its counters lie.

Only the categories of an attribute but the last have a plane, and only cells without a last category are counted,
for every subset of every set; the other cells follow by subtraction.  So a table of sizes n costs
prod (n_i - 1) population counts once its subsets are shared with other tables.  Works on public sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.kernel.bitplanes import Places, Steps
from hushtable.marginals import AttributeSet

LARGEST_KEY = 2**62
"""Keys of sets are signed 64-bit numbers; wider families are counted by histograms."""


@dataclass(frozen=True)
class _Level:
    """All subsets of one order, in order of their keys: their cells, and the place of their counters."""

    keys: Ints
    ranks: Ints
    cells: Ints
    base: Ints
    pitch: Ints


@dataclass(frozen=True)
class PlaneProgram:
    """What to count for a family of sets; ``axes`` are the attributes in the order in which the program joins them."""

    axes: tuple[int, ...]
    sizes: Ints
    first_plane: Ints
    steps: Steps
    counters: int
    levels: tuple[_Level, ...]

    @property
    def planes(self) -> int:
        """Number of bit planes."""
        return int(self.first_plane[-1])

    @property
    def depth(self) -> int:
        """Planes that are held joined at once, the one of all ones included."""
        return max(1, len(self.levels))

    def holds(self, sets: Sequence[AttributeSet]) -> NDArray[np.bool_]:
        """Which sets of one order have all their counters here."""
        order = len(sets[0])
        if order > len(self.levels):
            return np.zeros(len(sets), np.bool_)
        known = np.array([all(axis in self.axes for axis in attributes) for attributes in sets])
        inside = [attributes for attributes, ok in zip(sets, known, strict=True) if ok]
        if inside:
            ranks = np.sort(_ranks(inside, self.axes), axis=1)
            known[known] = np.isin(_keys(ranks, len(self.axes)), self.levels[order - 1].keys)
        return known

    def places(self, sets: Sequence[AttributeSet], offsets: Ints) -> Places:
        """Where the subsets of sets of one order lie; table s starts at ``offsets[s]``, axes in C order."""
        order = len(sets[0])
        ranks = _ranks(sets, self.axes)
        strides = np.ones(ranks.shape, np.int64)
        sizes = self.sizes[ranks]
        for axis in range(order - 2, -1, -1):
            strides[:, axis] = strides[:, axis + 1] * sizes[:, axis + 1]
        sorting = np.argsort(ranks, axis=1)
        ranks, sizes, strides = (np.take_along_axis(part, sorting, 1) for part in (ranks, sizes, strides))
        base = np.zeros((len(sets), 1 << order), np.int64)
        pitch = np.zeros_like(base)
        for mask in range(1, 1 << order):
            columns = [axis for axis in range(order) if mask >> axis & 1]
            level = self.levels[len(columns) - 1]
            at = np.searchsorted(level.keys, _keys(ranks[:, columns], len(self.axes)))
            base[:, mask], pitch[:, mask] = level.base[at], level.pitch[at]
        return Places(base, pitch, sizes, strides, offsets)

    def pieces(self, number: int) -> list[tuple[Ints, int, int]]:
        """At most ``number`` stretches of about equal work: (steps above the first one, first, stop)."""
        work = np.cumsum(1 + self.steps.stop - self.steps.start)
        marks = int(work.max(initial=0)) * np.arange(1, number) // number
        bounds = np.unique([0, *np.searchsorted(work, marks, side="right").tolist(), len(work)]).tolist()
        return [(self._ancestors(first), first, stop) for first, stop in pairwise(bounds)]

    def _ancestors(self, step: int) -> Ints:
        before = self.steps.depth[:step]
        above = [np.flatnonzero(before == depth)[-1] for depth in range(int(self.steps.depth[step]))]
        return np.array(above, np.int64)


def fits(order: int, attributes: int) -> bool:
    """Whether sets of this order over so many attributes can be numbered in one machine word."""
    return attributes**order < LARGEST_KEY


def build_program(sizes: Sequence[int], sets: Sequence[AttributeSet]) -> PlaneProgram:
    """The program for all subsets of ``sets``; attributes that many sets share are joined first."""
    uses = np.bincount(np.fromiter(chain.from_iterable(sets), np.int64))
    axes = tuple(int(axis) for axis in np.argsort(-uses, kind="stable") if uses[axis])
    lengths = np.array([sizes[axis] for axis in axes], np.int64)
    first_plane = np.concatenate([[0], np.cumsum(lengths - 1)]).astype(np.int64)
    builder = _Builder(lengths - 1, first_plane[:-1])
    for keys in _closure(sets, axes):
        builder.extend(keys)
    return PlaneProgram(axes, lengths, first_plane, builder.steps(), builder.counters, tuple(builder.levels))


def by_orders(sets: Sequence[AttributeSet]) -> list[list[AttributeSet]]:
    """The sets, those of one order together."""
    groups: dict[int, list[AttributeSet]] = {}
    for attributes in sets:
        groups.setdefault(len(attributes), []).append(attributes)
    return list(groups.values())


def _ranks(sets: Sequence[AttributeSet], axes: tuple[int, ...]) -> Ints:
    rank = np.zeros(max(axes) + 1, np.int64)
    rank[list(axes)] = np.arange(len(axes))
    return rank[np.array(sets, np.int64)]


def _keys(ranks: Ints, base: int) -> Ints:
    """Rows of increasing ranks as numbers, in the same order."""
    keys = np.zeros(len(ranks), np.int64)
    for column in range(ranks.shape[1]):
        keys = keys * base + ranks[:, column]
    return keys


def _closure(sets: Sequence[AttributeSet], axes: tuple[int, ...]) -> list[Ints]:
    """Keys of all subsets of order 1, 2, ..., each in increasing order."""
    found: list[list[Ints]] = [[] for _ in range(max(map(len, sets)))]
    for members in by_orders(sets):
        order, ranks = len(members[0]), np.sort(_ranks(members, axes), axis=1)
        for below in range(1, order + 1):
            for columns in combinations(range(order), below):
                found[below - 1].append(_keys(ranks[:, columns], len(axes)))
    return [np.unique(np.concatenate(keys)) for keys in found]


def _starts(lengths: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def _ramps(lengths: Ints) -> Ints:
    """0 .. length - 1 for each length, one after the other."""
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(_starts(lengths), lengths)


class _Builder:
    """Lays out counters and steps, one order of subsets after the other."""

    def __init__(self, planes: Ints, first_plane: Ints) -> None:
        self.planes = planes
        self.first_plane = first_plane
        self.levels: list[_Level] = []
        self.counters = 0
        self._partners: list[Ints] = []
        self._partner_count = 0
        self._columns: list[tuple[Ints, ...]] = []
        self._paths: list[Ints] = []

    def extend(self, keys: Ints) -> None:
        """Add all subsets of the next order: each is a prefix that is already there, and one more attribute."""
        base = len(self.planes)
        parent, last = np.zeros(len(keys), np.int64), keys % base
        prefix_ranks, prefix_cells = np.zeros((1, 0), np.int64), np.ones(1, np.int64)
        if self.levels:
            above = self.levels[-1]
            parent, prefix_ranks, prefix_cells = (
                np.searchsorted(above.keys, keys // base),
                above.ranks,
                above.cells,
            )
        widths = self.planes[last]
        begin = _starts(widths)
        bounds = np.searchsorted(parent, np.arange(len(prefix_cells) + 1))
        edges = np.concatenate([begin, [int(widths.sum())]])[bounds]
        start, pitch = edges[:-1], np.diff(edges)
        origin = self.counters + _starts(prefix_cells * pitch)
        self.counters += int((prefix_cells * pitch).sum())
        self._add_steps(prefix_ranks, prefix_cells * (pitch > 0), start, pitch, origin)
        self._partners.append(np.repeat(self.first_plane[last], widths) + _ramps(widths))
        self._partner_count += int(widths.sum())
        self.levels.append(
            _Level(
                keys,
                np.column_stack([prefix_ranks[parent], last]),
                prefix_cells[parent] * widths,
                origin[parent] + begin - start[parent],
                pitch[parent],
            )
        )

    def _add_steps(self, ranks: Ints, cells: Ints, start: Ints, pitch: Ints, origin: Ints) -> None:
        """One step for every cell of every prefix."""
        prefix = np.repeat(np.arange(len(cells), dtype=np.int64), cells)
        cell = _ramps(cells)
        path = np.empty((len(prefix), ranks.shape[1]), np.int64)
        rest = cell
        for column in range(ranks.shape[1] - 1, -1, -1):
            rank = ranks[prefix, column]
            path[:, column] = self.first_plane[rank] + rest % self.planes[rank]
            rest = rest // self.planes[rank]
        first = self._partner_count + start[prefix]
        self._columns.append((first, first + pitch[prefix], origin[prefix] + cell * pitch[prefix]))
        self._paths.append(path)

    def steps(self) -> Steps:
        """All steps, each after the steps of its own prefixes (the order of a depth-first walk)."""
        deepest = len(self._paths) - 1
        padded = [
            np.pad(path, ((0, 0), (0, deepest - path.shape[1])), constant_values=-1) for path in self._paths
        ]
        depth = np.concatenate([np.full(len(path), path.shape[1], np.int64) for path in self._paths])
        paths = np.concatenate(padded)
        walk = np.lexsort([paths[:, column] for column in range(deepest - 1, -1, -1)] or [depth])
        start, stop, target = (np.concatenate(parts)[walk] for parts in zip(*self._columns, strict=True))
        depth = depth[walk]
        plane = np.zeros(len(walk), np.int64)
        inner = depth > 0
        plane[inner] = paths[walk][inner, depth[inner] - 1]
        return Steps(depth, plane, start, stop, target, np.concatenate(self._partners))
