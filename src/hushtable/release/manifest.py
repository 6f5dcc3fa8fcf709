"""What a bundle's JSON must look like before anything believes it: manifest, privacy card, explanation of records.

Only the fields that some reader uses are checked; a card may say more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from hushtable.marginals import AttributeSet
from hushtable.reconstruct.fits import RECONSTRUCTIONS

Text = Annotated[str, Field(max_length=100_000)]
Amount = Annotated[str, Field(pattern=r"^\d{1,40}(\.\d{1,12})?$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=2**62)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _registered(name: str) -> str:
    if name not in RECONSTRUCTIONS:
        raise ValueError("no reconstruction has this name")
    return name


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class _Amounts(_Strict):
    xi: Amount
    rho: Amount
    delta: Annotated[str, Field(pattern=r"^[0-9]{1,30}(\.[0-9]{1,60}|/[0-9]{1,60}|e-[0-9]{1,4})?$")] = "0"


class _Unit(_Strict):
    person: Text
    rows_per_person: Annotated[int, Field(ge=1, le=10**6)]
    enforced_by_column: Text | None
    note: Text


class _Account(_Strict):
    limit: _Amounts
    spent: dict[Text, _Amounts]
    held: _Amounts


class _Entry(_Strict):
    name: Text
    entry: Count
    request: Text | None
    time: Text
    head: Text
    account: _Account | None = None


class _Plan(_Strict):
    strategy: Text
    noise: Text = ""
    marginals: Count = 0
    cells: Count = 0


class _Bounds(_Strict):
    confidence: Finite
    records: list[Annotated[float, Field(ge=0, allow_inf_nan=False)] | None]


class _Card(_Strict):
    unit: _Unit
    neighbours: Text
    charged: _Amounts
    epsilon_by_delta: dict[Text, Annotated[float, Field(ge=0, allow_inf_nan=False)]]
    learnt_from_data: list[Text]
    schema_sha256: Hash
    versions: dict[Text, Text]
    plan: _Plan
    ledger: _Entry
    reconstruct: Annotated[Text, AfterValidator(_registered)] = "mle"
    l1_bounds: _Bounds | None = None


class Manifest(_Strict):
    """The manifest of a release."""

    card: _Card
    alpha: Annotated[float, Field(gt=0, lt=1)]
    attributes: list[Text]
    workload: list[list[Annotated[int, Field(ge=0, lt=2**31)]]]
    files: dict[Text, Hash]

    @property
    def sets(self) -> tuple[AttributeSet, ...]:
        """The workload's marginals."""
        return tuple(tuple(s) for s in self.workload)


class _Total(_Strict):
    released: Finite | None
    std: Finite | None
    smallest_sum_of_parts: Finite | None
    largest_sum_of_parts: Finite | None


class _Table(_Strict):
    marginal: Text
    cells: Count
    std: Finite | None
    rms_deviation: Finite | None
    largest_deviation: Finite | None
    beyond_two: Finite | None
    l1_share: Finite
    read_from: Literal["tables", "microdata"]


class _Band(_Strict):
    released: Text
    cells: Count
    bias: Finite
    bias_of_their_sum: Finite


class _Explanation(_Strict):
    fit: Text
    rows: Count
    notes: list[Text]
    tables: list[_Table]
    small_cells: list[_Band]
    sum: _Total


def check_manifest(value: Mapping[str, Any]) -> Manifest:
    """The manifest, or a ValidationError."""
    found = Manifest.model_validate(value)
    if "hushtable" not in found.card.versions:
        raise ValueError("versions")
    return found


def check_card(value: Any) -> dict[str, Any]:
    """A card of answers that are no marginals: what every card says."""
    _ANY_CARD.validate_python(value)
    return value


def check_labels(value: Any) -> list[str]:
    """Names of the columns that label answers."""
    return _LABELS.validate_python(value)


def check_explanation(value: Any) -> dict[str, Any]:
    """How far records lie from tables, or a ValidationError."""
    _Explanation.model_validate(value)
    return value


class _AnyCard(_Strict):
    unit: _Unit
    charged: _Amounts
    ledger: _Entry


_ANY_CARD = TypeAdapter(_AnyCard)
_LABELS = TypeAdapter(Annotated[list[Text], Field(max_length=1000, strict=True)])
