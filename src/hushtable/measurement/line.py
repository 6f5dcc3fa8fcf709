"""One line of what a paid request asked and was told: all that a reader needs of it.

A line is a request as it was asked (its kind, its sets, its exact noise), what it cost, and the integers of the reply.
A draw that was begun and thrown away leaves a line too, with its price alone.  Notes are free: they say what was proved
of whole tables on the way, or that nothing was missing.  Lines of version 0.1 have no kinds, no prices of selections
and no notes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import ROWS, AttributeSet
from hushtable.measurement.answers import Answers
from hushtable.measurement.claim import Claim
from hushtable.measurement.linear_parts import MatrixPart
from hushtable.measurement.parts import Part, ResidualPart, stored_part
from hushtable.measurement.quantities import quantities_in
from hushtable.measurement.requests import Label, Measure, Reply, Request, Round, fingerprint

LOST, NOTE, DECIDE, PART = "lost", "note", "decide", "part"
NO_INTS: Ints = np.empty(0, np.int64)
NO_FLOATS: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class Line:
    """One line; ``kind`` is that of the request, "lost", "note", or empty in a line of version 0.1."""

    kind: str
    price: Fraction
    sets: tuple[AttributeSet, ...] = ()
    parameters: tuple[Fraction, ...] = ()
    values: Ints = field(default_factory=lambda: NO_INTS)
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    numbers: Floats = field(default_factory=lambda: NO_FLOATS)

    @classmethod
    def of(cls, request: Request, values: Ints) -> Line:
        """The line of a request that was answered."""
        if isinstance(request, ChoiceStep):
            return replace(request.line, values=values)
        label = {} if request.label is None else {"label": request.label.to_dict()}
        return cls(
            request.kind, request.rho, request.of(values), request.parameters, values, label | request.facts
        )

    @classmethod
    def of_part(cls, part: Part | None, facts: dict[str, Any]) -> Line:
        """The line of a part of a choice (None: nothing was missing), but for its integers.

        It holds all that a plan cannot say again: a matrix comes from a solver.
        """
        if part is None:
            return cls(NOTE, Fraction(0), facts=facts)
        if isinstance(part, ResidualPart):
            return cls(Measure.kind, part.rho, part.sets, part.precisions, facts=facts)
        if isinstance(part, MatrixPart):
            matrix = part.matrix.ravel().astype(np.float64)
            return cls(PART, part.rho, facts={**facts, "scale": part.scale}, numbers=matrix)
        return cls(PART, part.rho, facts=facts)

    def part(self, sizes: tuple[int, ...]) -> Part | None:
        """The part that the line was measured for, where the line alone defines it."""
        if "scale" not in self.facts:
            answers = self.answers(sizes)
            return None if answers is None else answers.part
        matrix = self.numbers.astype(np.int64).reshape(len(self.values), -1)
        return MatrixPart(sizes, matrix, int(self.facts["scale"]))

    @classmethod
    def lost(cls, request: Request) -> Line:
        """The line of a draw that was begun; what came of it, if anything, was thrown away."""
        return cls(LOST, request.rho)

    @classmethod
    def note(cls, claim: Claim) -> Line:
        """What was proved of whole tables."""
        tables = NO_FLOATS if claim.tables is None else claim.tables
        facts = {"claim": "tables" if claim.tables is not None else "estimates"}
        return cls(NOTE, Fraction(0), claim.sets, facts=facts, numbers=np.concatenate([claim.limits, tables]))

    def reply_to(self, request: Request | None) -> Reply | None:
        """The stored reply to a request, with the request as it was asked then; None where it was another one."""
        if request is None:
            return None
        if not self.kind:
            same = self.facts["request"] == fingerprint(request)
            return Reply(request, self.values) if same else None
        if self.kind != request.kind:
            return None
        return request.stored(self.sets, self.parameters, self.values)

    @property
    def tells(self) -> bool:
        """Whether somebody can read something of it: a measurement, verdicts, or a step of a choice."""
        return self.measures or self.kind in (DECIDE, PART) or "choice" in self.facts

    @property
    def measures(self) -> bool:
        """Whether the line holds noisy integers of a part."""
        return self.kind == Measure.kind or (not self.kind and bool(self.sets))

    def answers(self, sizes: tuple[int, ...]) -> Answers | None:
        """What the line measured, if it did."""
        if not self.measures:
            return None
        if "quantities" in self.facts:
            return self.quantities(sizes).get(ROWS)
        return Answers(stored_part(self.facts, sizes, self.sets, self.parameters), self.values)

    def quantities(self, sizes: tuple[int, ...]) -> dict[str, Answers]:
        """What the line measured of several quantities together."""
        told = self.facts.get("quantities", ()) if self.measures else ()
        found = quantities_in(told, sizes, self.sets, self.parameters, self.values)
        return {of: Answers(*answered) for of, answered in found.items()}

    def round(self, limit: Fraction) -> Round | None:
        """What the history says of the line, if anything; ``limit`` is the whole budget."""
        if "label" not in self.facts:
            return None
        label = Label.from_dict(self.facts["label"])
        residuals = len(self.sets) if self.kind == Measure.kind else 0
        return Round(label, residuals, float((self.price + label.beside) / limit))

    def claim(self) -> Claim | None:
        """What the line proves, if it is such a note."""
        if "claim" not in self.facts:
            return None
        limits, tables = np.split(self.numbers, [len(self.sets)])
        return Claim(self.sets, tables if self.facts["claim"] == "tables" else None, limits)


@dataclass(frozen=True, eq=False)
class ChoiceStep(Request):
    """A step of a choice as a request: the integers of a part (None: nothing is missing), and its line but for them."""

    part: Part | None
    line: Line
    kind: ClassVar[str] = "step"

    @property
    def rho(self) -> Fraction:
        """Cost for one row."""
        return self.line.price
