"""The plan of a choice between analyses: what is measured first, what completes each option, and what it all costs.

Options are ordered from coarse to fine.  Step s is common to the options from s on, and each step is answerable from
the next; finishing option j at step s measures what step s lacks of it.  Each part costs half of the largest entry of
its cost profile, for one row, and costs add up: a person's record may be corrected between two parts, and then be the
dearest in each.  Where the curator declares the data frozen while the choice is open, one record meets all parts, and
the cost is half of the largest entry of the summed profile, which ends at the cost of the option taken.  Marginals cost
every record the same, so for them the two are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, prod
from typing import Literal

import numpy as np

from hushtable.errors import WorkloadError
from hushtable.linear import (
    BucketTable,
    LinearGaussian,
    MarginalMechanism,
    Mechanism,
    as_dense,
    ladder,
    residual,
)
from hushtable.linear.partitions import BucketResidual
from hushtable.marginals import AttributeSet
from hushtable.measurement import CellPart, DeviationPart, MatrixPart, Part, ResidualPart

Kind = Literal["marginals", "buckets", "matrices"]

ROUNDING = Fraction(1, 10**5)
"""Share of a matrix option's price that is set aside for the rounding of its matrices."""

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
    options: tuple[Mechanism, ...]
    steps: tuple[Mechanism, ...]
    frozen: bool = False

    @cached_property
    def kind(self) -> Kind:
        """How parts are measured."""
        if all(isinstance(m, MarginalMechanism) for m in self.options):
            return "marginals"
        return "buckets" if all(isinstance(m, BucketTable) for m in self.options) else "matrices"

    @property
    def stages(self) -> int:
        """Decisions that can be taken one after another, the last option being the last stage."""
        return len(self.steps)

    @property
    def sharp(self) -> bool:
        """Whether an option costs its own price exactly, however it is reached."""
        return self.frozen or self.kind == "marginals"

    def price(self, option: int, stage: int = 0) -> Fraction:
        """Cost of an option taken at a stage; for matrices the most that it can come to after rounding."""
        if self.sharp:
            return self.frozen_price(option)
        rho = sum((part.rho for part in self.path(stage, option)), Fraction(0))
        return rho * (1 + ROUNDING) if self.kind == "matrices" else rho

    def frozen_price(self, option: int) -> Fraction:
        """Cost of an option whose parts all meet the same records."""
        rho = Fraction(self.options[option].rho)
        return rho * (1 + ROUNDING) if self.kind == "matrices" else rho

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

    def usual_way(self, option: int) -> Fraction:
        """Cost of measuring the common part first and then starting again with the option."""
        return self.common_rho + Fraction(self.options[option].rho)

    def step_part(self, stage: int, drawn: Sequence[Part]) -> Part | None:
        """What leads from the parts drawn so far to step ``stage``; None when nothing is missing."""
        return self._missing(self.steps[stage], stage - 1, drawn)

    def finish_part(self, stage: int, option: int, drawn: Sequence[Part]) -> Part | None:
        """What completes step ``stage`` to an option; None when nothing is missing."""
        return self._missing(self.options[option], stage, drawn)

    def rho_with(self, target: Mechanism, drawn: Sequence[Part]) -> Fraction:
        """Running cost once ``drawn`` were all measured and ``target`` is reached, for one row."""
        if not self.frozen or self.kind == "marginals":
            return sum((p.rho for p in drawn), Fraction(0))
        if self.kind == "matrices":
            profiles = [p.profile for p in drawn if isinstance(p, MatrixPart)]
            return max(np.sum(profiles, axis=0).tolist()) / 2
        return Fraction(target.rho)

    def _missing(self, target: Mechanism, stage: int, drawn: Sequence[Part]) -> Part | None:
        if self.kind == "marginals" and isinstance(target, MarginalMechanism):
            return missing_residuals(target, drawn)
        before = self.steps[stage] if stage >= 0 else None
        if self.kind == "buckets" and isinstance(target, BucketTable):
            left = residual(target, before)
            if isinstance(left, BucketResidual):
                return DeviationPart(left)
            return CellPart(left) if isinstance(left, BucketTable) else None
        rest = residual(as_dense(target), None if before is None else as_dense(before))
        return None if rest is None else MatrixPart.rounded(self.sizes, as_dense(rest))


def missing_residuals(target: MarginalMechanism, drawn: Sequence[Part]) -> ResidualPart | None:
    """The precision that residuals still lack, given the parts drawn; exact.

    A residual that is known better than the target asks for lacks nothing.
    """
    known: dict[AttributeSet, Fraction] = {}
    for part in drawn:
        if isinstance(part, ResidualPart):
            for tau, p in part.precisions.items():
                known[tau] = known[tau] + p if tau in known else p
    left = {
        tau: p - known[tau] if tau in known else p
        for tau, p in target.precisions.items()
        if tau not in known or p > known[tau]
    }
    return ResidualPart(target.sizes, left) if left else None


def plan_choice(
    sizes: tuple[int, ...], options: Sequence[Mechanism], *, rho: Fraction | None = None, frozen: bool = False
) -> ChoicePlan:
    """Scale options that have no noise of their own to ``rho`` (for one row), and find their steps.

    Where the dearest path to an option would cost more than ``rho``, options get more noise until it fits.  Refuses
    fewer than two options, options over another domain, an option above ``rho``, and options with nothing in common.
    """
    given = list(options)
    if len(given) < 2:
        raise WorkloadError(
            "choose.one-option",
            "A choice needs at least two options.",
            "Add an option, or use a plain release (`hush release`).",
        )
    for k, option in enumerate(given):
        _require_domain(k, option, sizes)
    plan = _plan(sizes, tuple(_scaled(k, option, rho) for k, option in enumerate(given)), frozen)
    if rho is None:
        return plan
    adjustable = [isinstance(o, LinearGaussian) or not o.fixed for o in given]
    for _ in range(_FITTING_STEPS):
        if plan.dearest <= rho:
            return plan
        plan = _plan(sizes, _cheaper(plan, rho / plan.dearest, adjustable), frozen)
    raise _path_over_budget()


def _plan(sizes: tuple[int, ...], options: tuple[Mechanism, ...], frozen: bool) -> ChoicePlan:
    steps = ladder(options)
    if steps[0] is None:
        raise WorkloadError(
            "choose.nothing-common",
            "The options have nothing in common, so looking first would have to be paid for.",
            "Take one of them with a plain release (`hush release`), or add the total to each.",
        )
    return ChoicePlan(sizes, options, tuple(s for s in steps if s is not None), frozen)


def _cheaper(plan: ChoicePlan, share: Fraction, adjustable: Sequence[bool]) -> tuple[Mechanism, ...]:
    """The options, those that may be adjusted at ``share`` of their price.

    The share is rounded down to a short fraction, which keeps variances short and prices below the budget.
    """
    short = Fraction(floor(share * _SHORT), _SHORT)
    if not any(adjustable) or short == 0:
        raise _path_over_budget()
    return tuple(_at_share(o, short) if free else o for o, free in zip(plan.options, adjustable, strict=True))


def _at_share(option: Mechanism, share: Fraction) -> Mechanism:
    if isinstance(option, LinearGaussian):
        return option.scaled(rho=option.rho * float(share) * (1 - float(ROUNDING)))
    return option.scaled(rho=option.rho * share)


def _path_over_budget() -> WorkloadError:
    return WorkloadError(
        "choose.path-over-budget",
        "Some way of taking an option costs more than the budget, because its parts are priced one by one while rows "
        "may change.",
        "Raise the budget, leave the noise to the budget, or declare the data frozen (`--frozen`, frozen=True).",
    )


def _require_domain(k: int, option: Mechanism, sizes: tuple[int, ...]) -> None:
    if not isinstance(option, LinearGaussian | MarginalMechanism | BucketTable):
        raise WorkloadError(
            "linear.kind",
            f"Option {k} is not a linear mechanism.",
            "Give for example ht.linear.marginals(schema, order=1).",
        )
    fits = option.cells == prod(sizes) if isinstance(option, LinearGaussian) else option.sizes == sizes
    if not fits:
        raise WorkloadError(
            "linear.domains",
            f"Option {k} is over another schema than the session's.",
            "Write all options over the session's schema.",
        )


def _scaled(k: int, option: Mechanism, rho: Fraction | None) -> Mechanism:
    """An option with its final noise: scaled to ``rho`` unless it came with noise of its own."""
    if isinstance(option, LinearGaussian):
        if rho is None or Fraction(option.rho) <= rho * (1 - ROUNDING):
            return option
        if Fraction(option.rho) <= rho * (1 + ROUNDING):
            return option.scaled(rho=float(rho * (1 - 2 * ROUNDING)))
    elif not option.fixed:
        if rho is None:
            raise WorkloadError(
                "choose.no-budget", f"Option {k} has no noise of its own and no budget.", "Give budget=."
            )
        return option.scaled(rho=rho)
    elif rho is None or option.rho <= rho:
        return option
    raise WorkloadError(
        "choose.over-budget",
        f"Option {k} costs more than the budget.",
        "Raise the budget, or scale the option with .scaled(rho=...).",
    )
