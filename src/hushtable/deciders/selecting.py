"""A resolved query on a frame: which rows match, their values on the grid, and the answer.

Used for synthetic files, and by the confidential side for its own rows.  Vectorised in polars; a comparison with a
null selects nothing, as in SQL.  Values that cannot be read as the attribute's kind count as nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, cast

import numpy as np
import polars as pl

from hushtable.arrays import Ints
from hushtable.deciders.columns import Column, Columns, find
from hushtable.deciders.queries import COMPARE, And, Atom, In, IsNull, Or, Predicate, Query, Relation, Term
from hushtable.errors import QueryError
from hushtable.schema import FALSE_TEXTS, RECORD_WEIGHT, TRUE_TEXTS, text_of

_DTYPES: dict[str, Any] = {"integer": pl.Int64, "real": pl.Float64, "boolean": pl.Boolean, "date": pl.Date}


def check_header(names: Iterable[str], columns: Columns) -> None:
    """Refuses a file whose columns are not exactly the declared attributes; weights of our own records may be there,
    and count for nothing."""
    given = list(names)
    _require(given, columns)
    extra = [name for name in given if name not in columns and name != RECORD_WEIGHT]
    if extra:
        raise QueryError(
            "query.extra-column",
            f"The synthetic file has a column {extra[0]!r} that the schema does not have.",
            "Drop it, or rename it.",
        )


def _require(given: Sequence[str], names: Iterable[str]) -> None:
    for name in names:
        if name not in given:
            raise QueryError(
                "query.missing-column", f"The synthetic file has no column {name!r}.", "Add it, or rename it."
            )


def matching(query: Query, frame: Any, columns: Columns) -> pl.DataFrame:
    """The rows that the query aggregates, with the columns that it reads, as the kinds that are declared."""
    table = as_polars(frame)
    names = sorted(query.columns)
    if not names:
        return table
    _require(table.columns, names)
    typed = table.select(_typed(find(columns, name), table.schema[name]) for name in names)
    kept = typed if query.where is None else typed.filter(_expression(query.where, columns))
    return kept if query.column is None else kept.filter(pl.col(query.column).is_not_null())


def grid_values(query: Query, frame: Any, columns: Columns) -> Ints:
    """Values of the aggregated attribute in the matching rows, in grid steps, clamped to the bounds."""
    if query.column is None:
        raise QueryError("query.not-a-number", "COUNT has no values.", "Use matching().height.")
    column = find(columns, query.column)
    grid = column.grid()
    values = matching(query, frame, columns)[query.column].to_numpy()
    if column.resolution is not None and column.resolution != 1:
        values = np.rint(values * float(1 / column.resolution))
    return np.clip(values, grid[0], grid[-1]).astype(np.int64)


def as_polars(frame: Any) -> pl.DataFrame:
    """A polars frame of itself, an Arrow table or a pandas frame."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        read = pl.from_arrow if hasattr(frame, "column_names") else pl.from_pandas
        made = cast("object", read(frame))
    except (TypeError, ValueError, ImportError, pl.exceptions.PolarsError):
        made = None
    if not isinstance(made, pl.DataFrame):
        raise QueryError(
            "query.not-a-frame",
            "The synthetic data are not a table.",
            "Give a polars, pandas or Arrow table.",
        ) from None
    return made


def _typed(column: Column, given: Any) -> pl.Expr:
    """The column as its declared kind; what cannot be read is null, and what is of that kind stays as it is."""
    source = pl.col(column.name)
    if _ready(column, given):
        return source
    if isinstance(given, pl.Categorical | pl.Enum):
        source, given = source.cast(pl.String), pl.String()
    if given.is_float():
        source = source.fill_nan(None)
        if column.kind == "integer" or _whole_values(column):
            source = pl.when(source == source.round()).then(source).alias(column.name)
    if column.kind == "categorical":
        return source.cast(pl.Int64 if _whole_values(column) else pl.String, strict=False)
    if column.kind == "date" and given == pl.String:
        return source.str.to_date("%Y-%m-%d", strict=False)
    if column.kind == "boolean" and given == pl.String:
        text = source.str.to_lowercase()
        return (
            pl.when(text.is_in(TRUE_TEXTS))
            .then(True)
            .when(text.is_in(FALSE_TEXTS))
            .then(False)
            .alias(column.name)
        )
    return source.cast(_DTYPES[column.kind], strict=False)


def typed(frame: Any, columns: Columns) -> pl.DataFrame:
    """All declared columns of a table, converted once: queries on the result convert nothing."""
    table = as_polars(frame)
    check_header(table.columns, columns)
    try:
        made = table.select(_typed(column, table.schema[name]) for name, column in columns.items())
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ):  # columns of lists, of bytes and the like
        raise QueryError(
            "query.odd-column",
            "A column of the synthetic table holds neither numbers nor text nor days.",
            "Give a table with one plain column per attribute.",
        ) from None
    texts = [name for name, kind in made.schema.items() if kind == pl.String]
    return made.with_columns(made[name].cast(_enumeration(made[name], columns[name])) for name in texts)


def misread(table: pl.DataFrame, made: pl.DataFrame) -> frozenset[str]:
    """Columns that hold something, and nothing that could be read: all of it became null."""
    lost = (name for name in made.columns if made[name].null_count() == made.height)
    return frozenset(name for name in lost if table[name].null_count() < table.height)


def _enumeration(texts: pl.Series, column: Column) -> pl.Enum:
    """The declared categories, then what else occurs."""
    declared = [_plain(value, column) for value in column.values]
    found = texts.drop_nulls().unique(maintain_order=True).to_list()
    return pl.Enum(list(dict.fromkeys([*declared, *found])))


def _ready(column: Column, given: Any) -> bool:
    """Whether a column of this type needs no conversion."""
    if column.kind == "categorical" and isinstance(given, pl.Enum):
        return not _whole_values(column) and {_plain(v, column) for v in column.values} <= {*given.categories}
    if column.kind == "integer" or _whole_values(column):
        return bool(given.is_integer())
    if column.kind == "categorical":
        return given == pl.String
    return given == _DTYPES[column.kind] != pl.Float64


def _whole_values(column: Column) -> bool:
    """Whether the categories are whole numbers."""
    return bool(column.values) and all(isinstance(value, Fraction) for value in column.values)


def _expression(where: Predicate, columns: Columns) -> pl.Expr:
    if isinstance(where, And | Or):
        join: Callable[[pl.Expr, pl.Expr], pl.Expr] = (
            pl.Expr.__and__ if isinstance(where, And) else pl.Expr.__or__
        )
        return reduce(join, (_expression(part, columns) for part in where.parts))
    return _atom(where, find(columns, where.column))


def _atom(atom: Atom, column: Column) -> pl.Expr:
    source = pl.col(atom.column)
    if isinstance(atom, IsNull):
        return source.is_not_null() if atom.negated else source.is_null()
    if isinstance(atom, In):
        found = source.is_in(_members(atom, column))
        return (~found if atom.negated else found).fill_null(False)
    if isinstance(atom, Relation):
        return COMPARE[atom.operator](source, pl.lit(_plain(atom.value, column))).fill_null(False)
    raise QueryError(
        "query.unresolved", "LIKE needs the declared values.", "Resolve the query with the schema first."
    )


def _members(atom: In, column: Column) -> list[Any]:
    """The values of a list, all of one type; a fraction is no member of a column of whole numbers."""
    if column.kind == "real":
        return [float(value) for value in atom.values if isinstance(value, Fraction)]
    values = [value for value in atom.values if not isinstance(value, Fraction) or value.denominator == 1]
    return [_plain(value, column) for value in values]


def _plain(value: Term, column: Column) -> Any:
    """The value as the typed column holds it; categories of mixed types are texts."""
    plain = value
    if isinstance(value, Fraction):
        plain = int(value) if value.denominator == 1 else float(value)
    if column.kind == "categorical" and not _whole_values(column) and isinstance(plain, int | bool):
        return text_of(plain)
    return plain
