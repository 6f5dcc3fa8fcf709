"""Frozen records with one spelling as plain JSON, checked field by field when they are read.

Files may come from a stranger, so nothing is believed before its type and size were looked at; unknown keys are
ignored, because a later version may say more.  A field that has a default is left out where it is None, all others are
always written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

Text = Annotated[str, Field(max_length=100_000)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
WholeNumber = Annotated[int, Field(ge=0, lt=2**62)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
DecimalText = Annotated[str, Field(pattern=r"^\d{1,40}(\.\d{1,12})?$")]


class PlainRecord(BaseModel):
    """A record of exact types that does not change after reading."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote, here or in version 0.1; a ValidationError for anything else."""
        return cls.model_validate(given)

    @model_serializer(mode="wrap")
    def _without_none(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {k: v for k, v in write(self).items() if v is not None or fields[k].is_required()}
