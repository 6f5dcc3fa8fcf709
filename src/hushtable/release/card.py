"""The privacy card: what a release promises, in words and numbers that a reader can check against the ledger.

One frozen type with one spelling in JSON, that of every bundle.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator

from hushtable.ledger import SpentOn, Statement, Unit
from hushtable.notebook import html_card
from hushtable.plain import DecimalText, Finite, Hash, NotNegative, PlainRecord, Text, WholeNumber
from hushtable.privacy import UNIT, Cost, epsilon_from, text
from hushtable.schema import BENCHMARK, EXACT, INVARIANT, Schema
from hushtable.version import __version__

if TYPE_CHECKING:
    from hushtable.ledger import Holding, Ledger

DELTAS = ("1e-6", "1e-9", "1e-12")
PACKAGES = ("numpy", "numba", "polars", "pyarrow", "cryptography")
NEIGHBOURS = "tables that differ by all records of one person, added or removed"
MOST_ROWS = 10**6
"""Rows per person that a card may claim; squares of more would not mean anything."""


class _Amounts(PlainRecord):
    xi: DecimalText
    rho: DecimalText
    delta: Annotated[str, Field(pattern=r"^[0-9]{1,30}(\.[0-9]{1,60}|/[0-9]{1,60}|e-[0-9]{1,4})?$")] = "0"


def _cost(given: Any) -> Cost:
    return given if isinstance(given, Cost) else Cost.from_dict(_Amounts.from_dict(given).to_dict())


def _unit(given: Any) -> Unit:
    found = given if isinstance(given, Unit) else Unit.from_dict(given)
    if found.rows > MOST_ROWS:
        raise ValueError("rows per person")
    return found


class Guarantee(NamedTuple):
    """The epsilon that a charge implies at one delta."""

    delta: str
    epsilon: float


class _Epsilons(PlainRecord):
    by_delta: dict[Text, NotNegative]


def _guarantees(given: Any) -> tuple[Guarantee, ...]:
    if isinstance(given, tuple):
        return cast("tuple[Guarantee, ...]", given)
    return tuple(map(Guarantee._make, _Epsilons.from_dict({"by_delta": given}).by_delta.items()))


Guarantees = Annotated[
    tuple[Guarantee, ...],
    PlainValidator(_guarantees, json_schema_input_type=dict[Text, NotNegative]),
    PlainSerializer(dict, return_type=dict[Text, NotNegative]),
]
"""Written as epsilons by delta."""


def _with_ours(found: Mapping[str, str]) -> Mapping[str, str]:
    if "hushtable" not in found:
        raise ValueError("versions")
    return found


Costs = Annotated[Cost, PlainValidator(_cost), PlainSerializer(Cost.to_dict)]


class _Statement(PlainRecord):
    limit: Costs
    spent: dict[Text, Costs]
    held: Costs


def _statement(given: Any) -> Statement | None:
    if given is None or isinstance(given, Statement):
        return given
    read = _Statement.from_dict(given)
    return Statement(read.limit, tuple(map(SpentOn._make, read.spent.items())), read.held)


class LedgerStamp(PlainRecord):
    """Where the ledger recorded a release, and how its account stood then."""

    name: Text
    entry: WholeNumber
    request: Text | None
    time: Text
    head: Text
    spender: Text | None = None
    account: Annotated[
        Statement | None,
        PlainValidator(_statement),
        PlainSerializer(Statement.to_dict, when_used="unless-none"),
    ] = None

    @classmethod
    def of(cls, ledger: Ledger, holding: Holding, *, account: bool = True) -> LedgerStamp:
        """The entry of a spend, with the ledger's account unless it is left out."""
        entry = holding.reservation
        return cls(
            name=ledger.name,
            entry=entry.number,
            request=entry.request,
            time=entry.time,
            head=ledger.head,
            spender=entry.spender,
            account=Statement.of(ledger) if account else None,
        )


IMPUTED = (
    "The guarantee takes imputed values of {} as fixed: they were filled in from other people's records."
)


class PlanFacts(PlainRecord):
    """A plan in public words, for the ledger and the card."""

    strategy: Text
    objective: Text | None = None
    noise: Text = ""
    marginals: WholeNumber | None = None
    cells: WholeNumber | None = None
    measurements: WholeNumber | None = None
    work: WholeNumber | None = None
    options: WholeNumber | None = None
    totals: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    """Columns whose totals are measured beside the counts."""


class Reused(PlainRecord):
    """What earlier answers were worth to a release: the charges that had paid for them, and what they saved.

    ``strategies``: by which they were measured; not known of releases that an earlier version made.
    """

    charges: Annotated[tuple[WholeNumber, ...], Field(strict=False)]
    full_price_rho: DecimalText
    saved_rho: DecimalText
    strategies: Annotated[tuple[Text, ...], Field(strict=False)] | None = None


class Chosen(PlainRecord):
    """How a choice between analyses stood: what was taken, what the price rests on, what starting again would cost."""

    id: Text
    state: Text
    stage: WholeNumber
    option: WholeNumber | None
    usual_way_rho: DecimalText
    saved_rho: DecimalText
    frozen: bool = False
    note: Text | None = None


class L1Bounds(PlainRecord):
    """Bounds on the L1 error of each table of a release, each with this confidence; None where nothing is proved."""

    confidence: Finite
    records: Annotated[tuple[NotNegative | None, ...], Field(strict=False)]


class LossCount(PlainRecord):
    """How many rows were dropped or changed for a reason, noisy, with an interval at 95%; no field: in any."""

    field: Text
    reason: Text
    rows: NotNegative
    std: NotNegative
    lower: NotNegative
    upper: NotNegative


class DesignEffect(PlainRecord):
    """The design effect that replicate weights gave, and its standard error by noise."""

    effect: NotNegative
    std: NotNegative


class Card(PlainRecord):
    """The privacy card of a release."""

    unit: Annotated[Unit, PlainValidator(_unit), PlainSerializer(Unit.to_dict)]
    neighbours: Text = NEIGHBOURS
    charged: Costs
    epsilon_by_delta: Guarantees
    counted: Text | None = None
    """What a row counts as, where that is not one."""
    summed: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    """What a row adds at most to the totals of each column."""
    fixed: Text | None = None
    """Which values the guarantee takes as fixed, because they depend on other people's records."""
    sampling: Text | None = None
    """What the intervals cover, where the file is a sample."""
    known: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    """Tables from elsewhere that intervals take as exact."""
    conditional: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    """Tables of these very rows that the guarantee is conditional on."""
    benchmarks: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    """Tables from elsewhere that some columns are adjusted to."""
    doubts: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    """Where paid answers contradict tables that are taken as exact."""
    learnt_from_data: Annotated[tuple[Text, ...], Field(strict=False)]
    schema_sha256: Hash
    budget: Text | None = None
    plan: PlanFacts
    reconstruct: Text = "mle"
    reuse: Reused | None = None
    choice: Chosen | None = None
    ledger: LedgerStamp
    versions: Annotated[dict[Text, Text], AfterValidator(_with_ours)]
    l1_bounds: L1Bounds | None = None
    coverage: Annotated[tuple[LossCount, ...], Field(strict=False)] | None = None
    """What the tables leave out, where the schema has it measured."""
    design_effect: DesignEffect | None = None
    """How much less the sample says than a simple one, where the schema has that measured."""

    @classmethod
    def of(cls, schema: Schema, charged: Cost, plan: PlanFacts, ledger: LedgerStamp, **more: Any) -> Card:
        """The card of what was just released; ``more`` are the fields that not every release has."""
        return cls(
            unit=Unit.of(schema),
            charged=charged,
            epsilon_by_delta=epsilon_by_delta(charged),
            counted=None if schema.weight is None else schema.weight.note,
            fixed=IMPUTED.format(", ".join(schema.imputed)) if schema.imputed else None,
            sampling=None if schema.sampling is None else schema.sampling.note,
            known=_notes(schema, EXACT),
            conditional=_notes(schema, INVARIANT),
            benchmarks=_notes(schema, BENCHMARK),
            summed=tuple(column.note for column in schema.sums.values()) or None,
            learnt_from_data=tuple(mark.path for mark in schema.learnt),
            schema_sha256=schema.version,
            plan=plan,
            ledger=ledger,
            versions=dict(_versions()),
            **more,
        )

    def __str__(self) -> str:
        return f"{self.charged} per person ({guarantees(self.epsilon_by_delta)})"

    def __repr__(self) -> str:
        return f"<Card of {self.ledger.name!r}, entry {self.ledger.entry}: {self.charged} per person>"

    def _repr_html_(self) -> str:
        facts = {"price": str(self), "unit": self.unit, "plan": self.plan.strategy, "head": self.ledger.head}
        return html_card(f"Privacy card of {self.ledger.name}", facts)


def _notes(schema: Schema, kind: str) -> tuple[str, ...] | None:
    return tuple(table.note for table in schema.known if table.kind == kind) or None


def epsilon_by_delta(charged: Cost) -> tuple[Guarantee, ...]:
    """The (epsilon, delta) guarantees that a charge implies; without rho, epsilon at the delta of the charge alone.

    rho is converted with what the charge's own delta leaves.
    """
    xi, own = charged.xi / UNIT, Fraction(charged.delta)
    if charged.rho == 0:
        return (Guarantee(text(own), xi),)
    rho = Fraction(charged.rho, UNIT)
    deltas = [delta for delta in DELTAS if Fraction(delta) > own] or [text(2 * own)]
    return tuple(Guarantee(d, xi + epsilon_from(rho=rho, delta=Fraction(d) - own)) for d in deltas)


def guarantees(found: Sequence[Guarantee]) -> str:
    """``epsilon 2.6 at delta 1e-9, ...``."""
    return ", ".join(f"epsilon {epsilon:.4g} at delta {delta}" for delta, epsilon in found)


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Name and version of everything that made the numbers; looked up once, because each takes a millisecond."""
    others = ((name, version(name)) for name in PACKAGES)
    return ("hushtable", __version__), *others, ("python", platform.python_version())
