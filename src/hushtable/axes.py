"""The axes of a table: their lengths, and which of them are levels of one attribute.

An attribute with levels has one axis for each, the coarsest first; every category of a level lies inside one category
of the level above it, its block.  Categories of a block are neighbours, so a block is a stretch of its axis.  An
attribute without levels is a chain of one axis with one block.

A tuple of plain lengths stands for axes that are all of this kind; ``Axes`` says more, and is still a tuple of lengths,
though never equal to a plain one.  ``Axes.of`` takes either, and only this module asks which it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain, combinations, product
from math import prod
from typing import TYPE_CHECKING, Any

from hushtable.errors import WorkloadError
from hushtable.lazily import Later

if TYPE_CHECKING:  # plain lengths are told from levels without arrays
    import numpy as np
    from numpy.typing import NDArray

    from hushtable.arrays import Ints

    Blocks = NDArray[np.int64]
    """Where the blocks of an axis begin, and where the last one ends."""
else:
    np = Later("numpy")

AttributeSet = tuple[int, ...]

MAX_ROW_CLASSES = 4096
"""Kinds of rows that a price is the largest of.  Balanced trees have one kind; only trees whose branches have single
children at different depths, in several attributes at once, have many.  With more, planning takes longer."""


class Axes(tuple[int, ...]):
    """Lengths of axes; ``parents[a]`` is the axis of the level above ``a`` (-1: none), ``blocks[a]`` its blocks.

    >>> axes = Axes((2, 3, 2), (-1, 0, -1), ([0, 2], [0, 2, 3], [0, 2]))
    >>> list(axes.below((1, 2)))
    [(), (0,), (1,), (2,), (0, 2), (1, 2)]
    """

    parents: tuple[int, ...]
    _given: Sequence[Sequence[int] | Blocks]

    def __new__(
        cls, sizes: Iterable[int], parents: Sequence[int], blocks: Sequence[Sequence[int] | Blocks]
    ) -> Axes:
        made = super().__new__(cls, (int(n) for n in sizes))
        made.parents = tuple(parents)
        made._given = blocks
        return made

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Axes:
        """The axes that some lengths stand for."""
        if isinstance(sizes, Axes):
            return sizes
        return cls(sizes, (-1,) * len(sizes), [(0, int(n)) for n in sizes])

    @staticmethod
    def kept(sizes: Sequence[int]) -> tuple[int, ...]:
        """Lengths as whole numbers; with levels the axes themselves."""
        return sizes if isinstance(sizes, Axes) else tuple(int(n) for n in sizes)

    @cached_property
    def has_levels(self) -> bool:
        """Whether some of these are levels of one attribute."""
        return any(parent >= 0 for parent in self.parents)

    @cached_property
    def blocks(self) -> tuple[Blocks, ...]:
        """The blocks of each axis."""
        return tuple(np.asarray(b, np.int64) for b in self._given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axes) and tuple(self) == tuple(other) and self.key == other.key

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.parents, self.blocks

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What tells two domains of the same lengths apart."""
        deep = (a for a, parent in enumerate(self.parents) if parent >= 0)
        return self.parents, tuple(self.blocks[a].tobytes() for a in deep)

    @cached_property
    def chains(self) -> tuple[AttributeSet, ...]:
        """For each axis the levels of its attribute down to it, the coarsest first."""
        found: list[AttributeSet] = []
        for axis, parent in enumerate(self.parents):
            found.append((*(found[parent] if parent >= 0 else ()), axis))
        return tuple(found)

    @cached_property
    def finest(self) -> AttributeSet:
        """The last level of every attribute."""
        return tuple(a for a in range(len(self)) if a not in self.parents)

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """For each axis the number of its attribute, which is the place of its last level in ``finest``."""
        found = {axis: k for k, leaf in enumerate(self.finest) for axis in self.chains[leaf]}
        return tuple(found[axis] for axis in range(len(self)))

    @cached_property
    def widest(self) -> tuple[int, ...]:
        """Categories of the largest block of each axis; 1 where no category has a neighbour."""
        return tuple(int(np.diff(b).max(initial=1)) for b in self.blocks)

    @cached_property
    def flat_blocks(self) -> tuple[Ints, Ints]:
        """All blocks in one array, and where those of each axis begin in it."""
        ends = np.cumsum([0, *(len(b) for b in self.blocks)])
        return np.concatenate([np.empty(0, np.int64), *self.blocks]), ends

    def block_sizes(self, axis: int) -> Ints:
        """For every category of an axis the categories of its block."""
        lengths = np.diff(self.blocks[axis])
        return np.repeat(lengths, lengths)

    def parent_codes(self, axis: int) -> Ints:
        """For every category of an axis the category above it; 0 on the first level."""
        lengths = np.diff(self.blocks[axis])
        return np.repeat(np.arange(len(lengths)), lengths)

    def codes_above(self, axis: int, above: int) -> Ints:
        """For every category of an axis the one of a coarser level that holds it; 0 for ``above`` -1."""
        codes = np.arange(self[axis])
        while axis != above and axis >= 0:
            codes, axis = self.parent_codes(axis)[codes], self.parents[axis]
        return codes

    def every(
        self, codes: Sequence[NDArray[Any]], wanted: Collection[int] | None = None
    ) -> list[NDArray[Any]]:
        """Codes on every axis, from those of each attribute's finest level; axes not ``wanted`` may hold others."""
        found: list[NDArray[Any]] = []
        for axis, owner in enumerate(self.owners):
            leaf = self.finest[owner]
            above = axis != leaf and (wanted is None or axis in wanted)
            found.append(self._small_codes_above(leaf, axis)[codes[owner]] if above else codes[owner])
        return found

    def _small_codes_above(self, leaf: int, axis: int) -> NDArray[Any]:
        """``codes_above`` in as few bytes as hold them."""
        if (leaf, axis) not in self._known_above:
            width = np.min_scalar_type(max(self[axis] - 1, 0))
            self._known_above[leaf, axis] = self.codes_above(leaf, axis).astype(width)
        return self._known_above[leaf, axis]

    @cached_property
    def _known_above(self) -> dict[tuple[int, int], NDArray[Any]]:
        return {}

    def inside(self, axis: int, codes: Collection[int]) -> tuple[int, set[int]]:
        """The finest level of an axis's attribute, and the categories there that lie inside some of the axis."""
        leaf = self.finest[self.owners[axis]]
        if leaf == axis:
            return leaf, set(codes)
        return leaf, {
            code for code, above in enumerate(self.codes_above(leaf, axis).tolist()) if above in codes
        }

    def free_share(self, axis: int) -> float:
        """Mean of ``1 - 1/n`` over categories with neighbours, n those of their block."""
        share = 1.0 - 1.0 / self.block_sizes(axis) if self.parents[axis] >= 0 else np.ones(0)
        return float(share[share > 0.0].mean()) if share.any() else 1.0 - 1.0 / self[axis]

    def relative_share(self, axis: int) -> float:
        """``free_share`` over that of the widest block."""
        return self.free_share(axis) / (1.0 - 1.0 / self.widest[axis]) if self.parents[axis] >= 0 else 1.0

    def level_in(self, attributes: AttributeSet, axis: int) -> int:
        """The level that a set has of an axis's attribute, no finer than the axis; -1 where it lacks it."""
        return next((a for a in self.chains[axis] if a in attributes), -1)

    def below(self, attributes: AttributeSet) -> Iterable[AttributeSet]:
        """All sets that a marginal tells: each attribute on its level, a coarser one, or not at all; small first."""
        if not self.has_levels:
            return chain.from_iterable(combinations(attributes, k) for k in range(len(attributes) + 1))
        options = [((), *((a,) for a in self.chains[axis])) for axis in attributes]
        found = (tuple(chain.from_iterable(parts)) for parts in product(*options))
        return tuple(sorted(found, key=lambda s: (len(s), s)))

    def number_below(self, attributes: AttributeSet) -> int:
        """How many these are."""
        return prod(1 + len(self.chains[a]) for a in attributes) if self.has_levels else 1 << len(attributes)

    def tells(self, below: AttributeSet, above: AttributeSet) -> bool:
        """Whether ``below`` is one of those."""
        if not self.has_levels:
            return set(below) <= set(above)
        reached = {a for axis in above for a in self.chains[axis]}
        return reached.issuperset(below)

    def covers(self, attributes: AttributeSet) -> tuple[AttributeSet, ...]:
        """The largest sets below one, without it: one attribute a level coarser, or left out from its first level."""
        found: list[AttributeSet] = []
        for k, axis in enumerate(attributes):
            up = (self.parents[axis],) if self.parents[axis] >= 0 else ()
            found.append((*attributes[:k], *up, *attributes[k + 1 :]))
        return tuple(found)

    def real(self, attributes: AttributeSet) -> bool:
        """Whether a residual is not zero by its sizes: every axis has a block of two categories or more."""
        return all(self.widest[a] > 1 for a in attributes)

    def contrasted(self, attributes: AttributeSet) -> NDArray[np.bool_]:
        """Cells of a marginal, shaped, that its residual contrasts with others: none that is alone in a block."""
        found: NDArray[np.bool_] = np.ones((), bool)
        for axis in attributes:
            found = np.logical_and.outer(found, self.block_sizes(axis) > 1)
        return found

    def is_set(self, attributes: AttributeSet) -> bool:
        """Whether no two of these axes are levels of one attribute."""
        first = [self.chains[a][0] for a in attributes]
        return len(set(first)) == len(first)

    def uneven(self, attributes: AttributeSet) -> bool:
        """Whether the cells of a marginal may differ in their errors: one of its axes has a level above it."""
        return any(self.parents[a] >= 0 for a in attributes)

    def row_classes(self, used: Iterable[int]) -> tuple[frozenset[int], ...]:
        """The kinds of rows that a price is the largest of: on which of some axes each has neighbours in its block.

        Kinds that pay nowhere more than another one are left out.
        """
        wanted = frozenset(used)
        if not self.has_levels:
            return (frozenset(a for a in wanted if self[a] > 1),)
        per_chain: list[list[frozenset[int]]] = []
        for leaf in self.finest:
            levels = [a for a in self.chains[leaf] if a in wanted]
            if not levels:
                continue
            alive = np.stack([(self.block_sizes(a) > 1)[self.codes_above(leaf, a)] for a in levels])
            kinds = {
                frozenset(a for a, on in zip(levels, row, strict=True) if on)
                for row in np.unique(alive.T, axis=0).tolist()
            }
            per_chain.append([k for k in kinds if not any(k < other for other in kinds)])
        if prod(map(len, per_chain)) > MAX_ROW_CLASSES:
            raise WorkloadError(
                "workload.uneven-levels",
                f"The levels have more than {MAX_ROW_CLASSES:,} kinds of rows that pay differently.",
                "Ask for fewer attributes with levels, or give single children a sibling.",
            )
        nothing: frozenset[int] = frozenset()
        return tuple(nothing.union(*parts) for parts in product(*per_chain))


def summed_to(axes: Axes, table: NDArray[Any], above: AttributeSet, below: AttributeSet) -> NDArray[Any]:
    """The marginal over ``below`` from the one over ``above``, which tells it; both shaped.

    >>> axes = Axes((2, 3), (-1, 0), ([0, 2], [0, 2, 3]))
    >>> summed_to(axes, np.array([5, 6, 7]), (1,), (0,)).tolist()
    [11, 7]
    """
    for k in reversed(range(len(above))):
        level = axes.level_in(below, above[k])
        if level < 0:
            table = table.sum(axis=k)
        elif level != above[k]:
            codes = axes.codes_above(above[k], level)
            starts = np.flatnonzero(np.diff(codes, prepend=-1))
            table = np.add.reduceat(table, starts, axis=k)
    return table
