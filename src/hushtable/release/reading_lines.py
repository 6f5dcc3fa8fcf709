"""Lines that open a file in pandas, polars, R and Excel: what a README shows for the files that are there."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps


@dataclass(frozen=True)
class ReadingLines:
    """A line for each tool; "" where a tool has none for such a file."""

    pandas: str = ""
    polars: str = ""
    r: str = ""
    excel: str = ""


EXCEL_INSTEAD = "Excel does not open these files: hush export DIR --format xlsx writes a workbook."


def parquet_lines(file: str) -> ReadingLines:
    """Of a Parquet file."""
    path = dumps(file)
    return ReadingLines(
        f"import pandas; pandas.read_parquet({path})",
        f"import polars; polars.read_parquet({path})",
        r_line("arrow", f"arrow::read_parquet({path})"),
        EXCEL_INSTEAD,
    )


def csv_lines(file: str) -> ReadingLines:
    """Of a CSV file in UTF-8; a category that is called NA is no missing value."""
    path = dumps(file)
    return ReadingLines(
        f'import pandas; pandas.read_csv({path}, keep_default_na=False, na_values=[""])',
        f"import polars; polars.read_csv({path})",
        f'read.csv({path}, check.names = FALSE, na.strings = "", encoding = "UTF-8")',
        f"Data > From Text/CSV > {file}, file origin 65001: Unicode (UTF-8)",
    )


def r_line(package: str, call: str) -> str:
    """A call for which a plain R does not suffice, with what to install once."""
    return f'{call}  # once: install.packages("{package}")'


def how_to_read(lines: ReadingLines) -> list[str]:
    """The part of a README; paths are from the folder that it lies in."""
    named = (("pandas", lines.pandas), ("polars", lines.polars), ("R", lines.r), ("Excel", lines.excel))
    return [
        "To read it, from inside this folder",
        *(f"  {tool + ':':<8} {line}" for tool, line in named if line),
    ]
