"""An adaptive release before it begins: its budget, its closure, the memory it will hold, and its work limit.

The noise of each round is decided on the way; what is fixed beforehand is public and depends on sizes alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar, Protocol

from hushtable.axes import Axes
from hushtable.errors import BudgetError
from hushtable.marginals import Layout, ResolvedWorkload
from hushtable.measurement import DiscreteNoise, Policy, Purse, check_arithmetic
from hushtable.planning.aim import aim_policy
from hushtable.planning.auto import FittedTables, auto_policy
from hushtable.planning.batch import BatchPlan
from hushtable.planning.exact_plans import grid_amount
from hushtable.planning.level_rounds import FittedLevels, level_policy
from hushtable.planning.limits import too_large
from hushtable.planning.scorers import MOST_PER_ATTRIBUTE, Refit, TableScorer, rounds_of_residuals
from hushtable.planning.state import State
from hushtable.planning.wishes import work_limit
from hushtable.privacy import UNIT, GaussianNoise, Price

_PASS = 3 * 2**30
"""Bytes that one pass of tabulation takes when counts are not kept."""


@dataclass(frozen=True)
class Keeping:
    """How counts are kept: ``wide`` keeps all of them; ``large`` lets tables of more than two attributes take part.

    With ``tables``, candidates are scored against tables of maximum entropy, which are kept as well.
    """

    wide: bool
    large: bool
    tables: bool = False


class TableReader(Protocol):
    """What a plan needs to know of the way in which its tables are read afterwards."""

    @property
    def cell_bytes(self) -> int:
        """Memory per cell of the closure that reading takes beside the estimates."""
        ...

    @property
    def guides(self) -> bool:
        """Whether rounds may be scored against its tables."""
        ...


class StateFitter(Protocol):
    """From a public state to tables."""

    def __call__(self, state: State, small: bool) -> FittedTables:
        """Tables of attributes without levels; ``small`` asks for one-way tables alone."""
        ...

    def levels(self, state: State) -> FittedLevels:
        """Tables of attributes with levels."""
        ...


@dataclass(frozen=True)
class AdaptivePlan(ABC):
    """What a loop may spend, for a person with at most ``rows`` rows; ``rho`` is for one row.

    Each loop is a class below this one, with its policy and the memory that it needs.
    """

    scores: ClassVar[bool] = True
    """Whether it selects by comparing counts with estimates that change, so that gaps must be kept."""
    spends_all: ClassVar[bool] = False
    """Whether its policy asks until all is spent: only then may several draws be charged ahead."""

    workload: ResolvedWorkload
    rho: Fraction
    rows: int
    work: int | None = None

    @cached_property
    def layout(self) -> Layout:
        """The closure: every marginal that may be measured."""
        return Layout(self.workload.sizes, self.workload.closure)

    @property
    def small(self) -> int:
        """Cells of the marginals of at most two attributes."""
        return int(self.layout.lengths[(self.layout.shapes > 0).sum(axis=1) <= 2].sum())

    @property
    def noise(self) -> DiscreteNoise:
        """Gaussian; its variances are decided on the way."""
        return DiscreteNoise(GaussianNoise, (), ())

    def check(self, names: Sequence[str], largest: int = 1) -> None:
        """Refuse what could overflow where a person counts as so many integers, whatever the rounds measure."""
        sets, sizes = self.workload.closure, self.workload.sizes
        least = [float(self.rho) / (2.0 * len(sets) * prod(sizes[i] for i in s)) for s in sets]
        check_arithmetic(Axes.of(sizes).widest, sets, least, names, largest)

    @property
    def most_rounds(self) -> int:
        """Rounds that may measure a table of more than two attributes when counts are not kept, at most."""
        return 0

    @property
    def measurements(self) -> int:
        """Sets that may be measured."""
        return len(self.layout.sets)

    def price(self, rows: int = 1) -> Price:
        """The whole budget."""
        return Price(None, self.rho * rows**2)

    @abstractmethod
    def policy(
        self, state: State, purse: Purse, fit: StateFitter, keeping: Keeping, refit: Refit | None = None
    ) -> Policy:
        """The rounds over a public state; ``fit`` makes tables of it.

        With ``refit``, selections are scored against the tables that it makes.
        """

    @abstractmethod
    def ways(self, reader: TableReader | None) -> dict[Keeping, int]:
        """How counts may be kept if tables are read by ``reader``, the best first, and the bytes that each needs."""

    def may_score_tables(self, reader: TableReader | None) -> bool:
        """Whether rounds may be scored against tables of maximum entropy, memory permitting."""
        return False

    def keeping(
        self, memory: int, reader: TableReader | None = None, *, tables: bool | None = None
    ) -> Keeping:
        """What fits into ``memory`` bytes, from public sizes; refuses what cannot run, or not be read by ``reader``.

        ``tables`` is what a release that is resumed was begun with.
        """
        options = self.ways(reader)
        afterwards = 0 if reader is None else reader.cell_bytes * self.layout.cells
        if tables is not None:
            options = {keeping: needed for keeping, needed in options.items() if keeping.tables == tables}
        for keeping, needed in options.items():
            if max(needed, afterwards) <= memory:
                return keeping
        raise too_large(self.workload, max(afterwards, min(options.values())), memory)


class AimPlan(AdaptivePlan):
    """Rounds that select a marginal and measure it."""

    spends_all = True

    @property
    def most_rounds(self) -> int:
        """The first measurement, and rounds that are never smaller than the first of them."""
        return 1 + rounds_of_residuals(self.layout)

    def policy(
        self, state: State, purse: Purse, fit: StateFitter, keeping: Keeping, refit: Refit | None = None
    ) -> Policy:
        scorer = None if refit is None else TableScorer(self.layout, refit)
        return aim_policy(self.workload, state, purse, scorer, work=self.work)

    def ways(self, reader: TableReader | None) -> dict[Keeping, int]:
        cells = self.layout.cells
        if (
            self.layout.has_levels
        ):  # compared with tables of maximum entropy, however they are read afterwards
            return {Keeping(True, True, tables=True): 64 * cells}
        plain = {Keeping(True, True): 24 * cells, Keeping(False, True): 4 * cells + _PASS + 24 * self.small}
        if not self.may_score_tables(reader):
            return plain
        return {Keeping(True, True, tables=True): 64 * cells} | plain

    def may_score_tables(self, reader: TableReader | None) -> bool:
        if self.layout.has_levels:
            return True
        few = len(self.layout.sets) <= MOST_PER_ATTRIBUTE * len(self.layout.sizes)
        return reader is not None and reader.guides and few


class AutoPlan(AdaptivePlan):
    """Distances of pairs, and then batches; nothing is selected."""

    scores = False
    spends_all = True

    def policy(
        self, state: State, purse: Purse, fit: StateFitter, keeping: Keeping, refit: Refit | None = None
    ) -> Policy:
        cells = self.work if keeping.large else 0
        return auto_policy(self.workload, state, purse, fit, largest=cells)

    def ways(self, reader: TableReader | None) -> dict[Keeping, int]:
        return {Keeping(True, True): 40 * self.layout.cells, Keeping(False, False): 80 * self.small}


class LevelPlan(AdaptivePlan):
    """Two batches over all residuals of attributes with levels: what ``auto`` does with them."""

    scores = False

    def policy(
        self, state: State, purse: Purse, fit: StateFitter, keeping: Keeping, refit: Refit | None = None
    ) -> Policy:
        return level_policy(self.workload, state, purse, fit.levels)

    def ways(self, reader: TableReader | None) -> dict[Keeping, int]:
        return {Keeping(True, True): 64 * self.layout.cells}


NoisePlan = BatchPlan | AdaptivePlan


def plan_adaptive(
    kind: type[AdaptivePlan],
    workload: ResolvedWorkload,
    *,
    rho: Fraction,
    rows: int = 1,
    time: str | float | None = None,
) -> AdaptivePlan:
    """Fix the budget and the limits of a loop of some kind; ``rho`` is per person."""
    limit = grid_amount(rho, "rho")
    sets = workload.closure
    floor = Fraction(2 * len(sets), UNIT)  # at which a round costs one unit of the ledger
    if limit < floor:
        raise BudgetError(
            "budget.no-round",
            f"The budget is too small for a single round over {len(sets):,} marginals.",
            f"Give at least rho={float(floor):.1e}, or ask for fewer marginals.",
        )
    made = kind(workload, limit / rows**2, rows, work_limit(time))
    made.check(workload.names)
    return made
