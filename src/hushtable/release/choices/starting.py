"""Starting a choice, and going on with one that a ledger knows.

Everything is decided from public sizes before anything is reserved; then the dearest option is held and the common
part is measured.  The first stored payload describes the choice completely.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from hushtable.errors import WorkloadError
from hushtable.ledger import Spend, Unit
from hushtable.linear import Mechanism
from hushtable.marginals import ResolvedWorkload
from hushtable.measurement import Part
from hushtable.planning.limits import check_memory
from hushtable.privacy import UNIT, Budget, decimal
from hushtable.privacy.budget import price_in
from hushtable.release.choices.choice import Choice, ChoiceContext
from hushtable.release.choices.choice_plan import ChoicePlan, plan_choice
from hushtable.release.choices.choice_view import person_price
from hushtable.release.choices.families import family_of
from hushtable.release.choices.notes import Opening
from hushtable.release.choices.record import KIND, ChoiceRecord, pack
from hushtable.schema import Schema


def start_choice(
    context: ChoiceContext,
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
    schema, ledger = context.schema, context.ledger
    plan = plan_options(schema, options, budget, frozen=frozen)
    _check_sizes(schema, plan, memory)
    first = plan.step_part(0, ())
    rho = plan.rho_with(plan.steps[0], [] if first is None else [first])
    common, held = (person_price(price, Unit.of(schema), ledger) for price in (rho, plan.dearest))
    note = Opening(plan.sizes, plan.options, schema.version, schema.to_yaml(), frozen, context.data)
    spend = Spend(held, KIND, _detail(context, plan, budget), context.spender)
    packed = partial(pack, plan.family, note, first)
    started = Choice(context, context.draw.start(spend, request, first, common, packed), plan=plan)
    started.tidy()
    return started


def resume_choice(context: ChoiceContext, choice: str, *, frozen: bool = False) -> Choice:
    """A choice that the ledger knows, as it stands.

    ``frozen`` declares, for a choice of version 0.1 that says nothing of it, that no row has changed since it began.
    """
    if ChoiceRecord(context.ledger, choice).opening.schema != context.schema.version:
        raise WorkloadError(
            "choose.other-schema",
            "The choice was made over another schema than this session's.",
            "Open the session with the schema of the choice.",
        )
    return Choice(context, choice, frozen=frozen)


def plan_options(
    schema: Schema, options: Sequence[Mechanism], budget: Budget | None, *, frozen: bool
) -> ChoicePlan:
    """Scale the options to a budget per person, and find what they have in common."""
    rho = None
    if budget is not None:
        limit = budget.limit.rho
        if limit == 0:
            price_in("pure", None, Fraction(0))
        rho = Fraction(limit, UNIT) / schema.max_rows_per_person**2
    return plan_choice(schema.sizes, list(options), rho=rho, frozen=frozen)


def option_text(option: Mechanism, names: Sequence[str]) -> str:
    """An option in a few words."""
    return family_of(option).text(option, names)


def _check_sizes(schema: Schema, plan: ChoicePlan, memory: int) -> None:
    """Refuse what would overflow or not fit, whichever options are passed by and whichever is taken."""
    drawn: list[Part] = []
    for stage in range(len(plan.options) - 1):
        drawn += filter(None, [plan.step_part(stage, drawn)])
        ends = [plan.finish_part(stage, k, drawn) for k in range(stage, len(plan.options))]
        for part in [*drawn, *filter(None, ends)]:
            part.check()
    for option in plan.options:
        sets = family_of(option).tables(option)
        if sets:
            tables = ResolvedWorkload(sets, (Fraction(1),) * len(sets), schema.sizes, schema.names)
            check_memory(tables, memory=memory)


def _detail(context: ChoiceContext, plan: ChoicePlan, budget: Budget | None) -> dict[str, Any]:
    """What tells this choice apart from any other, and what the ledger says of it; public."""
    schema, every = context.schema, range(len(plan.options))
    digest = hashlib.sha256(json.dumps([o.to_dict() for o in plan.options]).encode()).hexdigest()

    def rho(price: Fraction) -> str:
        return decimal(person_price(price, Unit.of(schema), context.ledger).rho)

    freezing: dict[str, Any] = {}
    if not plan.family.even:  # others cost the same either way, and are found again as version 0.1 wrote them
        freezing = {"frozen": plan.frozen, "frozen_rho": [rho(plan.frozen_price(k)) for k in every]}
    return {
        "budget": "" if budget is None else str(budget),
        "schema": schema.version,
        "strategy": "choose",
        "options": [option_text(o, schema.names) for o in plan.options],
        "options_sha256": digest,
        "common_rho": rho(plan.common_rho),
        "option_rho": [rho(plan.price(k)) for k in every],
        **freezing,
        "usual_way_rho": [rho(plan.usual_way(k)) for k in every],
    }
