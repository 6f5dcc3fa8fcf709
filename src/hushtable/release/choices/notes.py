"""What the stored parts of a choice say beside their integers: how it began, a step, the option taken, a refinement.

The first note describes the whole choice, so that it can be finished after a restart from its ledger and its id alone.
Fields are named as they are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from hushtable.linear import Mechanism
from hushtable.release.choices.families import read_option


@dataclass(frozen=True)
class _Note:
    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The note that ``to_dict`` wrote, here or in version 0.1; it may say more."""
        return cls(**{name: given[name] for name in (f.name for f in fields(cls)) if name in given})


@dataclass(frozen=True, eq=False)
class Opening(_Note):
    """The common part of all options: what they are, over which schema, of which data."""

    step: ClassVar[int] = 0

    sizes: tuple[int, ...]
    options: tuple[Mechanism, ...]
    schema: str
    """Version of the schema."""
    schema_yaml: str
    frozen: bool | None = None
    """Whether the curator declared that no row changes; version 0.1 did not ask."""
    data: str | None = None
    """Where the data were, when they had a path."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return {"step": 0, **vars(self), "options": [option.to_dict() for option in self.options]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Opening:
        """The note that ``to_dict`` wrote, here or in version 0.1."""
        options = tuple(read_option(option) for option in given["options"])
        return super().from_dict({**given, "sizes": tuple(given["sizes"]), "options": options})


@dataclass(frozen=True)
class Step(_Note):
    """What the options from number ``step`` on share beyond the step before: the coarser ones were passed by."""

    step: int


@dataclass(frozen=True)
class Taken(_Note):
    """What completes the option that was taken; ``frozen`` is the curator's word when it was."""

    option: int
    frozen: bool = False


@dataclass(frozen=True)
class Refinement(_Note):
    """The common part once more, bought by itself."""

    refine: int


Note = Opening | Step | Taken | Refinement

_TELLING = {"options": Opening, "option": Taken, "refine": Refinement, "step": Step}
"""The key that only this note has, in the order in which they are looked for: an opening is a step as well."""


def read_note(given: Mapping[str, Any]) -> Note:
    """A stored note; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
    return next(kind for key, kind in _TELLING.items() if key in given).from_dict(given)
