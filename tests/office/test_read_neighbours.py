"""Neighbour fuzzing over office files: one person's rows, whatever they hold, change nobody else's codes or words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial
from math import ceil, isfinite
from pathlib import Path
from random import Random
from typing import Any

import openpyxl
import pandas as pd
import pytest
from office_files import DAY_STYLE, RawCell, legal, spss, stata, xlsx

from hushtable.kernel.sources import labelled_files, open_source, xlsx_sheet
from hushtable.kernel.sources.objects import Objects
from hushtable.kernel.sources.row_tables import ArrowBlock
from hushtable.schema import Binned, Categorical, text_of
from hushtable.selftest.neighbours import SourceKind, campaign, read
from hushtable.selftest.neighbours.hostile import BYTES, FLOATS, TEXTS, WHOLE
from hushtable.selftest.neighbours.layouts import MadeRow, SourceLayout
from hushtable.selftest.neighbours.pairs import STEPS
from hushtable.selftest.neighbours.worlds import OUTSIDE, MadeColumn, World

PAIRS, MANY_PAIRS = 60, 2_000
EXACT = 2**53
RAW = (
    *(RawCell("e", f"<v>{text}</v>") for text in ("#SPILL!", "#N/A", "#REF!")),
    *(RawCell("n", f"<v>{text}</v>") for text in ("abc", "1E999", "-1E999", "nan", "0x10", " 7 ", "9" * 5000)),
    *(RawCell("s", f"<v>{text}</v>") for text in ("99999", "-1", "x", "1.5")),
    *(RawCell("n", f"<v>{text}</v>", DAY_STYLE) for text in ("1e12", "-1e9", "0", "60", "0.5", "2958466")),
    *(RawCell("d", f"<v>{text}</v>") for text in ("yesterday", "1995-06-01", "9999-99-99")),
    *(RawCell("b", "<v>7</v>"), RawCell("zz", "<v>1</v>"), RawCell("n", "<v>1</v>", 77), RawCell("n", "")),
)  # fmt: skip


class XlsxLayout(SourceLayout):
    """A workbook; every cell is text, or has the type of its value."""

    def __init__(self, world: World, chance: Random) -> None:
        super().__init__(world, chance)
        self._numbers = chance.random() < 0.5

    def holds(self, column: MadeColumn, value: Any) -> bool:
        return not isinstance(value, str) or legal(value)

    def cell(self, column: MadeColumn, value: Any) -> Any:
        if value is None:
            return None
        if value is OUTSIDE:
            return self.chance.choice(("zzz", 99, 0.5))
        forms = [text_of(value) if isinstance(value, bool | int) else str(value)]
        typed = not isinstance(value, int) or isinstance(value, bool) or abs(value) <= EXACT
        if typed and not (isinstance(value, date) and value < date(1900, 3, 1)):
            forms.append(value)
        return self.chance.choice(forms)

    def key(self, number: int) -> Any:
        return 1_000_000 + number if self._numbers else f"k{number}"

    def odd_keys(self, number: int) -> Sequence[Any]:
        forms: list[Any] = [None, 0.5 + number, RAW[0], RAW[3], f" odd {number}", 7_000_000_000 + number]
        if self.chance.random() < 0.2:
            return [9_000_000 + number, 9_000_000.0 + number]
        return [self.chance.choice(forms)]

    def odd_cell(self, column: MadeColumn) -> Any:
        luck = self.chance.random()
        if luck < 0.4:
            return self.chance.choice(RAW)
        if luck < 0.7:
            return self.chance.choice([text for text in TEXTS if legal(text)])
        return self.chance.choice([*WHOLE, *(number for number in FLOATS if isfinite(number)), True, None])

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Path:
        # a row without any value is no record, so every row has one in a column that nothing reads
        names = [*(column.name for column in self.world.columns), "filled"]
        return xlsx(folder / "data.xlsx", names, [(*row.cells, 1) for row in rows])


class LabelledLayout(SourceLayout):
    """A file of SPSS or Stata: a column is of numbers, of days or of texts."""

    def __init__(self, world: World, chance: Random, *, ending: str) -> None:
        super().__init__(world, chance)
        self._ending = ending
        self._stores = {column.name: self._store(column) for column in world.columns}

    def _store(self, column: MadeColumn) -> str:
        made = column.attributes
        if not made:
            return self.chance.choice(("text", "number"))
        if all(isinstance(a, Binned) and a.kind == "date" for a in made) and self.chance.random() < 0.6:
            return "day"
        whole = all(
            (isinstance(a, Binned) and a.kind != "date")
            or a.kind == "boolean"
            or (isinstance(a, Categorical) and all(isinstance(v, int) for v in a.values))
            for a in made
        )
        return "number" if whole and self.chance.random() < 0.7 else "text"

    def holds(self, column: MadeColumn, value: Any) -> bool:
        store = self._stores[column.name]
        if value is None or value is OUTSIDE:
            return value is None or store != "day"
        if store == "day":
            return isinstance(value, date) and date(1600, 1, 1) <= value
        if store == "number":
            return isinstance(value, int | float) and abs(value) <= EXACT
        return self._is_text(text_of(value) if isinstance(value, bool | int) else str(value))

    def _is_text(self, text: str) -> bool:
        """Texts are filled up with blanks, which are lost again; NUL ends them."""
        return text == text.rstrip() and "\0" not in text and 0 < len(text.encode()) < 200

    def cell(self, column: MadeColumn, value: Any) -> Any:
        store = self._stores[column.name]
        if value is None:
            return "" if store == "text" else None
        if value is OUTSIDE:
            return "zzz" if store == "text" else 99.5
        if store == "text":
            return text_of(value) if isinstance(value, bool | int) else str(value)
        return value if store == "day" else float(value)

    def key(self, number: int) -> Any:
        store = self._stores[self.world.schema.person or ""]
        return float(1_000_000 + number) if store == "number" else f"k{number}"

    def odd_keys(self, number: int) -> Sequence[Any]:
        if self._stores[self.world.schema.person or ""] == "number":
            return [self.chance.choice((None, 0.5 + number, 7_000_000_000.0 + number, -1.0 - number))]
        return [self.chance.choice(("", f" odd {number}", b"\xff\xfe%06d" % number, f"é{number}"))]

    def odd_cell(self, column: MadeColumn) -> Any:
        store = self._stores[column.name]
        if store == "text":
            texts = [text for text in TEXTS if self._is_text(text)]
            return self.chance.choice([*texts, *(raw for raw in BYTES if b"\0" not in raw)])
        if store == "day":
            return self.chance.choice((None, date(1582, 10, 15), date(9999, 12, 31), date(1960, 1, 1)))
        return self.chance.choice([f for f in FLOATS if isfinite(f) and abs(f) < 1e307] + [None, 1.5, -9.0])

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Path:
        raw: dict[str, bytes] = {}
        columns: dict[str, Any] = {}
        for k, column in enumerate(self.world.columns):
            cells = [self._stand_in(row.cells[k], raw) for row in rows]
            number = self._stores[column.name] == "number"
            columns[column.name] = pd.Series(cells, dtype="float64" if number else object)
        write = spss if self._ending == ".sav" else stata
        return write(folder / f"data{self._ending}", pd.DataFrame(columns), raw)

    def _stand_in(self, cell: Any, raw: dict[str, bytes]) -> Any:
        """A text of as many bytes that occurs nowhere else, for bytes that no writer would take."""
        if not isinstance(cell, bytes):
            return cell
        data = cell + b"\xff" * max(0, 8 - len(cell))
        for text, known in raw.items():
            if known == data:
                return text
        text = f"~{len(raw):0{len(data) - 1}d}"
        raw[text] = data
        return text


KINDS = {
    "xlsx": SourceKind("xlsx", XlsxLayout),
    "sav": SourceKind("sav", partial(LabelledLayout, ending=".sav")),
    "dta": SourceKind("dta", partial(LabelledLayout, ending=".dta")),
}


def findings(name: str, pairs: int, folder: Path) -> None:
    made = 0
    for seed in range(ceil(pairs / STEPS)):
        for found in campaign(KINDS[name], seed, folder, read=partial(read, opening=open_source)):
            assert found is None, str(found)
            made += 1
    assert made >= pairs


@pytest.mark.parametrize("name", KINDS)
def test_one_person_changes_nothing_for_everybody_else(name: str, tmp_path: Path) -> None:
    findings(name, PAIRS, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_one_person_changes_nothing_in_many_tables(name: str, tmp_path: Path) -> None:
    findings(name, MANY_PAIRS, tmp_path)


def test_a_reader_that_ends_at_an_odd_cell_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """openpyxl's own way with cells."""

    def by_openpyxl(self: Any, row: Any) -> dict[int, Any]:
        parser = openpyxl.worksheet._reader.WorkSheetParser(None, self._texts, data_only=True)
        return {cell["column"] - 1: cell["value"] for cell in parser.parse_row(row)[1]}

    monkeypatch.setattr(xlsx_sheet._SheetCells, "of_row", by_openpyxl)
    with pytest.raises(AssertionError):
        findings("xlsx", 2 * PAIRS, tmp_path)


def test_a_reader_that_refuses_a_file_for_a_byte_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyreadstat's own way with texts."""
    monkeypatch.setattr(labelled_files, "_RAW", "UTF-8")
    monkeypatch.setattr(labelled_files, "_text", lambda encoding, text: text)
    with pytest.raises(AssertionError):
        findings("sav", 2 * PAIRS, tmp_path)


def test_a_reader_that_takes_types_from_columns_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pandas' way: a column is of numbers where all of its cells are."""

    def inferred(self: Any, columns: Sequence[str], size: int) -> Any:
        for block in blocks(self, columns, size):
            series = [pd.Series(column._values) for column in block.columns()]
            numbers = [pd.to_numeric(one, errors="coerce") if one.dtype == object else one for one in series]
            whole = [n if n.notna().all() else one for n, one in zip(numbers, series, strict=True)]
            yield ArrowBlock([Objects(one.astype(object).tolist()) for one in whole])

    blocks = xlsx_sheet.XlsxSheets.blocks
    monkeypatch.setattr(xlsx_sheet.XlsxSheets, "blocks", inferred)
    with pytest.raises(AssertionError):
        findings("xlsx", 4 * PAIRS, tmp_path)
