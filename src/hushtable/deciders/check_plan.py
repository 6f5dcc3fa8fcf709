"""What a check will cost and how sure its verdicts will be, before anything is spent or read.

A profile of errors is that of supposed data, the synthetic rows, with the synthetic answer moved away from theirs;
never that of the true distance.  The claim of a verdict holds for true tables, and says for which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, Literal

from hushtable.deciders.decider import Decider, ErrorClaim
from hushtable.deciders.intervals import Number, exact
from hushtable.deciders.question import Question
from hushtable.deciders.supposed import ErrorAt, Supposed
from hushtable.deciders.tallies import Tally
from hushtable.deciders.thresholds import least_epsilon, probability
from hushtable.deciders.verdict import Verdict, chance_text
from hushtable.errors import QueryError
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.privacy import Cost, Kind, Price, charge, text
from hushtable.texts import counted

SPENDABLE = (1e-6, 1e3)
"""Epsilons among which the one that is needed is looked for: nobody would spend more, or learn anything from less."""
PROFILE = tuple(Fraction(step, 8) for step in range(25))
"""Distances of the error profile, in units of tau."""


@dataclass(frozen=True)
class PlannedQuestion:
    """One question, what is supposed about the data, its price per person, and the claim of its verdict."""

    question: Question
    supposed: Supposed
    key: str
    cost: Cost
    rows: int
    claim: ErrorClaim
    warnings: tuple[str, ...] = ()
    """Of what the synthetic answer cannot know, in sentences."""

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
            "warnings": list(self.warnings),
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
    def warnings(self) -> tuple[str, ...]:
        """Those of all questions, each once."""
        return tuple(dict.fromkeys(text for one in self.planned for text in one.warnings))

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
        return f"<CheckPlan of {counted(len(self.planned), 'question')}: {self.cost} per person>"

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
        return CheckPlan(left, tuple(one.key for one in left), price_of(left), self.kind, self.prefer)


def price_of(planned: Sequence[PlannedQuestion]) -> Price:
    """The exact price of questions one after another, per person."""
    nothing = Price(Fraction(0), Fraction(0))
    return sum((one.question.decider.price(one.rows) for one in planned), nothing)
