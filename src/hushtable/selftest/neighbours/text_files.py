"""Worlds as delimited text: every declared dialect, packed or not, in one file or in several."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from hushtable.schema import Binned, Boolean, text_of
from hushtable.selftest.neighbours.hostile import near_key, odd_bytes
from hushtable.selftest.neighbours.layouts import MadeRow, SourceLayout
from hushtable.selftest.neighbours.worlds import OUTSIDE, MadeColumn, World

PARTS = 3
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HUGE_LINE = 1_100_000
_NO_BREAKS = ("\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\0", "\\n")


class TextLayout(SourceLayout):
    """Lines of a text file in the dialect that the schema declares."""

    def __init__(self, world: World, chance: Random, *, ending: str = ".csv", several: bool = False) -> None:
        super().__init__(world, chance, parts=PARTS if several else 1)
        self._dialect = world.schema.csv
        self._delimiter = self._dialect.delimiter or ("\t" if ending.startswith(".tsv") else ",")
        self._ending = ending
        self._bare = chance.random() < 0.2  # no line break at the end of the file
        self._break = chance.choice((b"\n", b"\n", b"\r\n"))
        self._mark = _BYTE_ORDER_MARK if self._dialect.encoding == "utf-8" and chance.random() < 0.2 else b""

    def holds(self, column: MadeColumn, value: Any) -> bool:
        if value is None and len(self.world.columns) == 1:
            return False  # an empty line is no row
        return all(self._field(form) is not None for form in _forms(column, value))

    def cell(self, column: MadeColumn, value: Any) -> bytes:
        field = self._field(self.chance.choice(_forms(column, value)))
        return b"" if field is None else field

    def key(self, number: int) -> bytes:
        return self._field(near_key(number, nul=False)) or b"k%06d" % number

    def odd_keys(self, number: int) -> Sequence[bytes]:
        raw = odd_bytes(self.chance, valid=False) + b"!%d!" % number
        return [self._quoted(raw) or b"" for _ in range(2)]

    def odd_cell(self, column: MadeColumn) -> bytes:
        raw = odd_bytes(self.chance, valid=False).replace(b"\n", b"\r")
        return self._quoted(raw) or raw.replace(self._delimiter.encode(), b"")

    def row(self, cells: Sequence[bytes]) -> MadeRow:
        return MadeRow(self._delimiter.encode().join(cells), self.chance.randrange(self.parts))

    def idle_cell(self, column: MadeColumn) -> bytes:
        return self._field(self.chance.choice(("", "x", "1,5", "é", "it's"))) or b""

    def odd_row(self, cells: Sequence[bytes]) -> MadeRow:
        """Hostile cells; often also open quotes, fields too many or too few, and once in a while a megabyte more."""
        row = self.row(cells)
        if self.chance.random() < 0.6:
            return row
        delimiter, quote = self._delimiter.encode(), self._dialect.quote.encode()
        forms = (
            self._ordinary(cells) + self._no_break() + self._ordinary(cells),
            _BYTE_ORDER_MARK + self._ordinary(cells),
            quote + row.cells,
            row.cells + delimiter + quote,
            row.cells.replace(delimiter, delimiter + quote, 1),
            delimiter.join(cells[: self.chance.randrange(len(cells))]),
            row.cells + self.chance.choice((delimiter, delimiter * 5, quote, b"\r", b"\\", b"\0", b"\xff")),
            self.chance.randbytes(self.chance.randint(0, 30)).replace(b"\n", b"\r"),
        )
        text = self.chance.choice(forms) + (b"x" * _HUGE_LINE if self.chance.random() < 0.001 else b"")
        return MadeRow(text, row.part, shifted=True)

    def _ordinary(self, cells: Sequence[bytes]) -> bytes:
        """A row that can be read, of the same person."""
        pairs = zip(self.world.columns, cells, strict=True)
        return self.row([self.cell(c, self._value(c)) if c.attributes else cell for c, cell in pairs]).cells

    def most(self, rows: Sequence[MadeRow]) -> int:
        """A shifted line may name anybody, so it may count beside those of the person's own key."""
        return min(super().most(rows) + sum(row.shifted for row in rows), len(rows))

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        names = [self._quoted(column.name.encode()) or b"" for column in self.world.columns]
        header = [self._delimiter.encode().join(names)] if self._dialect.header else []
        for part in range(self.parts):
            lines = [*header, *(row.cells for row in rows if row.part == part)]
            text = self._mark + self._break.join(lines) + (b"" if self._bare else self._break)
            path = folder / f"part{part}{self._ending}"
            path.write_bytes(self._packed(text) if self._ending.endswith(".gz") else text)
        return str(folder / f"part*{self._ending}") if self.parts > 1 else folder / f"part0{self._ending}"

    def _no_break(self) -> bytes:
        """What some readers take for a line break."""
        return self.chance.choice(_NO_BREAKS).encode(self._dialect.encoding, "replace")

    def _packed(self, text: bytes) -> bytes:
        """Two streams one after the other, which is one file to gzip."""
        cut = self.chance.randint(0, len(text))
        return gzip.compress(text[:cut], 1) + gzip.compress(text[cut:], 1)

    def _field(self, text: str) -> bytes | None:
        """The text as a field, quoted where it must be and sometimes where it need not; None where it cannot be."""
        try:
            raw = text.encode(self._dialect.encoding)
        except UnicodeEncodeError:
            return None
        return self._quoted(raw)

    def _quoted(self, raw: bytes) -> bytes | None:
        delimiter, quote = self._delimiter.encode(), self._dialect.quote.encode()
        must = delimiter in raw or (quote and raw.startswith(quote))
        if b"\n" in raw or (must and not quote):
            return None
        if not must and (not quote or self.chance.random() < 0.8):
            return raw
        escape = self._dialect.escape.encode() if self._dialect.escape else quote
        for mark in dict.fromkeys((escape, quote)):
            raw = raw.replace(mark, escape + mark)
        return quote + raw + quote


def _forms(column: MadeColumn, value: Any) -> list[str]:
    """The texts that mean a value."""
    attribute = column.attributes[0] if column.attributes else None
    if value is None:
        return [""] if attribute is None else ["", *attribute.nulls]
    if value is OUTSIDE:
        return ["zzz", "no such", "0x1F"]
    if isinstance(attribute, Boolean):
        words = attribute.true_texts if value else attribute.false_texts
        return [*words, words[0].upper()]
    if not isinstance(attribute, Binned):
        return [text_of(value)]
    if isinstance(value, date):
        day = value.strftime(attribute.pattern) if attribute.pattern else value.isoformat()
        return [day, f"{day}T23:59:59.5Z"]
    plain = [str(value), f"{value:+}", f"{value}.00" if isinstance(value, int) else f"{value}00"]
    grouped = [f"{value:,}", f"{value:+,}"] if attribute.thousands else []
    marks = str.maketrans({".": attribute.decimal, ",": attribute.thousands})
    return [form.translate(marks) for form in (*plain, *grouped)]
