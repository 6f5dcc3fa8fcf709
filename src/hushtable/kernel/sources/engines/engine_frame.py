"""What an engine must be able to do so that tables can be counted on it: five verbs over rows in many places.

Another engine is another ``EngineFrame``.  It may give rows in any order, run a task twice and give either result, or
both; what it does wrong beyond that is found out (``parcels``) and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from hushtable.kernel.counter import Header


@dataclass(frozen=True)
class Place:
    """Where a task runs: the number of its part of the rows, and which of all attempts at anything this is."""

    part: int
    attempt: int


Task = Callable[[Iterator[Any], Place], Iterator[Any]]
"""What runs where the rows are: from the Arrow batches of one part to other batches.  It can be pickled."""


class RowFrame(Protocol):
    """A table in parts that a task has not seen yet."""

    @property
    def header(self) -> Header:
        """Names and types of its columns."""
        ...

    @property
    def workers(self) -> int:
        """About how many tasks run at once."""
        ...

    @property
    def places(self) -> int:
        """Into how many parts it gathers rows at most."""
        ...

    def chosen(self, columns: Sequence[str]) -> Self:
        """These columns as they are: no casts, which may fail on one value."""
        ...

    def fewer(self, parts: int) -> Self:
        """The same rows in at most so many parts, without moving them."""
        ...

    def mapped(self, task: Task, columns: Any) -> EngineFrame:
        """What a task makes of each part, which has the columns of an Arrow schema."""
        ...


class EngineFrame(RowFrame, Protocol):
    """A table in parts, not yet computed; each verb gives another one."""

    def gathered(self, column: str) -> Self:
        """The same rows; those with an equal number in a column are in one part."""
        ...

    def held(self) -> Self:
        """The same rows, computed once, for somebody who reads them again; they are let go of with it."""
        ...

    def collected(self, step: str) -> Any:
        """All rows as an Arrow table; whatever the engine raises becomes an error of ours.

        ``step`` is what a progress bar says.
        """
        ...
