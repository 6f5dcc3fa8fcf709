"""What a ledger's entry says of a spend: enough to tell it apart from any other, in public words.

An entry keeps plain JSON for ever, so every version must read what any earlier one wrote: fields that came later have
a default, and fields that are not known here are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from hushtable.release.card import PlanFacts


@dataclass(frozen=True)
class ReleaseDetail:
    """A release: its budget, schema, plan and workload (both by hash), and how it is run where that is not plain.

    ``reuse`` names the earlier answers that it builds on; ``scored`` is "tables" where rounds look at whole tables.
    """

    budget: str
    schema: str
    plan: PlanFacts
    workload: str
    reuse: str | None = None
    scored: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; what does not apply is left out."""
        more = {"reuse": self.reuse, "scored": self.scored}
        return {
            "budget": self.budget,
            "schema": self.schema,
            **self.plan.to_dict(),
            "workload": self.workload,
            **{name: value for name, value in more.items() if value is not None},
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ReleaseDetail:
        """What ``to_dict`` wrote."""
        plan, more = PlanFacts.from_dict(given), (given.get("reuse"), given.get("scored"))
        return cls(given["budget"], given["schema"], plan, given["workload"], *more)


@dataclass(frozen=True)
class CheckDetail:
    """A check: its schema by hash, its budget, and the keys of its questions."""

    schema: str
    budget: str
    questions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"schema": self.schema, "budget": self.budget, "questions": list(self.questions)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> CheckDetail:
        """What ``to_dict`` wrote."""
        return cls(given["schema"], given["budget"], tuple(given.get("questions", ())))


@dataclass(frozen=True)
class ChoiceDetail:
    """A choice: its options in words and by hash, and what each would cost, per person.

    ``usual_way_rho`` is what measuring the common part first and starting again would cost.  Options that cost the same
    whether rows change or not say nothing of ``frozen``.
    """

    budget: str
    schema: str
    options: tuple[str, ...]
    options_sha256: str
    common_rho: str
    option_rho: tuple[str, ...]
    usual_way_rho: tuple[str, ...]
    frozen: bool | None = None
    frozen_rho: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; what does not apply is left out."""
        told: dict[str, Any] = {
            name: [*cast("tuple[Any, ...]", v)] if isinstance(v, tuple) else v
            for name, v in vars(self).items()
        }
        return {"strategy": "choose", **{name: value for name, value in told.items() if value is not None}}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ChoiceDetail:
        """What ``to_dict`` wrote, here or in version 0.1."""
        told: dict[str, Any] = {f.name: given[f.name] for f in fields(cls) if f.name in given}
        for name in ("options", "option_rho", "usual_way_rho", "frozen_rho"):
            told[name] = tuple(told[name]) if name in told else None
        return cls(**told)


@dataclass(frozen=True)
class RefinementDetail:
    """The common part of a choice bought once more, at ``rho`` per person."""

    refines: str
    rho: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return vars(self).copy()


def is_about(given: Mapping[str, Any], schema: str, choices: Collection[str]) -> bool:
    """Whether the spend of this entry measured data of a schema: it says so, or refines one of the choices that do."""
    return given.get("schema") == schema or given.get("refines") in choices
