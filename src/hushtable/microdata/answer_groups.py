"""A group of released noisy answers, and the checks that a list of them must pass before a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.arrays import Floats, is_whole
from hushtable.errors import WorkloadError
from hushtable.microdata.noise import Noise

MOST_MATRIX = 50_000_000
"""Entries of an explicit query matrix: 400 MB."""


@dataclass(frozen=True, eq=False, init=False)
class Measurement:
    """Noisy answers that share one noise law.

    ``axes`` is () for the sum, (0,) for the marginal of axis 0, all axes for the cells themselves; ``answers`` has the
    shape of that marginal.  With ``matrix`` (queries x cells, cells in C order) ``axes`` is None.
    """

    axes: tuple[int, ...] | None
    answers: Floats
    noise: Noise
    matrix: Floats | None

    def __init__(
        self, axes: Sequence[int] | None, answers: ArrayLike, noise: Noise, matrix: ArrayLike | None = None
    ) -> None:
        if not isinstance(cast("object", noise), Noise):
            raise WorkloadError(
                "microdata.noise", "A measurement has no noise law.", "Give noise=Noise.laplace(scale)."
            )
        values = _numbers(answers, "answers")
        explicit = None if matrix is None else _numbers(matrix, "matrix")
        if (axes is None or len(axes) == 0) and explicit is not None:
            kept = None
        elif axes is not None and explicit is None:
            kept = _increasing(axes)
        else:
            raise _shapes("A measurement has both axes and a matrix, or neither.")
        if explicit is not None and (explicit.ndim != 2 or values.shape != explicit.shape[:1]):
            raise _shapes("The query matrix needs one row per answer.")
        if kept is not None and values.ndim != len(kept) and not (kept == () and values.size == 1):
            raise _shapes("The answers have another number of axes than the measurement names.")
        object.__setattr__(self, "axes", kept)
        object.__setattr__(self, "answers", values.reshape(()) if kept == () else values)
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "matrix", explicit)


def check_measurements(measurements: Sequence[Measurement], shape: Sequence[int]) -> tuple[int, ...]:
    """The table's shape as a tuple, when every measurement fits it."""
    if not all(is_whole(n) and n >= 1 for n in shape):
        raise _shapes("Every axis of the table needs at least one cell.")
    lengths = tuple(int(n) for n in shape)
    if not measurements:
        raise WorkloadError("microdata.empty", "There is nothing to fit.", "Give at least one measurement.")
    for given in measurements:
        if not isinstance(cast("object", given), Measurement):
            raise _shapes("The list holds something that is not a measurement.")
        if given.axes is not None:
            if any(axis >= len(lengths) for axis in given.axes):
                raise _shapes("A measurement names an axis that the table does not have.")
            if given.answers.shape != tuple(lengths[axis] for axis in given.axes):
                raise _shapes("The answers of a marginal have another shape than the table's axes.")
        elif given.matrix is not None and given.matrix.shape[1] != prod(lengths):
            raise _shapes("The query matrix has another number of columns than the table has cells.")
    return lengths


def check_priorities(
    priorities: Sequence[Sequence[int] | int] | None, count: int
) -> tuple[tuple[int, ...], ...]:
    """Levels of measurement numbers, highest priority first; by default one level each, in order."""
    if priorities is None:
        return tuple((k,) for k in range(count))
    levels = tuple(
        (int(level),) if isinstance(level, int | np.integer) else tuple(int(k) for k in level)
        for level in priorities
    )
    if sorted(k for level in levels for k in level) != list(range(count)) or not all(levels):
        raise WorkloadError(
            "microdata.priorities",
            "The priorities do not name every measurement exactly once.",
            f"Give levels that use the numbers 0 to {count - 1} once each, as in [[0], [1, 2], [3]].",
        )
    return levels


def _numbers(values: ArrayLike, what: str) -> Floats:
    try:
        array: NDArray[Any] = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _shapes(f"The {what} are not an array of numbers.") from None
    if array.size > MOST_MATRIX and what == "matrix":
        raise WorkloadError(
            "microdata.too-large", "The query matrix is too large.", "Use axes instead of a matrix."
        )
    if not np.isfinite(array).all():
        raise WorkloadError(
            "microdata.not-finite", f"The {what} hold a missing or infinite number.", "Remove or replace it."
        )
    return array


def _increasing(axes: Sequence[int]) -> tuple[int, ...]:
    whole = all(map(is_whole, axes))
    if not whole or list(axes) != sorted(set(axes)) or any(a < 0 for a in axes):
        raise _shapes("Axes must be increasing numbers from 0.")
    return tuple(int(axis) for axis in axes)


def _shapes(message: str) -> WorkloadError:
    return WorkloadError(
        "microdata.shape", message, "Give Measurement(axes=(0,), answers=array of that marginal, noise=...)."
    )
