"""What is refused from public sizes alone because measured integers could leave 64-bit arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, marginal_label

MAX_ROWS = 2**36
"""Tables of more rows than this are not supported; every bound here assumes it."""

LARGEST = 2**62
"""Measured integers stay below it."""

DEVIATIONS = 64
"""Standard deviations that noise is allowed: Gaussian noise goes beyond them with a chance below 10^-880, Laplace noise
below 10^-39.  A larger number refuses more workloads."""


def check_arithmetic(
    sizes: Sequence[int],
    sets: Sequence[AttributeSet],
    precisions: Sequence[Fraction | float],
    names: Sequence[str] = (),
    largest: int = 1,
) -> None:
    """Refuse residuals whose measured integers could leave 62 bits, whatever the data.

    A lifted count is at most ``n_tau MAX_ROWS`` in size, and ``largest`` times that where a row has so much; the
    noise has the standard deviation ``n_tau / sqrt(precision)`` and is allowed 64 of them.
    """
    for attributes, precision in zip(sets, precisions, strict=True):
        cells = prod(int(sizes[i]) for i in attributes)
        _require_room(attributes, cells * largest, cells / float(precision) ** 0.5, names)


def check_cell_noise(
    sets: Sequence[AttributeSet], deviations: Sequence[float], names: Sequence[str] = (), largest: int = 1
) -> None:
    """The same for marginals measured cell by cell, with the standard deviation of each one's noise."""
    for attributes, deviation in zip(sets, deviations, strict=True):
        _require_room(attributes, largest, deviation, names)


def _require_room(attributes: AttributeSet, factor: int, deviation: float, names: Sequence[str]) -> None:
    if not factor * MAX_ROWS + DEVIATIONS * deviation < LARGEST:
        raise WorkloadError(
            "workload.overflow",
            f"The marginal {marginal_label(attributes, names)} could leave exact 64-bit arithmetic: its counts are "
            f"multiplied by {factor:,} and its noise is about {deviation:.1e}.",
            "Use coarser bins, a coarser `resolution`, fewer attributes per marginal (--order) or a larger budget.",
        )
