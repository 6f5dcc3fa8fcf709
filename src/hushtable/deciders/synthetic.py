"""A synthetic table from any generator: its rows, converted once, and its answers.

Public as far as this package is concerned: the guarantee of a verdict does not cover a synthetic file that was made
from confidential rows without privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, cast

import polars as pl

from hushtable.deciders.columns import Columns, find
from hushtable.deciders.queries import Query, atoms
from hushtable.deciders.selecting import as_polars, grid_values, matching, misread, typed
from hushtable.deciders.supposed import Supposed
from hushtable.errors import QueryError
from hushtable.outputs import is_taken
from hushtable.spreadsheets import read_csv

_KINDS = {
    "categorical": "one of its categories",
    "integer": "a whole number",
    "real": "a number",
    "boolean": "true or false",
    "date": "a day",
}


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Rows with exactly the declared attributes; made by ``of``.  No value of a ``misread`` column could be read."""

    frame: pl.DataFrame
    columns: Columns
    misread: frozenset[str] = frozenset()

    @classmethod
    def of(cls, data: Any, columns: Columns) -> Synthetic:
        """A path of a CSV, TSV or Parquet file, or a polars, pandas or Arrow table."""
        if isinstance(data, Synthetic) and data.columns == columns:
            return data
        if isinstance(data, Synthetic):
            data = data.frame
        if isinstance(data, str | PathLike):
            data = read(cast("str | PathLike[str]", data))
        table = as_polars(data)
        made = typed(table, columns)
        return cls(made, columns, misread(table, made))

    def suppose(self, query: Query) -> Supposed:
        """What a resolved query aggregates, as data that one may suppose the truth to look like."""
        named = [atom.column for atom in (() if query.where is None else atoms(query.where))]
        for name in self.misread.intersection([*named, *([query.column] if query.column else [])]):
            raise QueryError(
                "query.misread-column",
                f"No value of {name!r} in the synthetic file is {_KINDS[find(self.columns, name).kind]}.",
                "Give values as the schema declares them; records with bands (--labels) have none to compare.",
            )
        if query.column is None:
            return Supposed.count(matching(query, self.frame, self.columns).height)
        values = grid_values(query, self.frame, self.columns)
        return Supposed.of(values, find(self.columns, query.column).grid(), query.quantile or Fraction(1, 2))


def read(path: str | PathLike[str]) -> pl.DataFrame:
    """A file as a frame; delimited text is read as text, so that one row cannot change what another means.

    An apostrophe that ``hush microdata`` put before a text that a spreadsheet would run is taken away.
    """
    file = Path(path)
    name = file.name.lower()
    if not is_taken(file):
        raise QueryError(
            "query.no-synthetic",
            f"There is no synthetic file {file.name!r}.",
            "Check the path; `hush microdata` writes one from a release.",
        )
    try:
        if name.endswith((".parquet", ".pq")):
            return pl.read_parquet(file, glob=False)
        separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        return read_csv(file, separator=separator, glob=False)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise QueryError(
            "query.unreadable-synthetic",
            f"The synthetic file {file.name!r} cannot be read.",
            "Give a CSV, TSV or Parquet file with one column per attribute.",
        ) from None
