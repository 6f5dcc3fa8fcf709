"""Text that strangers wrote, in a CSV file: none of it is run as a formula by a spreadsheet.

Such a text gets an apostrophe in front, and ``read_csv`` takes exactly that apostrophe away again.  Parquet needs none
and is left as it is.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, overload

from hushtable.lazily import TYPE_CHECKING, Later

if TYPE_CHECKING:  # the first line of a file is read without it
    import polars as pl
else:
    pl = Later("polars")

_RISKY = r"^'*[=+\-@\t\r\n＝＋－＠]"
"""What spreadsheets take for the beginning of a formula, behind any number of apostrophes."""
_NUMBER = r"^'*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""Never a formula, also as a text."""


@overload
def write_csv(frame: pl.DataFrame, file: None = None, *, raw: bool = False) -> str: ...
@overload
def write_csv(frame: pl.DataFrame, file: Path | IO[bytes], *, raw: bool = False) -> None: ...
def write_csv(frame: pl.DataFrame, file: Path | IO[bytes] | None = None, *, raw: bool = False) -> str | None:
    """Write CSV that is safe to open in a spreadsheet; with ``raw`` every text is as it is.  No file: return it."""
    return (frame if raw else neutralised(frame)).write_csv(file)


def read_csv(file: Path | bytes, *, separator: str = ",", raw: bool = False, **options: Any) -> pl.DataFrame:
    """Read CSV as text, undoing what ``write_csv`` did."""
    frame = pl.read_csv(file, infer_schema=False, separator=separator, **options)
    return frame if raw else restored(frame)


def csv_columns(file: Path) -> list[str]:
    """The names that ``read_csv`` would give its columns, by the first line alone; ValueError where there is none."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            names = next(csv.reader(text), list[str]())
    except csv.Error:
        raise ValueError from None
    return [name[1:] if name.startswith("'") and _is_formula(name) else name for name in names]


def neutralised(frame: pl.DataFrame) -> pl.DataFrame:
    """An apostrophe before every text (and column name) that a spreadsheet would run; numbers stay.

    A text with apostrophes before such a beginning gets one more, so that taking one away is always right.
    """
    texts = frame.select(pl.selectors.by_dtype(pl.String, pl.Categorical, pl.Enum))
    return _renamed(frame.with_columns(_prefixed(column) for column in texts), _prefixed)


def restored(frame: pl.DataFrame) -> pl.DataFrame:
    """What ``neutralised`` was given."""
    texts = frame.select(pl.selectors.string())
    return _renamed(frame.with_columns(_stripped(column) for column in texts), _stripped)


def _prefixed(texts: pl.Series) -> pl.Series:
    """Few texts fill many rows, so the distinct ones are looked at first."""
    if not _runs(texts.unique().cast(pl.String)).any():
        return texts
    texts = texts.cast(pl.String)
    return ("'" + texts).alias(texts.name).zip_with(_runs(texts).fill_null(False), texts)


def _stripped(texts: pl.Series) -> pl.Series:
    quoted = texts.str.starts_with("'")
    return (
        texts.str.slice(1).zip_with((quoted & _runs(texts)).fill_null(False), texts)
        if quoted.any()
        else texts
    )


def _runs(texts: pl.Series) -> pl.Series:
    """Which texts a spreadsheet might run as a formula, as they are or behind apostrophes."""
    return texts.str.contains(_RISKY) & ~texts.str.contains(_NUMBER)


def _is_formula(text: str) -> bool:
    return re.search(_RISKY, text) is not None and re.search(_NUMBER, text) is None


def _renamed(frame: pl.DataFrame, change: Callable[[pl.Series], pl.Series]) -> pl.DataFrame:
    """The frame with its column names changed too, unless two of a stranger's columns would then have one name."""
    names = change(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return (
        frame.rename(dict(zip(frame.columns, names, strict=True))) if len({*names}) == len(names) else frame
    )
