"""What a check asks of confidential rows: for each question the whole numbers that its decider is a function of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushtable.deciders import Columns, Query, Tally, grid_values, matching, rows_only, tally

if TYPE_CHECKING:  # where rows are counted elsewhere, deciders and their noise are not loaded
    from hushtable.deciders import Question


@dataclass(frozen=True)
class Asked:
    """The rows of a question, and the values at which they are told apart."""

    query: Query
    edges: Sequence[int]

    @classmethod
    def of(cls, question: Question) -> Asked:
        """What the question's decider needs to know."""
        return cls(question.query, () if question.query.column is None else question.decider.edges)

    def tally(self, frame: object, columns: Columns) -> Tally:
        """The whole numbers, from a frame of confidential rows."""
        if self.query.column is None:
            return rows_only(matching(self.query, frame, columns).height)
        return tally(grid_values(self.query, frame, columns), self.edges)


def exact_tally(question: Question, frame: object, columns: Columns) -> Tally:
    """The whole numbers that the question's decider is a function of, from confidential rows."""
    return Asked.of(question).tally(frame, columns)
