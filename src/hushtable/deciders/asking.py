"""Questions and what is asked of them: refused by their words and the schema before a ledger or a table is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hushtable import deciders
from hushtable.deciders.band_cuts import band_cuts
from hushtable.deciders.canonical import resolve
from hushtable.deciders.columns import columns_of, find
from hushtable.deciders.intervals import Number, check_tau
from hushtable.deciders.level_names import on_attributes
from hushtable.deciders.parser import parse
from hushtable.deciders.queries import Query
from hushtable.deciders.registry import check_name
from hushtable.errors import BudgetError, QueryError
from hushtable.privacy import Budget, charge

if TYPE_CHECKING:
    from hushtable.deciders.check_plan import CheckPlan, PlannedQuestion
    from hushtable.privacy import Kind
    from hushtable.schema import Schema

MAX_QUESTIONS = 1000
"""Of one batch: its verdicts are one payload, and its rows are read by one question after another."""


class Currency(NamedTuple):
    """What a ledger counts, and whether one with a delta has pure epsilon to spend."""

    kind: Kind
    pure: bool = True


def plan_check(
    schema: Schema,
    queries: Sequence[str | Query],
    synthetic: Any,
    *,
    tau: Number,
    budget: Budget,
    decider: str = "auto",
    largest: Number | None = None,
    currency: Callable[[], Currency] | None = None,
) -> CheckPlan:
    """Plan a batch from the schema and the synthetic table alone; the budget is shared equally by its questions.

    ``currency`` gives that of the ledger that will be charged; without it, the budget's own.
    """
    if not 0 < len(queries) <= MAX_QUESTIONS:
        raise QueryError(
            "query.batch-size", f"A batch has 1 to {MAX_QUESTIONS} questions.", "Split it into several."
        )
    if schema.weight is not None:
        raise QueryError(
            "query.weighted",
            "A check counts rows as one each, and this schema weighs them.",
            "Compare with `release.table` and its intervals, or check against a schema without weights.",
        )
    check_tau(tau)
    budget = Budget.checked(budget)
    check_name(decider)
    columns = columns_of(schema)
    asked = (parse(q) if isinstance(q, str) else q for q in queries)
    resolved = [resolve(on_attributes(q, schema), columns) for q in asked]
    unique = {str(query): query for query in resolved}
    share, rows = deciders.Share.of(budget, len(unique)), schema.max_rows_per_person
    kind, pure = Currency(budget.kind) if currency is None else currency()
    if kind == "pure" and share.epsilon is None:
        raise BudgetError(
            "budget.not-pure",
            "The ledger counts pure epsilon, and the budget is not one.",
            'Write a budget such as "epsilon=0.25".',
        )
    prefer: Literal["rho", "pure"] = "pure" if share.epsilon is not None and pure else "rho"
    table = deciders.Synthetic.of(synthetic, columns)
    planned: dict[str, PlannedQuestion] = {}
    for written, query in unique.items():
        supposed = table.suppose(query)
        column = None if query.column is None else find(columns, query.column)
        question = deciders.pose(
            query, column, supposed, tau=tau, share=share, rows=rows, decider=decider, largest=largest
        )
        made = question.decider
        cost = charge(*made.price(rows).in_currency(kind, prefer=prefer))
        claim = made.claim(supposed.tally(made), question.resolution, question.largest)
        planned[written] = deciders.PlannedQuestion(
            question, supposed, question.key(schema.version), cost, rows, claim, band_cuts(schema, query)
        )
    order = tuple(planned[str(query)].key for query in resolved)
    every = tuple(planned.values())
    return deciders.CheckPlan(every, order, deciders.price_of(every), kind, prefer)
