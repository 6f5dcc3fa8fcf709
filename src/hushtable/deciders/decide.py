"""The questions of a check as one request: the reply is 1 or 0 for each, and its line holds the verdicts in full."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from hushtable.arrays import Ints
from hushtable.deciders.check_plan import CheckPlan
from hushtable.deciders.verdict import SAID
from hushtable.marginals import AttributeSet
from hushtable.measurement import DECIDE, Reply, Request


@dataclass(frozen=True, eq=False)
class Decide(Request):
    """All questions of a plan, decided at once for its one price; each decider has parameters of its own."""

    plan: CheckPlan
    kind: ClassVar[str] = DECIDE

    @property
    def rho(self) -> Fraction:
        """The zCDP cost of all of them."""
        return self.plan.price.rho

    @property
    def work(self) -> int:
        """Questions."""
        return len(self.plan.planned)

    @property
    def facts(self) -> dict[str, Any]:
        """Every verdict but for what it says, by the key of its question."""
        told = {one.key: one.verdict(False).to_dict() for one in self.plan.planned}
        return {
            "verdicts": {key: {k: v for k, v in one.items() if k not in SAID} for key, one in told.items()}
        }

    def stored(
        self, sets: tuple[AttributeSet, ...], parameters: tuple[Fraction, ...], values: Ints
    ) -> Reply | None:
        """The stored reply, where it has as many answers."""
        return Reply(self, values) if len(values) == self.work else None
