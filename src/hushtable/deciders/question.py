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
from typing import TYPE_CHECKING

from hushtable.deciders.aggregates import AGGREGATES, BETA, MAX_STEPS, Aggregate, Facts
from hushtable.deciders.decider import Decider, Preferred
from hushtable.deciders.intervals import Number, distance_bound, exact, interval
from hushtable.deciders.queries import Query
from hushtable.deciders.registry import DECIDERS, lookup
from hushtable.deciders.supposed import Supposed
from hushtable.deciders.thresholds import threshold_of
from hushtable.errors import BudgetError, QueryError
from hushtable.privacy import UNIT, Budget, text

if TYPE_CHECKING:
    from hushtable.deciders.columns import Column


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

    def per_row(self, rows: int) -> Share:
        """What a row may cost where a person has so many: epsilon adds up, rho with the square."""
        return Share(
            None if self.epsilon is None else self.epsilon / rows,
            None if self.rho is None else self.rho / rows**2,
        )

    def __str__(self) -> str:
        return (
            f"rho={text(self.rho)}"
            if self.rho is not None
            else f"epsilon={text(self.epsilon or Fraction(0))}"
        )


@dataclass(frozen=True)
class Question:
    """Made by ``pose``.  ``synthetic`` and ``tau`` are in the attribute's own unit, what the decider holds is per row.

    ``largest`` is the largest value that is publicly known, in grid steps.  It is no part of the ``key``: it bears on
    what is said about the error, not on what is drawn.
    """

    query: Query
    resolution: Fraction
    synthetic: Fraction
    tau: Fraction
    decider: Decider
    share: Share
    reason: str
    largest: int | None = None

    def key(self, schema: str) -> str:
        """What tells it apart from every other question, given the version of the schema."""
        parts = [
            schema,
            str(self.query),
            str(self.synthetic),
            str(self.tau),
            str(self.share),
            self.decider.name,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def pose(
    query: Query,
    column: Column | None,
    supposed: Supposed,
    *,
    tau: Number,
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
    domain = range(0) if column is None else column.grid()
    _require_exact(query, domain)
    answer = supposed.answer(aggregate) * resolution
    distance = distance_bound(tau, answer)
    within = interval(answer, distance, resolution=resolution, whole=aggregate.whole)
    facts = Facts(within, domain, query.quantile or Fraction(1, 2))
    steps = None if largest is None else _steps(largest, resolution)
    made = _decider(decider, aggregate, facts, share.per_row(rows), steps)
    aggregate.require_open(facts)
    made.check()
    reason = made.reason if decider == "auto" else "as asked"
    return Question(query, resolution, answer, distance, made, share, reason, steps)


def _decider(name: str, aggregate: Aggregate, facts: Facts, share: Share, largest: int | None) -> Decider:
    """The one of this name, or the one that public facts suggest; not checked."""
    if name == "auto":
        return choose_decider(aggregate, facts, epsilon=share.epsilon, rho=share.rho, largest=largest)
    return lookup(name, aggregate).priced(facts, epsilon=share.epsilon, rho=share.rho)


def choose_decider(
    aggregate: Aggregate,
    facts: Facts,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    largest: int | None = None,
) -> Decider:
    """The one that "auto" takes for a pure price ``epsilon`` or a zCDP price ``rho``, per row; not checked.

    It looks at public facts alone, and its ``reason`` says why: for a pure price the noisy margin has the smallest
    threshold of all deciders whose threshold does not depend on the data, for a zCDP price the coin on the margin has,
    because it costs a quarter.  The race wins for a SUM only where ``largest``, what the caller supposes to be the
    largest value in grid steps, is far below the bound.
    """
    usual = _preferred(aggregate, "epsilon" if rho is None else "rho")[0]
    rivals = [] if largest is None else _preferred(aggregate, "largest")
    able = [kind for kind in rivals if not (kind.nonnegative and facts.low < 0)]
    made = [kind.priced(facts, epsilon=epsilon, rho=rho) for kind in (usual, *able)]
    if not able:
        return made[0]
    return min(made, key=lambda one: threshold_of(one, BETA, largest) or math.inf)


def _preferred(aggregate: Aggregate, when: Preferred) -> list[type[Decider]]:
    """The deciders that "auto" takes in this case; the first one registered comes first."""
    return [kind for kind in DECIDERS.values() if kind.aggregate is aggregate and kind.preferred == when]


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


def _require_exact(query: Query, domain: range) -> None:
    """Refuse what could leave exact 64-bit arithmetic, whatever the data."""
    if query.function in ("SUM", "AVG") and domain and max(-domain[0], domain[-1]) >= MAX_STEPS:
        raise QueryError(
            "query.overflow",
            f"Sums of {query.column!r} could leave exact 64-bit arithmetic.",
            "Declare narrower bounds or a coarser resolution.",
        )
    if query.quantile is not None and query.quantile.denominator >= MAX_STEPS:
        raise QueryError(
            "query.bad-quantile", "The quantile has too many digits.", "Write at most nine digits."
        )
