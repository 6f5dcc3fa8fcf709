"""Runs a compiled kernel over a range of jobs on a few threads.

Kernels release the interpreter lock and write to disjoint places, so plain threads suffice; unlike the thread pools of
the compiler they survive ``fork`` and may be entered from several threads at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL = 200_000
"""Below this much work (cells) one thread is faster than two."""


def in_ranges(kernel: Callable[..., Any], work: NDArray[np.int64], *arguments: Any) -> None:
    """Call ``kernel(first, last, *arguments)`` so that the ranges cover all jobs and share ``work`` evenly."""
    jobs, threads = len(work), min(os.cpu_count() or 1, 4)
    total = int(work.sum())
    if threads == 1 or total < SMALL or jobs < 2:
        kernel(0, jobs, *arguments)
        return
    ahead = np.cumsum(work)
    cuts = [0, *(int(np.searchsorted(ahead, total * k // threads)) for k in range(1, threads)), jobs]
    with ThreadPoolExecutor(threads) as pool:
        runs = [
            pool.submit(kernel, first, last, *arguments) for first, last in pairwise(cuts) if last > first
        ]
        for run in runs:
            run.result()
