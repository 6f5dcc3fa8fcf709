"""What the stored parts of a choice say beside their integers: how it began, a step, the option taken, a refinement.

The first note describes the whole choice, so that it can be finished after a restart from its ledger and its id alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hushtable.linear import Mechanism
from hushtable.release.choices.families import read_option
from hushtable.schema import Schema


@dataclass(frozen=True, eq=False)
class Opening:
    """The common part of all options: what they are, over which schema, of which data."""

    stage: ClassVar[int] = 0

    sizes: tuple[int, ...]
    options: tuple[Mechanism, ...]
    schema: str
    """Version of the schema."""
    schema_yaml: str
    frozen: bool | None
    """Whether the curator declared that no row changes; version 0.1 did not ask (None)."""
    data: str | None
    """Where the data were, when they had a path."""

    @classmethod
    def of(cls, schema: Schema, options: tuple[Mechanism, ...], *, frozen: bool, data: str | None) -> Opening:
        """The note of a choice that begins."""
        return cls(schema.sizes, options, schema.version, schema.to_yaml(), frozen, data)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return {
            "step": 0,
            "sizes": list(self.sizes),
            "options": [option.to_dict() for option in self.options],
            "schema": self.schema,
            "schema_yaml": self.schema_yaml,
            **({} if self.frozen is None else {"frozen": self.frozen}),
            "data": self.data,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Opening:
        """The note that ``to_dict`` wrote."""
        options = tuple(read_option(option) for option in given["options"])
        frozen = bool(given["frozen"]) if "frozen" in given else None
        place = given.get("data")
        return cls(
            tuple(given["sizes"]), options, str(given["schema"]), str(given["schema_yaml"]), frozen, place
        )


@dataclass(frozen=True)
class Step:
    """What the options from number ``stage`` on share beyond the step before: the coarser ones were passed by."""

    stage: int
    sizes: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return {"step": self.stage, "sizes": list(self.sizes)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Step:
        """The note that ``to_dict`` wrote."""
        return cls(int(given["step"]), tuple(given["sizes"]))


@dataclass(frozen=True)
class Taken:
    """What completes the option that was taken; ``frozen`` is the curator's word when it was."""

    option: int
    frozen: bool
    sizes: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return {"option": self.option, "frozen": self.frozen, "sizes": list(self.sizes)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Taken:
        """The note that ``to_dict`` wrote; version 0.1 had no word about freezing."""
        return cls(int(given["option"]), bool(given.get("frozen", False)), tuple(given["sizes"]))


@dataclass(frozen=True)
class Refinement:
    """The common part once more, bought by itself."""

    number: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return {"refine": self.number}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Refinement:
        """The note that ``to_dict`` wrote."""
        return cls(int(given["refine"]))


Note = Opening | Step | Taken | Refinement

_TELLING = {"options": Opening, "option": Taken, "refine": Refinement, "step": Step}
"""The key that only this note has, in the order in which they are looked for: an opening is a step as well."""


def read_note(given: Mapping[str, Any]) -> Note:
    """A stored note; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
    kind = next(note for key, note in _TELLING.items() if key in given)
    return kind.from_dict(given)
