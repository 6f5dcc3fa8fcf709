"""Verdicts that a ledger has stored: found again by their question, so that none is asked or paid for twice."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Required, TypedDict

from hushtable.deciders import CheckPlan, Currency, Query, Verdict, read_verdicts, verdicts_of
from hushtable.ledger import Holding, Ledger, Remaining, Spend
from hushtable.measurement import Transcript
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.privacy import Budget
from hushtable.release.details import CheckDetail
from hushtable.release.spend_kinds import CHECK
from hushtable.texts import counted
from hushtable.watching import silent

Queries = str | Query | Sequence[str | Query]
"""One query or several, parsed or as text."""
Tau = float | str | Fraction
"""A distance, or a share such as "5%" of the synthetic answer."""


class PlanKeywords(TypedDict, total=False):
    """The keywords of a plan of a check, for type checkers."""

    tau: Required[Tau]
    budget: Required[Budget]
    decider: str
    largest: float | None


class AskingKeywords(TypedDict, total=False):
    """How a check is asked, beyond what it asks; see ``Asker``."""

    request: str | None
    others: bool
    wait: bool
    progress: Any


class CheckKeywords(PlanKeywords, AskingKeywords, total=False):
    """Those of a check."""


@dataclass(frozen=True)
class Asker:
    """Who asks, under which name of the spend if it has one, and whether answers that others paid for are free."""

    spender: str | None
    request: str | None = None
    others: bool = True
    wait: bool = False
    progress: Any = silent

    def among(self, holdings: Sequence[Holding]) -> Sequence[Holding]:
        """What the ledger holds, as far as this asker may use it."""
        kept = (self.others or holding.reservation.spender == self.spender for holding in holdings)
        return [holding for holding, free in zip(holdings, kept, strict=True) if free]


def currency_in(ledger: Ledger, spender: str | None = None) -> Currency:
    """In what a ledger counts the checks of a spender."""
    return Currency(ledger.kind, ledger.limit(spender).xi > 0)


class Verdicts(list[Verdict]):
    """The verdicts of one batch in the order of its questions, and how the ledger stands after them.

    ``warnings`` say what the synthetic answers cannot know.
    """

    def __init__(
        self, found: Iterable[Verdict], ledger: Ledger, spender: str | None, warnings: Sequence[str] = ()
    ) -> None:
        super().__init__(found)
        self.warnings = tuple(warnings)
        self.unit, self.head = ledger.unit, ledger.head
        self.remaining = Remaining(ledger.remaining(spender))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        listed = [one.to_dict() for one in self]
        told = {"verdicts": listed, "remaining": self.remaining.to_dict(), "head": self.head}
        return told | ({"warnings": list(self.warnings)} if self.warnings else {})

    def __repr__(self) -> str:
        near = sum(one.satisfied for one in self)
        return f"<Verdicts on {counted(len(self), 'question')}: {near:,} close enough>"

    def __str__(self) -> str:
        facts = (f"unit       {self.unit}", f"remaining  {self.remaining}", f"head       {self.head}")
        return "\n".join([*map(str, self), *self.warnings, "", *(f"  {fact}" for fact in facts)])

    def _repr_html_(self) -> str:
        rows = [(one.query, "yes" if one.satisfied else "no") for one in self[:MOST_ROWS]]
        facts = {"remaining": self.remaining}
        return html_card("Verdicts", facts, ("question", "close enough"), rows, len(self) - len(rows))


def stored_verdicts(
    ledger: Ledger, holdings: Sequence[Holding], keys: Collection[str], request: str | None = None
) -> dict[str, Verdict]:
    """The verdicts among ``keys`` that were drawn and stored before, by what the ledger holds.

    Those of ``request`` are its own, read again: they are no repetition.
    """
    found: dict[str, Verdict] = {}
    for holding in holdings:
        missing = (set(keys) - set(found)).intersection(_questions(holding))
        stored = [charge for charge in holding.charges if charge.stored]
        if missing and stored:
            own = request is not None and holding.reservation.request == request
            verdicts = read_verdicts(ledger.payload(stored[0].number), repeated=not own)
            found.update({key: verdicts[key] for key in missing if key in verdicts})
    return found


Deciding = Callable[[str, Spend, CheckPlan], Transcript]
"""Has the questions of a plan decided under the name of a spend, and gives the lines that were stored."""


def answered(ledger: Ledger, plan: CheckPlan, decide: Deciding, asked: CheckDetail, asker: Asker) -> Verdicts:
    """A verdict for every question of the plan, in its order: those stored before, and new ones of all others.

    Others are asked while nobody else asks them, so that none is paid for twice.
    """
    found = stored_verdicts(ledger, asker.among(ledger.mentioning(plan.keys)), plan.keys, asker.request)
    missing = plan.without(found)
    if missing.planned:
        with asking(ledger, missing.keys, wait=asker.wait):
            held = ledger.mentioning(plan.keys)
            found = stored_verdicts(ledger, asker.among(held), plan.keys, asker.request)
            missing = _begun(plan.without(found), plan, ledger, asker.request)
            if missing.planned:
                detail = replace(asked, questions=missing.keys)
                spend = Spend(missing.cost, CHECK, detail, asker.spender)
                name = asker.request or request_id(held, missing.keys, asker.spender)
                for line in decide(name, spend, missing).lines:
                    found |= verdicts_of(line)
    return Verdicts((found[key] for key in plan.order), ledger, asker.spender, plan.warnings)


def _begun(missing: CheckPlan, plan: CheckPlan, ledger: Ledger, request: str | None) -> CheckPlan:
    """The questions that a named spend was begun for, if it was: somebody may have answered some of them since."""
    holding = None if request is None or not missing.planned else ledger.holding(request)
    asked = () if holding is None else _questions(holding)
    return plan.without(set(plan.keys) - set(asked)) if asked else missing


@contextlib.contextmanager
def asking(ledger: Ledger, keys: Collection[str], *, wait: bool) -> Generator[None]:
    """Ask these questions alone, whoever spends: one lock each."""
    locks = (f"question-{hashlib.sha256(key.encode()).hexdigest()}" for key in keys)
    with ledger.turns(locks, wait=wait):
        yield


def request_id(holdings: Sequence[Holding], keys: Sequence[str], spender: str | None) -> str:
    """The name of the spend for these questions: a new one after a lost draw, the same when nothing was drawn."""
    parts = "\n".join([spender or "", *keys])
    base = f"check-{hashlib.sha256(parts.encode()).hexdigest()[:32]}"
    used = [
        holding
        for holding in holdings
        if (holding.reservation.request or "").startswith(base)
        and (holding.charges or holding.state != "open")
    ]
    return f"{base}-{len(used)}"


def _questions(holding: Holding) -> tuple[str, ...]:
    reservation = holding.reservation
    return CheckDetail.from_dict(reservation.detail).questions if reservation.kind == CHECK else ()
