"""Whether the same was asked of a ledger before: by public facts alone, never by the content or time of the data.

A command that asks for a release or a choice names its spend after what it asks for, so that the same command finds it
in the ledger's index of requests.  Spends that were named otherwise (by a caller of the library, or by version 0.1) do
not know the name of their data; they are the same when what their entry says is the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushtable.ledger import Holding, Ledger
    from hushtable.linear import OptionMechanism
    from hushtable.privacy import Budget
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
        from hushtable.release.choices import CHOOSE, option_text  # scipy's matrices, which plans do without

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
