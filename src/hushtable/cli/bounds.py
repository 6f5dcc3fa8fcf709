"""``hush bounds``: what nonnegative records must pay at a price, and where a release lies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import UsageError

EXAMPLE = 'Example: hush bounds --cells 100000 --budget "epsilon=1"'


def bounds(
    folder: Annotated[Path | None, Argument("Folder of a release, to see its place.", "DIR")] = None,
    cells: Annotated[int | None, Option("Number of counts, without a release.", "N")] = None,
    budget: Annotated[str | None, Option("Their price, without a release.", "BUDGET", short="-b")] = None,
    json: flags.Json = False,
) -> None:
    """Print the curve of the uncertainty principle: the more exact the sum, the worse some count, for any records.

    Errors are roots of mean squares.  No private records of this price lie below the line; records made by sequential
    fitting promise the other column.
    """
    if (folder is None) == (cells is None and budget is None) or (cells is None) != (budget is None):
        raise UsageError(
            "usage.bounds", "Give either a release, or --cells and --budget.", "Type hush bounds out."
        )
    if cells is not None and cells < 1:
        raise UsageError("usage.flags", "--cells must be a whole number of at least 1.", "Give --cells 100.")
    if folder is not None:
        curve = ht.release.curve_of(ht.Release.load(folder))
    else:
        price = ht.privacy.Budget.parse(budget or "")  # before what computes is loaded
        curve = ht.release.curve_at(cells or 0, price)
    if json:
        emit(curve.to_dict())
        return
    say(f"{curve.what}: {curve.cells:,} counts at {curve.price}")
    columns = ["error of the sum", "some count errs by at least", "records can promise"]
    grid(
        columns,
        [[_number(p.sum_error), _number(p.least), _number(p.promised)] for p in curve.points],
        right=columns,
    )
    for place in curve.places:
        say(
            f"{place.what}: the sum errs by {_number(place.sum_error)}, a count by {_number(place.point_error)}"
        )
    say(curve.reading)


def _number(error: float | None) -> str:
    if error is None:
        return "–"
    return f"{error:,.1f}" if error >= 10 else f"{error:.3g}"
