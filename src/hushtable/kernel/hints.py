"""What looks wrong in data that do not fit their schema, and what to try: for the curator's own eyes.

A hint names columns, fields of the schema and words of our own lists.  It repeats no value of a row: what was found is
in the table of offenders, and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hushtable.kernel.file_hints import file_hints, headed, line_hints
from hushtable.kernel.sources.delimited import TextFiles
from hushtable.kernel.sources.guesses import NULL_NUMBERS, is_null_word, marks_of, pattern_of, words_of
from hushtable.kernel.sources.row_tables import Table
from hushtable.kernel.sources.sniff import Sniffed, fields_of, sniff
from hushtable.schema import (
    UNIT,
    Attribute,
    Binned,
    Boolean,
    Categorical,
    FileLook,
    Hint,
    Preflight,
    Schema,
    inline,
)
from hushtable.texts import counted

SOME = 0.01
MOST = 0.8
"""Shares of rules of thumb: from how many rows on a hint is given, and how many of the misfits it must explain.  They
move hints alone."""

_FOLLOWS = {"header": {"header-again"}, "encoding": {"no-value", "spelling"}}
"""What is said of columns because of something that is wrong with the whole file."""


@dataclass(frozen=True)
class SeenColumn:
    """What a preflight saw of an attribute: rows that hold something, and (what is wrong, text) of misfits."""

    attribute: Attribute
    filled: int
    misfits: Counter[tuple[str, str]]

    def texts(self, what: str = "no value") -> Counter[str]:
        """Texts that are wrong in one way."""
        return Counter({text: rows for (wrong, text), rows in self.misfits.items() if wrong == what})


def hints_of(result: Preflight, table: Table, schema: Schema, seen: Sequence[SeenColumn]) -> Preflight:
    """The result with what the files look like, and with hints."""
    hints: list[Hint] = []
    look = None
    if isinstance(table, TextFiles):
        found = sniff(table.files[0])
        look = FileLook(found.encoding, found.delimiter, headed(found))
        hints += file_hints(found, table.files[0], schema)
        hints += line_hints(result, found, schema)
        hints += _unused_hints(found, table.headers[0].names, result, seen)
    split = result.rows - sum(kind.rows for kind in result.malformed)
    for column in seen:
        hints += _column_hints(column, seen, split)
    for cause, effects in _FOLLOWS.items():
        if any(hint.code == cause for hint in hints):
            hints = [hint for hint in hints if hint.code not in effects]
    hints += _people_hints(result, schema)
    return replace(
        result, look=look, hints=tuple({hint.code + hint.message: hint for hint in hints}.values())
    )


def _unused_hints(
    found: Sniffed, names: Sequence[str], result: Preflight, seen: Sequence[SeenColumn]
) -> Iterator[Hint]:
    """Columns that nothing reads and that hold what an attribute misses."""
    rows = [fields_of(line, found.delimiter, found.quote) for line in found.lines[1:]]
    for column in seen:
        attribute = column.attribute
        if not isinstance(attribute, Categorical) or sum(column.texts().values()) <= SOME * column.filled:
            continue
        known = set(attribute.texts)
        for name in result.unused:
            place = names.index(name) if name in names else len(names)
            held = [row[place].strip(found.quote) for row in rows if place < len(row) and row[place]]
            if held and sum(text in known for text in held) >= MOST * len(held):
                yield Hint(
                    "another-column",
                    f"{attribute.name!r} reads {attribute.column!r}, and the column {name!r}, which is not used, "
                    "holds its values.",
                    f"Write `column: {inline(name)}` in `attributes.{attribute.name}`.",
                )


HintRule = Callable[[SeenColumn, Counter[str]], Hint | None]


def _column_hints(column: SeenColumn, seen: Sequence[SeenColumn], rows: int) -> Iterator[Hint]:
    attribute = column.attribute
    if not column.filled and rows:
        yield Hint(
            "empty",
            f"{attribute.column!r} is empty in every row.",
            "Leave the attribute out, or check how the file was made.",
        )
        return
    misfits = column.texts()
    total = sum(misfits.values())
    if total > SOME * column.filled:
        explained = next((hint for rule in RULES if (hint := rule(column, misfits)) is not None), None)
        yield from [explained] if explained else _swapped(column, misfits, seen) or _unexplained(column)
    elif misfits[attribute.column]:
        yield from filter(None, [_header_again(column, misfits)])
    beyond = sum(column.texts("below").values()) + sum(column.texts("above").values())
    if isinstance(attribute, Binned) and beyond > SOME * column.filled:
        yield _null_numbers(column) or Hint(
            "bounds",
            f"More than one number in a hundred of {attribute.name!r} lies beyond its bounds.",
            f"Check the unit of the column, and `attributes.{attribute.name}.bounds` against what is publicly known.",
        )


def _share(misfits: Counter[str], fits: Callable[[str], bool]) -> bool:
    """Whether most rows that misfit are of a kind."""
    return sum(rows for text, rows in misfits.items() if fits(text)) >= MOST * sum(misfits.values())


def _header_again(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    if not misfits[column.attribute.column]:
        return None
    return Hint(
        "header-again",
        "The names of the columns stand in the file more than once, as where files were put together.",
        "Remove the repeated lines.",
    )


def _spelling(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    attribute = column.attribute
    if not isinstance(attribute, Categorical):
        return (
            Hint(
                "blanks",
                f"Fields of {attribute.name!r} have blanks around them, and nothing is trimmed.",
                "Remove the blanks where the file is made.",
            )
            if _share(misfits, lambda text: text != text.strip())
            else None
        )
    near = {_plain(text) for text in attribute.texts}
    if not _share(misfits, lambda text: _plain(text) in near):
        return None
    return Hint(
        "spelling",
        f"Texts of {attribute.name!r} differ from its values in capitals, blanks or zeros alone; they are matched "
        "letter for letter.",
        f"Write `attributes.{attribute.name}.values` as the file does.",
    )


def _plain(text: str) -> str:
    bare = text.strip().casefold()
    if bare.replace(".", "", 1).lstrip("+-").isdigit():
        return bare.removesuffix(".0").lstrip("+0") or "0"
    return bare


def _null_words(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    if not _share(misfits, is_null_word):
        return None
    words = sorted({text for text in misfits if is_null_word(text)})[:5]
    return Hint(
        "nulls",
        f"{column.attribute.name!r} has words that usually mean a null.",
        f"Declare `csv: {{nulls: {inline(words)}}}`, or `nulls` of the attribute alone.",
    )


def _null_numbers(column: SeenColumn) -> Hint | None:
    """A number beyond the bounds that surveys write for a null, and that explains what lies there."""
    beyond = column.texts("below") + column.texts("above")
    usual = Counter({text: rows for text, rows in beyond.items() if text in NULL_NUMBERS})
    if not usual or sum(usual.values()) < MOST * sum(beyond.values()):
        return None
    name = column.attribute.name
    return Hint(
        "nulls",
        f"{name!r} has numbers beyond its bounds that usually mean a null.",
        f"Declare `nulls: {inline(sorted(usual))}` in `attributes.{name}`.",
    )


def _days(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    attribute = column.attribute
    pattern = pattern_of(misfits) if attribute.kind == "date" else None
    if pattern is not None:
        return Hint(
            "dates",
            f"Days of {attribute.name!r} seem to be written as {pattern}.",
            f'Declare `csv: {{dates: "{pattern}"}}`, or `format` of the attribute alone.',
        )
    if attribute.kind == "date" and _share(misfits, lambda text: len(text) == 4 and text.isdigit()):
        fix = 'Declare `type: integer`, or `format: "%Y"`, which stands for the first of January.'
        return Hint("years", f"{attribute.name!r} holds years, and days are declared.", fix)
    if attribute.kind == "date" and _share(misfits, _is_number):
        return Hint(
            "serial-days",
            f"{attribute.name!r} holds numbers where days are declared, as spreadsheets and clocks count them.",
            "Write days as YYYY-MM-DD where the file is made.",
        )
    return None


def _marks(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    if column.attribute.kind not in ("integer", "real") or (found := marks_of(misfits)) is None:
        return None
    decimal, thousands = found
    declared = {"decimal": decimal} if decimal != "." else {}
    declared |= {"thousands": thousands} if thousands else {}
    code, what = (
        ("thousands", "marks between groups of digits") if thousands else ("decimal", "a decimal comma")
    )
    return Hint(
        code,
        f"Numbers of {column.attribute.name!r} seem to have {what}.",
        f"Declare `csv: {inline(declared)}`.",
    )


def _units(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    if column.attribute.kind not in ("integer", "real") or not _share(misfits, _has_unit):
        return None
    return Hint(
        "unit",
        f"Numbers of {column.attribute.name!r} have a unit, a currency or a percent sign beside them.",
        "Remove it where the file is made, and say the unit in `label`.",
    )


def _has_unit(text: str) -> bool:
    bare = text.strip().strip("%$€£¥<>≥≤~≈").strip()
    digits = bare.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./²³°µ ")
    digits = digits.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    return digits != text and bool(digits) and _is_number(digits.replace(",", ""))


def _words(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    attribute = column.attribute
    if not isinstance(attribute, Boolean):
        return None
    if (found := words_of(misfits)) is not None:
        declared = "`true: [{}], false: [{}]`".format(*found)
    elif len(misfits) <= 2 and column.filled:
        declared = "`true: [...]` and `false: [...]`"
    else:
        return None
    return Hint(
        "words",
        f"{attribute.name!r} has words for true and false that are not declared.",
        f"Declare {declared} in `attributes.{attribute.name}`.",
    )


def _labels(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    attribute = column.attribute
    if not isinstance(attribute, Categorical) or not attribute.value_labels:
        return None
    labels = {label.casefold() for label in attribute.value_labels.values()}
    if not _share(misfits, lambda text: text.strip().casefold() in labels):
        return None
    return Hint(
        "labels",
        f"The file holds the labels of {attribute.name!r}, not its values.",
        f"List the labels under `attributes.{attribute.name}.values`.",
    )


def _swapped(column: SeenColumn, misfits: Counter[str], seen: Sequence[SeenColumn]) -> list[Hint]:
    """Another attribute whose values these are."""
    for other in seen:
        kind = other.attribute
        if kind is column.attribute or not isinstance(kind, Categorical):
            continue
        known = set(kind.texts)
        if _share(misfits, known.__contains__):
            fix = "Compare the names of the columns with what is in them, and `column` of both attributes."
            message = (
                f"{column.attribute.name!r} holds values of {kind.name!r}: columns may be shifted or swapped."
            )
            return [Hint("another-column", message, fix)]
    return []


def _fractions(column: SeenColumn, misfits: Counter[str]) -> Hint | None:
    if column.attribute.kind != "integer" or not _share(misfits, _is_number):
        return None
    return Hint(
        "type",
        f"{column.attribute.name!r} holds numbers with a fraction, and whole numbers are declared.",
        "Declare `type: real`, with bounds and bins.",
    )


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text) and "_" not in text
    except ValueError:
        return False


def _unexplained(column: SeenColumn) -> list[Hint]:
    name = column.attribute.name
    if isinstance(column.attribute, Categorical) and column.attribute.outside == "other":
        fix = (
            f"Add what is publicly known to `attributes.{name}.values`; until then it is counted as (other)."
        )
    elif isinstance(column.attribute, Categorical):
        fix = f"Add what is publicly known to `attributes.{name}.values`, or declare `outside: other`."
    else:
        fix = f"Check `attributes.{name}.type`, and which column it reads."
    return [Hint("no-value", f"More than one text in a hundred of {name!r} is no value of it.", fix)]


RULES: list[HintRule] = [
    *(_header_again, _null_words, _labels, _spelling, _days, _marks, _words, _fractions, _units),
]
"""Asked in this order; each explains most of the texts that misfit, or says nothing."""


def unit_hint(columns: Sequence[str], schema: Schema) -> Hint:
    """Said where nothing tells people apart and an unused column seems to, with several rows of some."""
    shown = ", ".join(map(repr, columns))
    cap = schema.max_rows_per_person
    return Hint(
        UNIT,
        f"The schema says without a column to check it that nobody has more than {counted(cap, 'row')}, and values of "
        f"{shown} stand in several rows: if they are people, the guarantee is weaker than a release would say.",
        f"Declare `person: {inline(columns[0])}` and how many rows of each may count as `max_rows_per_person`.",
    )


def _people_hints(result: Preflight, schema: Schema) -> Iterator[Hint]:
    if result.people is None:
        return
    if result.cut > SOME * result.rows:
        yield Hint(
            "cap",
            f"People have more rows than the {schema.max_rows_per_person} that count.",
            "Raise `max_rows_per_person` (noise grows with it), or keep one row of each where the file is made.",
        )
    if result.nobody > SOME * result.rows:
        yield Hint(
            "nobody",
            f"Rows have nobody in {schema.person!r}, and such rows do not count.",
            "Fill the column where the file is made, or name another as `person`.",
        )
    if result.people.persons == 1 and result.rows > 1:
        yield Hint(
            "one-person",
            f"All rows belong to one person in {schema.person!r}.",
            "Name the column that tells people apart as `person`.",
        )
