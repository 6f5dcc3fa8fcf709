"""A kind of data: what is recognised as such, and how it is opened.

Files are recognised by the end of their name, places elsewhere by the scheme of their URL, tables in memory by what
they are.  A kind whose rows are encoded here says how its table is read; one that counts elsewhere has a counter of its
own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from hushtable.errors import SourceError
from hushtable.kernel.counter import Counter
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.row_counter import RowCounter
from hushtable.kernel.sources.row_tables import Table
from hushtable.kernel.sources.source import Source
from hushtable.schema import Schema


class Opener(ABC):
    """Opens data of one kind: files of some suffixes, URLs of some schemes, or objects that it takes."""

    name: ClassVar[str]
    what: ClassVar[str]
    """What a message says one may give."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    schemes: ClassVar[tuple[str, ...]] = ()
    begins: ClassVar[tuple[str, ...]] = ("",)
    """How what follows the scheme begins, where several kinds share one."""
    slashes: ClassVar[bool] = False
    """Whether ``//`` always follows the scheme: a name with a colon alone is then a path."""
    keeps_place: ClassVar[bool] = False
    """Whether a ledger may note the address, which then holds no secret."""

    def takes(self, data: object) -> bool:
        """Whether an object that is no path and no URL is of this kind; looks at its type alone."""
        return False

    def pinned(self, data: Any) -> Any:
        """The same data, named so that they are those of now whenever they are opened."""
        return data

    @abstractmethod
    def open(self, data: Any, schema: Schema) -> Counter:
        """The counter of a list of ``DataFile``, of a URL or of an object; no row is read yet."""

    def look(self, data: Any, header: bool | None) -> Look:
        """What a draft of a schema is made from: for the curator's own eyes, because it reads rows and pays nothing."""
        raise SourceError(
            "source.no-draft",
            f"A schema cannot be drafted from {self.what}.",
            "Write it by hand; docs/reference/schema.md shows how.",
        )


class TableOpener(Opener):
    """Of data whose rows are read and encoded here."""

    @abstractmethod
    def table(self, data: Any, schema: Schema | None) -> Table:
        """The table; ``schema`` is None for a look."""

    def open(self, data: Any, schema: Schema) -> Counter:
        return RowCounter(self.source(data, schema))

    def source(self, data: Any, schema: Schema, threads: int | None = None) -> Source:
        """The table as a stream of codes."""
        return Source(self.table(data, schema), schema, threads=threads)

    def look(self, data: Any, header: bool | None) -> Look:
        return Look.at(self.table(data, None))
