"""What a ledger's entry says of a spend: enough to tell it apart from any other, in public words.

An entry keeps plain JSON for ever, so every version must read what any earlier one wrote: fields that came later have
a default, and fields that are not known here are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from hushtable.release.card import PlanFacts
from hushtable.release.spend_kinds import CHOOSE


@dataclass(frozen=True)
class Written:
    """Fields that are stored under their names; what does not apply is None, and left out."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote, here or in version 0.1; it may say more."""
        known = cls.__dataclass_fields__
        told = {name: value for name, value in given.items() if name in known}
        return cls(**{k: tuple(cast("list[Any]", v)) if isinstance(v, list) else v for k, v in told.items()})


@dataclass(frozen=True)
class ReleaseDetail(Written):
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
        """The facts of the plan stand beside the others."""
        told = super().to_dict()
        return {**told.pop("plan").to_dict(), **told}


@dataclass(frozen=True)
class CheckDetail(Written):
    """A check: its schema by hash, its budget, and the keys of its questions."""

    schema: str
    budget: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChoiceDetail(Written):
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
    strategy: str = CHOOSE


@dataclass(frozen=True)
class RefinementDetail(Written):
    """The common part of a choice bought once more, at ``rho`` per person."""

    refines: str
    rho: str


def is_about(given: Mapping[str, Any], schema: str, choices: Collection[str]) -> bool:
    """Whether the spend of this entry measured data of a schema: it says so, or refines one of the choices that do."""
    return given.get("schema") == schema or given.get("refines") in choices


def looks_at_tables(given: Mapping[str, Any]) -> bool:
    """Whether the rounds of this release, as they were begun, look at whole tables."""
    return given.get("scored") == "tables"
