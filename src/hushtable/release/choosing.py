"""Starting a choice, and going on with one that a ledger knows.

Everything is decided from public sizes before anything is reserved; then the dearest option is held and the common
part is measured.  The first stored payload describes the choice completely.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from hushtable.errors import BundleError, SchemaError, WorkloadError
from hushtable.ledger import Ledger, Spend, Unit
from hushtable.linear import (
    LinearGaussian,
    MarginalMechanism,
    Mechanism,
    bucket_table,
    buckets,
    ladder,
    marginals,
    read_written,
    written,
)
from hushtable.marginals import ResolvedWorkload, Workload
from hushtable.measurement import Part
from hushtable.planning.choice import ChoicePlan, plan_choice
from hushtable.planning.limits import check_memory
from hushtable.privacy import UNIT, Budget, decimal
from hushtable.privacy.budget import price_in
from hushtable.release.choice import (
    KIND,
    Choice,
    Drawer,
    find_choice,
    first_note,
    part_note,
    person_price,
    taken_as_frozen,
)
from hushtable.release.choice_payload import pack
from hushtable.schema import Schema, document


@dataclass(frozen=True)
class Desk:
    """What a session lends to a choice: public things, and the right to draw."""

    schema: Schema
    unit: Unit
    ledger: Ledger
    spender: str | None
    draw: Drawer
    data: str | None
    """Where the data are, when they have a path."""


def start_choice(
    desk: Desk,
    options: Sequence[Mechanism],
    *,
    budget: Budget | None,
    request: str | None,
    memory: int,
    frozen: bool,
) -> Choice:
    """Reserve the dearest path to an option, measure what all have in common, and hand out the choice.

    A request id that has started this choice before gives it back as it is now.
    """
    plan = plan_options(desk.schema, desk.unit, options, budget, frozen=frozen)
    _check_sizes(desk.schema, plan, memory)
    detail = _detail(desk, plan, budget)
    first = plan.step_part(0, ())
    drawn = [] if first is None else [first]
    common = person_price(plan.rho_with(plan.steps[0], drawn), desk.unit, desk.ledger)
    held = person_price(plan.dearest, desk.unit, desk.ledger)
    note = {**_description(desk, plan), **part_note(first)}
    spend = Spend(held, KIND, detail, desk.spender)
    started = desk.draw.start(spend, request, first, common, partial(pack, first, note=note))
    stored = find_choice(desk.ledger, started)
    first_note(stored)
    return Choice(plan, desk.schema, desk.unit, desk.ledger, stored, desk.draw)


def resume_choice(desk: Desk, choice: str, *, frozen: bool = False) -> Choice:
    """A choice that the ledger knows, as it stands.

    ``frozen`` declares, for a choice of version 0.1 that says nothing of it, that no row has changed since it began;
    once an option is taken, the word that was given then is kept.
    """
    stored = find_choice(desk.ledger, choice)
    note = {"frozen": frozen or taken_as_frozen(stored), **first_note(stored)}
    if note["schema"] != desk.schema.version:
        raise WorkloadError(
            "choose.other-schema",
            "The choice was made over another schema than this session's.",
            "Open the session with the schema of the choice.",
        )
    return Choice(read_plan(note), desk.schema, desk.unit, desk.ledger, stored, desk.draw)


def plan_options(
    schema: Schema, unit: Unit, options: Sequence[Mechanism], budget: Budget | None, *, frozen: bool
) -> ChoicePlan:
    """Scale the options to a budget per person, and find what they have in common."""
    rho = None
    if budget is not None:
        limit = budget.limit.rho
        if limit == 0:
            price_in("pure", None, Fraction(0))
        rho = Fraction(limit, UNIT) / unit.rows**2
    return plan_choice(schema.sizes, list(options), rho=rho, frozen=frozen)


def read_plan(note: dict[str, Any]) -> ChoicePlan:
    """The plan that a first payload describes."""
    try:
        options = tuple(read_written(o) for o in note["options"])
        steps = tuple(s for s in ladder(options) if s is not None)
        return ChoicePlan(tuple(note["sizes"]), options, steps, bool(note["frozen"]))
    except (KeyError, TypeError, ValueError):
        raise BundleError(
            "bundle.damaged", "The description of the choice cannot be read.", "Restore it from a backup."
        ) from None


def option_from_file(schema: Schema, path: str | PathLike[str]) -> Mechanism:
    """An option from a YAML file, with equal independent noise that is scaled to the budget later.

    Either a workload (a list of marginals), or ``buckets:`` with, for each attribute of one table, the positions of
    the categories at which a new bucket starts, or ``all``.
    """
    try:
        content = document.parse(document.read(Path(path))).value
    except SchemaError:  # a workload has a reader and complaints of its own
        content = None
    if not isinstance(content, dict) or "buckets" not in content:
        return marginals(schema, sets=Workload.load(Path(path)).marginals)
    wanted = content["buckets"]
    if set(content) != {"buckets"} or not isinstance(wanted, dict) or not all(map(_is_cuts, wanted.values())):
        raise WorkloadError(
            "choose.option-file",
            f"{Path(path).name} is neither a workload nor buckets of one table.",
            "Write for example  buckets: {age: [18, 45, 65], sex: all}.",
        )
    axes = dict(zip(schema.axes(wanted), wanted.values(), strict=True))
    return bucket_table([_buckets(n, axes.get(i, [])) for i, n in enumerate(schema.sizes)])


def _is_cuts(value: Any) -> bool:
    return value == "all" or (isinstance(value, list) and all(type(c) is int for c in value))


def _buckets(size: int, cuts: Any) -> tuple[int, ...]:
    return buckets(size, range(1, size) if cuts == "all" else cuts)


def option_text(option: Mechanism, names: Sequence[str]) -> str:
    """An option in a few words."""
    if isinstance(option, MarginalMechanism):
        sets = list(option.tables)
        orders = sorted({len(s) for s in sets})
        shown = " x ".join(names[i] for i in sets[0]) or "the total"
        if len(sets) == 1:
            return f"the table {shown}" if sets[0] else shown
        return f"{len(sets):,} tables of {' and '.join(map(str, orders))} attribute{'s' * (orders != [1])}"
    if isinstance(option, LinearGaussian):
        return f"{len(option.queries):,} linear queries"
    return f"a table of {option.variances.size:,} cells over buckets"


def _check_sizes(schema: Schema, plan: ChoicePlan, memory: int) -> None:
    """Refuse what would overflow or not fit, whichever options are passed by and whichever is taken."""
    drawn: list[Part] = []
    for stage in range(len(plan.options) - 1):
        drawn += filter(None, [plan.step_part(stage, drawn)])
        ends = [plan.finish_part(stage, k, drawn) for k in range(stage, len(plan.options))]
        for part in [*drawn, *filter(None, ends)]:
            part.check()
    for option in plan.options:
        if isinstance(option, MarginalMechanism) and option.tables:
            sets = tuple(option.tables)
            tables = ResolvedWorkload(sets, (Fraction(1),) * len(sets), schema.sizes, schema.names)
            check_memory(tables, memory=memory)


def _description(desk: Desk, plan: ChoicePlan) -> dict[str, Any]:
    return {
        "step": 0,
        "sizes": list(plan.sizes),
        "options": [written(o) for o in plan.options],
        "schema": desk.schema.version,
        "schema_yaml": desk.schema.to_yaml(),
        "frozen": plan.frozen,
        "data": desk.data,
    }


def _detail(desk: Desk, plan: ChoicePlan, budget: Budget | None) -> dict[str, Any]:
    """What tells this choice apart from any other, and what the ledger says of it; public."""
    digest = hashlib.sha256(json.dumps([written(o) for o in plan.options]).encode()).hexdigest()
    every = range(len(plan.options))
    prices = [person_price(plan.price(k), desk.unit, desk.ledger) for k in every]
    frozen = [person_price(plan.frozen_price(k), desk.unit, desk.ledger) for k in every]
    freezing: dict[str, Any] = {}
    if (
        plan.kind != "marginals"
    ):  # which cost the same either way, and are found again as version 0.1 wrote them
        freezing = {"frozen": plan.frozen, "frozen_rho": [decimal(c.rho) for c in frozen]}
    usual = [person_price(plan.usual_way(k), desk.unit, desk.ledger) for k in every]
    return {
        "budget": "" if budget is None else str(budget),
        "schema": desk.schema.version,
        "strategy": "choose",
        "options": [option_text(o, desk.schema.names) for o in plan.options],
        "options_sha256": digest,
        "common_rho": decimal(person_price(plan.common_rho, desk.unit, desk.ledger).rho),
        "option_rho": [decimal(c.rho) for c in prices],
        **freezing,
        "usual_way_rho": [decimal(c.rho) for c in usual],
    }
