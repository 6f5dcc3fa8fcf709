"""Where the cells of many marginals lie in one flat array.

The cells of a set are stored in C order (the last axis moves fastest); the sets follow each other in the order given.
Where an attribute has levels, each of them is an axis (``axes``), and no set has two of them.  Nothing here knows names
or data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.marginals.sets import AttributeSet

FEW = 64
"""Up to this many sets plain Python is faster than arrays."""


class Tables(NamedTuple):
    """Tables of many sets in one flat array: where each begins (and the last one ends), its shape, and all cells."""

    offsets: NDArray[np.int64]
    shapes: NDArray[np.int64]
    cells: NDArray[Any]


@dataclass(frozen=True)
class Layout:
    """Offsets of attribute sets in a flat array.

    >>> layout = Layout((4, 3), ((), (0,), (0, 1)))
    >>> layout.offsets.tolist(), layout.cells
    ([0, 1, 5, 17], 17)
    """

    sizes: tuple[int, ...]
    sets: tuple[AttributeSet, ...]
    offsets: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    index: dict[AttributeSet, int] = field(init=False, repr=False, compare=False)
    lengths: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    """Cells of each set."""
    shapes: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    """One row per set: its axis lengths, right-aligned, 0 where the set has fewer axes than the largest."""

    def __post_init__(self) -> None:
        shapes, lengths, cells = _measures(self.sizes, self.sets)
        if cells >= 2.0**62:
            raise WorkloadError(
                "workload.too-large",
                "The marginals have more cells than can be numbered.",
                "Lower --order, use coarser bins, or ask for fewer marginals.",
            )
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "lengths", lengths)
        object.__setattr__(self, "shapes", shapes)
        object.__setattr__(self, "index", {s: k for k, s in enumerate(self.sets)})

    def __hash__(self) -> int:
        return hash((self.sizes, len(self.sets), self.sets[:1], self.sets[-1:]))

    @property
    def has_levels(self) -> bool:
        """Whether some axes are levels of one attribute."""
        return self.axes.has_levels

    @cached_property
    def axes(self) -> Axes:
        """The axes with their levels."""
        return Axes.of(self.sizes)

    @cached_property
    def rows(self) -> Ints:
        """One row per set: its axis numbers, aligned as in ``shapes``."""
        return _axis_rows(self.sets, self.shapes.shape[1])

    @cached_property
    def used_axes(self) -> frozenset[int]:
        """Axes of any set."""
        return frozenset(a for s in self.sets for a in s)

    @property
    def uneven(self) -> NDArray[np.bool_]:
        """Sets whose cells may differ in their errors, as ``Axes.uneven``."""
        deep = np.array([parent >= 0 for parent in (*self.axes.parents, -1)])
        return np.logical_or.reduce(deep[self.rows], axis=1)

    @property
    def widths(self) -> Ints:
        """``shapes`` with the length of its widest block for each axis."""
        return np.array((*self.axes.widest, 0), np.int64)[self.rows] if self.has_levels else self.shapes

    @property
    def cells(self) -> int:
        """Length of the flat array."""
        return int(self.offsets[-1])

    def shape(self, attributes: AttributeSet) -> tuple[int, ...]:
        """Lengths of the axes of one set."""
        return tuple(self.sizes[i] for i in attributes)

    def pieces(self, cells: int) -> Iterator[tuple[slice, Layout]]:
        """Consecutive sets of about so many cells, and where their cells lie."""
        cuts = (np.flatnonzero(np.diff(self.offsets[1:] // cells)) + 1).tolist()
        for first, last in pairwise([0, *cuts, len(self.sets)]):
            where = slice(int(self.offsets[first]), int(self.offsets[last]))
            yield where, Layout(self.sizes, self.sets[first:last]) if cuts else self

    def tables(self, flat: NDArray[Any]) -> Tables:
        """All tables in ``flat``, as compiled loops take them."""
        return Tables(self.offsets, self.shapes, flat)

    def view(self, flat: NDArray[Any], attributes: AttributeSet) -> NDArray[Any]:
        """The cells of one set inside ``flat``, shaped; a view, never a copy."""
        return self.at(flat, self.index[attributes]).reshape(self.shape(attributes))

    def at(self, flat: NDArray[Any], number: int) -> NDArray[Any]:
        """The cells of the set of a number inside ``flat``, as they lie there; a view too."""
        return flat[self.offsets[number] : self.offsets[number + 1]]


def _measures(
    sizes: tuple[int, ...], sets: tuple[AttributeSet, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Shapes of the sets, their cells, and about how many cells there are in all."""
    width = max(map(len, sets), default=0)
    if len(sets) > FEW:
        shapes = np.array((*sizes, 0), np.int64)[_axis_rows(sets, width)]
        lengths = np.where(shapes == 0, 1, shapes).prod(axis=1)
        return shapes, lengths, float(np.where(shapes == 0, 1.0, shapes).prod(axis=1).sum())
    rows = [[sizes[i] for i in s] for s in sets]
    cells = [prod(row) for row in rows]
    total = float(sum(cells))
    lengths = np.array([] if total >= 2.0**62 else cells, np.int64)
    shapes = np.array([[0] * (width - len(row)) + row for row in rows], np.int64).reshape(len(sets), width)
    return shapes, lengths, total


def _axis_rows(sets: Sequence[AttributeSet], width: int) -> Ints:
    """Axis numbers of each set, right-aligned behind -1."""
    rows = [(-1,) * (width - len(s)) + s for s in sets]
    return np.array(rows, np.int64).reshape(len(sets), width)
