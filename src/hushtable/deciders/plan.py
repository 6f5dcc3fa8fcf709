"""What a check will cost and how sure its verdicts will be, before anything is spent or read.

Errors are those on supposed data, the synthetic rows, with the synthetic answer moved away from theirs; never those at
the true distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

from hushtable.deciders.columns import columns_of, find
from hushtable.deciders.interval import Number, exact
from hushtable.deciders.parser import parse
from hushtable.deciders.profile import Supposed, error_bound, errors_at, satisfied_at
from hushtable.deciders.queries import Query
from hushtable.deciders.question import Question, Share, pose
from hushtable.deciders.resolve import resolve
from hushtable.deciders.synthetic import Synthetic
from hushtable.deciders.thresholds import (
    FORMULAS,
    RACES,
    effectiveness_threshold,
    epsilon_needed,
    probability,
)
from hushtable.deciders.verdict import Verdict, to_bytes
from hushtable.errors import BudgetError, QueryError
from hushtable.privacy import Budget, Cost, charge, total_price
from hushtable.privacy.budget import Kind
from hushtable.privacy.mechanism import Price
from hushtable.schema import Schema

MAX_QUESTIONS = 1000
PROFILE = tuple(Fraction(step, 8) for step in range(25))
"""Distances of the error profile, in units of tau."""


@dataclass(frozen=True)
class PlannedQuestion:
    """One question, what is supposed about the data, its price per person, and its error at distance 0 or 2 tau."""

    question: Question
    supposed: Supposed
    key: str
    cost: Cost
    rows: int
    error_bound: float

    @property
    def _steps(self) -> Fraction:
        return self.question.tau / self.question.resolution

    def satisfied_at(self, distances: Sequence[Number]) -> list[float]:
        """Probability of "satisfied" at these distances, in the attribute's own unit."""
        return self._at(satisfied_at, distances)

    def errors_at(self, distances: Sequence[Number]) -> list[float]:
        """Probability of the wrong verdict at these distances."""
        return self._at(errors_at, distances)

    def profile(self) -> list[dict[str, float]]:
        """Distance, probability of "satisfied" and of error, from 0 to 3 tau."""
        distances = [part * self.question.tau for part in PROFILE]
        columns = zip(distances, self.satisfied_at(distances), self.errors_at(distances), strict=True)
        return [{"distance": float(d), "satisfied": p, "error": e} for d, p, e in columns]

    def threshold(self, beta: float) -> float | None:
        """The smallest tau that the decider decides with error ``beta``; None when that depends on the data."""
        question = self.question
        if question.decider not in FORMULAS:
            return None
        steps = effectiveness_threshold(
            question.decider, epsilon=question.epsilon, delta=beta, bound=self._bound
        )
        return steps * float(question.resolution)

    def epsilon_needed(self, beta: float) -> float:
        """The epsilon per person that decides this tau with error at most ``beta``."""
        name = self.question.decider
        if name in FORMULAS and name not in RACES:
            found = epsilon_needed(name, tau=self._steps, beta=beta, bound=self._bound)
        else:
            found = self._search(beta)
        return self.rows * found

    @property
    def _bound(self) -> int | None:
        domain = self.question.domain
        return None if not domain else max(-domain[0], domain[-1])

    def _search(self, beta: float) -> float:
        """Bisection on the logarithm of epsilon: the error bound falls as epsilon grows."""
        accepted = probability(beta, "beta")

        def enough(log_epsilon: float) -> bool:
            epsilon = exact(math.exp(log_epsilon))
            try:
                found = error_bound(self.question.decider, self.supposed, tau=self._steps, epsilon=epsilon)
            except QueryError:  # noise too large to compute with
                return False
            return found <= accepted

        low, high = math.log(1e-6), math.log(1e3)
        if not enough(high):
            return math.inf
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return math.exp(high)

    def _at(self, what: Callable[..., list[float]], distances: Sequence[Number]) -> list[float]:
        question = self.question
        try:
            places = [exact(distance) / question.resolution for distance in distances]
        except ValueError:
            raise QueryError(
                "query.bad-distance", "A distance is not a finite number.", "Write for example 12."
            ) from None
        return what(
            question.decider, self.supposed, tau=self._steps, epsilon=question.epsilon, distances=places
        )

    def verdict(self, satisfied: bool) -> Verdict:
        """The verdict in full, once it is drawn."""
        question = self.question
        return Verdict(
            satisfied,
            str(question.query),
            question.synthetic,
            question.tau,
            question.decider,
            question.epsilon * self.rows,
            self.error_bound,
            self.cost,
        )


@dataclass(frozen=True)
class CheckPlan:
    """The questions of one batch, each once, and their one price; ``order`` is how they were asked."""

    planned: tuple[PlannedQuestion, ...]
    order: tuple[str, ...]
    price: Price
    kind: Kind
    prefer: Literal["rho", "pure"]

    @property
    def cost(self) -> Cost:
        """What the ledger is charged: exact prices, summed and rounded up once."""
        return charge(*self.price.in_currency(self.kind, prefer=self.prefer))

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(one.question for one in self.planned)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(one.key for one in self.planned)

    def without(self, known: Mapping[str, Any]) -> CheckPlan:
        """The questions that have no answer yet."""
        left = tuple(one for one in self.planned if one.key not in known)
        return CheckPlan(left, tuple(one.key for one in left), _price(left), self.kind, self.prefer)

    def payload(self, satisfied: Sequence[bool]) -> bytes:
        """The verdicts as they are stored."""
        verdicts = [one.verdict(yes) for one, yes in zip(self.planned, satisfied, strict=True)]
        return to_bytes(self.keys, verdicts)


def plan_check(
    schema: Schema,
    queries: Sequence[str | Query],
    synthetic: Any,
    *,
    tau: Number | str,
    budget: Budget,
    decider: str = "auto",
    largest: Number | None = None,
    currency: str | None = None,
    set_aside: bool = True,
) -> CheckPlan:
    """Plan a batch from the schema and the synthetic table alone; the budget is shared equally by its questions.

    ``currency`` is the kind of the ledger that will be charged; ``set_aside`` says whether one with a delta has pure
    epsilon to spend.
    """
    if not 0 < len(queries) <= MAX_QUESTIONS:
        raise QueryError(
            "query.batch-size", f"A batch has 1 to {MAX_QUESTIONS} questions.", "Split it into several."
        )
    columns = columns_of(schema)
    resolved = [resolve(parse(q) if isinstance(q, str) else q, columns) for q in queries]
    unique = {str(query): query for query in resolved}
    share, rows = Share.of(budget, len(unique)), schema.max_rows_per_person
    kind = cast(Kind, budget.kind if currency is None else currency)
    if kind == "pure" and share.epsilon is None:
        raise BudgetError(
            "budget.not-pure",
            "The ledger counts pure epsilon, and the budget is not one.",
            'Write a budget such as "epsilon=0.25".',
        )
    prefer: Literal["rho", "pure"] = "pure" if share.epsilon is not None and set_aside else "rho"
    table = Synthetic.of(synthetic, columns)
    planned: dict[str, PlannedQuestion] = {}
    for text, query in unique.items():
        supposed = table.suppose(query)
        column = None if query.column is None else find(columns, query.column)
        question = pose(
            query, column, supposed, tau=tau, share=share, rows=rows, decider=decider, largest=largest
        )
        cost = charge(*question.build().price(rows).in_currency(kind, prefer=prefer))
        steps = question.tau / question.resolution
        wrong = error_bound(question.decider, supposed, tau=steps, epsilon=question.epsilon)
        planned[text] = PlannedQuestion(question, supposed, question.key(schema.version), cost, rows, wrong)
    order = tuple(planned[str(query)].key for query in resolved)
    every = tuple(planned.values())
    return CheckPlan(every, order, _price(every), kind, prefer)


def _price(planned: Sequence[PlannedQuestion]) -> Price:
    """The exact price of questions one after another, per person."""
    rows = planned[0].rows if planned else 1
    return total_price([one.question.build() for one in planned], rows)
