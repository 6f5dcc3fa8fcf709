"""The entries of a ledger: what each may say, its canonical text, and the hash that chains it to the one before.

The text of an entry is JSON with sorted keys, no spaces and ASCII only; its hash is SHA-256 over that text, and the
text contains the hash of the previous entry.  Whether an entry is allowed is decided in ``rules``, not here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from hushtable.errors import BudgetError, LedgerError
from hushtable.notebook import html_card
from hushtable.privacy import Cost, exact_number, text

FORMAT = 1
GENESIS = "0" * 64

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Row = tuple[object, object, object]
"""What a file says an entry is: its number, its text, its hash; any of them may be damaged."""

Natural = Annotated[int, Field(ge=0)]


def _exact_text(written: str) -> str:
    """A delta as `Amount` writes it; anything else is refused, so that each has one spelling."""
    try:
        amount = exact_number(written, "delta")
    except BudgetError:
        raise ValueError(written) from None
    if not 0 < amount < 1 or text(amount) != written:
        raise ValueError(written)
    return written


class EntryPart(BaseModel):
    """A piece of an entry: exact types, no unknown keys, no change after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Amount(EntryPart):
    """A cost: xi and rho on the ledger's grid of 1e-12, delta as an exact text, left out where it is 0."""

    xi: Natural
    rho: Natural
    delta: Annotated[str, AfterValidator(_exact_text)] = ""

    @classmethod
    def of(cls, cost: Cost) -> Amount:
        return cls(xi=cost.xi, rho=cost.rho, **({"delta": text(Fraction(cost.delta))} if cost.delta else {}))

    @property
    def cost(self) -> Cost:
        return Cost(self.xi, self.rho, exact_number(self.delta, "delta") if self.delta else 0)

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in write(self).items() if value != ""}


class Create(EntryPart):
    """The first entry: which dataset, how much may be spent, and a random name for this ledger."""

    type: Literal["create"] = "create"
    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    name: str
    budget: dict[str, str]
    limit: Amount


class Bind(EntryPart):
    """The unit of privacy: at most ``rows`` rows per person, told apart by the column ``person``."""

    type: Literal["bind"] = "bind"
    rows: Annotated[int, Field(ge=1)]
    person: str | None


class Grant(EntryPart):
    """What a spender may spend in total."""

    type: Literal["grant"] = "grant"
    spender: str
    budget: dict[str, str]
    limit: Amount


class Raise(EntryPart):
    """A larger budget for the dataset."""

    type: Literal["raise"] = "raise"
    budget: dict[str, str]
    limit: Amount


class SchemaVersion(EntryPart):
    """A schema seen for the first time, by the hash of its canonical JSON."""

    type: Literal["schema"] = "schema"
    version: Annotated[int, Field(ge=1)]
    sha256: Digest


class Reserve(EntryPart):
    """An amount set aside for one request; the only entry with a time."""

    type: Literal["reserve"] = "reserve"
    kind: str
    request: str | None
    spender: str | None
    cost: Amount
    detail: dict[str, JsonValue]
    time: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class Draw(EntryPart):
    """A part of a reservation that is spent for ever, whatever becomes of the draw."""

    type: Literal["charge"] = "charge"
    reservation: Natural
    ordinal: Natural
    cost: Amount


class Store(EntryPart):
    """The hash of the payload that a charge paid for."""

    type: Literal["store"] = "store"
    charge: Natural
    sha256: Digest


class Settle(EntryPart):
    """The end of a reservation; frees what was never drawn."""

    type: Literal["settle"] = "settle"
    reservation: Natural


class Move(EntryPart):
    """The last entry of an old place, and the first that only the new one goes on from."""

    type: Literal["moved"] = "moved"
    to: Annotated[str, Field(min_length=1, max_length=4096)]


Body = Create | Bind | Grant | Raise | SchemaVersion | Reserve | Draw | Store | Settle | Move


class ChainLine(EntryPart):
    """What is hashed: the body of an entry, its number from 1, and the hash of the entry before."""

    number: Annotated[int, Field(ge=1)]
    previous: Digest
    entry: Annotated[Body, Field(discriminator="type")]


@dataclass(frozen=True, repr=False)
class Entry:
    """One link of the chain."""

    number: int
    previous: str
    body: Body
    text: str
    hash: str

    @property
    def type(self) -> str:
        return self.body.type

    def to_dict(self) -> dict[str, Any]:
        """The entry as ``export`` prints it."""
        return {**json.loads(self.text), "hash": self.hash}

    def __repr__(self) -> str:
        return f"<Entry {self.number}: {self.type}, hash {self.hash[:12]}>"

    def _repr_html_(self) -> str:
        return html_card(f"Entry {self.number}: {self.type}", self.to_dict()["entry"] | {"hash": self.hash})


def canonical(value: object) -> str:
    """JSON with one spelling for each value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def intact(row: Row) -> bool:
    """Whether a stored text still has its stored hash."""
    return isinstance(row[1], str) and digest(row[1]) == row[2]


def seal(body: Body, *, number: int, previous: str) -> Entry:
    """Chain a body to the entry before it."""
    text = canonical({"number": number, "previous": previous, "entry": body.model_dump()})
    return Entry(number, previous, body, text, digest(text))


def read(row: Row, *, number: int, previous: str) -> Entry:
    """Read a stored entry and check its hash, its number and its link to the entry before."""
    text = row[1]
    if not isinstance(text, str) or not intact(row):
        raise damaged(number, "does not match its hash")
    try:
        line = ChainLine.model_validate_json(text)
    except ValidationError:
        raise damaged(number, "cannot be read") from None
    if line.number != number or line.previous != previous:
        raise damaged(number, "does not follow the entry before it")
    return Entry(number, previous, line.entry, text, digest(text))


def damaged(number: int, what: str) -> LedgerError:
    """The error for an entry that is not as it was written."""
    return spoilt(f"Entry {number} of the ledger {what}.")


def spoilt(message: str) -> LedgerError:
    """The error for a ledger that is not as it was written."""
    return LedgerError(
        "ledger.damaged",
        message,
        "Restore the latest copy of the ledger and check it with `hush ledger verify L --head H`.",
    )
