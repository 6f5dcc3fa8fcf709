"""What a ledger has stored of one choice: read as it stands, without data, and never written from here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import pyarrow as pa

from hushtable.arrays import Ints
from hushtable.errors import BundleError, LedgerError
from hushtable.ledger import Ledger, Stored
from hushtable.linear import ladder
from hushtable.measurement import Part
from hushtable.privacy import Cost
from hushtable.release.choices.choice_plan import ChoicePlan
from hushtable.release.choices.families import Family, Measured, MeasuredPart
from hushtable.release.choices.notes import Note, Opening, Refinement, Step, Taken, read_note
from hushtable.schema import Schema

KIND = "choose"
"""What a ledger calls the spend of a choice."""

NOTE = b"hushtable-choice"
"""Where a payload keeps its note."""

_UNREADABLE = (pa.ArrowException, LookupError, ValueError, TypeError, AttributeError, StopIteration)

State = Literal["open", "finished", "abandoned"]


def pack(family: Family, note: Note, part: Part | None, values: Ints) -> bytes:
    """A measured part as Arrow bytes; the length depends on public sizes and the note only."""
    table = family.table(part, values)
    told = json.dumps({**note.to_dict(), **family.facts(part)}).encode()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), NOTE: told})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@dataclass(frozen=True, eq=False)
class StoredPart:
    """One payload: its note, and the table that the family of the choice can read."""

    note: Note
    told: Mapping[str, Any]
    table: pa.Table

    @classmethod
    def of(cls, payload: bytes) -> StoredPart:
        """Read what :func:`pack` made; refuses anything else."""
        try:
            with pa.ipc.open_file(pa.BufferReader(payload)) as reader:
                table = reader.read_all()
            told: dict[str, Any] = json.loads((table.schema.metadata or {})[NOTE])
            return cls(read_note(told), told, table)
        except _UNREADABLE:
            raise _damaged() from None


@dataclass(frozen=True, eq=False)
class ChoiceRecord:
    """The payloads of a choice and of its refinements, oldest first, and where its reservation stands."""

    stored: Stored
    refined: tuple[Stored, ...]
    parts: tuple[StoredPart, ...]

    @classmethod
    def read(cls, ledger: Ledger, choice: str) -> ChoiceRecord:
        """What the ledger knows of a choice."""
        found = ledger.find(choice)
        if found is None or found.reservation.kind != KIND or "options" not in found.reservation.detail:
            raise LedgerError(
                "choose.unknown",
                "The ledger has no choice of this id.",
                "Copy the id from `hush choose`, or find it with `hush ledger show`.",
            )
        refined: list[Stored] = []
        while (more := ledger.find(refinement(choice, len(refined)))) is not None:
            refined.append(more)
        kept = [p for s in (found, *refined) for p in s.payloads if p is not None]
        return cls(found, tuple(refined), tuple(StoredPart.of(p) for p in kept))

    @property
    def id(self) -> str:
        """The id of the choice, which is the request of its reservation."""
        return str(self.stored.reservation.request)

    @property
    def opening(self) -> Opening:
        """How the choice began."""
        note = self.parts[0].note if self.parts else None
        if not isinstance(note, Opening):
            raise LedgerError(
                "choose.draw-lost",
                "The common part of this choice was never stored; what was charged stays spent.",
                "Abandon it to free what is held, and choose again.",
            )
        return note

    @cached_property
    def taken(self) -> Taken | None:
        """The option that was taken, if one was."""
        return next((p.note for p in self.parts if isinstance(p.note, Taken)), None)

    @cached_property
    def stage(self) -> int:
        """How many of the coarsest options have been passed by."""
        return max((p.note.stage for p in self.parts if isinstance(p.note, Step)), default=0)

    @property
    def state(self) -> State:
        """Whether an option can still be taken."""
        if self.taken is not None:
            return "finished"
        return "open" if self.stored.state == "open" else "abandoned"

    @property
    def charged(self) -> Cost:
        """What was spent so far, refinements included."""
        return sum((more.drawn for more in self.refined), self.stored.drawn)

    @property
    def lost(self) -> bool:
        """Whether a part was charged and never stored."""
        return None in self.stored.payloads

    @property
    def waiting(self) -> list[str]:
        """Requests that are only waiting for their end: whoever worked on them was interrupted."""
        ended = (self.stored,) if self.taken is not None else ()
        return [str(s.reservation.request) for s in (*ended, *self.refined) if s.state == "open"]

    def plan(self, *, frozen: bool = False) -> ChoicePlan:
        """The plan that the opening describes.

        ``frozen`` speaks for a choice of version 0.1; once an option is taken, the word that was given then is kept.
        """
        opening = self.opening
        word = frozen or (self.taken is not None and self.taken.frozen)
        steps = tuple(step for step in ladder(opening.options) if step is not None)
        kept = word if opening.frozen is None else opening.frozen
        return ChoicePlan(opening.sizes, opening.options, steps, kept)

    def measured(self, plan: ChoicePlan, schema: Schema) -> Measured:
        """All that was measured, as the family of the choice reads it."""
        try:
            parts = tuple(self._part(plan, stored) for stored in self.parts)
        except _UNREADABLE:
            raise _damaged() from None
        return Measured(schema, plan.options, self.stage, plan.steps[self.stage], parts)

    def paid(self, measured: Measured) -> list[Part]:
        """The parts that the choice's own reservation has paid for."""
        pairs = zip(self.parts, measured.parts, strict=True)
        return [m.part for s, m in pairs if m.part is not None and not isinstance(s.note, Refinement)]

    def _part(self, plan: ChoicePlan, stored: StoredPart) -> MeasuredPart:
        note = stored.note
        if isinstance(note, Taken):
            target, planned = (
                plan.options[note.option],
                partial(plan.finish_part, self.stage, note.option, ()),
            )
        else:
            at = self.stage if isinstance(note, Refinement) else note.stage
            target, planned = plan.steps[at], partial(plan.step_part, at, ())
        part, values = plan.family.stored(stored.table, stored.told, planned)
        return MeasuredPart(part, values, target, completes=isinstance(note, Taken))


def refinement(choice: str, number: int) -> str:
    """The request of a refinement."""
    return f"{choice}/refine-{number}"


def _damaged() -> BundleError:
    return BundleError(
        "bundle.damaged", "A stored part of the choice cannot be read.", "Restore the payload from a backup."
    )
