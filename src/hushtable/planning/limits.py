"""What is refused from public sizes alone: overflow of 64-bit integers, and more memory than allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from os import sysconf

from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, ResolvedWorkload, marginal_label

MAX_ROWS = 2**36
"""Tables of more rows than this are not supported; every bound below assumes it."""

LARGEST = 2**62
_DEVIATIONS = 64

MEMORY_SHARE = 0.75
"""Share of the machine's memory that a release may use when no limit is given."""


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that a batch release holds at once, from public sizes."""

    counts: int
    """Tabulated marginals and their projections."""
    residuals: int
    """Noisy integers and centred residuals."""
    estimates: int
    """Estimated marginals."""
    tables: int
    """Released columns: attributes, estimate, std, lower, upper."""

    @property
    def total(self) -> int:
        """All of them together."""
        return self.counts + self.residuals + self.estimates + self.tables


def memory_limit(memory: str | int | None) -> int:
    """Bytes from a text such as ``8GB``; by default three quarters of the machine's memory."""
    if memory is None:
        return int(MEMORY_SHARE * sysconf("SC_PAGE_SIZE") * sysconf("SC_PHYS_PAGES"))
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(|[KMGT])i?B?\s*", str(memory), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise WorkloadError("memory.unreadable", "The memory limit cannot be read.", 'Write it as "8GB".')
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def check_arithmetic(
    sizes: Sequence[int],
    sets: Sequence[AttributeSet],
    precisions: Sequence[Fraction | float],
    names: Sequence[str] = (),
) -> None:
    """Refuse residuals whose measured integers could leave 62 bits, whatever the data.

    A lifted count is at most ``n_tau MAX_ROWS`` in size; the noise has the standard deviation
    ``n_tau / sqrt(precision)`` and is allowed 64 of them.
    """
    for attributes, precision in zip(sets, precisions, strict=True):
        cells = prod(int(sizes[i]) for i in attributes)
        _require_room(attributes, cells, cells / float(precision) ** 0.5, names)


def check_cell_noise(
    sets: Sequence[AttributeSet], deviations: Sequence[float], names: Sequence[str] = ()
) -> None:
    """The same for marginals measured cell by cell, with the standard deviation of each one's noise."""
    for attributes, deviation in zip(sets, deviations, strict=True):
        _require_room(attributes, 1, deviation, names)


def _require_room(attributes: AttributeSet, factor: int, deviation: float, names: Sequence[str]) -> None:
    if not factor * MAX_ROWS + _DEVIATIONS * deviation < LARGEST:
        raise WorkloadError(
            "workload.overflow",
            f"The marginal {marginal_label(attributes, names)} could leave exact 64-bit arithmetic: its counts are "
            f"multiplied by {factor:,} and its noise is about {deviation:.1e}.",
            "Use coarser bins, fewer attributes per marginal (--order) or a larger budget.",
        )


def memory_need(workload: ResolvedWorkload) -> MemoryNeed:
    """Estimate of the memory of a batch release of ``workload``."""
    below = sum(prod(workload.sizes[i] for i in s) for s in workload.closure)
    cells = workload.cells
    widest = max((len(s) for s in workload.sets), default=0)
    return MemoryNeed(8 * (cells + below), 16 * below, 8 * cells, (32 + 4 * widest) * cells)


def check_memory(workload: ResolvedWorkload, *, memory: int) -> MemoryNeed:
    """Refuse a workload that needs more than ``memory`` bytes; give back the estimate otherwise."""
    need = memory_need(workload)
    if need.total > memory:
        raise too_large(workload, need.total, memory)
    return need


def too_large(workload: ResolvedWorkload, needed: int, memory: int) -> WorkloadError:
    """The refusal of a workload that needs more memory than allowed."""
    return WorkloadError(
        "workload.too-large",
        f"The workload has {len(workload.sets):,} marginals with {workload.cells:,} cells and needs about "
        f"{_readable(needed)} of memory; {_readable(memory)} are allowed.",
        "Lower --order, use coarser bins, ask for fewer marginals, or allow more with --memory.",
    )


def _readable(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
