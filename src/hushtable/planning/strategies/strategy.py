"""What a strategy is: an object with its name, its currencies and its defaults; and the registry of them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from hushtable import planning, privacy
from hushtable.errors import BudgetError, WorkloadError
from hushtable.planning.wishes import checked_objective, work_limit
from hushtable.plugins import Registry

if TYPE_CHECKING:  # a list of names loads no planner
    from hushtable.marginals import ResolvedWorkload
    from hushtable.planning.adaptive import NoisePlan
    from hushtable.privacy import Budget


@dataclass(frozen=True)
class PlanOptions:
    """What a caller may ask of a plan besides its budget; each strategy takes what it knows."""

    objective: str = "sum_variance"
    time: str | float | None = None

    def __post_init__(self) -> None:
        checked_objective(self.objective)
        work_limit(self.time)


class Trial(NamedTuple):
    """The least coverage of intervals at 95%, in per cent: over all populations, budgets and classes of the trials."""

    reconstruct: str
    """How the answers were read."""
    held: float


class Strategy(ABC):
    """How a workload is measured for a budget."""

    name: ClassVar[str]
    reconstruction: ClassVar[str] = "mle"
    """How its answers are read unless somebody asks for another way."""
    foreseen: ClassVar[bool] = True
    """Whether its noise is known before anything is measured: errors, budgets for errors and reuse rest on it."""

    trials: ClassVar[tuple[Trial, ...]] = ()
    """Where noise depends on earlier replies: how often intervals at 95% held (``bench/tables/intervals.py``)."""

    levels: ClassVar[bool] = True
    """Whether it measures attributes with levels."""

    keeps_to_workload: ClassVar[bool] = False
    """Whether it measures nothing beside the marginals that were asked for and those inside them; then a table beyond
    them is refused without a look at the answers."""

    @abstractmethod
    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        """Noise for ``rho`` per person with at most ``rows`` rows."""

    def pure(self, workload: ResolvedWorkload, epsilon: Fraction, delta: Fraction, rows: int) -> NoisePlan:
        """Noise for a pure epsilon, and a delta for cutting it off."""
        raise self._not_pure(epsilon)

    def _not_pure(self, epsilon: Fraction) -> BudgetError:
        """With the two ways that work for the same epsilon."""
        given = privacy.text(epsilon)
        return BudgetError(
            "budget.not-pure",
            f"The strategy {self.name} adds Gaussian noise, which no pure epsilon budget can pay for.",
            f'Give the same epsilon a delta, "epsilon={given},delta=1e-9", where the ledger counts rho; '
            f"or keep it and use --strategy {names_of('pays_pure')}.",
        )

    def check_payable(self, budget: Budget) -> None:
        """Refuse a pure budget where it cannot pay, before anything is planned."""
        if budget.limit.rho == 0 and not self.pays_pure:
            raise self._not_pure(Fraction(budget.limit.xi, privacy.UNIT))

    def plan(
        self,
        workload: ResolvedWorkload,
        budget: Budget,
        rows: int,
        options: PlanOptions,
        share: Fraction = Fraction(1),
    ) -> NoisePlan:
        """Noise for a share of a budget, in its own currency: pure budgets have no rho.

        Noise is cut off for a delta only where all of the budget is for it.
        """
        if workload.has_levels and not self.levels:
            raise WorkloadError(
                "release.no-levels",
                f"The strategy {self.name} does not measure attributes with levels.",
                f"Use --strategy {names_of('levels')}.",
            )
        limit = budget.limit
        if limit.rho == 0:
            delta = Fraction(limit.delta) if share == 1 else Fraction(0)
            made = self.pure(workload, share * Fraction(limit.xi, privacy.UNIT), delta, rows)
        else:
            made = self.gaussian(workload, share * Fraction(limit.rho, privacy.UNIT), rows, options)
        if self.foreseen == isinstance(made, planning.AdaptivePlan):
            raise WorkloadError(
                "release.not-foreseen",
                f"The strategy {self.name} says whether its noise is known beforehand, and its plan says otherwise.",
                "Set `foreseen = False` in a strategy whose plan is an AdaptivePlan, and only there.",
            )
        return made

    def check_foreseen(self) -> None:
        """Refuse to tell errors beforehand where nobody can."""
        if not self.foreseen:
            raise not_foreseen(self.name)

    @property
    def pays_pure(self) -> bool:
        """Whether a pure epsilon can pay for its noise."""
        return type(self).pure is not Strategy.pure

    def for_totals(self) -> Strategy:
        """The strategy that measures totals beside the counts."""
        if self.foreseen:
            return self
        raise WorkloadError(
            "release.no-totals",
            f"The strategy {self.name} measures counts alone, and the schema has `sums`.",
            f"Use --strategy auto or {names_of('foreseen')}.",
        )

    def with_known(self) -> Strategy:
        """The strategy that spends nothing on tables which are known from elsewhere."""
        if self.foreseen:
            return self
        raise WorkloadError(
            "release.known",
            f"The strategy {self.name} measures all tables, and the schema has some under `known`.",
            f"Use --strategy auto or {names_of('foreseen')}.",
        )

    def differences(self) -> Strategy:
        """The strategy that measures what earlier answers lack."""
        if self.foreseen:
            return self
        raise WorkloadError(
            "release.reuse",
            f"The strategy {self.name} decides its noise on the way and cannot be charged by difference.",
            f"Use --strategy {names_of('foreseen')}; earlier {self.name} releases are reused.",
        )


STRATEGIES: Registry[Strategy] = Registry()


def register(strategy: Strategy) -> None:
    """Offer a strategy under its name."""
    STRATEGIES[strategy.name] = strategy


def names_of(trait: Literal["foreseen", "pays_pure", "levels"]) -> str:
    """The strategies that have a trait, as a hint lists them."""
    return " or ".join(name for name, strategy in STRATEGIES.items() if getattr(strategy, trait))


def not_foreseen(strategy: str) -> WorkloadError:
    """Errors were asked for beforehand that depend on what will be answered."""
    return WorkloadError(
        "plan.adaptive",
        f"The strategy {strategy} decides its noise on the way, so its errors are not known beforehand.",
        f"Plan with --strategy {names_of('foreseen')}, or release and read the error bars.",
    )


def strategy_named(name: str) -> Strategy:
    """A registered strategy; refuses a name that there is not."""
    if name not in STRATEGIES:
        raise WorkloadError(
            "release.strategy", "The strategy is not known.", f"Choose one of {', '.join(STRATEGIES)}."
        )
    return STRATEGIES[name]
