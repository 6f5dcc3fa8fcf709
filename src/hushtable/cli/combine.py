"""``hush combine``: any sums of released cells, with their exact errors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, print_csv, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import UsageError

EXAMPLE = "Example: hush combine out weights.csv"


def combine(
    folder: flags.ReleaseFolder,
    weights: Annotated[Path, Argument("CSV file: a cell in each row, its weight, maybe a name.", "WEIGHTS")],
    alpha: flags.Alpha = 0.05,
    csv: Annotated[bool, Option("Print CSV.")] = False,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Add up released cells: areas across a tree, differences, indices.

    A row of the file names a cell by its columns that are not empty (attributes or levels) and has a `weight`; rows
    with the same `name`, if there is such a column, are one sum.
    """
    with _readable():
        columns = ht.spreadsheets.csv_columns(weights)
    ht.release.Outline.read(folder).check_weights(columns)
    release = ht.Release.load(folder)
    with _readable():
        given = ht.spreadsheets.read_csv(weights)
    found = ht.release.combination_of(release, given, alpha)
    if json:
        emit(found.to_dict())
    elif csv:
        print_csv(found.frame, raw=raw)
    else:
        rows = [[row[0], *(f"{value:,.1f}" for value in row[1:])] for row in found.frame.rows()]
        grid(found.frame.columns, rows, right=found.frame.columns[1:])
        say(found.promise)


@contextmanager
def _readable() -> Generator[None]:
    """Whatever goes wrong inside, the file of weights is not one."""
    try:
        yield
    except (OSError, ValueError):
        raise UsageError(
            "usage.weights", "The file of weights cannot be read.", "Give a CSV file with a column `weight`."
        ) from None
