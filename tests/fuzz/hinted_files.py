"""Files with one thing wrong each, labelled with what a preflight must say of it and what cures it."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import polars as pl

ROWS = 60
FIELDS: dict[str, Any] = {
    "town": {"type": "categorical", "values": ["Zürich", "Bern", "Genève"]},
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "age": {"type": "integer", "bounds": [0, 99], "width": 10},
    "pay": {"type": "real", "bounds": [0, 9999], "bins": 5},
    "born": {"type": "date", "bounds": ["1920-01-01", "2020-12-31"], "width": "1 year"},
    "yes": {"type": "boolean"},
}
NAMES = ["id", *FIELDS]


def record(k: int) -> dict[str, str]:
    return {
        "id": f"p{k}",
        "town": ("Zürich", "Bern", "Genève")[k % 3],
        "sex": "FM"[k % 2],
        "age": str(7 * k % 90),
        "pay": f"{1000 + 37 * k % 900}.5",
        "born": (date(1950, 1, 1) + timedelta(days=97 * k)).isoformat(),
        "yes": ("yes", "no")[k % 2],
    }


Cell = Callable[[int, str], str]


def text(mark: str = ",", header: bool = True, **cells: Cell) -> str:
    lines = [mark.join(NAMES)] if header else []
    for k in range(ROWS):
        row = record(k)
        lines.append(mark.join(cells[n](k, row[n]) if n in cells else row[n] for n in NAMES))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Case:
    """The file, the code of the hint and a part of its fix, and what in the schema cures it, where that can."""

    data: bytes | str
    code: str
    fix: str
    cure: dict[str, Any] | None = None
    csv: dict[str, Any] = field(default_factory=dict)
    top: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    name: str = "d.csv"


def _csv(**dialect: Any) -> dict[str, Any]:
    return {"csv": dialect}


def _own(attribute: str, **fields: Any) -> dict[str, Any]:
    return {"attributes": {attribute: fields}}


def _parquet() -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_parquet(file)
    return file.getvalue()


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


def _smart(k: int, value: str) -> str:
    return "Bern" if k % 2 else "\u201eZürich\u201c"


UTF16 = text().encode("utf-16-le")
CASES: dict[str, Case] = {
    "latin-1": Case(text().encode("latin-1"), "encoding", "latin-1", _csv(encoding="latin-1")),
    "windows-1252": Case(
        text(town=_smart).encode("windows-1252"),
        "encoding",
        "windows-1252",
        _csv(encoding="windows-1252"),
        fields={"town": {"type": "categorical", "values": ["Bern", "\u201eZürich\u201c"]}},
    ),
    "utf-8 read as latin-1": Case(text(), "encoding", "utf-8", _csv(), csv={"encoding": "latin-1"}),
    "an old encoding": Case(text().encode("cp850"), "encoding", "cp850", _csv(encoding="cp850")),
    "another single-byte encoding": Case(
        text().encode("cp850"), "encoding", "cp850", _csv(encoding="cp850"), csv={"encoding": "latin-1"}
    ),
    "latin-1 in every row": Case(
        text(town=lambda k, v: "Zürich").encode("latin-1"), "encoding", "latin-1", _csv(encoding="latin-1")
    ),
    "utf-16": Case(b"\xff\xfe" + UTF16, "kind", "iconv"),
    "utf-16 without a mark": Case(UTF16, "kind", "iconv"),
    "semicolons": Case(text(";"), "delimiter", "delimiter: ;", _csv(delimiter=";")),
    "tabs": Case(text("\t"), "delimiter", '"\\t"', _csv(delimiter="\t")),
    "bars": Case(text("|"), "delimiter", "|", _csv(delimiter="|")),
    "commas in a tsv": Case(text(","), "delimiter", ",", _csv(delimiter=","), name="d.tsv"),
    "gzip": Case(gzip.compress(text().encode()), "kind", ".csv.gz"),
    "a spreadsheet": Case(_zip(), "kind", ".xlsx"),
    "parquet": Case(_parquet(), "kind", ".parquet"),
    "spss": Case(b"$FL2@(#) SPSS DATA FILE" + bytes(300), "kind", "SPSS"),
    "stata": Case(b"<stata_dta><header>" + bytes(300), "kind", "Stata"),
    "carriage returns": Case(text().replace("\n", "\r"), "line-breaks", "tr "),
    "separators at the end of rows": Case(
        text().replace("\n", ",\n").replace(",\n", "\n", 1), "separator-at-end", "first line"
    ),
    "a web page": Case("<html><table><tr><td>1</td></tr></table></html>\n", "kind", "spreadsheet"),
    "JSON": Case('[{"town": "Bern", "age": 3}]\n', "kind", "Parquet"),
    "text by another name": Case(text(), "kind", ".csv", name="d.txt"),
    "an old spreadsheet": Case(b"\xd0\xcf\x11\xe0" + bytes(600), "kind", ".xlsx", name="d.xls"),
    "an archive": Case(_zip(), "kind", "unpack", name="d.zip"),
    "apostrophes": Case(
        text(town=lambda k, v: f"'{v}'", sex=lambda k, v: f"'{v}'"), "quote", "quote", _csv(quote="'")
    ),
    "a title": Case("Register of the town\nAs of today\n" + text(), "title-lines", "Remove the lines"),
    "no header": Case(text(header=False), "header", "header: false", _csv(header=False, columns=NAMES)),
    "a header read as a row": Case(
        text(), "header", "header: false", None, csv={"header": False, "columns": NAMES}
    ),
    "line breaks in fields": Case(
        text(town=lambda k, v: f'"{v}\n"' if k % 3 == 0 else v), "quotes", "Parquet"
    ),
    "separators in fields": Case(text(town=lambda k, v: v + ",x" if k % 9 == 0 else v), "fields", "listed"),
    "a footer": Case(text() + "Total\nSource: us\n", "fields", "listed"),
    "NUL bytes": Case(text(town=lambda k, v: "\0" if k % 9 == 0 else v), "nul", "tr -d"),
    "NA": Case(text(age=lambda k, v: "NA" if k % 5 == 0 else v), "nulls", "NA", _csv(nulls=["NA"])),
    "question marks": Case(text(sex=lambda k, v: "?" if k % 5 == 0 else v), "nulls", "?", _csv(nulls=["?"])),
    "minus nine": Case(
        text(age=lambda k, v: "-9" if k % 5 == 0 else v),
        "nulls",
        "-9",
        _own("age", nulls=["-9"], null="category"),
    ),
    "9999": Case(
        text(age=lambda k, v: "9999" if k % 5 == 0 else v),
        "nulls",
        "9999",
        _own("age", nulls=[9999], null="category"),
    ),
    "days with points": Case(
        text(born=lambda k, v: ".".join(v.split("-")[::-1])), "dates", "%d.%m.%Y", _csv(dates="%d.%m.%Y")
    ),
    "American days": Case(
        text(born=lambda k, v: f"{v[5:7]}/{v[8:]}/{v[:4]}"), "dates", "%m/%d/%Y", _csv(dates="%m/%d/%Y")
    ),
    "quarters": Case(
        text(born=lambda k, v: f"{v[:4]}Q{(int(v[5:7]) + 2) // 3}"), "dates", "%YQ%q", _csv(dates="%YQ%q")
    ),
    "months": Case(text(born=lambda k, v: v[:7]), "dates", "%Y-%m", _csv(dates="%Y-%m")),
    "years": Case(text(born=lambda k, v: v[:4]), "years", "type: integer", _own("born", format="%Y")),
    "serial days": Case(text(born=lambda k, v: str(18000 + 97 * k)), "serial-days", "YYYY-MM-DD"),
    "a decimal comma": Case(
        text(";", pay=lambda k, v: v.replace(".", ",")),
        "decimal",
        "decimal",
        _csv(decimal=",", delimiter=";"),
        csv={"delimiter": ";"},
    ),
    "points and commas": Case(
        text(";", pay=lambda k, v: f"{v[0]}.{v[1:].replace('.', ',')}"),
        "thousands",
        "thousands",
        _csv(decimal=",", thousands=".", delimiter=";"),
        csv={"delimiter": ";"},
    ),
    "groups of digits": Case(
        text(";", pay=lambda k, v: f"{v[0]}'{v[1:]}"),
        "thousands",
        "thousands",
        _csv(thousands="'", delimiter=";"),
        csv={"delimiter": ";"},
    ),
    "decimal commas and semicolons, not declared": Case(
        text(";", pay=lambda k, v: v.replace(".", ","), age=lambda k, v: v + ",0"),
        "delimiter",
        "delimiter: ;",
        None,
    ),
    "percent signs": Case(text(age=lambda k, v: v + "%"), "unit", "Remove"),
    "a currency": Case(text(pay=lambda k, v: "CHF " + v), "unit", "Remove"),
    "a unit": Case(text(pay=lambda k, v: v + " km"), "unit", "Remove"),
    "ja and nein": Case(
        text(yes=lambda k, v: ("ja", "nein")[k % 2]),
        "words",
        "true: [ja]",
        _own("yes", true=["ja"], false=["nein"]),
    ),
    "one and two": Case(
        text(yes=lambda k, v: ("in", "out")[k % 2]), "words", "true:", _own("yes", true=["in"], false=["out"])
    ),
    "capitals": Case(text(sex=lambda k, v: v.lower()), "spelling", "values", _own("sex", values=["f", "m"])),
    "blanks": Case(text(sex=lambda k, v: v + " "), "spelling", "values", _own("sex", values=["F ", "M "])),
    "blanks around numbers": Case(text(age=lambda k, v: " " + v), "blanks", "blanks"),
    "floats of codes": Case(
        text(sex=lambda k, v: f"{k % 2}.0"),
        "spelling",
        "values",
        _own("sex", values=["0.0", "1.0"]),
        fields={"sex": {"type": "categorical", "values": [0, 1]}},
    ),
    "zeros before codes": Case(
        text(sex=lambda k, v: f"0{k % 2 + 1}"),
        "spelling",
        "values",
        _own("sex", values=["01", "02"]),
        fields={"sex": {"type": "categorical", "values": [1, 2]}},
    ),
    "labels": Case(
        text(sex=lambda k, v: ("female", "male")[k % 2]),
        "labels",
        "values",
        fields={"sex": {"type": "categorical", "values": [1, 2], "labels": {"1": "Female", "2": "Male"}}},
    ),
    "swapped columns": Case(
        text(sex=lambda k, v: record(k)["town"], town=lambda k, v: record(k)["sex"]),
        "another-column",
        "column",
    ),
    "another column": Case(
        text(),
        "another-column",
        "column: sex",
        _own("sex", column="sex"),
        fields={"sex": {"type": "categorical", "values": ["F", "M"], "column": "id"}},
    ),
    "headers inside": Case(text() + text(), "header-again", "repeated"),
    "fractions": Case(text(age=lambda k, v: v + ".5"), "type", "type: real"),
    "cents": Case(text(pay=lambda k, v: v.replace(".5", "50")), "bounds", "unit"),
    "an empty column": Case(text(age=lambda k, v: ""), "empty", "Leave the attribute out"),
    "no such values": Case(text(sex=lambda k, v: f"x{k}"), "no-value", "values"),
    "many rows of a person": Case(
        text(id=lambda k, v: f"p{k // 3}"),
        "cap",
        "max_rows_per_person",
        {"max_rows_per_person": 3},
        top={"person": "id"},
    ),
    "nobody": Case(text(id=lambda k, v: "" if k % 4 == 0 else v), "nobody", "person", top={"person": "id"}),
    "one person": Case(text(id=lambda k, v: "p"), "one-person", "person", top={"person": "id"}),
}
