"""The table that many others are sums of: every attribute of theirs on the finest level that one of them has.

Attributes that read one column share an axis of it, which has a category for each combination that a value of the
column can have: so their tables are of the same people, and agree wherever both tell a number.
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
from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, Layout
from hushtable.schema import SharedColumn


@dataclass(frozen=True, eq=False)
class JointAxis:
    """Axes of tables that go together, each of another attribute, and their codes in every category of this one."""

    axes: AttributeSet
    codes: Ints

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class JointCells:
    """The axes of the joint table, over the axes of a schema."""

    sizes: Axes
    axes: tuple[JointAxis, ...]

    @classmethod
    def of(cls, sizes: Axes, wanted: Sequence[int], shared: Sequence[SharedColumn]) -> JointCells:
        """Over the axes ``wanted``, one of an attribute; ``shared`` says of which attributes categories go together."""
        place = {sizes.owners[axis]: axis for axis in sorted(wanted)}
        made: list[JointAxis] = []
        for column in shared:
            own = [(k, place.pop(owner)) for k, owner in enumerate(column.attributes) if owner in place]
            leaves = [sizes.finest[sizes.owners[axis]] for _, axis in own]
            if own:
                codes = [
                    sizes.codes_above(leaf, axis)[column.codes[:, k]]
                    for leaf, (k, axis) in zip(leaves, own, strict=True)
                ]
                made.append(
                    JointAxis(tuple(axis for _, axis in own), np.unique(np.stack(codes, axis=1), axis=0))
                )
        made += [JointAxis((axis,), np.arange(sizes[axis])[:, None]) for axis in place.values()]
        return cls(sizes, tuple(sorted(made, key=lambda axis: axis.axes)))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Categories of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    def summed(self, table: NDArray[Any], attributes: AttributeSet) -> NDArray[Any]:
        """The marginal over some axes, shaped, of a table over all cells."""
        for k, axis in enumerate(self.axes):
            table = _grouped(table, k, *self._codes(axis, attributes))
        inside = [a for axis in self.axes for a in self._inside(axis, attributes)]
        shaped = table.reshape([self.sizes[a] for a in inside])
        return shaped.transpose([inside.index(a) for a in attributes])

    def spread(self, face: NDArray[Any], attributes: AttributeSet) -> NDArray[Any]:
        """A marginal's number at every cell; of length 1 along axes that it does not have."""
        inside = [self._inside(axis, attributes) for axis in self.axes]
        flat = [a for own in inside for a in own]
        table = face.transpose([attributes.index(a) for a in flat])
        table = table.reshape([prod(self.sizes[a] for a in own) for own in inside])
        for k, axis in enumerate(self.axes):
            if inside[k]:
                table = table.take(self._codes(axis, attributes)[0], axis=k)
        return table

    def steps(self, layout: Layout) -> tuple[Ints, Ints]:
        """What a category adds to the place of a table's cell: where each table and axis begins, and all of them."""
        begins = np.zeros((len(layout.sets), len(self.axes)), np.int64)
        found: list[Ints] = []
        begun = 0
        for t, s in enumerate(layout.sets):
            strides = {a: prod(self.sizes[b] for b in s if b > a) for a in s}
            for k, axis in enumerate(self.axes):
                step = np.zeros(axis.size, np.int64)
                for a in self._inside(axis, s):
                    step += self._above(axis, a) * strides[a]
                begins[t, k], begun = begun, begun + axis.size
                found.append(step)
        return begins, np.concatenate([np.empty(0, np.int64), *found])

    def places(self, records: Ints) -> Ints:
        """The category of each record on every axis, from its codes of every attribute's finest level.

        A record whose codes do not go together counts by the attribute with most categories.
        """
        found = [self._places(axis, records) for axis in self.axes]
        return np.ascontiguousarray(np.stack(found, axis=1)) if found else records[:, :0]

    def _places(self, axis: JointAxis, records: Ints) -> Ints:
        owners = [self.sizes.owners[a] for a in axis.axes]
        leaves = [self.sizes.finest[owner] for owner in owners]
        codes = np.stack(
            [
                self.sizes.codes_above(leaf, a)[records[:, o]]
                for leaf, a, o in zip(leaves, axis.axes, owners, strict=True)
            ]
        )
        if len(owners) == 1 and axis.size == self.sizes[axis.axes[0]]:
            return codes[0]
        together = np.concatenate([axis.codes.T, codes], axis=1)
        key = np.zeros(together.shape[1], np.int64)
        for own in together:  # numbered afresh after each, so that no product of sizes overflows
            key = np.unique(key * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
        place = np.full(len(key), -1)
        place[key[: axis.size]] = np.arange(axis.size)
        found = place[key[axis.size :]]
        widest = int(np.argmax([self.sizes[a] for a in axis.axes]))
        first = np.zeros(self.sizes[axis.axes[widest]], np.int64)
        first[axis.codes[::-1, widest]] = np.arange(axis.size)[::-1]
        return np.where(found < 0, first[codes[widest]], found)

    def _inside(self, axis: JointAxis, attributes: AttributeSet) -> AttributeSet:
        """The axes of a marginal that belong to attributes of a joint axis."""
        owners = {self.sizes.owners[a] for a in axis.axes}
        return tuple(a for a in attributes if self.sizes.owners[a] in owners)

    def _above(self, axis: JointAxis, level: int) -> Ints:
        """For every category of a joint axis that of a level of one of its attributes."""
        owner = self.sizes.owners[level]
        k = next(k for k, a in enumerate(axis.axes) if self.sizes.owners[a] == owner)
        return self.sizes.codes_above(axis.axes[k], level)[axis.codes[:, k]]

    def _codes(self, axis: JointAxis, attributes: AttributeSet) -> tuple[Ints, int]:
        """The cell of a marginal, along the axes it has of a joint one, for each category; and how many there are."""
        at, cells = np.zeros(axis.size, np.int64), 1
        for a in self._inside(axis, attributes):
            at, cells = at * self.sizes[a] + self._above(axis, a), cells * self.sizes[a]
        return at, cells


def _grouped(table: NDArray[Any], axis: int, codes: Ints, cells: int) -> NDArray[Any]:
    """Sums along an axis of categories with the same code, in the order of codes; 0 where none has it."""
    if cells == len(codes) and np.array_equal(codes, np.arange(cells)):
        return table
    if cells == 1:
        return table.sum(axis=axis, keepdims=True)
    if not len(codes):
        return np.zeros((*table.shape[:axis], cells, *table.shape[axis + 1 :]), table.dtype)
    order = np.argsort(codes, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        table, codes = table.take(order, axis=axis), codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    summed = np.add.reduceat(table, starts, axis=axis)
    if len(starts) == cells:
        return summed
    made = np.zeros((*table.shape[:axis], cells, *table.shape[axis + 1 :]), table.dtype)
    made[(slice(None),) * axis + (codes[starts],)] = summed
    return made
