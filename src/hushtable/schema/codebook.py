"""A schema from a codebook, without a look at the data: what an office publishes of its columns anyway.

* CSV with the columns ``column, value, label``, one line per value; a line without a value labels the column itself;
* DDI-Codebook (``.xml``): categories, ranges and missing values; its frequencies and statistics are never read;
* a Frictionless table schema or data package (``.json``): constraints, categories, missing values, words and marks.

Nothing of it is learnt from rows, so that nothing is marked.  A column without values or bounds is left out, with the
reason.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, log10
from os import PathLike
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

from hushtable.errors import HushtableError, SchemaError
from hushtable.schema import document, write
from hushtable.schema.build import RESERVED
from hushtable.schema.schema import Schema

BINS = 20
"""Bins of a range whose width nobody declares: a number to start from, like that of a draft."""
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z", re.ASCII)


@dataclass
class CodebookColumn:
    """A column as a codebook describes it."""

    name: str
    label: str = ""
    description: str = ""
    values: dict[str, str] = field(default_factory=dict[str, str])
    """Label of each value, "" for none."""
    nulls: list[str] = field(default_factory=list[str])
    low: str = ""
    high: str = ""
    kind: str = ""
    own: dict[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the attribute that the codebook says as a schema does."""


@dataclass
class Codebook:
    """All columns, and what is said of the file."""

    columns: dict[str, CodebookColumn] = field(default_factory=dict[str, CodebookColumn])
    csv: dict[str, Any] = field(default_factory=dict[str, Any])
    title: str = ""

    def column(self, name: str) -> CodebookColumn:
        return self.columns.setdefault(name, CodebookColumn(name))


def codebook_text(path: str | PathLike[str]) -> str:
    """YAML of a schema, with a comment for every column that is left out."""
    book = _read(Path(path))
    made: dict[str, Any] = {}
    left: list[str] = []
    for column in book.columns.values():
        fields, why = _attribute(column)
        name = f"{column.name}_" if column.name in RESERVED else column.name
        if fields is None or not name.isprintable():
            left.append(f"# {write.inline(column.name)} is left out: {why or 'its name cannot be printed'}")
            continue
        made[name] = fields | ({"column": column.name} if name != column.name else {})
    if not made:
        raise SchemaError(
            "schema.codebook-empty",
            "The codebook has no column with values or bounds.",
            "Give one that lists the values of categories, or the bounds of numbers.",
        )
    top: dict[str, Any] = {"max_rows_per_person": 1}
    top |= {"csv": book.csv} if book.csv else {}
    text = write.block(Schema.from_dict(top | {"attributes": made}).to_dict())
    head = "# From a codebook, without a look at the data. Check the unit of privacy; add `person` if a column has it."
    return "\n".join([head, *left, text])


def from_codebook(path: str | PathLike[str]) -> Schema:
    """The schema that a codebook stands for."""
    return Schema.loads(codebook_text(path))


def _attribute(column: CodebookColumn) -> tuple[dict[str, Any] | None, str]:
    """The fields of an attribute, or why there are none."""
    said: dict[str, Any] = {"label": column.label} if column.label else {}
    said |= {"description": column.description} if column.description else {}
    said |= {"nulls": column.nulls, "null": "category"} if column.nulls else {}
    if column.kind == "boolean":
        return {"type": "boolean"} | column.own | said, ""
    if column.values:
        whole = all(map(_WHOLE.match, column.values))
        values = [int(text) if whole else text for text in column.values]
        labels = {text: label for text, label in column.values.items() if label and label != text}
        shown = [labels.get(text, text) for text in column.values]
        if len(set(shown)) < len(shown):
            labels = {text: f"{label} ({text})" for text, label in labels.items()}
        fields: dict[str, Any] = {"type": "categorical", "values": values, "outside": "other"}
        return fields | ({"labels": labels} if labels else {}) | said, ""
    if not (column.low and column.high):
        return None, "the codebook has neither values nor bounds of it"
    try:
        return _binned(column) | column.own | said, ""
    except ValueError:
        return None, "its bounds are no numbers or days"


def _binned(column: CodebookColumn) -> dict[str, Any]:
    if column.kind == "date":
        return {"type": "date", "bounds": [column.low[:10], column.high[:10]], "width": "1 year"}
    if column.kind != "real" and _WHOLE.match(column.low) and _WHOLE.match(column.high):
        low, high = int(column.low), int(column.high)
        least = max((high - low + 1) / BINS, 1)
        power = 10 ** floor(log10(least))
        width = next(step * power for step in (1, 2, 5, 10) if step * power >= least)
        return {"type": "integer", "bounds": [low, high], "width": width}
    return {"type": "real", "bounds": [float(column.low), float(column.high)], "bins": BINS}


def _read(path: Path) -> Codebook:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SchemaError(
            "schema.codebook-kind",
            "The kind of the codebook is not known.",
            f"Give a file that ends in {', '.join(READERS)}.",
        )
    try:
        with path.open("rb") as file:
            data = file.read(document.MAX_STORED_BYTES + 1)
    except OSError:
        raise SchemaError(
            "schema.missing-file", f"The codebook {str(path)!r} cannot be read.", "Check the path."
        ) from None
    try:
        return reader(document.decode(data, document.MAX_STORED_BYTES))
    except HushtableError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ElementTree.ParseError,
        csv.Error,
        RecursionError,
    ):
        raise SchemaError(
            "schema.codebook-unreadable",
            "The codebook is not what its name says.",
            "Check that it is complete, and that its name ends as its kind does.",
        ) from None


def _listed(text: str) -> Codebook:
    """CSV of column, value, label; lines before it that begin with # are comments."""
    text = re.sub(r"\A(?:#[^\n]*\n)+", "", text)
    first = text.split("\n", 1)[0]
    mark = max(",;\t|", key=first.count)
    rows = csv.DictReader(io.StringIO(text), delimiter=mark)
    names = {(name or "").strip().casefold(): name for name in rows.fieldnames or ()}
    keys = {
        wanted: next((names[n] for n in known if n in names), None) for wanted, known in _HEADINGS.items()
    }
    if keys["column"] is None or keys["value"] is None:
        raise SchemaError(
            "schema.codebook-columns",
            "The codebook does not name its columns `column`, `value` and `label`.",
            "Write `column,value,label` into its first line.",
        )
    book = Codebook()
    for row in rows:
        name, value, label = ((row.get(key or "") or "").strip() for key in keys.values())
        if name and value:
            book.column(name).values[value] = label
        elif name:
            book.column(name).label = label
    return book


_HEADINGS = {
    "column": ("column", "variable", "name", "field"),
    "value": ("value", "code"),
    "label": ("label", "meaning", "description"),
}


def _ddi(text: str) -> Codebook:
    """DDI-Codebook 1 to 2.5, whatever its namespace; frequencies (catStat) and statistics (sumStat) are not read."""
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise ValueError("no document types")
    book = Codebook()
    for var in _every(ElementTree.fromstring(text), "var"):
        column = book.column(var.attrib["name"])
        column.label = _text(var, "labl")
        column.description = _text(var, "txt")
        for category in _every(var, "catgry"):
            value, missing = _text(category, "catValu"), category.attrib.get("missing", "N") == "Y"
            if value and missing:
                column.nulls.append(value)
            elif value:
                column.values[value] = _text(category, "labl")
        for part in _every(var, "invalrng"):
            column.nulls += [item.attrib["VALUE"] for item in _every(part, "item") if "VALUE" in item.attrib]
        for part in _every(var, "valrng"):
            for span in _every(part, "range"):
                column.low, column.high = span.attrib.get("min", ""), span.attrib.get("max", "")
        if any(form.attrib.get("formatname", "").startswith("DATE") for form in _every(var, "varFormat")):
            column.kind = "date"
        column.nulls = [text for text in dict.fromkeys(column.nulls) if text not in column.values]
    return book


def _every(node: ElementTree.Element, name: str) -> Iterable[ElementTree.Element]:
    return (child for child in node.iter() if child.tag.rpartition("}")[2] == name)


def _text(node: ElementTree.Element, name: str) -> str:
    """The text of a child of this name, with its blanks in order."""
    for child in node:
        if child.tag.rpartition("}")[2] == name:
            return " ".join("".join(child.itertext()).split())
    return ""


def _frictionless(text: str) -> Codebook:
    """A table schema, or the first table of a data package."""
    given: Any = json.loads(text)
    resource: Mapping[str, Any] = given["resources"][0] if "resources" in given else given
    schema: Mapping[str, Any] = resource.get("schema", resource)
    book = Codebook()
    nulls = [_plain(item) for item in schema.get("missingValues", [""])]
    if any(nulls):
        book.csv["nulls"] = [text for text in nulls if text]
    dialect = resource.get("dialect", {})
    if dialect.get("delimiter", ",") != ",":
        book.csv["delimiter"] = dialect["delimiter"]
    for given_field in schema["fields"]:
        _add_field(book, given_field)
    return book


def _add_field(book: Codebook, given: Mapping[str, Any]) -> None:
    column = book.column(given["name"])
    column.label, column.description = given.get("title", ""), given.get("description", "")
    rules: Mapping[str, Any] = given.get("constraints", {})
    for item in rules.get("enum", given.get("categories", ())):
        whole = cast("Mapping[str, Any]", item if isinstance(item, dict) else {"value": item})
        column.values[_plain(whole["value"])] = str(whole.get("label", ""))
    column.low, column.high = str(rules.get("minimum", "")), str(rules.get("maximum", ""))
    kind: str = given.get("type") or "string"
    column.kind = {"number": "real", "datetime": "date"}.get(kind, kind)
    if kind == "boolean" and ("trueValues" in given or "falseValues" in given):
        column.own = {
            "true": given.get("trueValues", ["true"]),
            "false": given.get("falseValues", ["false"]),
        }
    if kind == "date" and "%" in given.get("format", ""):
        column.own = {"format": given["format"]}
    if given.get("decimalChar", ".") != ".":
        book.csv["decimal"] = given["decimalChar"]
    if given.get("groupChar"):
        book.csv["thousands"] = given["groupChar"]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


READERS: dict[str, Callable[[str], Codebook]] = {".csv": _listed, ".xml": _ddi, ".json": _frictionless}
"""Readers of codebooks by the end of their name."""
