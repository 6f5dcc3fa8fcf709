"""Wrong spenders, in a module of their own so that fresh processes can import them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from hushtable.errors import BudgetExhausted, LedgerError
from hushtable.ledger import Ledger
from hushtable.selftest import accounts


def spend_beyond(path: Path, attempts: int, gate: Any, answers: Any) -> None:
    """Raises the limit as soon as it is met."""
    reserve = Ledger.reserve

    def generous(self: Ledger, **options: Any) -> Any:
        try:
            return reserve(self, **options)
        except BudgetExhausted:
            with suppress(LedgerError):  # another process may have raised it already
                self.raise_budget(accounts.ZCDP(1))
            return reserve(self, **options)

    Ledger.reserve = generous
    accounts.spend_many(path, attempts, gate, answers)


def claim_more(path: Path, attempts: int, gate: Any, answers: Any) -> None:
    """Is never refused, because it never asks."""
    gate.wait(timeout=60)
    answers.put(attempts)


def draw_before_paying(path: Path, ready: Any) -> None:
    """Draws in hope of a charge that never comes."""
    accounts._append(path.parent / "drawn.log", 10**9, b"hasty")
    ready.send(True)


def draw_twice(path: Path, ready: Any) -> None:
    """Throws a draw away and makes another on the same charge."""
    append = accounts._append
    accounts._append = lambda *line: (append(*line), append(*line))
    accounts.spend_on(path, ready)


def show_something_else(path: Path, ready: Any) -> None:
    """Shows other bytes than those that are stored."""
    append = accounts._append
    accounts._append = lambda log, charge, payload: append(
        log, charge, payload[::-1] if log.name == "shown.log" else payload
    )
    accounts.spend_on(path, ready)
