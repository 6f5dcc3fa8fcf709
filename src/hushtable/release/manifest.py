"""What a bundle's JSON must look like before anything believes it: the manifest and its labels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from hushtable.marginals import AttributeSet
from hushtable.plain import Hash, PlainRecord, Text
from hushtable.release.card import Card


class Manifest(PlainRecord):
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


def check_labels(value: Any) -> list[str]:
    """Names of the columns that label answers."""
    return _LABELS.validate_python(value)


_LABELS = TypeAdapter(Annotated[list[Text], Field(max_length=1000, strict=True)])
