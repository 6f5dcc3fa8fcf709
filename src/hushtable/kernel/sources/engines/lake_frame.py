"""A lake table whose files are read by the tasks of an engine: rows go from a file to a task's counts in one process.

The driver lists the files of a version.  Where they are, and what the log says of their rows, travels with the code of
a task, so that no plan, page or log of the engine names a file or a value that is part of its path.  The engine hands
out numbers, and takes counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.engines.engine_frame import EngineFrame, Place, Task
from hushtable.kernel.sources.lake_files import LakeFiles
from hushtable.kernel.sources.row_tables import TYPED_ROWS


@dataclass(frozen=True)
class ReadFirst:
    """A task over rows that it reads itself; it is given the numbers of its shares of the files."""

    files: LakeFiles
    shares: int
    task: Task

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return self.task(self._rows(numbers), place)

    def _rows(self, numbers: Sequence[int]) -> Iterator[Any]:
        for number in numbers:
            yield from self.files.share(number, self.shares).batches(TYPED_ROWS)


@dataclass(frozen=True)
class LakeFrame:
    """The rows of one version, before an engine has seen any of them."""

    header: Header
    files: LakeFiles
    numbers: Callable[[int], EngineFrame]
    """The engine's own table of the numbers below a given one, each of them a part."""
    most: int | None = None

    @property
    def workers(self) -> int:
        """About how many tasks run at once."""
        return self.numbers(1).workers

    @property
    def places(self) -> int:
        """Into how many parts the engine gathers rows at most."""
        return self.numbers(1).places

    def chosen(self, columns: Sequence[str]) -> LakeFrame:
        """Of the files only these columns are read."""
        return replace(self, files=self.files.chosen(columns))

    def fewer(self, parts: int) -> LakeFrame:
        """Several pieces of files one after another in one task."""
        return replace(self, most=parts)

    def mapped(self, task: Task, columns: Any) -> EngineFrame:
        """The task, where the engine runs it, over rows that it reads there."""
        pieces = max(1, len(self.files.parts))
        shares = pieces if self.most is None else min(pieces, self.most)
        return self.numbers(shares).mapped(ReadFirst(self.files, shares, task), columns)
