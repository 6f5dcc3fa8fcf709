"""What a family of options is: one object that knows how such options are written, measured, priced, stored and read.

A choice asks its family and nobody else.  The family of a choice is that of its options, or matrices when they are of
different families; what is asked of one option alone is asked of that option's own family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:  # an option file is read, and refused, without arrays
    from hushtable.arrays import Floats, Ints
    from hushtable.linear import LinearGaussian, OptionMechanism, Signal
    from hushtable.marginals import AttributeSet
    from hushtable.measurement import Part
    from hushtable.release.card import Card
    from hushtable.release.query_release import QueryRelease
    from hushtable.release.release import Release
    from hushtable.schema import Schema

AnyRelease: TypeAlias = "Release | QueryRelease"


@dataclass(frozen=True, eq=False)
class MeasuredPart:
    """Noisy integers of one part, the mechanism that it leads to, and what that is to the choice."""

    part: Part | None
    values: Ints
    target: Any
    role: Literal["step", "option", "refinement"]


@dataclass(frozen=True, eq=False)
class MeasuredChoice:
    """Everything that one choice has measured; ``step`` is what the options from number ``stage`` on share."""

    schema: Schema
    options: tuple[Any, ...]
    stage: int
    step: Any
    parts: tuple[MeasuredPart, ...]

    @property
    def primary(self) -> Any:
        """The coarsest option that is still open: the primary analysis (common-mechanism, section 6.1)."""
        return self.options[self.stage]


class Family(ABC):
    """A kind of option."""

    name: ClassVar[str]
    example: ClassVar[str] = ""
    """How an option file says it: a mapping with one key."""
    levels: ClassVar[bool] = False
    """Whether options may be over attributes with levels."""
    rounding: ClassVar[Fraction] = Fraction(0)
    """Share of an option's price that is set aside for rounding its queries to integers."""

    @property
    @abstractmethod
    def mechanism(self) -> type[OptionMechanism]:
        """The class of its options; its ``kinds`` are the names under which ``to_dict`` writes them."""

    @property
    def key(self) -> str:
        """The one key of an option file."""
        return self.example.partition(":")[0]

    @abstractmethod
    def text(self, option: Any, names: Sequence[str]) -> str:
        """An option in a few words."""

    def from_file(self, schema: Schema, wanted: Any) -> OptionMechanism | None:
        """The option that the value of ``key`` in a file describes; None when it describes none."""
        return None

    def read(self, values: Mapping[str, Any], sizes: tuple[int, ...]) -> OptionMechanism:
        """The option that ``to_dict`` wrote; ``sizes`` are those of the schema."""
        return self.mechanism.from_dict(values)

    def even(self, options: Sequence[Any]) -> bool:
        """Whether one record pays most for each part of these options: then it does not matter whether rows change."""
        return False

    def adjustable(self, option: Any) -> bool:
        """Whether its noise may be raised until the budget is kept."""
        return not option.fixed

    def at_share(self, option: Any, share: Fraction) -> Any:
        """The option at a share of its price."""
        return option.scaled(rho=option.rho * share)

    def tables(self, option: Any) -> tuple[AttributeSet, ...]:
        """The marginals that an option hands out, which have to fit into memory."""
        return ()

    @abstractmethod
    def missing(
        self, sizes: tuple[int, ...], target: Any, before: Any | None, drawn: Sequence[Part]
    ) -> Part | None:
        """What leads from the step ``before`` (None: from nothing) to ``target``; ``drawn`` is what was measured."""

    def frozen_rho(self, target: Any, drawn: Sequence[Part]) -> Fraction:
        """Cost for one row, when every record stays as it is, of parts that add up to ``target``."""
        return Fraction(target.rho)

    @abstractmethod
    def signal(self, measured: MeasuredChoice, option: int) -> Signal:
        """Signal-to-noise ratios of the primary analysis, as far as it is answered, if ``option`` were taken."""

    @abstractmethod
    def released(self, measured: MeasuredChoice, option: int | None, card: Card) -> AnyRelease:
        """The answers of an option that was finished, or of what is common (None)."""

    @abstractmethod
    def evidence(self, measured: MeasuredChoice) -> tuple[LinearGaussian, Floats]:
        """What is common as linear queries over all cells, and their answers; small domains only."""


class Refinable(Family):
    """A kind of option whose common part can be bought once more, with less noise."""

    @abstractmethod
    def refined(self, step: Any, rho: Fraction) -> Part:
        """What options share, once more at ``rho`` for one row."""
