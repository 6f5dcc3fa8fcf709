"""What a bundle's JSON must look like before anything believes it: manifest and explanation of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from hushtable.marginals import AttributeSet
from hushtable.release.card import Card, Count, Hash, Part, Text

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Manifest(Part):
    """The manifest of a release."""

    card: Card
    alpha: Annotated[float, Field(gt=0, lt=1)]
    attributes: list[Text]
    workload: list[list[Annotated[int, Field(ge=0, lt=2**31)]]]
    files: dict[Text, Hash]

    @property
    def sets(self) -> tuple[AttributeSet, ...]:
        """The workload's marginals."""
        return tuple(tuple(s) for s in self.workload)


class _Total(Part):
    released: Finite | None
    std: Finite | None
    smallest_sum_of_parts: Finite | None
    largest_sum_of_parts: Finite | None


class _Table(Part):
    marginal: Text
    cells: Count
    std: Finite | None
    rms_deviation: Finite | None
    largest_deviation: Finite | None
    beyond_two: Finite | None
    l1_share: Finite
    read_from: Literal["tables", "microdata"]


class _Band(Part):
    released: Text
    cells: Count
    bias: Finite
    bias_of_their_sum: Finite


class _Explanation(Part):
    fit: Text
    rows: Count
    notes: list[Text]
    tables: list[_Table]
    small_cells: list[_Band]
    sum: _Total


def check_manifest(value: Mapping[str, Any]) -> Manifest:
    """The manifest, or a ValidationError."""
    return Manifest.from_dict(value)


def check_labels(value: Any) -> list[str]:
    """Names of the columns that label answers."""
    return _LABELS.validate_python(value)


def check_explanation(value: Any) -> dict[str, Any]:
    """How far records lie from tables, or a ValidationError."""
    _Explanation.model_validate(value)
    return value


_LABELS = TypeAdapter(Annotated[list[Text], Field(max_length=1000, strict=True)])
