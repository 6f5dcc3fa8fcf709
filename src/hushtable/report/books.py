"""What a ledger tells a report: its account, the verdicts that were paid for, and the choices that were made.

All of it is public: amounts, questions and stored answers.  Without a ledger only the account remains, as the privacy
card kept it.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from hushtable.deciders import Verdict, read_verdicts
from hushtable.ledger import Holding, Ledger, Statement
from hushtable.privacy import UNIT, Cost
from hushtable.release import CHECK, Card, is_choice
from hushtable.release.choices import ChoiceRecord
from hushtable.texts import counted


@dataclass(frozen=True)
class MadeChoice:
    """A choice between analyses: its options in words, the one taken, and its cost in two ways, per person."""

    number: int
    options: tuple[str, ...]
    taken: int | None
    state: str
    rho: float
    usual_rho: float | None
    """What measuring first and then starting again would have cost; None while nothing is taken."""


@dataclass(frozen=True)
class BookedSpend:
    """What one entry of a ledger cost, when, and what for."""

    number: int
    time: str
    kind: str
    cost: Cost


@dataclass(frozen=True)
class Books:
    """Statement, spends, verdicts and choices, oldest first."""

    account: Statement | None
    verdicts: tuple[Verdict, ...] = ()
    choices: tuple[MadeChoice, ...] = ()
    spends: tuple[BookedSpend, ...] = ()

    @classmethod
    def read(cls, ledger: str | PathLike[str] | None, card: Card) -> Books:
        """From a ledger file if one is given, else from the privacy card."""
        if ledger is None:
            return cls(card.ledger.account)
        opened = Ledger.open(ledger)
        holdings = opened.reservations()
        verdicts = [v for h in holdings if h.reservation.kind == CHECK for v in _verdicts(opened, h)]
        choices = [_choice(opened, h) for h in holdings if is_choice(h)]
        return cls(Statement.of(opened), tuple(verdicts), tuple(choices), tuple(map(_spend, holdings)))


def _verdicts(ledger: Ledger, holding: Holding) -> list[Verdict]:
    stored = [charge.number for charge in holding.charges if charge.stored]
    return [v for number in stored for v in read_verdicts(ledger.payload(number)).values()]


def bought(ledger: Ledger, holding: Holding) -> str:
    """What a spend was for, in public words: tables, questions with their verdicts, or options with the one taken."""
    entry = holding.reservation
    if entry.kind == CHECK:
        answers = ((v.query, "yes" if v.satisfied else "no") for v in _verdicts(ledger, holding))
        return "; ".join(f"{query}: {answer}" for query, answer in answers)
    if is_choice(holding):
        made = _choice(ledger, holding)
        taken = made.state if made.taken is None else f"took {made.taken}"
        return f"{'; '.join(f'{k}: {text}' for k, text in enumerate(made.options))} ({taken})"
    tables, cells, strategy = (entry.detail.get(name) for name in ("marginals", "cells", "strategy"))
    if not isinstance(tables, int) or not isinstance(cells, int):
        return ""
    return f"{counted(tables, 'table')}, {counted(cells, 'number')} ({strategy})"


def _spend(holding: Holding) -> BookedSpend:
    entry = holding.reservation
    return BookedSpend(entry.number, entry.time, entry.kind, holding.drawn)


def _choice(ledger: Ledger, holding: Holding) -> MadeChoice:
    made = ChoiceRecord(ledger, str(holding.reservation.request))
    return MadeChoice(
        number=holding.reservation.number,
        options=made.detail.options,
        taken=made.taken,
        state=made.state,
        rho=holding.drawn.rho / UNIT,
        usual_rho=None if made.taken is None else float(made.detail.usual_way_rho[made.taken]),
    )
