"""A table added up to a coarser one, and a coarser one repeated along a finer: one table at a time, on any levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.axes import Axes
from hushtable.marginals.sets import AttributeSet


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


def repeated_along(axes: Axes, face: NDArray[Any], below: AttributeSet, above: AttributeSet) -> NDArray[Any]:
    """For every cell of the marginal over ``above`` the entry of ``face``, over ``below``, that holds it.

    Axes that ``below`` lacks have length 1.
    """
    for k, axis in enumerate(above):
        level = axes.level_in(below, axis)
        if level < 0:
            face = np.expand_dims(face, k)
        elif level != axis:
            face = np.take(face, axes.codes_above(axis, level), axis=k)
    return face
