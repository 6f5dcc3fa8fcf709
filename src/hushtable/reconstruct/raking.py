"""Nonnegative tables multiplied by factors of their margins until these are as given (iterative proportional fitting).

With one margin it is a ratio; with several, each is met in turn until all are.  A margin of a table is the most that
it shares with a given table: on a coarser level, or of fewer attributes, if it must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hushtable.arrays import Floats
from hushtable.axes import Axes, summed_to
from hushtable.marginals import AttributeSet, repeated_along
from hushtable.schema import KnownTable

ROUNDS = 1000
"""Times that all margins are met in turn, at most: tables that can meet them take some ten; where an empty cell is in
the way none is enough."""
CLOSE = 1e-10
"""Relative distance at which a margin counts as met: below what is printed, above the rounding of sums."""


class Margin(NamedTuple):
    """What a table shall add up to."""

    axes: AttributeSet
    figures: Floats


def margins_of(axes: Axes, attributes: AttributeSet, tables: Sequence[KnownTable]) -> list[Margin]:
    """What some tables say of a marginal, the most of each; what another one says too is left out."""
    found: dict[AttributeSet, Floats] = {}
    for table in tables:
        reached = {a for axis in table.axes for a in axes.chains[axis]}
        levels = [[a for a in axes.chains[axis] if a in reached] for axis in attributes]
        shared = tuple(sorted(chain[-1] for chain in levels if chain))
        found[shared] = summed_to(axes, table.table, table.axes, shared)
    return [
        Margin(s, figures)
        for s, figures in found.items()
        if not any(s != other and axes.tells(s, other) for other in found)
    ]


def raked(axes: Axes, table: Floats, attributes: AttributeSet, margins: Sequence[Margin]) -> Floats:
    """The table with these margins; nothing is put where a whole stretch of it is 0."""
    made = np.maximum(table, 0.0)
    for _ in range(ROUNDS if len(margins) > 1 else 1):
        apart = 0.0
        for margin in margins:
            sums = np.asarray(summed_to(axes, made, attributes, margin.axes))
            with np.errstate(divide="ignore", invalid="ignore"):
                factors = np.where(sums > 0.0, margin.figures / sums, 1.0)
            apart = max(apart, float(np.abs(factors - 1.0).max(initial=0.0)))
            made = made * repeated_along(axes, factors, margin.axes, attributes)
        if apart < CLOSE:
            break
    return made
