"""A coarser table repeated along a finer one, on any levels; the way back is ``axes.summed_to``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.axes import Axes
from hushtable.marginals.sets import AttributeSet


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
