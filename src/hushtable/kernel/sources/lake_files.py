"""Files of one version of a lake table, as whoever reads them elsewhere has to know them.

The driver lists them from the table's log; a task opens one, finds the columns of the table in it, and gives rows with
the table's types.  Nothing is read off a path, and nothing that a file says of its own types changes a value: numbers
become wider ones of the same kind, and everything else that differs is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hushtable.errors import SourceError
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.file_systems import opened_parquet, placed

_ID = b"PARQUET:field_id"
_PIECE = 1 << 27
"""Bytes of a file that one task reads at most, if its row groups allow it: as much as Spark gives to a task."""


@dataclass(frozen=True)
class LakeColumn:
    """A column of the table: found in files by its number, where it has one, or by its name."""

    name: str
    type: Any
    number: int | None = None
    in_files: bool = True
    """Whether files hold it; if not, the log alone says what its values are."""


@dataclass(frozen=True)
class LakePart:
    """Every so manieth row group of a file, and what the log says of columns that the file does not hold."""

    path: str
    size: int
    values: Mapping[str, Any] = field(repr=False)
    first: int = 0
    step: int = 1

    def pieces(self) -> list[LakePart]:
        """Parts that are small enough for a task."""
        step = max(1, -(-self.size // _PIECE))
        return [replace(self, size=self.size // step, first=k, step=step) for k in range(step)]


@dataclass(frozen=True)
class LakeFiles:
    """All rows of a version: the columns that are wanted, and the parts in which they lie."""

    columns: tuple[LakeColumn, ...]
    parts: tuple[LakePart, ...]
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    """Numbers of columns in files that have none, by the names there."""

    @classmethod
    def of(
        cls,
        columns: Sequence[LakeColumn],
        files: Sequence[LakePart],
        numbers: Mapping[str, int] | None = None,
    ) -> LakeFiles:
        """Files in pieces, the largest first."""
        pieces = [piece for file in files for piece in file.pieces()]
        typed = (replace(column, type=_target(column.type)) for column in columns)
        return cls(tuple(typed), tuple(sorted(pieces, key=lambda piece: -piece.size)), dict(numbers or {}))

    def chosen(self, columns: Sequence[str]) -> LakeFiles:
        """The same rows with these columns, in this order."""
        known = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(known[name] for name in columns))

    def share(self, number: int, shares: int) -> LakeFiles:
        """The rows of one of so many tasks; large pieces are dealt out first."""
        return replace(self, parts=self.parts[number::shares])

    def batches(self, size: int) -> Iterator[Any]:
        """All rows, piece by piece; a file that cannot be read is refused without a word of what is in it."""
        for part in self.parts:
            try:
                yield from self._batches(part, size)
            except (OSError, pa.ArrowException):
                raise _unreadable() from None

    def _batches(self, part: LakePart, size: int) -> Iterator[Any]:
        file = opened_parquet(*placed(part.path))
        groups = list(range(part.first, file.num_row_groups, part.step))
        if not groups:
            return
        held = self._names(file.schema_arrow)
        wanted = list(dict.fromkeys(name for name in held if name is not None))
        for batch in file.iter_batches(size, row_groups=groups, columns=wanted, use_threads=False):
            yield pa.RecordBatch.from_arrays(
                [
                    _constant(part.values.get(column.name), column.type, batch.num_rows)
                    if name is None
                    else _typed(batch.column(name), column.type)
                    for column, name in zip(self.columns, held, strict=True)
                ],
                names=[column.name for column in self.columns],
            )

    def _names(self, schema: Any) -> list[str | None]:
        """What each column is called in a file; None where it is not there."""
        numbered = any(column.number is not None for column in self.columns)
        ids = self._ids(schema) if numbered else {}
        return [
            None
            if not column.in_files
            else _same(column.name, schema.names)
            if column.number is None
            else ids.get(column.number)
            for column in self.columns
        ]

    def _ids(self, schema: Any) -> dict[int, str]:
        """Names in a file by the numbers of columns; a column whose number nobody knows is not one of nulls."""
        ids = {int(known.metadata[_ID]): known.name for known in schema if _ID in (known.metadata or {})}
        if not ids and set(schema.names) - set(self.numbers):
            raise _unreadable()
        return ids or {self.numbers[name]: name for name in schema.names}


def _same(name: str, there: Sequence[str]) -> str | None:
    """The name, if a file has it; in other letters, where some readers find it and others do not, it is refused."""
    if name not in there and name.lower() in {other.lower() for other in there}:
        raise _unreadable()
    return name if name in there else None


def _target(kind: Any) -> Any:
    """The one type in which a column comes from every file."""
    if _is_text(kind):
        return pa.string()
    return pa.binary() if _is_bytes(kind) else kind


def _constant(value: Any, kind: Any, rows: int) -> Any:
    return pa.nulls(rows, kind) if value is None else pa.repeat(value.cast(kind), rows)


def _typed(array: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type.equals(kind):
        return array
    if not _widens(array.type, kind):
        raise _unreadable()
    return array.cast(kind)


def _widens(held: Any, kind: Any) -> bool:
    """Whether every value of a type is one of the other, said in another way."""
    types = pa.types
    if types.is_null(held) or (_is_text(held) and _is_text(kind)) or (_is_bytes(held) and _is_bytes(kind)):
        return True
    if types.is_timestamp(held) and types.is_timestamp(kind):
        return held.tz is None or kind.tz is not None  # moments of old writers lack the zone, which is UTC
    if types.is_decimal(held) and types.is_decimal(kind):
        return held.scale == kind.scale and held.precision <= kind.precision
    whole = types.is_signed_integer(held) and types.is_signed_integer(kind)
    real = types.is_floating(held) and types.is_floating(kind)
    return (whole or real) and held.bit_width <= kind.bit_width


def _is_text(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_bytes(kind: Any) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)


def deletes_not_applied(kind: str) -> SourceError:
    """The refusal of files that hold rows of people who were deleted."""
    return SourceError(
        "source.table-feature",
        "The table marks rows of its files as deleted, which tasks on an engine do not apply.",
        f"Rewrite its data files so that deletes are applied, or read it as {kind}:, without Spark.",
    )


def _unreadable() -> SourceError:
    return SourceError(
        "source.unreadable",
        "A file of the table cannot be read.",
        "Check that this version's files are still there, and that whoever counts may read them.",
    )
