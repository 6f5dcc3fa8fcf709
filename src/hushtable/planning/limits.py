"""What is refused from public sizes alone because it would need more memory than allowed."""

from __future__ import annotations

import re
from math import prod
from os import sysconf
from typing import TYPE_CHECKING

from hushtable.errors import WorkloadError

if TYPE_CHECKING:
    from hushtable.marginals import ResolvedWorkload

MEMORY_SHARE = 0.75
"""Share of the machine's memory that a release may use when no limit is given: a rule of thumb, which leaves a quarter
to the system and other programs.  With more, larger layouts are accepted."""


def memory_limit(memory: str | int | None) -> int:
    """Bytes from a text such as ``8GB``; by default three quarters of the machine's memory."""
    if memory is None:
        return int(MEMORY_SHARE * sysconf("SC_PAGE_SIZE") * sysconf("SC_PHYS_PAGES"))
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(|[KMGT])i?B?\s*", str(memory), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise WorkloadError("memory.unreadable", "The memory limit cannot be read.", 'Write it as "8GB".')
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def memory_need(workload: ResolvedWorkload) -> int:
    """Bytes that a batch release of ``workload`` holds at once: counts, residuals, estimates and released columns."""
    below = sum(prod(workload.sizes[i] for i in s) for s in workload.closure)
    cells = workload.cells
    counts, residuals, estimates = 8 * (cells + below), 16 * below, 8 * cells
    widest = max((len(s) for s in workload.sets), default=0)
    return counts + residuals + estimates + (32 + 4 * widest) * cells


def check_memory(workload: ResolvedWorkload, *, memory: int) -> None:
    """Refuse a workload that needs more than ``memory`` bytes."""
    need = memory_need(workload)
    if need > memory:
        raise too_large(workload, need, memory)


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
