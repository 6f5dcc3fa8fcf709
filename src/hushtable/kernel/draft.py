"""A first schema from a look at the data, for the curator to review.

The draft is a guess: types, values and bounds come from confidential rows, and the names of a text file's columns from
its first line, which may be a record.  Every such field ends with a mark and is recorded under ``learnt_from_data``; no
release accepts the schema until each has been reviewed.  Numbers of rows are never written down, bounds are rounded
outwards and rare values are not listed; a column that seems to point to persons is left out, with the reason.  A first
line that does not look like a header is read as a record, and columns are named by position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from math import ceil, floor, log10
from os import PathLike
from pathlib import Path
from typing import Any

from hushtable.errors import HushtableError, SourceError
from hushtable.kernel.file_hints import refused
from hushtable.kernel.identifying import FREQUENT, name_people, tells_people_apart, why_left_out
from hushtable.kernel.sources import look_at
from hushtable.kernel.sources.files import empty_file
from hushtable.kernel.sources.guesses import MOSTLY, SURE_NULLS, has_sign
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.profile import Profile, Writing, day
from hushtable.schema import RESERVED, Dialect, inline
from hushtable.texts import counted

MOST_CATEGORIES = 100  # texts with more different values are left out, as identifiers or free text
FEW_NUMBERS = 20  # whole numbers with so few different values are taken for categories
BINS = 25  # of whole numbers, at most: their width is the next of 1, 2, 5, 10, ...
"""Rules of thumb, not measured: they move only what a draft proposes, every line of which is marked for review."""
_LARGEST = 10**17
"""A schema's bounds end at 10^18; a draft rounds outwards what it saw, to less than 3 * 10^17."""
_MARK = "  # learnt from the data: review"
_REASONS = {
    "delimiter": "most lines have the same number of fields with it",
    "quote": "fields begin and end with it",
    "encoding": "the file is not UTF-8; try another if letters look wrong",
    "decimal": "most numbers of some columns are written with it",
    "thousands": "most numbers of some columns are grouped by it",
}


_SIGNED = "a currency or a percent sign stands beside its numbers: remove it where the file is made"
_WHY = {
    "nulls": "; usual signs of a null that stand apart from the rest",
    "format": "; most days are written so",
    "true": "; the usual word for yes",
    "false": "; the usual word for no",
    "null": "; some rows have none",
}
"""Why a field is proposed, behind its mark; types, values and bounds are explained by the note of their attribute."""


@dataclass
class _Entry:
    """One attribute of the draft: fields in order, and which of them were learnt; no fields: left out."""

    name: str
    note: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    learnt: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()


def draft_schema(data: Any, *, header: bool | None = None) -> str:
    """YAML text of a schema for data of any kind that can be looked at.

    ``header`` says whether the first line of a text file names its columns; None: as it looks.
    """
    try:
        _refuse_empty_file(data)
        return _drafted(data, header)
    except HushtableError as error:
        raise refused(error, data, None) from None


def _refuse_empty_file(data: Any) -> None:
    """A file without a byte has no header to look for."""
    if not isinstance(data, str | PathLike):
        return
    file = Path(str(data))  # pyright: ignore[reportUnknownArgumentType]
    try:
        empty = file.is_file() and file.stat().st_size == 0
    except (OSError, ValueError):
        return  # what reads it says why
    if empty:
        raise empty_file(repr(file.name))


def _drafted(data: Any, header: bool | None) -> str:
    seen = look_at(data, header)
    marks = _marks_of(seen.profiles)
    entries = [_labelled(_entry(profile, marks), profile, seen) for profile in seen.profiles]
    seen = replace(seen, dialect=_dialect(seen, marks, entries))
    entries += [
        _Entry(name, "left out: this type of column cannot be an attribute") for name in seen.unreadable
    ]
    entries += [_Entry("A column without a name", "left out: name it in the first line")] * seen.nameless
    if seen.profiles and not any(profile.filled or profile.nulls for profile in seen.profiles):
        raise SourceError(
            "source.only-header",
            "There is no row to draft a schema from.",
            "Check that the file was written to its end, or write the schema by hand.",
        )
    if not any(entry.fields for entry in entries):
        raise SourceError(
            "source.nothing-to-draft",
            f"No column of the data can be made an attribute. Left out are: {_reasons(entries)}.",
            "Write the schema by hand; docs/reference/schema.md shows how.",
        )
    return "\n".join(_document(seen, entries)) + "\n"


def _reasons(entries: Sequence[_Entry]) -> str:
    """Why columns are left out, without their names: the first line may be a record."""
    counts = Counter(entry.note.removeprefix("left out: ").rstrip("?") for entry in entries)
    return "; ".join(f"{counted(columns, 'column')} ({why})" for why, columns in counts.items()) or "none"


def _marks_of(profiles: Sequence[Profile]) -> Writing:
    """The marks of numbers that most columns with any have; a file has one pair.

    A decimal comma alone goes with one beside points between thousands: numbers without groups read the same.
    """
    found = [
        p.writing
        for p in profiles
        if p.writing is not None and (p.writing.decimal, p.writing.thousands) != (".", "")
    ]
    if not found:
        return Writing()
    decimal = Counter(one.decimal for one in found).most_common(1)[0][0]
    groups = Counter(one.thousands for one in found if one.decimal == decimal and one.thousands)
    return Writing(decimal=decimal, thousands=groups.most_common(1)[0][0] if groups else "")


def _dialect(seen: Look, marks: Writing, entries: Sequence[_Entry]) -> Dialect:
    """What was seen of the file, with words for nulls that hardly mean anything else."""
    nulls = sorted({text for entry in entries if entry.fields for text in entry.nulls if _is_sure(text)})
    for entry in entries:
        own = [text for text in entry.nulls if text not in nulls]
        if entry.fields and own:
            entry.fields["nulls"] = own
            entry.learnt += ("nulls",)
    return replace(seen.dialect, nulls=tuple(nulls), decimal=marks.decimal, thousands=marks.thousands)


def _is_sure(text: str) -> bool:
    return text.casefold() in SURE_NULLS


def _entry(profile: Profile, marks: Writing) -> _Entry:
    name = profile.name
    if not profile.filled:
        return _Entry(name, "left out: it is empty")
    if not name.isprintable() or name in RESERVED:
        return _Entry(repr(name), "left out: give it another, printable name and this one as `column`")
    entry = _guess(profile, marks)
    if entry.fields:
        why = why_left_out(profile, listed="values" in entry.fields)
        if why is not None:
            return _Entry(name, f"left out: {why}")
    signed = sum(rows for text, rows in (profile.counts or {}).items() if has_sign(text))
    if not entry.fields and signed >= MOSTLY * profile.filled:
        return _Entry(name, f"left out: {_SIGNED}")
    if entry.fields and profile.nulls:
        entry.fields["null"] = "category"
        entry.learnt += ("null",)
    entry.nulls = profile.writing.nulls if profile.writing is not None else ()
    return entry


def _guess(profile: Profile, marks: Writing) -> _Entry:
    counts, enough = profile.counts, MOSTLY * profile.filled
    writing = profile.writing or Writing()
    if profile.is_boolean:
        return _Entry(profile.name, "two values that mean yes and no", {"type": "boolean"}, ("type",))
    if profile.words is not None:
        return _truth(profile, *profile.words)
    own = (writing.decimal, writing.thousands)
    if own not in ((".", ""), (marks.decimal, ""), (marks.decimal, marks.thousands)):
        return _Entry(
            profile.name, "left out: its numbers are written with other marks than those of other columns"
        )
    if own == (".", "") and marks != Writing() and not _read_alike(profile, marks):
        return _Entry(
            profile.name, "left out: its numbers have a decimal point, those of other columns a comma"
        )
    if profile.days.count >= enough:
        return _date(profile)
    if profile.integers.count >= enough and not profile.padded:
        if counts is not None and len(counts) <= FEW_NUMBERS and not profile.all_different:
            return _categories(profile, counts)
        return _integer(profile)
    if profile.reals.count >= enough and not profile.padded:
        return _real(profile)
    if profile.all_different or counts is None or len(counts) > MOST_CATEGORIES:
        why = (
            why_left_out(profile, listed=True)
            or "it has too many different values; an identifier or free text?"
        )
        return _Entry(profile.name, f"left out: {why}")
    return _categories(profile, counts)


def _read_alike(profile: Profile, marks: Writing) -> bool:
    """Whether a column of plain numbers reads the same with the marks of the others: it has no point that they lack."""
    return not profile.pointed or profile.reals.count < MOSTLY * profile.filled or marks.decimal == "."


def _labelled(entry: _Entry, profile: Profile, seen: Look) -> _Entry:
    """The draft of a column with what its file declares of it: a title, and values by their labels.

    Where every value that was seen often has a label, the values are those with labels: the file's codebook.  They are
    marked all the same, because a codebook can list interviewers, and nobody but the curator has seen this one.  Labels
    that look like names of people are not drafted at all.
    """
    words = seen.words.get(profile.name)
    if words is None or not entry.fields:
        return entry
    if name_people(list(words.values.values()), called=profile.name):
        return _Entry(profile.name, "left out: the labels of its values look like names of people")
    often = [text for text, count in (profile.counts or {}).items() if count >= FREQUENT]
    fields, learnt, note = entry.fields, entry.learnt, entry.note
    if len(words.values) > 1 and often and set(often) <= set(words.values):
        numbers = all(text.lstrip("-").isdecimal() and str(int(text)) == text for text in words.values)
        values: list[Any] = sorted(map(int, words.values)) if numbers else list(words.values)
        shown = words.values
        if len(set(shown.values())) < len(shown):
            shown = {text: f"{label} ({text})" for text, label in shown.items()}
        known = {"type": "categorical", "values": values, "labels": dict(shown), "outside": "other"}
        fields = known | {name: value for name, value in fields.items() if name == "null"}
        learnt = (*(name for name in learnt if name == "null"), "values", "labels")
        note = "values and labels are those that the file declares, which may name people"
    if words.title:
        fields = {**fields, "label": words.title}
    return replace(entry, fields=fields, learnt=learnt, note=note)


def _truth(profile: Profile, true: str, false: str) -> _Entry:
    fields = {"type": "boolean", "true": [true], "false": [false]}
    return _Entry(profile.name, "two words that mean yes and no", fields, ("type", "true", "false"))


def _categories(profile: Profile, counts: Any) -> _Entry:
    listed = [text for text, count in counts.items() if count >= FREQUENT]
    if not listed:
        return _Entry(profile.name, f"left out: each of its values stands for fewer than {FREQUENT} rows")
    whole = (
        profile.integers.count == profile.filled
        and not profile.padded
        and all("." not in text for text in listed)
    )
    values: list[Any] = sorted(int(text) for text in listed) if whole else sorted(listed)
    note = "add every value that can occur, seen or not; rare ones are not listed"
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
    short = "3 months" if "%q" in (profile.writing or Writing()).pattern else "1 month"
    width = f"{ceil(years / 100)} year" if years > 3 else short
    fields = {"type": "date", "bounds": bounds, "width": width}
    learnt = ("type", "bounds", "width")
    if profile.writing is not None and profile.writing.pattern:
        fields["format"], learnt = profile.writing.pattern, (*learnt, "format")
    return _Entry(profile.name, "whole years around what was seen", fields, learnt)


def _document(seen: Look, entries: Sequence[_Entry]) -> Iterator[str]:
    yield "# A draft from a look at the data. What was learnt from it is marked: review each mark against what is"
    yield "# publicly known and correct it. `hush review FILE` walks through the marks; or move a line from"
    yield "# `unreviewed` to `reviewed` at the end, where `reviewed: [NAME]` stands for all marks of an attribute."
    paths = yield from _unit(seen.profiles)
    yield "coverage: 1%            # of each budget, to publish how many rows were dropped or changed, with noise"
    yield "# Columns that seem to point to persons are left out below, and values of few rows are not listed."
    paths += yield from _csv(seen.dialect)
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
            yield f"    {name}: {inline(value)}" + (
                _MARK + _WHY.get(name, "") if name in entry.learnt else ""
            )
    paths += [f"attributes.{entry.name}.{name}" for entry in entries if entry.fields for name in entry.learnt]
    if paths:
        yield "learnt_from_data:"
        yield "  unreviewed:"
        yield from (f"    - {inline(path)}" for path in paths)
        yield "  reviewed: []"


def _unit(profiles: Sequence[Profile]) -> Generator[str, None, list[str]]:
    """Whose privacy the budget is for: always to be reviewed, because all guarantees rest on it; gives the marks."""
    yield f"max_rows_per_person: 1{_MARK}; the most rows that one person can have, and the budget is per person"
    found = [
        p for p in profiles if p.name.isprintable() and tells_people_apart(p.name, p.different, p.filled)
    ]
    best = max(found, key=lambda p: (p.repeats, p.different), default=None)
    if best is None:
        yield "# person: COLUMN        # names the column that tells people apart, so that the cap is enforced"
        return ["max_rows_per_person"]
    if not best.repeats:
        yield f"# person: {inline(best.name)}  # its name says that it tells people apart; no value was seen twice"
        return ["max_rows_per_person"]
    yield f"person: {inline(best.name)}{_MARK}; it seems to tell people apart, and some values stand in several rows:"
    yield "# only so many rows of each person count. Raise the cap, or remove the line if it is no person."
    return ["max_rows_per_person", "person"]


def _csv(dialect: Dialect) -> Generator[str, None, list[str]]:
    """The ``csv`` part; gives the paths of what was learnt."""
    fields = dialect.to_dict()
    if not fields:
        return []
    if not dialect.header:
        yield "# The first line of the file is read as a row: it does not look like names of columns, or you said so."
        yield "# Give each column a name, here and below. If the first line names them: `hush init DATA --header`."
    yield "csv:"
    learnt = ("header", "columns", "nulls")
    for name, value in fields.items():
        why = f"  # {_REASONS[name]}" if name in _REASONS else ""
        yield f"  {name}: {inline(value)}" + (_MARK + _WHY.get(name, "") if name in learnt else why)
    return [f"csv.{name}" for name in fields if name in learnt]
