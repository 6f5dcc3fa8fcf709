"""Odd workbooks, SPSS and Stata files by seed, with what becomes of their rows by plain rules.

Cells have types: a number, a day, a truth or a text, in which marks and patterns of the schema hold as in a text file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from odd_files import MONTHS, NAMES, PATTERNS, SECRET, TOWNS, OddFile, day_as, independent, odd_schema, pay_as
from office_files import DAY_STYLE, RawCell, spss, stata, xlsx

BROKEN = (
    RawCell("e", "<v>#SPILL!</v>"),
    RawCell("n", "<v>abc</v>"),
    RawCell("s", "<v>99999</v>"),
    RawCell("n", "<v>1e12</v>", DAY_STYLE),
    RawCell("zz", "<v>1</v>"),
)
START = date(1945, 1, 1)
DECLARED = 77
"""A number that SPSS files declare as missing here."""


def odd_table(seed: int, ending: str, folder: Path) -> OddFile:
    """An odd file that ends in ``ending``."""
    chance = Random(seed)
    csv: dict[str, Any] = (
        {"nulls": chance.sample(["NA", "?", "n/a", "-9"], 2)} if chance.random() < 0.5 else {}
    )
    if pattern := chance.choice(PATTERNS + MONTHS):
        csv["dates"] = pattern
    if chance.random() < 0.5:
        csv |= chance.choice([{"decimal": ","}, {"decimal": ",", "thousands": "."}, {"thousands": "'"}])
    schema = odd_schema(chance, csv)
    count = chance.choice([0, 1, 30, 120])
    if ending == ".xlsx":
        rows = [[_cell(chance, name, csv, k) for name in NAMES] for k in range(count)]
        for row in rows:
            if chance.random() < 0.05:
                row[:] = [None] * len(NAMES)
        path = xlsx(folder / "made.xlsx", NAMES, rows)
        records = [row for row in rows if any(cell is not None for cell in row)]  # an empty row is none
    else:
        path, records = _labelled(chance, csv, count, folder / f"made{ending}")
    return OddFile(f"d{ending}", path.read_bytes(), schema, independent(records, schema))


def _number(chance: Random, csv: dict[str, Any], k: int) -> dict[str, list[Any]]:
    """What a cell of numbers may hold, by column; whole numbers are floats in some."""
    pay = chance.randint(-200_000, 700_000) / 100
    return {
        "id": [*map(float, range(40)), *range(40), 0.5, None],
        "age": [*range(0, 99, 5), *map(float, range(0, 99, 5)), DECLARED, -3, 130, 12.5, -9, None],
        "pay": [pay, pay, pay, round(pay), -9.0, None],
        "yes": [0, 1, 1.0, 2, None],
    }


def _text(chance: Random, name: str, csv: dict[str, Any], k: int) -> Any:
    """A text as somebody may have typed it."""
    null = chance.choice(["", *csv.get("nulls", [])]) or None
    day = START + timedelta(days=chance.randint(0, 22_000))
    written = day_as(day, csv.get("dates", "%Y-%m-%d"))
    pay = pay_as(Decimal(chance.randint(-200_000, 700_000)) / 100, csv)
    found = {
        "id": [None, *(f"p{n}" for n in range(40)), "1", "2"],
        "town": [*TOWNS * 4, "bern", "é", f"{SECRET}{k}", null],
        "age": [*map(str, range(0, 99, 5)), "-3", "130", "12.5", "ten", f"{SECRET}{k}", null],
        "pay": [pay, pay, pay, "1,5.5", "1e2", f"{SECRET}{k}", null],
        "born": [written, written, day.isoformat(), "31.02.2000", "1970-13", "1970-Q5", null],
        "yes": ["ja", "NEIN", "1", "0", "yes", f"{SECRET}{k}", null],
        "note": [None, "x", 'say "so"', "=1+1", f"{SECRET}{k}"],
    }
    return chance.choice(found[name])


def _day(chance: Random) -> date | None:
    return None if chance.random() < 0.1 else START + timedelta(days=chance.randint(0, 22_000))


def _cell(chance: Random, name: str, csv: dict[str, Any], k: int) -> Any:
    """A cell of a workbook has any type; some are broken."""
    luck = chance.random()
    numbers = _number(chance, csv, k)
    if luck < 0.04:
        return chance.choice(BROKEN)
    if luck < 0.08:
        return chance.choice([True, False])
    if luck < 0.5 and name in numbers:
        return chance.choice(numbers[name])
    return _day(chance) if luck < 0.5 and name == "born" else _text(chance, name, csv, k)


def _labelled(
    chance: Random, csv: dict[str, Any], count: int, path: Path
) -> tuple[Path, Sequence[Sequence[Any]]]:
    """A file of SPSS or Stata: each column is of one type."""
    columns: dict[str, list[Any]] = {}
    formats: dict[str, str] = {}
    meant: dict[str, list[Any]] = {}
    for name in NAMES:
        numbers = [_number(chance, csv, k) for k in range(count)]
        if name in ("id", "age", "pay", "yes") and chance.random() < 0.6:
            columns[name] = [chance.choice(by[name]) for by in numbers]
            meant[name] = [
                None if cell == DECLARED and path.suffix == ".sav" else cell for cell in columns[name]
            ]
        elif name == "born" and chance.random() < 0.6:
            meant[name] = days = [_day(chance) for _ in range(count)]
            months = chance.choice([0, 0, 1, 3])
            columns[name], formats[name] = _as_numbers(days, months, path.suffix)
            if months:
                meant[name] = [
                    day and day.replace(month=day.month - (day.month - 1) % months, day=1) for day in days
                ]
        else:
            meant[name] = columns[name] = [_text(chance, name, csv, k) for k in range(count)]
    frame = pd.DataFrame(
        {
            name: pd.Series([("" if c is None else c) for c in cells], dtype=object)
            if any(isinstance(c, str) for c in cells) or (not cells and name not in formats)
            else pd.Series(cells, dtype="float64")
            for name, cells in columns.items()
        }
    )
    if path.suffix == ".sav":
        whole = [name for name in ("age",) if frame[name].dtype != object]
        missing = {name: [{"lo": DECLARED, "hi": DECLARED}] for name in whole}
        spss(path, frame, variable_format=formats, missing_ranges=missing)
    else:
        stata(path, frame, variable_format=formats)
    return path, list(zip(*meant.values(), strict=True))


def _as_numbers(days: Sequence[date | None], months: int, ending: str) -> tuple[list[float | None], str]:
    """Days as each program counts them, and the format that says so."""
    if ending == ".sav":
        start, form = date(1582, 10, 14), {0: "DATE11", 1: "MOYR8", 3: "QYR8"}[months]
        return [None if day is None else (day - start).days * 86_400.0 for day in days], form
    if months:
        counted = [None if d is None else float(((d.year - 1960) * 12 + d.month - 1) // months) for d in days]
        return counted, {1: "%tm", 3: "%tq"}[months]
    return [None if d is None else float((d - date(1960, 1, 1)).days) for d in days], "%td"
