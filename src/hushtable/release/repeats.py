"""Whether the same was asked of a ledger before: by public facts alone, never by the content or time of the data.

A command that asks for a release or a choice names its spend after what it asks for, so that the same command finds it
in the ledger's index of requests.  Spends that were named otherwise (by a caller of the library, or by version 0.1) do
not know the name of their data; they are the same when what their entry says is the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hushtable.errors import RefusedError, UsageError
from hushtable.release.spend_kinds import CHOOSE

if TYPE_CHECKING:
    from hushtable.ledger import Holding, Ledger
    from hushtable.linear import OptionMechanism
    from hushtable.privacy import Budget
    from hushtable.release.resumable import Resumable
    from hushtable.schema import Schema

_NAMED = re.compile(r"(release|choose)-[0-9a-f]{16}-[0-9]+")


@dataclass(frozen=True)
class Asking:
    """What a command asks for.

    ``detail`` holds facts that every entry of this kind has, ``more`` those that only its name knows.
    """

    kind: str
    spender: str | None
    detail: Mapping[str, Any] = field(hash=False)
    more: Mapping[str, Any] = field(hash=False)

    @classmethod
    def for_choice(
        cls,
        schema: Schema,
        spender: str | None,
        options: Sequence[OptionMechanism],
        budget: Budget,
        **more: Any,
    ) -> Asking:
        """A choice."""
        from hushtable.release.choices import option_text  # scipy's matrices, which plans do without

        detail = {
            "budget": str(budget),
            "schema": schema.version,
            "options": [option_text(option, schema.names) for option in options],
        }
        return cls(CHOOSE, spender, detail, {**more, "written": [o.to_dict() for o in options]})

    @property
    def name(self) -> str:
        """What the names of all spends of this command begin with."""
        facts = [self.kind, self.spender, self.detail, self.more]
        text = json.dumps(facts, sort_keys=True, default=str)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def earlier(self, ledger: Ledger) -> Holding | None:
        """The last spend for the same that is still open, or has stored something; None when there is none."""
        found = [holding for holding in ledger.reservations() if self._is_same(holding)]
        return found[-1] if found else None

    def new_request(self, ledger: Ledger) -> str:
        """A request id that no spend for the same has used."""
        start = f"{self.name}-"
        used = [h for h in ledger.reservations() if (h.reservation.request or "").startswith(start)]
        return f"{start}{len(used)}"

    def _is_same(self, holding: Holding) -> bool:
        reservation = holding.reservation
        request = reservation.request
        if request is None or reservation.kind != self.kind or reservation.spender != self.spender:
            return False
        if holding.state == "settled" and not any(charge.stored for charge in holding.charges):
            return False
        if _NAMED.fullmatch(request):
            return request.startswith(f"{self.name}-")
        return all(reservation.detail.get(key) == value for key, value in self.detail.items())


@dataclass(frozen=True)
class Again:
    """What to do where the same was paid for before: ``stored`` takes that, ``again`` pays for a new one.

    Otherwise ``ask`` is given the time at which it was paid for, and says whether to take it; without, it is refused.
    """

    stored: bool = False
    again: bool = False
    ask: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        if self.stored and self.again:
            raise UsageError("usage.again", "Give either --stored or --again.", "--stored spends nothing.")

    def request(
        self, asking: Asking, ledger: Ledger, named: str | None = None, resumable: Resumable | None = None
    ) -> str:
        """The id of the spend: as it was named, of what was interrupted, of the same one earlier, or a new one."""
        if named is not None:
            self._may_spend(ledger.holding(named))
            return named
        begun = None if resumable is None or (self.again and not resumable.again) else resumable.request
        held = None if begun is None else ledger.holding(begun)
        if begun is not None and held is not None and not (self.again and _is_lost(held)):
            self._may_spend(held)
            return begun
        return self._found_or_new(asking, ledger)

    def _may_spend(self, held: Holding | None) -> None:
        """Refuse --stored for what is not finished: going on with it would spend."""
        if self.stored and (held is None or held.state == "open"):
            raise RefusedError(
                "repeat.nothing-stored",
                "The ledger has stored nothing for this command, or it has not been finished.",
                "Leave --stored out; the command then goes on, or is paid for.",
            )

    def _found_or_new(self, asking: Asking, ledger: Ledger) -> str:
        found = None if self.again else asking.earlier(ledger)
        self._may_spend(found)
        if found is None or found.reservation.request is None:
            return asking.new_request(ledger)
        request, time = found.reservation.request, found.reservation.time
        if found.state == "open":
            return request
        return request if self._takes_stored(time) else asking.new_request(ledger)

    def _takes_stored(self, time: str) -> bool:
        """Whether what was stored then will do."""
        if self.stored:
            return True
        if self.ask is None:
            raise RefusedError(
                "repeat.paid-before",
                f"The same was asked and paid for on {time}; asking again would pay again.",
                "Add --stored to write what was stored then, without later rows, for nothing; "
                "or --again to pay for a new one.",
            )
        return self.ask(time)


def _is_lost(held: Holding) -> bool:
    """Whether a spend has ended without answers that could be written: of a choice, without all of them."""
    stored = [charge.stored for charge in held.charges]
    whole = all(stored) if held.reservation.kind == CHOOSE else any(stored)
    return held.state == "settled" and not (stored and whole)
