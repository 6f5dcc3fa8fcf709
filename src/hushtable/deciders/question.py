"""A question to a decider, complete and public: what is asked, of which number, how close, by whom and with how much.

Everything that a draw needs apart from the confidential rows.  Two questions with the same ``key`` are the same
question, and are paid for once.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction

from hushtable.deciders.catalog import CATALOG, Aggregate, build, entry
from hushtable.deciders.choice import choose_decider, epsilon_for
from hushtable.deciders.columns import Column
from hushtable.deciders.decider import Decider
from hushtable.deciders.interval import (
    Interval,
    Number,
    distance_bound,
    exact,
    interval,
    require_open_question,
)
from hushtable.deciders.profile import Supposed
from hushtable.deciders.queries import Query
from hushtable.errors import BudgetError, QueryError
from hushtable.privacy import UNIT, Budget
from hushtable.privacy.amounts import text

MAX_STEPS = 2**30
"""Largest value of a SUM or AVG in grid steps: 2^32 of them stay below 2^62."""

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": "count",
    "SUM": "sum",
    "AVG": "avg",
    "MEDIAN": "median",
    "QUANTILE": "median",
}


@dataclass(frozen=True)
class Share:
    """What one question may cost a person: pure ``epsilon`` or zCDP ``rho``, the other one is None."""

    epsilon: Fraction | None
    rho: Fraction | None

    @classmethod
    def of(cls, budget: Budget, questions: int = 1) -> Share:
        """Equal shares of a budget; one given with a delta is spent as its rho."""
        pure = budget.limit.rho == 0
        amount = (budget.limit.xi if pure else budget.limit.rho) // questions
        if amount == 0:
            raise BudgetError(
                "budget.too-small",
                "The budget is too small for so many questions.",
                "Ask fewer, or spend more.",
            )
        share = Fraction(amount, UNIT)
        return cls(share, None) if pure else cls(None, share)

    def __str__(self) -> str:
        return (
            f"rho={text(self.rho)}"
            if self.rho is not None
            else f"epsilon={text(self.epsilon or Fraction(0))}"
        )


@dataclass(frozen=True)
class Question:
    """Made by ``pose``.  ``synthetic`` and ``tau`` are in the attribute's own unit, ``epsilon`` is per row.

    ``largest`` is the largest value that is publicly known, in grid steps.  It is no part of the ``key``: it bears on
    what is said about the error, not on what is drawn.
    """

    query: Query
    column: Column | None
    synthetic: Fraction
    tau: Fraction
    decider: str
    epsilon: Fraction
    share: Share
    reason: str = ""
    largest: int | None = None

    @property
    def aggregate(self) -> Aggregate:
        """The kind of decider that it needs."""
        return AGGREGATES[self.query.function]

    @property
    def resolution(self) -> Fraction:
        """The step of the grid."""
        return Fraction(1) if self.column is None else self.column.resolution or Fraction(1)

    @property
    def within(self) -> Interval:
        """What is close enough, in grid steps."""
        return interval(self.synthetic, self.tau, resolution=self.resolution, whole=self.aggregate != "avg")

    @property
    def domain(self) -> range | None:
        """The attribute's possible values, in grid steps."""
        return None if self.column is None else self.column.grid()

    @property
    def quantile(self) -> Fraction:
        return self.query.quantile or Fraction(1, 2)

    def build(self) -> Decider:
        """The decider that draws the verdict."""
        return build(
            self.decider,
            within=self.within,
            epsilon=self.epsilon,
            domain=self.domain,
            quantile=self.quantile,
        )

    def key(self, schema: str) -> str:
        """What tells it apart from every other question, given the version of the schema."""
        parts = [
            schema,
            str(self.query),
            str(self.synthetic),
            str(self.tau),
            str(self.share),
            self.decider,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def pose(
    query: Query,
    column: Column | None,
    supposed: Supposed,
    *,
    tau: Number | str,
    share: Share,
    rows: int = 1,
    decider: str = "auto",
    largest: Number | None = None,
) -> Question:
    """A resolved query about the answer on ``supposed``, the synthetic rows; refused from public facts alone.

    ``rows`` is the most rows of a person.  ``largest`` is what the caller supposes to be the largest value, public
    knowledge that can make the race the better decider for a SUM.
    """
    aggregate = AGGREGATES[query.function]
    resolution = Fraction(1) if column is None else column.resolution or Fraction(1)
    domain = None if column is None else column.grid()
    _require_exact(query, column, domain)
    answer = supposed.answer(aggregate) * resolution
    low, high = (0, 1) if domain is None or not domain else (domain[0], domain[-1])
    epsilon = None if share.epsilon is None else share.epsilon / rows
    rho = None if share.rho is None else share.rho / rows**2
    reason = "as asked"
    steps = None if largest is None else _steps(largest, resolution)
    if decider == "auto":
        chosen = choose_decider(aggregate, epsilon=epsilon, rho=rho, low=low, high=high, largest=steps)
        decider, amount, reason = chosen.decider, chosen.epsilon, chosen.reason
    else:
        _require_fitting(decider, aggregate)
        amount = epsilon_for(decider, rho=rho, low=low, high=high) if epsilon is None and rho else epsilon
    made = Question(
        query,
        column,
        answer,
        distance_bound(tau, answer),
        decider,
        amount or Fraction(0),
        share,
        reason,
        steps,
    )
    require_open_question(aggregate, made.within, domain)
    made.build()
    return made


def _steps(largest: Number, resolution: Fraction) -> int:
    try:
        steps = math.ceil(exact(largest) / resolution)
    except ValueError:
        steps = 0
    if steps < 1:
        raise QueryError(
            "query.bad-largest",
            "The largest supposed value is not a number above zero.",
            "Write for example 150000.",
        )
    return steps


def _require_fitting(decider: str, aggregate: Aggregate) -> None:
    if entry(decider).aggregate != aggregate:
        names = ", ".join(name for name, known in CATALOG.items() if known.aggregate == aggregate)
        raise QueryError(
            "query.wrong-decider",
            f"The decider {decider!r} is for another aggregate.",
            f"Choose one of {names}.",
        )


def _require_exact(query: Query, column: Column | None, domain: range | None) -> None:
    """Refuse what could leave exact 64-bit arithmetic, whatever the data."""
    summed = column is not None and query.function in ("SUM", "AVG")
    if column is not None and domain and summed and max(-domain[0], domain[-1]) >= MAX_STEPS:
        raise QueryError(
            "query.overflow",
            f"Sums of {column.name!r} could leave exact 64-bit arithmetic.",
            "Declare narrower bounds or a coarser resolution.",
        )
    if query.quantile is not None and query.quantile.denominator >= MAX_STEPS:
        raise QueryError(
            "query.bad-quantile", "The quantile has too many digits.", "Write at most nine digits."
        )
