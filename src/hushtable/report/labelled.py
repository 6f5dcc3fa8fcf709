"""Records of a synthetic file as the labels of the released tables, so that both can be counted alike."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import polars as pl

from hushtable.axes import Axes
from hushtable.errors import UsageError
from hushtable.schema import Attribute, Schema
from hushtable.spreadsheets import read_csv

NULL = "(null)"


def read_records(path: str | PathLike[str], schema: Schema) -> pl.DataFrame:
    """A CSV or Parquet file as labels, one column per attribute; values outside the domain become null."""
    file = Path(path)
    try:
        parquet = file.suffix == ".parquet"
        frame = pl.read_parquet(file, glob=False) if parquet else read_csv(file, glob=False)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise UsageError(
            "report.microdata", f"The microdata {file} cannot be read.", "Give the --out of `hush microdata`."
        ) from None
    return label_records(frame, schema)


def label_records(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Every value as the label of its category."""
    missing = [name for name in schema.attributes if name not in frame.columns]
    if missing:
        raise UsageError(
            "report.microdata",
            f"The microdata has no column {missing[0]!r}.",
            "Give a file with every attribute of the release.",
        )
    axes = Axes.of(schema.sizes)
    columns: list[pl.Series] = []
    for (name, attribute), leaf in zip(schema.attributes.items(), axes.finest, strict=True):
        for axis in axes.chains[leaf]:
            names, above = schema.of_axis(axis).labels, axes.codes_above(leaf, axis)
            labels = [names[int(above[code])] for code in range(len(above))]
            columns.append(_labels(frame[name], attribute, labels).alias(schema.names[axis]))
    return frame.select(columns)


def _labels(values: pl.Series, attribute: Attribute, labels: Sequence[str]) -> pl.Series:
    """Each distinct value is looked up once; ``labels`` has one for each code."""
    distinct = values.unique(maintain_order=True)
    codes = [attribute.code_of(_plain(value, attribute)) for value in distinct.to_list()]
    names = pl.Series([None if c is None else labels[c] for c in codes], dtype=pl.String)
    keyed = pl.DataFrame({"value": distinct, "label": names})
    found = (
        values.alias("value")
        .to_frame()
        .join(keyed, on="value", how="left", nulls_equal=True, maintain_order="left")
    )
    return found["label"]


def _plain(value: object, attribute: Attribute) -> object:
    """A text from a CSV file as the kind of value that the attribute knows."""
    if not isinstance(value, str) or attribute.kind in ("categorical", "date"):
        return value
    if attribute.kind == "boolean":
        return {"true": True, "false": False}.get(value, value)
    try:
        return int(value) if attribute.kind == "integer" else float(value)
    except ValueError:
        return value
