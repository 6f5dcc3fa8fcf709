"""What a ledger has stored of one choice: read as it stands, without data, and never written from here.

Every payload has integers and a note: how the choice began, a step, the option taken, or a refinement.  The first note
describes the whole choice, so that it can be finished after a restart from its ledger and its id alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from hushtable.errors import BundleError, LedgerError, RefusedError
from hushtable.ledger import Ledger, Stored
from hushtable.linear import ladder
from hushtable.measurement import NOTE, ChoiceStep, Line, Part, lines_from_bytes
from hushtable.privacy import Cost
from hushtable.release.choices.choice_plan import ChoicePlan
from hushtable.release.choices.families import MeasuredPart, read_option
from hushtable.release.details import ChoiceDetail, Written
from hushtable.release.spend_kinds import CHOOSE, is_choice

_UNREADABLE = (BundleError, LookupError, ValueError, TypeError, AttributeError, StopIteration)


@dataclass(frozen=True)
class _Note(Written):
    def measuring(self, part: Part | None) -> ChoiceStep:
        """The step that measures a part (None: nothing is missing) and stores this note with its integers."""
        return ChoiceStep(part, Line.of_part(part, {"choice": self.to_dict()}))


@dataclass(frozen=True)
class Opening(_Note):
    """The common part of all options: what they are, over which schema, of which data."""

    sizes: Sequence[int]
    options: Sequence[Mapping[str, Any]]
    """As ``to_dict`` of each wrote them; reading hundreds of tables takes a second, and most who read need none."""
    schema: str
    """Version of the schema."""
    schema_yaml: str
    frozen: bool | None = None
    """Whether the curator declared that no row changes; version 0.1 did not ask."""
    data: str | None = None
    """Where the data were, when they had a path."""
    step: int = 0

    @property
    def place(self) -> str:
        """The same; refuses a choice that does not know it."""
        if self.data is None:
            raise LedgerError(
                "choose.no-data",
                "The ledger does not know where the data of this choice are.",
                "Give --data.",
            )
        return self.data


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


@dataclass(frozen=True, eq=False)
class StoredPart:
    """One payload: its line, and the note of it."""

    note: Note
    line: Line

    @classmethod
    def of(cls, payload: bytes) -> StoredPart:
        """Read a line with a note; refuses anything else."""
        try:
            (line,) = lines_from_bytes(payload)
            return cls(read_note(line.facts["choice"]), line)
        except _UNREADABLE:
            raise _damaged() from None


def refuse_choice(ledger: Ledger, request: str) -> None:
    """Refuse a request that is a choice: it ends by a decision."""
    found = ledger.holding(request)
    if found is not None and found.reservation.kind == CHOOSE:
        raise LedgerError(
            "ledger.is-choice",
            "This request is a choice.",
            "Type `hush choose abandon --ledger L --choice ID` to take none of its options.",
        )


class ChoiceRecord:
    """The payloads of a choice and of its refinements, oldest first, and where its reservation stands."""

    def __init__(self, ledger: Ledger, choice: str) -> None:
        self._ledger, self.id = ledger, choice
        self._read()

    def _read(self) -> None:
        """What the ledger knows now."""
        found = self._ledger.find(self.id)
        if found is None or not is_choice(found):
            raise LedgerError(
                "choose.unknown",
                "The ledger has no choice of this id.",
                "Copy the id from `hush choose`, or find it with `hush ledger show`.",
            )
        self._stored = found
        self._refined: list[Stored] = []
        while (more := self._ledger.find(refinement(self.id, len(self._refined)))) is not None:
            self._refined.append(more)
        kept = [p for s in (found, *self._refined) for p in s.payloads if p is not None]
        self._parts = [StoredPart.of(payload) for payload in kept]

    @property
    def detail(self) -> ChoiceDetail:
        """What the ledger's entry says of it."""
        return ChoiceDetail.from_dict(self._stored.reservation.detail)

    @property
    def opening(self) -> Opening:
        """How the choice began: its options, its schema and where the data were."""
        note = self._parts[0].note if self._parts else None
        if not isinstance(note, Opening):
            raise LedgerError(
                "choose.draw-lost",
                "The common part of this choice was never stored; what was charged stays spent.",
                "Abandon it to free what is held, and choose again.",
            )
        return note

    @property
    def _taken(self) -> Taken | None:
        return next((p.note for p in self._parts if isinstance(p.note, Taken)), None)

    @property
    def taken(self) -> int | None:
        """The option that was finished, if one was."""
        return None if self._taken is None else self._taken.option

    @property
    def stage(self) -> int:
        """How many of the coarsest options have been passed by."""
        return max((p.note.step for p in self._parts if isinstance(p.note, Step)), default=0)

    @property
    def state(self) -> Literal["open", "finished", "abandoned"]:
        """Whether an option can still be taken."""
        if self._taken is not None:
            return "finished"
        return "open" if self._stored.state == "open" else "abandoned"

    @property
    def charged(self) -> Cost:
        """What was spent so far, refinements included."""
        return sum((more.drawn for more in self._refined), self._stored.drawn)

    @property
    def held(self) -> Cost:
        """What is set aside until the choice is finished or abandoned."""
        return self._stored.held

    @property
    def waiting(self) -> list[str]:
        """Requests that are only waiting for their end: whoever worked on them was interrupted."""
        ended = () if self._taken is None else (self._stored,)
        return [str(s.reservation.request) for s in (*ended, *self._refined) if s.state == "open"]

    def require_unsettled(self) -> None:
        """Refuse a choice that was finished or abandoned."""
        if self.state == "finished":
            raise RefusedError(
                "choose.finished",
                f"This choice was finished with option {self.taken}.",
                "Read it again with `hush choose show`; another option needs a new choice.",
            )
        if self.state == "abandoned":
            raise RefusedError(
                "choose.abandoned", "This choice was abandoned.", "Start a new one with `hush choose`."
            )

    def _planned(self, sizes: tuple[int, ...], *, frozen: bool) -> ChoicePlan:
        """The plan that the opening describes; ``sizes`` are those of its schema.

        ``frozen`` speaks for a choice of version 0.1; once an option is taken, the word that was given then is kept.
        """
        opening = self.opening
        word = frozen or (self._taken is not None and self._taken.frozen)
        try:
            options = tuple(read_option(option, sizes) for option in opening.options)
            steps = tuple(step for step in ladder(options) if step is not None)
        except _UNREADABLE:
            raise _damaged() from None
        kept = word if opening.frozen is None else opening.frozen
        return ChoicePlan(options[0].sizes or tuple(opening.sizes), options, steps, kept)

    def _measured_part(self, plan: ChoicePlan, stored: StoredPart) -> MeasuredPart:
        """A payload as the family of the choice reads it."""
        match stored.note:
            case Taken(option):
                role, target = "option", plan.options[option]
                planned = partial(plan.finish_part, self.stage, option, ())
            case Refinement():
                role, target, planned = "refinement", plan.steps[self.stage], lambda: None
            case note:
                role, target = "step", plan.steps[note.step]
                planned = partial(plan.step_part, note.step, ())
        try:
            part = None if stored.line.kind == NOTE else stored.line.part(plan.sizes) or planned()
        except _UNREADABLE:
            raise _damaged() from None
        return MeasuredPart(part, stored.line.values, target, role)


def refinement(choice: str, number: int) -> str:
    """The request of a refinement."""
    return f"{choice}/refine-{number}"


def _damaged() -> BundleError:
    return BundleError(
        "bundle.damaged", "A stored part of the choice cannot be read.", "Restore the payload from a backup."
    )
