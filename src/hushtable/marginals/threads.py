"""Runs a compiled kernel over a range of jobs on a few threads.

Kernels release the interpreter lock and write to disjoint places, so plain threads suffice; unlike the thread pools of
the compiler they survive ``fork`` (a child starts threads of its own) and may be entered from several threads at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL = 200_000
"""Below this much work (cells) one thread is faster than two."""

THREADS = min(os.cpu_count() or 1, 4)
"""Loops over cells are bound by memory, which a few cores use up; four is an assumption, and two cores were at hand.
Results do not depend on it."""


@cache
def _helpers() -> ThreadPoolExecutor:
    """The threads beside the calling one, started when first needed and again in a forked child."""
    return ThreadPoolExecutor(THREADS - 1, thread_name_prefix="hushtable")


os.register_at_fork(after_in_child=_helpers.cache_clear)


def in_ranges(kernel: Callable[..., Any], work: NDArray[np.int64], *arguments: Any) -> None:
    """Call ``kernel(first, last, *arguments)`` so that the ranges cover all jobs and share ``work`` evenly."""
    jobs = len(work)
    total = int(work.sum()) if THREADS > 1 and jobs > 1 else 0
    if total < SMALL:
        kernel(0, jobs, *arguments)
        return
    ahead = np.cumsum(work)
    cuts = [0, *(int(np.searchsorted(ahead, total * k // THREADS)) for k in range(1, THREADS)), jobs]
    ranges = [(first, last) for first, last in pairwise(cuts) if last > first]
    runs = [_helpers().submit(kernel, first, last, *arguments) for first, last in ranges[1:]]
    try:
        kernel(*ranges[0], *arguments)
    finally:
        wait(runs)
    for run in runs:
        run.result()
