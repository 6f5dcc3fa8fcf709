"""A session that a worker keeps open and lends to one spender after another."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

from hushtable.release import choices
from hushtable.session import Session


class LentSession(Session):
    """A session with its data open; ledgers, which web processes read, never learn from it where the data are."""

    def read_ahead(self) -> None:
        """Open the data and read what fits into memory, so that the first job takes as long as any other."""
        read = getattr(
            self._counter, "read_ahead", None
        )  # of those that read rows; an engine counts where they are
        if read is not None:
            read()

    def lent_to(self, spender: str | None) -> Self:
        """The same for a spender: it shares the data, and what was read of them."""
        lent = copy(self)
        lent.spender = spender
        return lent

    def _choosing(self, wait: bool) -> choices.ChoiceContext:
        return replace(super()._choosing(wait), data=None)
