"""Odd files by seed: every feature that a schema can declare of text, and every defect that a preflight counts, mixed.

``independent`` counts what becomes of each row with Python's own means and none of the package's code.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from random import Random
from typing import Any

SECRET = "Xq7Secret"
TOWNS = ["Bern", "Genf", "Zug", "Chur"]
NAMES = ["id", "town", "age", "pay", "born", "yes", "note"]
PATTERNS = ["", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d%b%Y"]
MONTHS = ["%Y-%m", "%m/%Y", "%b %Y", "%Y-Q%q", "%YQ%q", "%Y"]


@dataclass(frozen=True)
class OddFile:
    """A file, its schema, and what becomes of its rows by ``independent``."""

    name: str
    data: bytes
    schema: dict[str, Any]
    meant: dict[str, Any]


def odd_file(seed: int) -> OddFile:
    chance = Random(seed)
    csv: dict[str, Any] = {}
    if chance.random() < 0.6:
        csv["delimiter"] = chance.choice(";|\t,")
    csv["quote"] = chance.choice(['"', '"', "'"])
    if chance.random() < 0.4:
        csv["encoding"] = chance.choice(["latin-1", "windows-1252", "cp850", "iso-8859-2"])
    if chance.random() < 0.5:
        csv["nulls"] = chance.sample(["NA", "?", "n/a", "-9"], 2)
    if pattern := chance.choice(PATTERNS + MONTHS):
        csv["dates"] = pattern
    if chance.random() < 0.5:
        csv |= chance.choice([{"decimal": ","}, {"decimal": ",", "thousands": "."}, {"thousands": "'"}])
    if chance.random() < 0.2:
        csv |= {"header": False, "columns": NAMES}
    schema = odd_schema(chance, csv)
    rows = [_row(chance, csv, k) for k in range(chance.choice([0, 1, 30, 120]))]
    packed = chance.random() < 0.15
    header = [] if csv.get("header") is False else [_joined(NAMES, csv)]
    ending = chance.choice([b"\n", b"\r\n"])
    data = ending.join([*header, *rows]) + (b"" if chance.random() < 0.2 else ending)
    meant = independent([_split(line, csv) for line in rows if line.rstrip(b"\r")], schema)
    return OddFile("d.csv.gz" if packed else "d.csv", gzip.compress(data) if packed else data, schema, meant)


def odd_schema(chance: Random, csv: dict[str, Any]) -> dict[str, Any]:
    """One attribute of each kind, with rules by chance."""
    nulls, outside = ["drop", "category"], ["drop", "other", "clip"]
    schema: dict[str, Any] = {
        "person": "id",
        "max_rows_per_person": chance.randint(1, 3),
        "csv": csv,
        "attributes": {
            "town": {"type": "categorical", "values": TOWNS, "outside": chance.choice(outside[:2])},
            "age": {"type": "integer", "bounds": [0, 99], "width": 10, "outside": chance.choice(outside)},
            "pay": {"type": "real", "bounds": [0, 5000], "bins": 5, "outside": chance.choice(outside)},
            "born": {
                "type": "date",
                "bounds": ["1950-01-01", "1999-12-31"],
                "width": "1 year",
                "outside": chance.choice(outside),
            },
            "yes": {
                "type": "boolean",
                "true": ["ja", "1"],
                "false": ["nein", "0"],
                "outside": chance.choice(outside[:2]),
            },
        },
    }
    for fields in schema["attributes"].values():
        fields["null"] = chance.choice(nulls)
    return schema


def day_as(day: date, pattern: str) -> str:
    """A day as a pattern writes it."""
    return day.strftime(pattern.replace("%q", str((day.month + 2) // 3)))


def _joined(cells: list[str], csv: dict[str, Any]) -> bytes:
    mark, quote = csv.get("delimiter", ","), csv["quote"]
    made = [
        quote + cell.replace(quote, quote * 2) + quote if mark in cell or quote in cell else cell
        for cell in cells
    ]
    return mark.join(made).encode(csv.get("encoding", "utf-8"), "replace")


def _row(chance: Random, csv: dict[str, Any], k: int) -> bytes:
    null = chance.choice(["", *csv.get("nulls", [])])
    number = Decimal(chance.randint(-200_000, 700_000)) / 100
    pay = pay_as(number, csv)
    day = date(1945, 1, 1) + timedelta(days=chance.randint(0, 22_000))
    written = day_as(day, csv.get("dates", "%Y-%m-%d"))
    cells = [
        chance.choice(["", *(f"p{n}" for n in range(40))]),
        chance.choice([*TOWNS * 4, "bern", "é", f"{SECRET}{k}", null]),
        chance.choice([*map(str, range(0, 99, 5)), "-3", "130", "12.5", "ten", null]),
        chance.choice([pay, pay, pay, "1,5.5", "1e2", f"{SECRET}{k}", null]),
        chance.choice([written, written, day.isoformat(), "31.02.2000", "1970-13", "1970-Q5", "Q3", null]),
        chance.choice(["ja", "NEIN", "1", "0", "yes", f"{SECRET}{k}", null]),
        chance.choice(["", "x", 'say "so"', "it's", "a;b,c|d", f"{SECRET}{k}"]),
    ]
    line = _joined(cells, csv)
    luck = chance.random()
    mark = csv.get("delimiter", ",").encode()
    if luck < 0.04:
        return line + mark + SECRET.encode()
    if luck < 0.08:
        return line.rpartition(mark)[0]
    if luck < 0.1:
        return csv["quote"].encode() + line.replace(csv["quote"].encode(), b"")
    if luck < 0.12:
        return b""
    if luck < 0.14:
        return line + b"\0"
    return line + b"\xff" if luck < 0.17 else line


def pay_as(number: Decimal, csv: dict[str, Any]) -> str:
    """A number with the declared marks."""
    return f"{number:,.2f}".translate({44: csv.get("thousands", ""), 46: csv.get("decimal", ".")})


def independent(rows: Sequence[Sequence[Any] | None], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Counts by plain rules; a row is its cells, or None where it has none that can be told."""
    csv, attributes = schema["csv"], schema["attributes"]
    found: dict[str, Any] = {"rows": 0, "malformed": 0, "dropped": 0, "nobody": 0}
    columns = {name: Counter[str]() for name in attributes}
    people: Counter[Any] = Counter()
    for cells in rows:
        found["rows"] += 1
        if cells is None or len(cells) != len(NAMES):
            found["malformed"] += 1
            continue
        row = dict(zip(NAMES, cells, strict=True))
        lost = False
        for name, fields in attributes.items():
            what = judged(row[name], fields, csv)
            columns[name][what] += 1
            rule = fields["null"] if what == "nulls" else fields["outside"]
            if (
                what == "fine"
                or rule in ("category", "other")
                or (rule == "clip" and what in ("below", "above"))
            ):
                continue
            columns[name]["dropped"] += 1
            lost = True
        if lost:
            found["dropped"] += 1
        elif (key := _key(row["id"])) is None:
            found["nobody"] += 1
        else:
            people[key] += 1
    cap = schema["max_rows_per_person"]
    found["cut"] = sum(max(0, rows - cap) for rows in people.values())
    return found | {"columns": columns, "persons": len(people)}


def _split(line: bytes, csv: dict[str, Any]) -> list[str] | None:
    if b"\0" in line:
        return None
    try:
        text = line.decode(
            csv.get("encoding", "utf-8"), "strict" if csv.get("encoding") is None else "replace"
        )
    except UnicodeDecodeError:
        return None
    mark, quote = csv.get("delimiter", ","), csv["quote"]
    cells: list[str] = []
    while True:
        if text.startswith(quote):
            end = 1
            while end < len(text) and (text[end] != quote or text[end : end + 2] == quote * 2):
                end += 2 if text[end] == quote else 1
            if end >= len(text):
                return None
            cells.append(text[1:end].replace(quote * 2, quote))
            rest = text[end + 1 :]
            if rest and not rest.startswith(mark):
                return None
        else:
            cell, found, rest = text.partition(mark)
            cells.append(cell)
            rest = found + rest
        if not rest:
            return cells
        text = rest[1:]


def _key(cell: Any) -> Any:
    """A text and a number are never the same key; nothing else is one."""
    known = bool(cell) if isinstance(cell, str) else isinstance(cell, int | float) and cell == int(cell)
    return (isinstance(cell, str), cell) if known else None


def judged(cell: Any, fields: Mapping[str, Any], csv: Mapping[str, Any]) -> str:
    """What a cell is; one that is no text is read as its plain text, to which marks and patterns do not apply."""
    if cell is None or isinstance(cell, str):
        return _judged(cell or "", fields, csv)
    plain = {"nulls": csv.get("nulls", [])}
    if isinstance(cell, bool):
        return _judged(str(cell).lower(), fields, plain)
    if isinstance(cell, int | float):
        return _judged(f"{cell:.0f}" if cell == int(cell) else repr(cell), fields, plain)
    return _judged(cell.isoformat(), fields, plain) if isinstance(cell, date) else "unreadable"


def _judged(cell: str, fields: Mapping[str, Any], csv: Mapping[str, Any]) -> str:
    if cell == "" or cell in csv.get("nulls", []):
        return "nulls"
    if fields["type"] == "categorical":
        return "fine" if cell in fields["values"] else "unreadable"
    if fields["type"] == "boolean":
        return "fine" if cell.lower() in (*fields["true"], *fields["false"]) else "unreadable"
    if fields["type"] == "date":
        number: Any = _day(cell, csv.get("dates", "%Y-%m-%d"))
        if number is None:
            return "unreadable"
        low, high = (date.fromisoformat(end) for end in fields["bounds"])
    else:
        number = _number(cell, csv)
        if number is None or (fields["type"] == "integer" and ("e" in cell or number != int(number))):
            return "unreadable"
        if any(number == _number(token, {}) for token in csv.get("nulls", [])):
            return "nulls"
        low, high = fields["bounds"]
    return "below" if number < low else "above" if number > high else "fine"


def _day(cell: str, pattern: str) -> date | None:
    """A quarter, month or year is its first day."""
    if "%q" in pattern:
        found = re.fullmatch(pattern.replace("%Y", "([0-9]{4})").replace("%q", "([1-4])"), cell)
        return date(int(found[1]), 3 * int(found[2]) - 2, 1) if found else None
    try:
        return datetime.strptime(cell, pattern).date()
    except ValueError:
        return None


def _number(cell: str, csv: Mapping[str, Any]) -> Decimal | None:
    thousands, decimal = csv.get("thousands", ""), csv.get("decimal", ".")
    whole, _, rest = cell.lstrip("+-").partition(decimal)
    if thousands and thousands in whole:
        groups = whole.split(thousands)
        if not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:]):
            return None
    if "." in cell.replace(thousands, "") and decimal != ".":
        return None
    plain = whole.replace(thousands, "") if thousands else whole
    try:
        return Decimal(("-" if cell.startswith("-") else "") + plain + ("." + rest if rest else ""))
    except InvalidOperation:
        return None
