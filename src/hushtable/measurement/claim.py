"""A bound on whole tables that the rounds of a release have proved: free, and stored beside what was paid for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout


@dataclass(frozen=True, eq=False)
class Claim:
    """``|truth - table|_1 <= limits[k]`` for every set; ``tables`` is flat (None: the final unbiased estimates)."""

    sets: tuple[AttributeSet, ...]
    tables: Floats | None
    limits: Floats

    def scaled(self, unit: float) -> Claim:
        """The same where each counted integer is so many persons."""
        tables = None if self.tables is None else self.tables * unit
        return self if unit == 1.0 else Claim(self.sets, tables, self.limits * unit)

    def about(self, wanted: Collection[AttributeSet], sizes: tuple[int, ...]) -> Claim | None:
        """What it says of some sets alone; None where it says nothing of them."""
        kept = [k for k, s in enumerate(self.sets) if s in wanted]
        if not kept:
            return None
        whole, tables = Layout(sizes, self.sets), self.tables
        if tables is not None:
            tables = np.concatenate([tables[whole.offsets[k] : whole.offsets[k + 1]] for k in kept])
        return Claim(tuple(self.sets[k] for k in kept), tables, self.limits[kept])
