"""A first schema from a look at the data, for the curator to review.

The draft is a guess: types, values and bounds come from confidential rows, and the names of a text file's columns from
its first line, which may be a record.  Every such field ends with a mark and is recorded under ``learnt_from_data``; no
release accepts the schema until each has been reviewed.  Numbers of rows are never written down, bounds are rounded
outwards and rare values are not listed; a first line that does not look like a header is read as a record, and columns
are named by position.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import ceil, floor, log10
from typing import Any

from hushtable.errors import SourceError
from hushtable.kernel.sources import look_at
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.profile import Profile, day
from hushtable.schema import RESERVED, Dialect, inline

MOST_CATEGORIES = 100  # texts with more different values are left out, as identifiers or free text
FEW_NUMBERS = 20  # whole numbers with so few different values are taken for categories
RARE = 10  # values seen less often are not listed
MOSTLY = 0.95  # share of fields that must be readable as a number or date
BINS = 25  # of whole numbers, at most: their width is the next of 1, 2, 5, 10, ...
"""Rules of thumb, not measured: they move only what a draft proposes, every line of which is marked for review."""
_LARGEST = 10**17
"""A schema's bounds end at 10^18; a draft rounds outwards what it saw, to less than 3 * 10^17."""
_MARK = "  # learnt from the data: review"


@dataclass
class _Entry:
    """One attribute of the draft: fields in order, and which of them were learnt; no fields: left out."""

    name: str
    note: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    learnt: tuple[str, ...] = ()


def draft_schema(data: Any, *, header: bool | None = None) -> str:
    """YAML text of a schema for data of any kind that can be looked at.

    ``header`` says whether the first line of a text file names its columns; None: as it looks.
    """
    seen = look_at(data, header)
    entries = [_entry(profile) for profile in seen.profiles]
    entries += [
        _Entry(name, "left out: this type of column cannot be an attribute") for name in seen.unreadable
    ]
    if not any(entry.fields for entry in entries):
        raise SourceError(
            "source.nothing-to-draft",
            "No column of the data can be made an attribute.",
            "Write the schema by hand; docs/reference/schema.md shows how.",
        )
    return "\n".join(_document(seen, entries)) + "\n"


def _entry(profile: Profile) -> _Entry:
    name = profile.name
    if not profile.filled:
        return _Entry(name, "left out: it is empty")
    if not name.isprintable() or name in RESERVED:
        return _Entry(repr(name), "left out: give it another, printable name and this one as `column`")
    nulls = {"null": "category"} if profile.nulls else {}
    learnt = ("null",) if profile.nulls else ()
    entry = _guess(profile)
    entry.fields |= nulls if entry.fields else {}
    entry.learnt += learnt if entry.fields else ()
    return entry


def _guess(profile: Profile) -> _Entry:
    counts, enough = profile.counts, MOSTLY * profile.filled
    if profile.is_boolean:
        return _Entry(profile.name, "two values that mean yes and no", {"type": "boolean"}, ("type",))
    if profile.days.count >= enough:
        return _date(profile)
    if profile.integers.count >= enough and not profile.padded:
        if counts is not None and len(counts) <= FEW_NUMBERS and not profile.all_different:
            return _categories(profile, counts)
        return _integer(profile)
    if profile.reals.count >= enough and not profile.padded:
        return _real(profile)
    if profile.all_different or counts is None or len(counts) > MOST_CATEGORIES:
        return _Entry(profile.name, "left out: too many different values; an identifier or free text?")
    return _categories(profile, counts)


def _categories(profile: Profile, counts: Any) -> _Entry:
    common = [text for text, count in counts.items() if count >= RARE]
    listed = common or list(counts)
    whole = (
        profile.integers.count == profile.filled
        and not profile.padded
        and all("." not in text for text in listed)
    )
    values: list[Any] = sorted(int(text) for text in listed) if whole else sorted(listed)
    note = "add every value that can occur, seen or not; "
    note += "rare ones are not listed" if common else "all are rare, check that none points to a person"
    fields = {"type": "categorical", "values": values, "outside": "other"}
    return _Entry(profile.name, note, fields, ("type", "values"))


def _integer(profile: Profile) -> _Entry:
    low, high = int(profile.integers.low or 0), int(profile.integers.high or 0)
    if profile.all_different or max(abs(low), abs(high)) > _LARGEST:
        return _Entry(profile.name, "left out: every value differs or is very large; an identifier?")
    unit = int(10 ** max(0, floor(log10(max(high - low, 1)))))
    bounds = [low // unit * unit, (high // unit + 1) * unit - 1]
    width = _nice_width((bounds[1] - bounds[0] + 1) / BINS)
    note = "bounds that are publicly known are better than rounded ones"
    fields = {"type": "integer", "bounds": bounds, "width": width}
    return _Entry(profile.name, note, fields, ("type", "bounds", "width"))


def _nice_width(least: float) -> int:
    """1, 2 or 5 times a power of ten, at least ``least``."""
    power = 10 ** max(0, floor(log10(max(least, 1))))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


def _real(profile: Profile) -> _Entry:
    low, high = float(profile.reals.low or 0), float(profile.reals.high or 0)
    if max(abs(low), abs(high)) > _LARGEST:
        return _Entry(profile.name, "left out: its numbers are too large")
    power = floor(log10(max(high - low, abs(high), 1e-6)))
    bounds = [_scaled(floor(low / 10.0**power), power), _scaled(floor(high / 10.0**power) + 1, power)]
    fields = {"type": "real", "bounds": bounds, "bins": 20}
    note = "bounds that are publicly known are better than rounded ones"
    return _Entry(profile.name, note, fields, ("type", "bounds", "bins"))


def _scaled(digit: int, power: int) -> int | float:
    return digit * 10**power if power >= 0 else float(f"{digit}e{power}")


def _date(profile: Profile) -> _Entry:
    low, high = day(profile.days.low), day(profile.days.high)
    bounds = [date(low.year, 1, 1).isoformat(), date(high.year, 12, 31).isoformat()]
    years = high.year - low.year + 1
    width = f"{ceil(years / 100)} year" if years > 3 else "1 month"
    fields = {"type": "date", "bounds": bounds, "width": width}
    return _Entry(profile.name, "whole years around what was seen", fields, ("type", "bounds", "width"))


def _document(seen: Look, entries: Sequence[_Entry]) -> Iterator[str]:
    yield "# A draft from a look at the data. What was learnt from it is marked: review each mark against what is"
    yield "# publicly known, correct it, and move its line from `unreviewed` to `reviewed` at the end of this file."
    yield "max_rows_per_person: 1  # the most rows that one person can have; the budget is per person"
    yield "# person: COLUMN        # names the column that tells people apart, so that the cap is enforced"
    paths = yield from _csv(seen.dialect)
    if seen.named:
        yield "# Names are from the first line of the file. If that is a record: `hush init DATA --no-header`."
        paths.append("attributes")
    yield "attributes:" + (_MARK if seen.named else "")
    for entry in entries:
        if not entry.fields:
            yield f"  # {inline(entry.name)} is {entry.note}"
            continue
        yield f"  {inline(entry.name)}:  # {entry.note}"
        for name, value in entry.fields.items():
            yield f"    {name}: {inline(value)}" + (_MARK if name in entry.learnt else "")
    paths += [f"attributes.{entry.name}.{name}" for entry in entries if entry.fields for name in entry.learnt]
    if paths:
        yield "learnt_from_data:"
        yield "  unreviewed:"
        yield from (f"    - {inline(path)}" for path in paths)
        yield "  reviewed: []"


def _csv(dialect: Dialect) -> Generator[str, None, list[str]]:
    """The ``csv`` part; gives the paths of what was learnt."""
    fields = dialect.to_dict()
    if not fields:
        return []
    if not dialect.header:
        yield "# The first line of the file is read as a row: it does not look like names of columns, or you said so."
        yield "# Give each column a name, here and below. If the first line names them: `hush init DATA --header`."
    yield "csv:"
    learnt = ("header", "columns")
    for name, value in fields.items():
        yield f"  {name}: {inline(value)}" + (_MARK if name in learnt else "")
    return [f"csv.{name}" for name in fields if name in learnt]
