"""Odd files by seed: every feature that a schema can declare of text, and every defect that a preflight counts, mixed.

``independent`` counts what becomes of each row with Python's own means and none of the package's code.
"""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from random import Random
from typing import Any

SECRET = "Xq7Secret"
TOWNS = ["Bern", "Genf", "Zug", "Chur"]
NAMES = ["id", "town", "age", "pay", "born", "yes", "note"]
PATTERNS = ["", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d%b%Y"]


@dataclass(frozen=True)
class OddFile:
    """A file, its schema, the lines that are rows, and how they are written."""

    name: str
    data: bytes
    schema: dict[str, Any]
    lines: tuple[bytes, ...]


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
    if pattern := chance.choice(PATTERNS):
        csv["dates"] = pattern
    if chance.random() < 0.5:
        csv |= chance.choice([{"decimal": ","}, {"decimal": ",", "thousands": "."}, {"thousands": "'"}])
    if chance.random() < 0.2:
        csv |= {"header": False, "columns": NAMES}
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
    rows = [_row(chance, csv, schema, k) for k in range(chance.choice([0, 1, 30, 120]))]
    packed = chance.random() < 0.15
    header = [] if csv.get("header") is False else [_joined(NAMES, csv)]
    ending = chance.choice([b"\n", b"\r\n"])
    data = ending.join([*header, *rows]) + (b"" if chance.random() < 0.2 else ending)
    return OddFile(
        "d.csv.gz" if packed else "d.csv", gzip.compress(data) if packed else data, schema, tuple(rows)
    )


def _joined(cells: list[str], csv: dict[str, Any]) -> bytes:
    mark, quote = csv.get("delimiter", ","), csv["quote"]
    made = [
        quote + cell.replace(quote, quote * 2) + quote if mark in cell or quote in cell else cell
        for cell in cells
    ]
    return mark.join(made).encode(csv.get("encoding", "utf-8"), "replace")


def _row(chance: Random, csv: dict[str, Any], schema: dict[str, Any], k: int) -> bytes:
    null = chance.choice(["", *csv.get("nulls", [])])
    number = Decimal(chance.randint(-200_000, 700_000)) / 100
    pay = f"{number:,.2f}".translate({44: csv.get("thousands", ""), 46: csv.get("decimal", ".")})
    day = date(1945, 1, 1) + timedelta(days=chance.randint(0, 22_000))
    cells = [
        chance.choice(["", *(f"p{n}" for n in range(40))]),
        chance.choice([*TOWNS * 4, "bern", "é", f"{SECRET}{k}", null]),
        chance.choice([*map(str, range(0, 99, 5)), "-3", "130", "12.5", "ten", null]),
        chance.choice([pay, pay, pay, "1,5.5", "1e2", f"{SECRET}{k}", null]),
        chance.choice([day.strftime(csv.get("dates", "%Y-%m-%d")), day.isoformat(), "31.02.2000", null]),
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


def independent(file: OddFile) -> dict[str, Any]:
    """Counts by plain rules."""
    csv, attributes = file.schema["csv"], file.schema["attributes"]
    found: dict[str, Any] = {"rows": 0, "malformed": 0, "dropped": 0, "nobody": 0}
    columns = {name: Counter[str]() for name in attributes}
    people: Counter[str] = Counter()
    for line in file.lines:
        if not line.rstrip(b"\r"):
            continue
        found["rows"] += 1
        cells = _split(line, csv)
        if cells is None or len(cells) != len(NAMES):
            found["malformed"] += 1
            continue
        row = dict(zip(NAMES, cells, strict=True))
        lost = False
        for name, fields in attributes.items():
            what = _judged(row[name], fields, csv)
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
        elif not row["id"]:
            found["nobody"] += 1
        else:
            people[row["id"]] += 1
    cap = file.schema["max_rows_per_person"]
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


def _judged(cell: str, fields: dict[str, Any], csv: dict[str, Any]) -> str:
    if cell == "" or cell in csv.get("nulls", []):
        return "nulls"
    if fields["type"] == "categorical":
        return "fine" if cell in fields["values"] else "unreadable"
    if fields["type"] == "boolean":
        return "fine" if cell.lower() in (*fields["true"], *fields["false"]) else "unreadable"
    if fields["type"] == "date":
        try:
            number: Any = datetime.strptime(cell, csv.get("dates", "%Y-%m-%d")).date()
        except ValueError:
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


def _number(cell: str, csv: dict[str, Any]) -> Decimal | None:
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
