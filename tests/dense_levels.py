"""Levels by plain linear algebra: random small trees, and every residual as a matrix over all cells of the table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import prod

import numpy as np

from hushtable.axes import Axes
from hushtable.marginals import closure


def random_axes(chance: np.random.Generator) -> Axes:
    """One to three attributes of one to three levels: uneven blocks, single children, levels of one block."""
    sizes: list[int] = []
    parents: list[int] = []
    blocks: list[list[int]] = []
    for _ in range(int(chance.integers(1, 4))):
        above, parent = 1, -1
        for level in range(int(chance.integers(1, 4))):
            children = chance.integers(1, 4 if level else 5, above)
            blocks.append([0, *np.cumsum(children).tolist()])
            sizes.append(int(children.sum()))
            parents.append(parent)
            above, parent = sizes[-1], len(sizes) - 1
            if above > 9:
                break
    if prod(sizes[a] for a in range(len(sizes)) if a not in parents) > 120:
        return random_axes(chance)
    return Axes(sizes, parents, blocks)


def crooked_axes(chance: np.random.Generator) -> Axes:
    """A tree of three levels where nobody has neighbours on all of them, perhaps another one, and a plain attribute.

    Under every first category there is one child with several of its own, or there are several with one each.
    """
    sizes: list[int] = []
    parents: list[int] = []
    blocks: list[list[int]] = []
    for _ in range(int(chance.integers(1, 3))):
        narrow = chance.permutation([True, False, *chance.choice([True, False], int(chance.integers(0, 2)))])
        second = [1 if one else int(chance.integers(2, 4)) for one in narrow]
        third = [
            int(chance.integers(2, 4)) if one else 1
            for one, n in zip(narrow, second, strict=True)
            for _ in range(n)
        ]
        first = len(sizes)
        for parent, children in ((-1, [len(narrow)]), (first, second), (first + 1, third)):
            blocks.append([0, *np.cumsum(children).tolist()])
            sizes.append(int(sum(children)))
            parents.append(parent)
    if chance.random() < 0.5 or len(sizes) == 3:
        blocks.append([0, int(chance.integers(2, 4))])
        sizes.append(blocks[-1][-1])
        parents.append(-1)
    if prod(sizes[a] for a in range(len(sizes)) if a not in parents) > 150:
        return crooked_axes(chance)
    return Axes(sizes, parents, blocks)


def random_workload(axes: Axes, chance: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Some marginals on some levels."""
    every = [s for s in closure([axes.finest], axes) if s]
    count = int(chance.integers(1, min(5, len(every)) + 1))
    return tuple(every[k] for k in sorted(chance.choice(len(every), count, replace=False).tolist()))


@dataclass
class Dense:
    """Everything as matrices over the cells of the finest table, in C order."""

    axes: Axes

    def sums(self, axis: int) -> np.ndarray:
        """Counts of a level from those of the finest level of its attribute."""
        leaf = next(a for a in self.axes.finest if axis in self.axes.chains[a])
        matrix = np.zeros((self.axes[axis], self.axes[leaf]), np.int64)
        for code in range(self.axes[leaf]):
            at, here = leaf, code
            while at != axis:
                here = int(np.searchsorted(self.axes.blocks[at], here, side="right")) - 1
                at = self.axes.parents[at]
            matrix[here, code] = 1
        return matrix

    def contrasts(self, axis: int) -> np.ndarray:
        """``n I - 11'`` inside every block."""
        matrix = np.zeros((self.axes[axis],) * 2, np.int64)
        for first, last in zip(self.axes.blocks[axis], self.axes.blocks[axis][1:], strict=False):
            n = int(last - first)
            matrix[first:last, first:last] = n * np.eye(n, dtype=np.int64) - 1
        return matrix

    def _kron(self, chosen: tuple[int, ...], lifted: bool) -> np.ndarray:
        parts: list[np.ndarray] = []
        for leaf in self.axes.finest:
            own = [a for a in self.axes.chains[leaf] if a in chosen]
            if not own:
                parts.append(np.ones((1, self.axes[leaf]), np.int64))
            else:
                parts.append(self.contrasts(own[0]) @ self.sums(own[0]) if lifted else self.sums(own[0]))
        return reduce(np.kron, parts, np.ones((1, 1), np.int64))

    def marginal(self, chosen: tuple[int, ...]) -> np.ndarray:
        """Rows: cells of the marginal."""
        return self._kron(chosen, lifted=False)

    def residual(self, chosen: tuple[int, ...]) -> np.ndarray:
        """Rows: the integers that are measured."""
        return self._kron(chosen, lifted=True)

    def unit_noise(self, chosen: tuple[int, ...]) -> list[Fraction]:
        """Variance of each of these for s2 = 1: ``prod n (n - 1)`` over that of the widest blocks, times their n^2."""
        moved, widest = [Fraction(1)], Fraction(1)
        for axis in chosen:
            lengths = np.diff(self.axes.blocks[axis]).tolist()
            own = [n * (n - 1) for n in lengths for _ in range(n)]
            moved = [m * k for m in moved for k in own]
            n = max(lengths)
            widest *= Fraction(n - 1, n)
        return [m / widest for m in moved]
