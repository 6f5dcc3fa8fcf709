"""What a ledger's entry says of a spend: enough to tell it apart from any other, in public words.

An entry keeps plain JSON for ever, so every version must read what any earlier one wrote: fields that came later have
a default, and fields that are not known here are ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from hushtable.release.card import PlanFacts
from hushtable.release.spend_kinds import CHOOSE

if TYPE_CHECKING:
    from hushtable.schema import Schema


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

    ``reuse`` names the earlier answers that it builds on; ``scored`` is "tables" where rounds look at whole tables;
    ``trees`` tells the levels of attributes apart that have some.
    """

    budget: str
    schema: str
    plan: PlanFacts
    workload: str
    reuse: str | None = None
    scored: str | None = None
    trees: Mapping[str, str] | None = None

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


def trees_of(schema: Schema) -> dict[str, str]:
    """What tells the levels of two attributes apart, in a few characters, for each attribute that has some."""
    found: dict[str, str] = {}
    for name, attribute in schema.attributes.items():
        if attribute.levels is not None:
            told = [
                attribute.levels.names,
                [list(b) for b in attribute.levels.blocks],
                list(attribute.labels),
            ]
            found[name] = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
    return found


def trees_measured(given: Mapping[str, Any]) -> Mapping[str, str]:
    """The trees of a spend, as ``trees_of`` told them then; none where its entry does not say."""
    told = given.get("trees")
    return cast("Mapping[str, str]", told) if isinstance(told, Mapping) else {}


def strategy_of(given: Mapping[str, Any]) -> str:
    """The strategy of a spend; that of a choice where its entry says none."""
    return str(given.get("strategy", CHOOSE))


def is_about(given: Mapping[str, Any], schema: str, choices: Collection[str]) -> bool:
    """Whether the spend of this entry measured data of a schema: it says so, or refines one of the choices that do."""
    return given.get("schema") == schema or given.get("refines") in choices


def looks_at_tables(given: Mapping[str, Any]) -> bool:
    """Whether the rounds of this release, as they were begun, look at whole tables."""
    return given.get("scored") == "tables"
