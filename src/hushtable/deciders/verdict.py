"""A verdict: yes or no, how sure, and what it cost; in words, and as JSON that is stored before it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushtable.deciders.intervals import number_text
from hushtable.errors import BundleError, LedgerError
from hushtable.measurement import DECIDE, Line, lines_from_bytes
from hushtable.notebook import html_card
from hushtable.privacy import Cost, text

FORMAT = "hushtable-verdicts-1"
SAID = ("satisfied", "repeated", "sentence")
"""What ``to_dict`` tells of a verdict beyond its question and its price: known once it is drawn."""
ALIKE = "the true rows are spread like the synthetic ones"
SILENT = ("median-", "avg-", "sum-r2t", "sum-svt")  # deciders whose verdicts of 0.1 assumed it without a word


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a decider said.  ``error_bound`` is the larger error at distance 0 and from distance 2 tau on.

    It holds for every true table, or for those of which ``assumes`` is true when that is not empty.
    ``epsilon`` is the pure privacy loss of a person, ``price`` what the ledger was charged for it, ``repeated`` says
    whether the answer is an earlier one that cost nothing now.
    """

    satisfied: bool
    query: str
    synthetic: Fraction
    tau: Fraction
    decider: str
    epsilon: Fraction
    error_bound: float
    price: Cost
    repeated: bool = False
    assumes: str = ""

    def __str__(self) -> str:
        answer, distance, far = (number_text(n) for n in (self.synthetic, self.tau, 2 * self.tau))
        verdict = "Yes" if self.satisfied else "No"
        claim = "is" if self.satisfied else "is not"
        wrong = chance_text(self.error_bound)
        provided = f", provided that {self.assumes}" if self.assumes else ""
        cost = "nothing, it was asked before" if self.repeated else f"{self.price} per person"
        return (
            f"{verdict}: the true {self.query} {claim} within {distance} of the synthetic {answer}. "
            f"The chance that this verdict is wrong is at most {wrong} if the truth is equal to the synthetic answer "
            f"or at least {far} away from it{provided}; in between it is less sure. "
            f"It cost {cost}."
        )

    def _repr_html_(self) -> str:
        answer, _, rest = str(self).partition(": ")
        return html_card(answer, {"verdict": rest})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; exact numbers are texts, and what a person reads is ``sentence``."""
        return {
            "satisfied": self.satisfied,
            "query": self.query,
            "synthetic": text(self.synthetic),
            "tau": text(self.tau),
            "decider": self.decider,
            "epsilon": text(self.epsilon),
            "error_bound": self.error_bound,
            "assumes": self.assumes,
            "price": self.price.to_dict(),
            "repeated": self.repeated,
            "sentence": str(self),
        }

    def __repr__(self) -> str:
        said = "satisfied" if self.satisfied else "not satisfied"
        return f"<Verdict on {self.query}: {said}, wrong at most {chance_text(self.error_bound)} of the time>"

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, repeated: bool = False) -> Verdict:
        """The verdict that ``to_dict`` wrote."""
        silent = ALIKE if str(given["decider"]).startswith(SILENT) else ""
        return cls(
            bool(given["satisfied"]),
            str(given["query"]),
            Fraction(given["synthetic"]),
            Fraction(given["tau"]),
            str(given["decider"]),
            Fraction(given["epsilon"]),
            float(given["error_bound"]),
            Cost.from_dict(given["price"]),
            repeated,
            str(given.get("assumes", silent)),
        )


def verdicts_of(line: Line, *, repeated: bool = False) -> dict[str, Verdict]:
    """The verdicts that a stored line holds, by the keys of their questions."""
    told: Mapping[str, Mapping[str, Any]] = line.facts["verdicts"] if line.kind == DECIDE else {}
    return {
        key: Verdict.from_dict({**one, "satisfied": yes}, repeated=repeated)
        for (key, one), yes in zip(told.items(), line.values.tolist(), strict=True)
    }


def read_verdicts(payload: bytes, *, repeated: bool = False) -> dict[str, Verdict]:
    """The verdicts of a stored payload; those of version 0.1 are JSON."""
    try:
        if not payload.startswith(b"{"):
            lines = lines_from_bytes(payload)
            return {key: one for line in lines for key, one in verdicts_of(line, repeated=repeated).items()}
        content = json.loads(payload)
        if content["format"] != FORMAT:
            raise ValueError
        return {key: Verdict.from_dict(one, repeated=repeated) for key, one in content["verdicts"].items()}
    except (ValueError, KeyError, TypeError, BundleError):
        raise LedgerError(
            "ledger.other-verdicts",
            "The stored verdicts cannot be read by this version.",
            "Read them with the version that asked.",
        ) from None


def chance_text(probability: float) -> str:
    """A probability for people, rounded up."""
    percent = 100 * probability
    digits = 1 if percent >= 1 else 4
    return f"{max(1.0, -(-percent * 10**digits // 1)) / 10**digits:.{digits}f}%"
