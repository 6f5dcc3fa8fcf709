"""A benchmark table: its codes, its workload of all tables of one order, and their true counts.

Where all tables do not fit, errors are of a fixed random sample of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from bench.shared.standins import load
from hushtable.kernel.tabulate import tabulate
from hushtable.marginals import Layout, ResolvedWorkload

DELTA = Fraction(1, 10**9)
MEMORY = 12 * 2**30
"""Bytes that a benchmark may use."""

MOST_CELLS = 100_000_000
SAMPLE = 300
"""Tables that errors are taken of when all have more than ``MOST_CELLS`` cells."""


class Rows:
    """Codes in memory, in place of a confidential source."""

    def __init__(self, columns: list[np.ndarray]) -> None:
        self.columns = columns

    def tabulate(self, layout: Layout) -> np.ndarray:
        return tabulate([self.columns], layout)

    def staged(self, again: int = 0) -> Rows:
        return self


@dataclass
class Table:
    """A named table with all its marginals of one order, three if nothing is said, as workload."""

    name: str
    sizes: tuple[int, ...]
    source: Rows
    records: int
    workload: ResolvedWorkload

    @classmethod
    def load(cls, name: str, order: int = 3) -> Table:
        sizes, columns = load(name)
        sets = tuple(combinations(range(len(sizes)), order))
        workload = ResolvedWorkload(sets, (Fraction(1),) * len(sets), tuple(sizes))
        return cls(name, tuple(sizes), Rows(columns), len(columns[0]), workload)

    @cached_property
    def layout(self) -> Layout:
        """The closure."""
        return Layout(self.sizes, self.workload.closure)

    @cached_property
    def sampled(self) -> bool:
        """Whether errors are of a sample."""
        return self.workload.cells > MOST_CELLS

    @cached_property
    def answered(self) -> Layout:
        """The tables that errors are taken of."""
        if not self.sampled:
            return self.workload.layout
        sets = self.workload.sets
        drawn = np.sort(np.random.default_rng(0).choice(len(sets), SAMPLE, replace=False))
        return Layout(self.sizes, tuple(sets[k] for k in drawn))

    @cached_property
    def truth(self) -> np.ndarray:
        """True counts of the answered tables."""
        return self.source.tabulate(self.answered)

    def errors(self, estimates: np.ndarray) -> dict[str, float]:
        """Mean L1, mean L2 and largest L1 over tables, divided by the records."""
        gap = estimates - self.truth
        starts = self.answered.offsets[:-1]
        l1 = np.add.reduceat(np.abs(gap), starts) / self.records
        l2 = np.sqrt(np.add.reduceat(gap * gap, starts)) / self.records
        return {"l1": float(l1.mean()), "l2": float(l2.mean()), "largest": float(l1.max())}
