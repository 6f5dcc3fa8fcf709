"""What ranges, prefixes or intervals of an axis add up to in the variance of a workload, level by level.

A stretch from a to b is the prefix up to b less that up to a.  With y_x the weights of prefix x on a level, centred in
their blocks and scaled by them, the squares of all ranges add up to ``(n + 1) sum |y_x|^2 - |sum y_x|^2``: no range is
written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.axes import Axes
from hushtable.marginals import INTERVALS, PREFIXES, Ask, AttributeSet, spreads_of

CHUNK = 2**23
"""Weights that are held at once, 64 MB; with less, more passes are made."""


def asked_totals(
    axes: Axes, gamma: AttributeSet, asks: Sequence[Ask]
) -> Iterator[tuple[AttributeSet, float]]:
    """Each residual below a marginal and what it adds to all that is asked there: products over axes."""
    spreads, asked = spreads_of(axes), {ask.axis: ask for ask in asks}
    for tau in axes.below(gamma):
        levels = [(axis, axes.level_in(tau, axis)) for axis in gamma]
        yield (
            tau,
            prod(
                asked_total(axes, asked[axis], level)
                if axis in asked
                else float(spreads.totals[spreads.number[axis, level]])
                for axis, level in levels
            ),
        )


def asked_weight(axes: Axes, gamma: AttributeSet, asks: Sequence[Ask]) -> int:
    """How many sums ``asked_totals`` adds up, with all ranges counted as it weighs them."""
    asked = {ask.axis: len(ask.intervals) if ask.kind == INTERVALS else ask.length for ask in asks}
    return prod(asked.get(axis, axes[axis]) for axis in gamma)


def asked_total(axes: Axes, ask: Ask, level: int) -> float:
    """The sum, over all that is asked of an axis, of its factor of the variance by a residual on a level (-1: none).

    All n (n + 1) / 2 ranges of n categories weigh as much as n: beside other tables they do not take their budget.
    """
    shares, codes = _shares(axes, ask.axis, level)
    blocks: Ints = np.array([0, 1]) if level < 0 else axes.blocks[level]
    total, columns = 0.0, max(1, CHUNK // (ask.length + 1))
    first = 0
    while first < len(blocks) - 1:
        last = first + 1
        while last < len(blocks) - 1 and blocks[last + 1] - blocks[first] <= columns:
            last += 1
        total += _part(ask, shares, codes, blocks[first : last + 1], level < 0)
        first = last
    return total


def _part(ask: Ask, shares: Floats, codes: Ints, blocks: Ints, whole: bool) -> float:
    """The same for some neighbouring blocks of the level."""
    width = int(blocks[-1] - blocks[0])
    steps = np.zeros((ask.length + 1, width))
    inside = np.flatnonzero((codes[: ask.length] >= blocks[0]) & (codes[: ask.length] < blocks[-1]))
    steps[inside + 1, codes[inside] - blocks[0]] = shares[inside]
    prefixes: Floats = np.cumsum(steps, axis=0)
    if not whole:
        starts, lengths = blocks[:-1] - blocks[0], np.diff(blocks)
        means = np.add.reduceat(prefixes, starts, axis=1) / lengths
        prefixes -= np.repeat(means, lengths, axis=1)
        prefixes *= np.sqrt(np.repeat(1.0 - 1.0 / lengths, lengths))
    if ask.kind == PREFIXES:
        return float((prefixes[1:] ** 2).sum())
    if ask.kind == INTERVALS:
        ends = np.array(ask.intervals)
        return float(((prefixes[ends[:, 1] + 1] - prefixes[ends[:, 0]]) ** 2).sum())
    every = float(len(prefixes) * (prefixes**2).sum() - (prefixes.sum(axis=0) ** 2).sum())
    return every * 2.0 / (ask.length + 1)


def _shares(axes: Axes, axis: int, level: int) -> tuple[Floats, Ints]:
    """For every category its share of the one that holds it on a level, and that one."""
    shares: Floats = np.ones(axes[axis])
    codes: Ints = np.arange(axes[axis])
    at = axis
    while at != level:
        shares = shares / axes.block_sizes(at)[codes]
        codes, at = axes.parent_codes(at)[codes], axes.parents[at]
    return shares, codes
