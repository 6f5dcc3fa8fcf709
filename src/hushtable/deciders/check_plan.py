"""What a check will cost and how sure its verdicts will be, before anything is spent or read.

A profile of errors is that of supposed data, the synthetic rows, with the synthetic answer moved away from theirs;
never that of the true distance.  The claim of a verdict holds for true tables, and says for which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, Literal, NamedTuple

from hushtable.deciders.canonical import resolve
from hushtable.deciders.columns import columns_of, find
from hushtable.deciders.decider import Decider, ErrorClaim
from hushtable.deciders.intervals import Number, exact
from hushtable.deciders.parser import parse
from hushtable.deciders.queries import Query
from hushtable.deciders.question import Question, Share, pose
from hushtable.deciders.supposed import ErrorAt, Supposed
from hushtable.deciders.synthetic import Synthetic
from hushtable.deciders.tallies import Tally
from hushtable.deciders.thresholds import least_epsilon, probability
from hushtable.deciders.verdict import Verdict, chance_text
from hushtable.errors import BudgetError, QueryError
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.privacy import Budget, Cost, Kind, Price, charge, text
from hushtable.schema import Schema

MAX_QUESTIONS = 1000
"""Of one batch: its verdicts are one payload, and its rows are read by one question after another."""
SPENDABLE = (1e-6, 1e3)
"""Epsilons among which the one that is needed is looked for: nobody would spend more, or learn anything from less."""
PROFILE = tuple(Fraction(step, 8) for step in range(25))
"""Distances of the error profile, in units of tau."""


class Currency(NamedTuple):
    """What a ledger counts, and whether one with a delta has pure epsilon to spend."""

    kind: Kind
    pure: bool = True


@dataclass(frozen=True)
class PlannedQuestion:
    """One question, what is supposed about the data, its price per person, and the claim of its verdict."""

    question: Question
    supposed: Supposed
    key: str
    cost: Cost
    rows: int
    claim: ErrorClaim

    @property
    def epsilon(self) -> Fraction:
        """The pure privacy loss of a person."""
        return self.question.decider.epsilon * self.rows

    def at(self, distances: Sequence[Number]) -> list[ErrorAt]:
        """What would be said at these distances, in the attribute's own unit."""
        unit, decider = self.question.resolution, self.question.decider
        try:
            places = [exact(distance) for distance in distances]
        except ValueError:
            raise QueryError(
                "query.bad-distance", "A distance is not a finite number.", "Write for example 12."
            ) from None
        found = ((place, self.supposed.at(decider, place / unit)) for place in places)
        return [one._replace(distance=float(place)) for place, one in found]

    def profile(self) -> list[ErrorAt]:
        """The same from 0 to 3 tau."""
        return self.at([part * self.question.tau for part in PROFILE])

    def to_dict(self, beta: float = 0.05, distances: Sequence[Number] = ()) -> dict[str, Any]:
        """Plain JSON values; exact numbers are texts.  ``beta`` is the error that would be accepted."""
        question, needed = self.question, self.epsilon_needed(beta)
        return {
            "query": str(question.query),
            "synthetic": text(question.synthetic),
            "tau": text(question.tau),
            "decider": question.decider.name,
            "reason": question.reason,
            "epsilon": text(self.epsilon),
            "price": self.cost.to_dict(),
            "error_bound": self.claim.error,
            "assumes": self.claim.assumes,
            "threshold": self.threshold(beta),
            "epsilon_needed": needed if isfinite(needed) else None,
            "supposes": self.supposes,
            "profile": [place._asdict() for place in self.profile()],
            "at": [place._asdict() for place in self.at(distances)],
        }

    def threshold(self, beta: float) -> float | None:
        """The smallest tau that is decided with error ``beta`` if ``supposes`` holds; None if there is none."""
        made, seen = self._supposed()
        found = made.threshold(probability(beta, "beta"), made.premise(seen, self.question.largest))
        return None if found is None else found * float(self.question.resolution)

    def epsilon_needed(self, beta: float) -> float:
        """The epsilon per person that decides this tau with error ``beta`` if ``supposes`` holds; may be infinite."""
        made, seen = self._supposed()
        accepted, largest = probability(beta, "beta"), self.question.largest

        def wrong(epsilon: Fraction) -> float:
            return replace(made, epsilon=epsilon).supposed_error(seen, largest)

        return self.rows * least_epsilon(wrong, accepted, SPENDABLE, precision=1e-3)

    @property
    def supposes(self) -> str:
        """What ``threshold`` and ``epsilon_needed`` assume of the true rows, from the synthetic ones; may be empty."""
        made, seen = self._supposed()
        return made.assumption(made.premise(seen, self.question.largest), self.question.resolution)

    def _supposed(self) -> tuple[Decider, Tally]:
        """The decider, and what it would see if the true rows were the synthetic ones."""
        return self.question.decider, self.supposed.tally(self.question.decider)

    def verdict(self, satisfied: bool) -> Verdict:
        """The verdict in full, once it is drawn."""
        question = self.question
        return Verdict(
            satisfied,
            str(question.query),
            question.synthetic,
            question.tau,
            question.decider.name,
            self.epsilon,
            self.claim.error,
            self.cost,
            assumes=self.claim.assumes,
        )


@dataclass(frozen=True, repr=False)
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

    def to_dict(self, beta: float = 0.05, distances: Sequence[Number] = ()) -> dict[str, Any]:
        """Plain JSON values: the price, and each question with what its verdict would be worth."""
        questions = [one.to_dict(beta, distances) for one in self.planned]
        return {"charged": self.cost.to_dict(), "questions": questions, "beta": beta}

    def __repr__(self) -> str:
        return f"<CheckPlan of {len(self.planned):,} questions: {self.cost} per person>"

    def _repr_html_(self) -> str:
        rows = [
            (one.question.query, one.question.decider.name, chance_text(one.claim.error))
            for one in self.planned
        ]
        columns = ("question", "decider", "wrong at most")
        shown = rows[:MOST_ROWS]
        return html_card(
            "Check", {"price": f"{self.cost} per person"}, columns, shown, len(rows) - len(shown)
        )

    def without(self, known: Collection[str]) -> CheckPlan:
        """The questions that have no answer yet."""
        left = tuple(one for one in self.planned if one.key not in known)
        return CheckPlan(left, tuple(one.key for one in left), _price(left), self.kind, self.prefer)


def plan_check(
    schema: Schema,
    queries: Sequence[str | Query],
    synthetic: Any,
    *,
    tau: Number,
    budget: Budget,
    decider: str = "auto",
    largest: Number | None = None,
    currency: Currency | None = None,
) -> CheckPlan:
    """Plan a batch from the schema and the synthetic table alone; the budget is shared equally by its questions.

    ``currency`` is that of the ledger that will be charged; without it, the budget's own.
    """
    if not 0 < len(queries) <= MAX_QUESTIONS:
        raise QueryError(
            "query.batch-size", f"A batch has 1 to {MAX_QUESTIONS} questions.", "Split it into several."
        )
    columns = columns_of(schema)
    resolved = [resolve(parse(q) if isinstance(q, str) else q, columns) for q in queries]
    unique = {str(query): query for query in resolved}
    share, rows = Share.of(budget, len(unique)), schema.max_rows_per_person
    kind, pure = Currency(budget.kind) if currency is None else currency
    if kind == "pure" and share.epsilon is None:
        raise BudgetError(
            "budget.not-pure",
            "The ledger counts pure epsilon, and the budget is not one.",
            'Write a budget such as "epsilon=0.25".',
        )
    prefer: Literal["rho", "pure"] = "pure" if share.epsilon is not None and pure else "rho"
    table = Synthetic.of(synthetic, columns)
    planned: dict[str, PlannedQuestion] = {}
    for written, query in unique.items():
        supposed = table.suppose(query)
        column = None if query.column is None else find(columns, query.column)
        question = pose(
            query, column, supposed, tau=tau, share=share, rows=rows, decider=decider, largest=largest
        )
        made = question.decider
        cost = charge(*made.price(rows).in_currency(kind, prefer=prefer))
        claim = made.claim(supposed.tally(made), question.resolution, question.largest)
        planned[written] = PlannedQuestion(
            question, supposed, question.key(schema.version), cost, rows, claim
        )
    order = tuple(planned[str(query)].key for query in resolved)
    every = tuple(planned.values())
    return CheckPlan(every, order, _price(every), kind, prefer)


def _price(planned: Sequence[PlannedQuestion]) -> Price:
    """The exact price of questions one after another, per person."""
    nothing = Price(Fraction(0), Fraction(0))
    return sum((one.question.decider.price(one.rows) for one in planned), nothing)
