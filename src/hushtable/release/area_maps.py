"""Another tree over the same leaves: a public file that says which area each category lies in, read after a release.

Every area is a sum of released categories, unbiased and with its exact error, so it agrees with them and with every
other tree over them; nothing is spent.  A category that the file does not name lies in no area.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hushtable.errors import WorkloadError
from hushtable.release.outline import MOST_SHOWN

if TYPE_CHECKING:
    from hushtable.release.outline import Outline


AreaMap = Mapping[Any, str] | str | PathLike[str]
"""Areas by category, or a CSV file with a column of each."""

MOST_BYTES = 64 * 2**20
"""Of a file of areas: ten times what a million categories take.  It bounds memory."""


def areas_in(
    outline: Outline, given: AreaMap, attribute: str | None = None
) -> tuple[str, dict[str, list[Any]]]:
    """What the areas are called, and the categories of each, checked against the schema.

    A file has two columns with headings.  That of the categories is called like their attribute or level, or comes
    first.
    """
    if isinstance(given, Mapping):
        name, pairs, rows = "area", list(given.items()), dict[Any, int]()
    else:
        name, pairs, lines = _read(Path(given), outline, attribute)
        rows = {leaf: line for (leaf, _), line in zip(reversed(pairs), reversed(lines), strict=True)}
    found: dict[str, list[Any]] = {}
    seen: dict[Any, str] = {}
    for leaf, area in pairs:
        if seen.setdefault(leaf, area) != area:
            raise _wrong(
                f"The category {str(leaf)[:MOST_SHOWN]!r} lies in two areas.",
                "Give each category one area, and other areas another file.",
            )
        found.setdefault(str(area), []).append(leaf)
    if not found:
        raise _wrong("There is no area.", "Give a category and its area in each row.")
    for leaves in found.values():
        outline.area(leaves, attribute, rows)
    return name, {area: list(dict.fromkeys(leaves)) for area, leaves in found.items()}


def _read(
    file: Path, outline: Outline, attribute: str | None
) -> tuple[str, list[tuple[Any, str]], list[int]]:
    """What the areas are called, each category with its area, and the rows that they stand in."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise _wrong(f"{file.name} is too large.", "Keep two columns.")
        with file.open(encoding="utf-8-sig", newline="") as text:
            (_, heads), *numbered = [(n, row) for n, row in enumerate(csv.reader(text), 1) if row]
            rows = [row for _, row in numbered]
    except (OSError, ValueError, csv.Error):
        raise _wrong(f"{file.name} cannot be read.", "Give a CSV file in UTF-8 with headings.") from None
    if len(heads) != 2 or any(len(row) != 2 for row in rows):
        raise _wrong(
            f"{file.name} does not have two columns in every row.", "Write for example `county,hospital`."
        )
    known = {*outline.schema.names, *outline.schema.attributes, *filter(None, [attribute])}
    turned = heads[1] in known and heads[0] not in known
    pairs = [(row[1], row[0]) if turned else (row[0], row[1]) for row in rows]
    name = heads[0] if turned else heads[1]
    return name, cast("list[tuple[Any, str]]", pairs), [line for line, _ in numbered]


def checked_areas(outline: Outline, given: AreaMap, by: Sequence[str], attribute: str | None = None) -> None:
    """Refuse areas that cannot be summed, without the numbers of the release."""
    _, found = areas_in(outline, given, attribute)
    outline.sum_axes(outline.area(next(iter(found.values())), attribute)[0], by)


def _wrong(message: str, fix: str) -> WorkloadError:
    return WorkloadError("area.map", message, fix)
