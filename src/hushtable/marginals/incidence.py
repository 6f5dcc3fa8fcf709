"""Which residuals lie below which marginals, as index arrays.

A marginal over ``gamma`` is made of one residual for each subset of ``gamma``, and on coarser levels.  The arrays here
list those pairs for many marginals at once, so that planning and assembling loop in compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.axes import Axes
from hushtable.marginals.layout import Layout
from hushtable.marginals.sets import AttributeSet
from hushtable.marginals.spreads import spreads_of


class Links(NamedTuple):
    """For each set, at ``starts[s]`` to ``starts[s + 1]``: numbers of sets above or below it, and the axes in common.

    Bit j of a mask is column j of the larger set's row in ``Layout.shapes``.
    """

    starts: NDArray[np.int64]
    numbers: NDArray[np.int64]
    masks: NDArray[np.int64]


class WayLinks(NamedTuple):
    """The same where axes are levels: for each pair and column the number of its way in ``Spreads`` (-1: no axis)."""

    starts: NDArray[np.int64]
    numbers: NDArray[np.int64]
    ways: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Incidence:
    """Pairs (marginal, residual below it), grouped by marginal.

    ``members[starts[g]:starts[g + 1]]`` are the numbers of the residuals below marginal ``g`` in the order of
    ``subsets`` (-1: that residual is not in the list); ``owners`` repeats ``g`` for each of them.
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    owners: NDArray[np.int64]
    masks: NDArray[np.int64]
    """Bit ``width - len(gamma) + j`` says that the residual has the ``j``-th attribute of its marginal."""
    ways: NDArray[np.int64]
    """For each pair and column of its marginal's row the number of its way in ``Spreads``; without columns where no
    axis is a level of another one."""

    @staticmethod
    def between(marginals: Sequence[AttributeSet], residuals: Layout) -> Incidence:
        """All pairs of the given marginals with the sets of ``residuals``; the last few are remembered."""
        return _between(tuple(marginals), residuals)

    @property
    def links(self) -> Links:
        """Down from each marginal to its residuals, as compiled loops take them."""
        return Links(self.starts, self.members, self.masks)

    @property
    def way_links(self) -> WayLinks:
        """The same for loops over levels."""
        return WayLinks(self.starts, self.members, self.ways)

    def upward(self, residuals: int) -> Links:
        """Up from each of so many residuals to the marginals that contain it."""
        there = np.flatnonzero(self.members >= 0)
        order = there[np.argsort(self.members[there], kind="stable")]
        counts = np.bincount(self.members[there], minlength=residuals)
        return Links(np.concatenate([[0], np.cumsum(counts)]), self.owners[order], self.masks[order])

    def superset_sums(self, values: NDArray[np.float64], residuals: int) -> NDArray[np.float64]:
        """For each residual the sum of ``values`` over the marginals that contain it."""
        there = self.members >= 0
        return np.bincount(self.members[there], values[self.owners[there]], residuals).astype(np.float64)

    def subset_sums(self, values: NDArray[np.float64], marginals: int) -> NDArray[np.float64]:
        """For each marginal the sum of ``values`` over the residuals below it (absent ones count nothing)."""
        there = self.members >= 0
        return np.bincount(self.owners[there], values[self.members[there]], marginals).astype(np.float64)

    def mean_variances(self, residuals: Layout, price: Floats) -> Floats:
        """For each pair what a unit of the residual's s2 adds to the variance of the marginal's cells, in the mean.

        The marginals are the sets of ``residuals`` themselves; ``price`` is p of each.
        """
        if residuals.has_levels:
            summed = self.way_products(spreads_of(residuals.axes).totals)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.nan_to_num(
                    summed / residuals.lengths[self.owners] / price[self.members], posinf=0.0
                )
        return price[self.members] * (residuals.lengths[self.members] / residuals.lengths[self.owners]) ** 2

    def way_products(self, of_ways: Floats) -> Floats:
        """For each pair the product of a number of each of its ways."""
        return np.append(of_ways, 1.0)[self.ways].prod(axis=1)


@cache
def subset_masks(order: int, shift: int) -> tuple[int, ...]:
    """Bit masks of the subsets of ``order`` attributes, in the order of ``subsets``, moved left by ``shift``."""
    chosen = chain.from_iterable(combinations(range(order), k) for k in range(order + 1))
    return tuple(sum(1 << (axis + shift) for axis in axes) for axes in chosen)


@lru_cache(maxsize=4)
def _between(marginals: tuple[AttributeSet, ...], residuals: Layout) -> Incidence:
    axes, width = residuals.axes, max(map(len, marginals), default=0)
    counts = np.fromiter(map(axes.number_below, marginals), np.int64, len(marginals))
    starts = np.zeros(len(marginals) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    index = residuals.index
    members = np.fromiter(
        (index.get(tau, -1) for gamma in marginals for tau in axes.below(gamma)),
        np.int64,
        int(starts[-1]),
    )
    owners = np.repeat(np.arange(len(marginals)), counts)
    if axes.has_levels:
        masks, ways = _level_pairs(marginals, axes, width)
        return Incidence(starts, members, owners, masks, ways)
    masks = np.fromiter(
        chain.from_iterable(subset_masks(len(s), width - len(s)) for s in marginals),
        np.int64,
        int(starts[-1]),
    )
    return Incidence(starts, members, owners, masks, np.empty((len(members), 0), np.int64))


def _level_pairs(
    marginals: Sequence[AttributeSet], axes: Axes, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Masks and ways of all pairs where axes are levels."""
    number = spreads_of(axes).number
    masks: list[int] = []
    ways: list[list[int]] = []
    for gamma in marginals:
        free = width - len(gamma)
        for tau in axes.below(gamma):
            there = {axes.chains[a][0]: a for a in tau}
            above = [there.get(axes.chains[a][0], -1) for a in gamma]
            masks.append(
                sum(1 << (free + k) for k, (a, up) in enumerate(zip(gamma, above, strict=True)) if a == up)
            )
            ways.append([-1] * free + [number[pair] for pair in zip(gamma, above, strict=True)])
    return np.array(masks, np.int64), np.array(ways, np.int64).reshape(len(masks), width)
