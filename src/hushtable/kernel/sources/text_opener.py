"""Text files: how they are opened with a schema, and what they look like without one.

A first line that does not look like a header is read as a record, and columns are named by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.delimited import TextFiles
from hushtable.kernel.sources.files import DataFile, Guard
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.parse import VALUE
from hushtable.kernel.sources.profile import Profile
from hushtable.kernel.sources.row_tables import require_distinct
from hushtable.kernel.sources.sniff import sniff
from hushtable.kernel.sources.text import from_arrow, read_days, read_integers, read_reals
from hushtable.schema import FALSE_TEXTS, TRUE_TEXTS, Dialect, Schema


class TextOpener(TableOpener):
    """Delimited text."""

    name = "text"
    what = "a path, a glob or a list of paths"
    suffixes = (".csv", ".csv.gz", ".tsv", ".tsv.gz")

    def table(self, data: Sequence[DataFile], schema: Schema | None) -> TextFiles:
        if schema is None:
            return TextFiles(data, _guess_dialect(data))
        return TextFiles(data, schema.csv, schema.positions)

    def look(self, data: Sequence[DataFile], header: bool | None) -> Look:
        dialect = _guess_dialect(data)
        files = TextFiles(data, dialect)
        if header is not False and (header or all(is_header(first.names) for first in files.headers)):
            for first in files.headers:
                require_distinct(first)
            seen = Look.at(files, dialect, named=True)
            if header or not any(_is_value(profile) for profile in seen.profiles):
                return seen
        names = tuple(f"column_{place}" for place in range(1, len(files.headers[0].names) + 1))
        dialect = replace(dialect, header=False, columns=names)
        return Look.at(TextFiles(data, dialect, names), dialect)


def is_header(names: Sequence[str]) -> bool:
    """Whether a line can be taken for names of columns: no name occurs twice, or is a number, a day or yes or no."""
    given = [name for name in names if name]
    if len(set(given)) < len(given):
        return False
    texts = from_arrow(pa.array(given, pa.large_string()))
    readings = (read(texts).states for read in (read_integers, read_reals, read_days))
    words = {*TRUE_TEXTS, *FALSE_TEXTS} - {"t", "f", "y", "n"}  # letters are names too
    return not any((states == VALUE).any() for states in readings) and not words & {n.lower() for n in given}


def _is_value(profile: Profile) -> bool:
    """Whether a column's name is also one of its values, as that of a record is likely to be."""
    return profile.counts is not None and profile.name in profile.counts


def _guess_dialect(files: Sequence[DataFile]) -> Dialect:
    """Encoding, separator and quote by the look of the first file; what is usual is left unsaid."""
    guess, found = Guard(files[0].shown), None
    with guess:
        found = sniff(files[0])
    guess.raise_failure()
    if found is None:
        return Dialect()
    usual = "\t" if files[0].tabbed else ","
    return Dialect(
        delimiter=None if found.delimiter == usual else found.delimiter,
        quote=found.quote,
        encoding=found.encoding,
    )
