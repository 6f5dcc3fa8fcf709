"""What looks wrong in a file as a whole, and what to try: encoding, separator, header, kind, lines that are not split.

For the curator's own eyes: a hint repeats no value of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hushtable.errors import HushtableError
from hushtable.kernel.sources import files
from hushtable.kernel.sources.defects import ENCODING, FEW, MANY, NUL, QUOTES, REASONS
from hushtable.kernel.sources.files import DataFile
from hushtable.kernel.sources.sniff import Sniffed, ends_in_separator, fields_of, sniff
from hushtable.kernel.sources.text_opener import is_header
from hushtable.kernel.sources.xlsx_sheet import rows_above
from hushtable.schema import ENCODINGS, Categorical, Hint, Preflight, Schema, inline
from hushtable.texts import counted

_OFFICE = "`pip install 'hushtable[office]'` reads it."
_ELSEWHERE = {
    "gzip": ("is compressed with gzip", "Give it a name that ends in .csv.gz."),
    "zip": (
        "is a ZIP archive or a workbook",
        f"Give a workbook a name that ends in .xlsx ({_OFFICE[:-1]}); unpack an archive.",
    ),
    "parquet": ("is a Parquet file", "Give it a name that ends in .parquet."),
    "spss": ("is an SPSS file", f"Give it a name that ends in .sav; {_OFFICE}"),
    "stata": ("is a Stata file", f"Give it a name that ends in .dta; {_OFFICE}"),
    "xls": (
        "is an old spreadsheet, or one with a password",
        "Save it as .xlsx without a password, or as CSV in UTF-8.",
    ),
    "utf-16": ("is text in UTF-16", "Convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW."),
    "text": ("is text", "Give it a name that ends in .csv."),
    "html": ("is a web page", "Open it in a spreadsheet, and save it as .xlsx or as CSV in UTF-8."),
    "xml": ("is XML", "Save the table as .xlsx or as CSV in UTF-8 where the file is made."),
    "json": ("is JSON", "Write its rows as Parquet or CSV: polars.read_json(FILE).write_parquet(NEW)."),
}
_KINDS = {
    "parquet": "parquet",
    "xlsx": "zip",
    "xlsm": "zip",
    "sav": "spss",
    "zsav": "spss",
    "dta": "stata",
}
"""What the first bytes of a file say, by the end of its name; every other name is one of text."""
_OLD = "cp850"
"""Of the encodings before Windows, whose letters are often at the same places, the one of most offices."""
_SAID = ("source.missing-file", "source.no-driver", "source.empty-file")
"""Refusals whose own remedy is the right one, whatever the file looks like."""


def refused(error: HushtableError, data: Any, schema: Schema | None) -> HushtableError:
    """A refusal of a file, with what to try by the look of it; any other error as it is.

    Without a schema, the file was read as it looks: its separator and encoding are not what is wrong.
    """
    if not error.code.startswith("source.") or error.code in _SAID:
        return error
    guard, hints = files.Guard("the data"), list[Hint]()
    with guard, suppress(HushtableError):  # a URL or a frame is no file, which is not what was refused
        file = files.find(data)[0]
        twice = error.code == "source.duplicate-column"  # such a line looks like a row because of that
        hints = [hint for hint in _refusal_hints(file, schema) if not twice or hint.code != "header"]
        if error.code == "source.unknown-kind":
            hints = [_elsewhere(sniff(file).kind)]
    if not hints:
        return error
    return type(error)(error.code, error.message, " ".join(f"{hint.message} {hint.fix}" for hint in hints))


def _refusal_hints(file: DataFile, schema: Schema | None) -> Iterator[Hint]:
    found = sniff(file)
    kind = _KINDS.get(file.path.suffix.lower().removeprefix("."))
    if kind is None:
        looked = schema or Schema.from_dict(
            {"attributes": {"any": {"type": "boolean"}}, "csv": _as_read(found)}
        )
        yield from file_hints(found, file, looked)
    elif found.kind != kind:
        # Stata's older files have no name in their first bytes, and look like text
        yield from () if kind == "stata" and found.kind == "text" else [_elsewhere(found.kind)]
    elif kind == "zip" and (before := rows_above(file)):
        yield titles(before, "row")


def _as_read(found: Sniffed) -> dict[str, Any]:
    return {"delimiter": found.delimiter, "quote": found.quote, "encoding": found.encoding}


def _elsewhere(kind: str) -> Hint:
    what, fix = _ELSEWHERE[kind]
    return Hint("kind", f"The file {what}, whatever its name says.", fix)


def titles(before: int, what: str) -> Hint:
    """The table begins below a title."""
    return Hint(
        "title-lines",
        f"The names of the columns seem to stand below {counted(before, what)} of a title or a note.",
        f"Remove the {what}s above the names of the columns.",
    )


def headed(found: Sniffed) -> bool:
    """Whether the first line looks like names of columns."""
    return bool(found.lines) and is_header(
        [field.strip(found.quote) for field in fields_of(found.lines[0], found.delimiter, found.quote)]
    )


def _encoding(found: Sniffed, schema: Schema) -> str:
    """The encoding in which most of the schema's own texts occur in the file; of equals, the likeliest by its bytes."""
    values = [a.texts for a in schema.attributes.values() if isinstance(a, Categorical)]
    known = {text for texts in (*values, schema.columns) for text in texts if not text.isascii()}
    if found.encoding == "utf-8" or not known:
        return found.encoding
    seen = {name: sum(_written(text, name) in found.sample for text in known) for name in ENCODINGS[1:]}
    likeliest = (found.encoding, schema.csv.encoding, _OLD, *ENCODINGS[1:])
    return max((name for name in likeliest if name in seen), key=lambda name: seen[name])


def _written(text: str, encoding: str) -> bytes:
    """A text as the file would hold it; one that it cannot hold is found nowhere."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return b"\0"


def file_hints(found: Sniffed, file: DataFile, schema: Schema) -> Iterator[Hint]:
    """Encoding, separator, quote, line breaks, header."""
    if found.kind != "text":
        yield _elsewhere(found.kind)
        return
    csv = schema.csv
    if found.breaks == "\r":
        yield Hint(
            "line-breaks",
            "Lines end in carriage returns alone, so that the file is one line.",
            "Convert it: tr '\\r' '\\n' < FILE > NEW.",
        )
        return
    if other_encoding(found, schema):
        likely = _encoding(found, schema)
        yield Hint(
            "encoding",
            f"The file looks like {likely}, and {csv.encoding} is declared.",
            f"Declare `csv: {{encoding: {likely}}}`.",
        )
    declared = csv.delimiter or ("\t" if file.tabbed else ",")
    if found.width > 1 and found.delimiter != declared:
        yield Hint(
            "delimiter",
            f"Fields look separated by {_named(found.delimiter)}; the schema says {_named(declared)}.",
            f"Declare `csv: {{delimiter: {inline(found.delimiter)}}}`.",
        )
        return
    if found.quote != csv.quote and found.quote == "'" and csv.quote:
        yield Hint("quote", "Fields look quoted by apostrophes.", 'Declare `csv: {quote: "\'"}`.')
    first = fields_of(found.lines[0], found.delimiter, found.quote) if found.lines else []
    named = set(schema.columns) <= {name.strip(found.quote) for name in first}
    if csv.header and ends_in_separator(found):
        yield Hint(
            "separator-at-end",
            "Each row ends in a separator that the first line lacks.",
            "Remove it from the rows, or add one to the end of the first line.",
        )
    elif csv.header and found.before and not named:
        yield titles(found.before, "line")
    elif csv.header and not named and found.lines and not headed(found):
        yield Hint(
            "header",
            "The first line looks like a row, and is read as names of columns.",
            "Declare `csv: {header: false, columns: [...]}` with the name of every column in order.",
        )
    elif not csv.header and named:
        yield Hint(
            "header",
            "The first line looks like names of columns, and is read as a row.",
            "Remove `header: false` from `csv`.",
        )


def other_encoding(found: Sniffed, schema: Schema) -> bool:
    """Whether the file seems to have another encoding than the declared one.

    Two in which a byte is a letter are told apart by the schema's own texts alone: by bytes, either may be right.
    """
    declared, likely = schema.csv.encoding, _encoding(found, schema)
    return declared != likely and ("utf-8" in (declared, found.encoding) or likely != found.encoding)


def _named(mark: str) -> str:
    return {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}.get(mark, f"`{mark}`")


def line_hints(result: Preflight, found: Sniffed, schema: Schema) -> Iterator[Hint]:
    """Rows that cannot be split."""
    rows = {kind.reason: kind.rows for kind in result.malformed}
    told = (
        found.kind != "text"
        or found.breaks == "\r"
        or (found.encoding == "utf-8") != (schema.csv.encoding == "utf-8")
    )
    if rows.get(REASONS[ENCODING]) and not told:
        yield Hint(
            "encoding",
            "Some rows are not UTF-8, though the beginning of the file is: it may be of two encodings.",
            "Declare `csv: {encoding: latin-1}`, or convert the file as a whole.",
        )
    if rows.get(REASONS[QUOTES]):
        yield Hint(
            "quotes",
            "Some quotes are not closed on their line, as in fields with line breaks, or stand inside a text.",
            'Write the table as Parquet, or declare `csv: {quote: ""}` if quotes are letters like others.',
        )
    few, many = rows.get(REASONS[FEW], 0), rows.get(REASONS[MANY], 0)
    if (
        max(few, many)
        and not ends_in_separator(found)
        and found.delimiter == (schema.csv.delimiter or found.delimiter)
    ):
        which = "fewer" if few > many else "more"
        yield Hint(
            "fields",
            f"Some rows have {which} fields than the first line: notes and totals, separators inside fields that are "
            "not quoted, or a separator too many at the end.",
            "Look at the lines that are listed, and correct them where the file is made.",
        )
    if rows.get(REASONS[NUL]) and not told:
        yield Hint("nul", "Some rows hold NUL bytes.", "Remove them: tr -d '\\000' < FILE > NEW.")
