"""The data dictionary of records: what each column is, and which are bands that hide where a value lay."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import polars as pl

from hushtable.release.data_packages import DataPackage, FieldEntry, FieldType, ResourceEntry
from hushtable.schema import RECORD_WEIGHT, Attribute, Binned, Categorical, Schema, months_of, text_of
from hushtable.texts import counted

BAND, VALUE, CATEGORY, LEVEL = "band", "value", "category", "level"
WEIGHT = "weight"
_WEIGHT = "with it the records add up to official figures; without it, every record counts as one"
_COLUMNS = ("column", "title", "what", "value", "label", "meaning")
_BAND = "drawn evenly inside the band {label}: where in it a person lay is not known"
_LABEL = "a band; where in it a person lay is not known"
_EXACT = "the value itself: every band of this column has one value"


def is_band(attribute: Attribute) -> bool:
    """Whether a category of it stands for several values."""
    if not isinstance(attribute, Binned):
        return False
    months = months_of(attribute.pattern)
    if months:
        return any(first != start or after < end for start, end, first, after in _periods(attribute, months))
    widths = [end - start for start, end in zip(attribute.starts, attribute.starts[1:], strict=False)]
    return attribute.kind == "real" or max(widths) > 1


def _periods(attribute: Binned, months: int) -> Iterator[tuple[int, int, int, int]]:
    """Of each bin of days, where it starts and ends, and where the month, quarter or year of its start does."""
    for start, end in zip(attribute.starts, attribute.starts[1:], strict=False):
        begun = date(1970, 1, 1) + timedelta(days=int(start))
        count = (begun.year * 12 + begun.month - 1) // months * months
        first, after = (date(k // 12, k % 12 + 1, 1) for k in (count, count + months))
        yield int(start), int(end), _number(first), _number(after)


def _value(made: Attribute, code: int) -> str:
    """What a record has of a bin with one value: its label, or of a month that is written alone its first day."""
    if isinstance(made, Binned) and months_of(made.pattern):
        return (date(1970, 1, 1) + timedelta(days=int(made.starts[code]))).isoformat()
    return made.labels[code]


def _number(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def band_note(schema: Schema) -> tuple[str, ...]:
    """A sentence about the columns whose values were drawn inside bands, if there are any."""
    bands = [name for name, attribute in schema.attributes.items() if is_band(attribute)]
    if not bands:
        return ()
    listed = ", ".join(bands[:6]) + (", ..." if len(bands) > 6 else "")
    return (
        f"Values of {counted(len(bands), 'column')} ({listed}) were drawn evenly inside bands: rely on the bands, "
        "which --labels writes.",
    )


def data_dictionary(schema: Schema, frame: pl.DataFrame, *, labels: bool) -> pl.DataFrame:
    """One row for each column and each of its categories or bands."""
    rows = [row for name in frame.columns for row in _rows(schema, name, labels)]
    return pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")


def _rows(schema: Schema, name: str, labels: bool) -> Iterator[tuple[str, ...]]:
    if _is_weight(schema, name):
        yield (name, name, WEIGHT, "", "", _WEIGHT)
        return
    attribute = schema.attributes.get(name)
    made = schema.levels[name] if attribute is None else attribute
    title, meaning = made.label or name, made.description or ""
    what = (
        LEVEL
        if attribute is None
        else BAND
        if is_band(made)
        else VALUE
        if isinstance(made, Binned)
        else CATEGORY
    )
    yield (name, title, what, "", "", meaning)
    for code, label in enumerate(made.labels):
        if code >= made.regular:
            yield (
                name,
                title,
                what,
                "" if code == made.null_code else label,
                label,
                "not one of the declared values",
            )
        elif what == BAND:
            yield (
                name,
                title,
                what,
                label if labels else "",
                label,
                _LABEL if labels else _BAND.format(label=label),
            )
        elif what == VALUE:
            yield (name, title, what, label if labels else _value(made, code), label, _EXACT)
        else:
            value = made.texts[code] if isinstance(made, Categorical) else text_of(made.values_of(code))
            yield (name, title, what, label if what == LEVEL else value, label, "")


def records_package(schema: Schema, frame: pl.DataFrame, file: str, dictionary: str) -> DataPackage:
    """The data package of a file of records and its dictionary."""
    about, suffix = schema.about, file.rpartition(".")[2].lower()
    media = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}[suffix]
    fields = tuple(_field(schema, column) for column in frame.get_columns())
    described = tuple(FieldEntry(name, "string") for name in _COLUMNS)
    return DataPackage(
        name="records",
        title=about.title or "Synthetic records",
        description="Records made from differentially private tables: no row is a person.",
        resources=(
            ResourceEntry("records", file, suffix, media, "records", fields),
            ResourceEntry("dictionary", dictionary, "csv", "text/csv", "what the columns are", described),
        ),
        sources=(about.source,) if about.source else (),
        contributors=(about.contact,) if about.contact else (),
    )


def _is_weight(schema: Schema, name: str) -> bool:
    return name == RECORD_WEIGHT and name not in schema.names


def _field(schema: Schema, column: pl.Series) -> FieldEntry:
    if _is_weight(schema, column.name):
        return FieldEntry(column.name, "number", "", _WEIGHT)
    made = schema.attributes.get(column.name) or schema.levels[column.name]
    kinds: dict[str, FieldType] = {
        "Int64": "integer",
        "Float64": "number",
        "Boolean": "boolean",
        "Date": "date",
    }
    kind = kinds.get(str(column.dtype), "string")
    band = is_band(made) and kind != "string"
    meaning = "drawn evenly inside bands; see the dictionary" if band else made.description or ""
    return FieldEntry(column.name, kind, made.label or "", meaning)
