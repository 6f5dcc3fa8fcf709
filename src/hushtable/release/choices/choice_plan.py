"""The plan of a choice between analyses: what is measured first, what completes each option, and what it all costs.

Options are ordered from coarse to fine.  Step s is common to the options from s on, and each step is answerable from
the next; finishing option j at step s measures what step s lacks of it.  Each part costs half of the largest entry of
its cost profile, for one row, and costs add up: a person's record may be corrected between two parts, and then be the
dearest in each.  Where the curator declares the data frozen while the choice is open, one record meets all parts, and
the cost is half of the largest entry of the summed profile, which ends at the cost of the option taken.  Marginals cost
every record the same, so for them the two are equal, unless levels are so uneven that records pay for different parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, prod

from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.linear import OptionMechanism, ladder
from hushtable.measurement import Part
from hushtable.release.choices.families import Family, family_of, shared_family
from hushtable.release.choices.several import require_several

_SHORT = 2**30
"""Denominator of the factor by which options are made cheaper: larger wastes less budget (a part in 10^9 here) and
makes the variances that are drawn from longer fractions."""

_FITTING_STEPS = 40
"""Options that are all scaled alike fit after one step; beside options with noise of their own each step closes most
of the gap, so that 40 come within rounding or cannot succeed."""


@dataclass(frozen=True, eq=False)
class ChoicePlan:
    """Options, the steps between them, and the exact parts that lead from one to the next.

    ``options`` are scaled; ``steps[s]`` is common to ``options[s:]``; costs are for one row.  ``frozen``: the curator
    declares that no row changes while the choice is open.
    """

    sizes: tuple[int, ...]
    options: tuple[OptionMechanism, ...]
    steps: tuple[OptionMechanism, ...]
    frozen: bool = False

    @cached_property
    def family(self) -> Family:
        """How parts are measured, priced and read."""
        return shared_family(self.options)

    @property
    def sharp(self) -> bool:
        """Whether an option costs its own price exactly, however it is reached."""
        return self.frozen or self.even

    @cached_property
    def even(self) -> bool:
        """Whether an option costs the same whether rows change while the choice is open or not."""
        return self.family.even(self.options)

    def price(self, option: int, stage: int = 0) -> Fraction:
        """Cost of an option taken at a stage; for matrices the most that it can come to after rounding."""
        if self.sharp:
            return self.frozen_price(option)
        rho = sum((part.rho for part in self.path(stage, option)), Fraction(0))
        return rho * (1 + self.family.rounding)

    def frozen_price(self, option: int) -> Fraction:
        """Cost of an option whose parts all meet the same records."""
        return Fraction(self.options[option].rho) * (1 + self.family.rounding)

    @cached_property
    def dearest(self) -> Fraction:
        """What must be held until the choice is made: the cost of the dearest path to any option."""
        last = max(0, len(self.options) - 2)
        return max(
            self.price(option, stage)
            for option in range(len(self.options))
            for stage in range(1 if self.sharp else min(option, last) + 1)
        )

    def path(self, stage: int, option: int | None = None) -> list[Part]:
        """The parts that lead to a step, one after another, and on to an option taken there."""
        parts: list[Part] = []
        for s in range(stage + 1):
            parts.extend(filter(None, [self.step_part(s, parts)]))
        if option is not None:
            parts.extend(filter(None, [self.finish_part(stage, option, parts)]))
        return parts

    @property
    def common_rho(self) -> Fraction:
        """Cost of what is common to all options."""
        return Fraction(self.steps[0].rho)

    def usual_way(self, option: int, stage: int = 0) -> Fraction:
        """Cost of measuring what is common at a stage first, and then starting again with the option."""
        return Fraction(self.steps[stage].rho) + Fraction(self.options[option].rho)

    def step_part(self, stage: int, drawn: Sequence[Part]) -> Part | None:
        """What leads from the parts drawn so far to step ``stage``; None when nothing is missing."""
        return self._missing(self.steps[stage], stage - 1, drawn)

    def finish_part(self, stage: int, option: int, drawn: Sequence[Part]) -> Part | None:
        """What completes step ``stage`` to an option; None when nothing is missing."""
        return self._missing(self.options[option], stage, drawn)

    def rho_with(self, target: OptionMechanism, drawn: Sequence[Part]) -> Fraction:
        """Running cost once ``drawn`` were all measured and ``target`` is reached, for one row."""
        if self.frozen and not self.even:
            return self.family.frozen_rho(target, drawn)
        return sum((p.rho for p in drawn), Fraction(0))

    def check(self) -> None:
        """Refuse what could overflow, whichever options are passed by and whichever is taken."""
        drawn: list[Part] = []
        for stage in range(len(self.options) - 1):
            drawn += filter(None, [self.step_part(stage, drawn)])
            ends = [self.finish_part(stage, k, drawn) for k in range(stage, len(self.options))]
            for part in [*drawn, *filter(None, ends)]:
                part.check()

    def _missing(self, target: OptionMechanism, stage: int, drawn: Sequence[Part]) -> Part | None:
        before = self.steps[stage] if stage >= 0 else None
        return self.family.missing(self.sizes, target, before, drawn)


def plan_choice(
    sizes: tuple[int, ...],
    options: Sequence[OptionMechanism],
    *,
    rho: Fraction | None = None,
    frozen: bool = False,
) -> ChoicePlan:
    """Scale options that have no noise of their own to ``rho`` (for one row), and find their steps.

    Where the dearest path to an option would cost more than ``rho``, options get more noise until it fits.  Refuses
    fewer than two options, options over another domain, an option above ``rho``, and options with nothing in common.
    """
    given = list(options)
    require_several(given)
    for k, option in enumerate(given):
        _require_domain(k, option, sizes)
    plan = _plan(sizes, tuple(_scaled(k, option, rho) for k, option in enumerate(given)), frozen)
    if rho is None:
        return plan
    adjustable = [family_of(option).adjustable(option) for option in given]
    for _ in range(_FITTING_STEPS):
        if plan.dearest <= rho:
            return plan
        plan = _plan(sizes, _cheaper(plan, rho / plan.dearest, adjustable), frozen)
    raise _path_over_budget()


def _plan(sizes: tuple[int, ...], options: tuple[OptionMechanism, ...], frozen: bool) -> ChoicePlan:
    steps = ladder(options)
    if steps[0] is None:
        raise WorkloadError(
            "choose.nothing-common",
            "The options have nothing in common, so looking first would have to be paid for.",
            "Take one of them with a plain release (`hush release`), or add the total to each.",
        )
    return ChoicePlan(sizes, options, tuple(s for s in steps if s is not None), frozen)


def _cheaper(plan: ChoicePlan, share: Fraction, adjustable: Sequence[bool]) -> tuple[OptionMechanism, ...]:
    """The options, those that may be adjusted at ``share`` of their price.

    The share is rounded down to a short fraction, which keeps variances short and prices below the budget.
    """
    short = Fraction(floor(share * _SHORT), _SHORT)
    if not any(adjustable) or short == 0:
        raise _path_over_budget()
    return tuple(
        family_of(option).at_share(option, short) if free else option
        for option, free in zip(plan.options, adjustable, strict=True)
    )


def _path_over_budget() -> WorkloadError:
    return WorkloadError(
        "choose.path-over-budget",
        "Some way of taking an option costs more than the budget, because its parts are priced one by one while rows "
        "may change.",
        "Raise the budget, leave the noise to the budget, or declare the data frozen (`--frozen`, frozen=True).",
    )


def _require_domain(k: int, option: OptionMechanism, sizes: tuple[int, ...]) -> None:
    family = family_of(option)
    if Axes.of(sizes).has_levels and not family.levels:
        raise WorkloadError(
            "choose.no-levels",
            f"Option {k} is made of {family.name}, which know no levels.",
            "Name the level in a list of tables: coarser ones take the place of buckets.",
        )
    if option.cells != prod(sizes[a] for a in Axes.of(sizes).finest) or option.sizes not in (None, sizes):
        raise WorkloadError(
            "linear.domains",
            f"Option {k} is over another schema than the session's.",
            "Write all options over the session's schema.",
        )


def _scaled(k: int, option: OptionMechanism, rho: Fraction | None) -> OptionMechanism:
    """An option with its final noise: scaled to ``rho`` unless it came with noise of its own.

    Noise of its own that costs as much as the budget but for rounding is raised until there is room for rounding.
    """
    if not option.fixed:
        if rho is None:
            raise WorkloadError(
                "choose.no-budget", f"Option {k} has no noise of its own and no budget.", "Give budget=."
            )
        return option.scaled(rho=rho)
    rounding = family_of(option).rounding
    price = Fraction(option.rho)
    if rho is None or price <= rho * (1 - rounding):
        return option
    if price <= rho * (1 + rounding):
        return option.scaled(rho=float(rho * (1 - 2 * rounding)))
    raise WorkloadError(
        "choose.over-budget",
        f"Option {k} costs more than the budget.",
        "Raise the budget, or scale the option with .scaled(rho=...).",
    )
