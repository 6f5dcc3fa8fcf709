"""A session that a worker keeps open and lends to one spender after another."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

from hushtable.release import choices
from hushtable.session import Session


class LentSession(Session):
    """A session with its data open; ledgers, which web processes read, never learn from it where the data are."""

    def lent_to(self, spender: str | None) -> Self:
        """The same for a spender: it shares the data, and what was read of them."""
        _ = self._counter
        lent = copy(self)
        lent.spender = spender
        return lent

    def _choosing(self, wait: bool) -> choices.ChoiceContext:
        return replace(super()._choosing(wait), data=None)
