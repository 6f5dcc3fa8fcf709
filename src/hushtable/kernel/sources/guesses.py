"""How the texts of a column seem to be written: nulls, days, marks of numbers, words for true and false.

For the curator alone: a draft proposes what is guessed here and marks it as learnt, a preflight hints at it.  No
release reads a field by a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.parse import VALUE
from hushtable.kernel.sources.text import Texts, from_arrow, read_days, read_days_by

MOSTLY = 0.95
"""Share of a column's fields that one way of writing must explain: the rest may be nulls, notes or errors.  A rule of
thumb, not measured: with less, more columns of texts are proposed as numbers or dates."""

SURE_NULLS = frozenset({"na", "n/a", "n.a.", "#n/a", "#na", "nan", "null", "?", ".", "..", "<na>", "#value!"})
"""Words for a null, in any case, that hardly mean anything else: of R, pandas, spreadsheets and SPSS."""
NULL_WORDS = SURE_NULLS | {
    *("n.a", "none", "nil", "missing", "unknown", "-", "--", "---", "k.a.", "s/o", "nd", "n.d.", "(null)"),
}
"""The same and more, for columns that are numbers or days otherwise."""
NULL_NUMBERS = (
    "-1",
    "-7",
    "-8",
    "-9",
    "-77",
    "-88",
    "-99",
    "-777",
    "-888",
    "-999",
    "-9999",
    "999",
    "9999",
    "99999",
)
"""Numbers that surveys write for a null."""
PATTERNS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d %b %Y", "%d-%b-%Y", "%d%b%Y", "%b %d, %Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y"),
    *("%Y-%m", "%m/%Y", "%m.%Y", "%b %Y", "%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "Q%q/%Y"),
)
"""Ways to write days, quarters and months, in the order in which they are tried; a year alone is a whole number."""
TRUE_FALSE = (
    *(
        ("ja", "nein"),
        ("j", "n"),
        ("oui", "non"),
        ("o", "n"),
        ("si", "no"),
        ("sí", "no"),
        ("s", "n"),
        ("sim", "não"),
    ),
    *(
        ("tak", "nie"),
        ("ano", "ne"),
        ("da", "ne"),
        ("igen", "nem"),
        ("kyllä", "ei"),
        ("on", "off"),
        ("wahr", "falsch"),
    ),
    *(
        ("vrai", "faux"),
        ("x", "-"),
        ("да", "нет"),
        ("是", "否"),
        ("はい", "いいえ"),
        ("evet", "hayır"),
        ("jah", "ei"),
    ),
)
"""Pairs of words for true and false."""

_FAR = 5
"""How many times larger than every other number a null such as 9999 is taken to be."""
_READ = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{0,18})?\Z", re.ASCII)
_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?\Z", re.ASCII)
_GROUPED = re.compile(
    r"[-+]?[0-9]{1,3}(?:(?P<mark>[.,' \u00a0\u202f\u2009’])[0-9]{3})(?:(?P=mark)[0-9]{3})*(?P<rest>[.,][0-9]+)?\Z"
)
_PLAIN = re.compile(r"[-+]?[0-9]+(?P<rest>[.,][0-9]+)?\Z", re.ASCII)


def is_null_word(text: str) -> bool:
    """Whether a text is one of the usual words for a null."""
    return text.strip().casefold() in NULL_WORDS


def sentinels_of(counts: Mapping[str, int], marks: tuple[str, str] = (".", "")) -> tuple[str, ...]:
    """Whole numbers that seem to stand for a null: usual ones that occur again, apart from all other numbers.

    ``marks`` are the decimal mark and the one between thousands.
    """
    numbers = {text: number for text in counts if (number := _number(text, *marks)) is not None}
    usual = {text for text in numbers if text in NULL_NUMBERS}
    others = [number for text, number in numbers.items() if text not in usual]
    if not others:
        return ()
    low, high = min(others), max(others)
    apart = (t for t in usual if (numbers[t] < 0 <= low) or numbers[t] > _FAR * max(high, 1))
    return tuple(sorted(text for text in apart if counts[text] > 1))


def sentinels_among_words(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Usual negative numbers that occur again in a column whose other texts are words."""
    numbers = {text for text in counts if _READ.match(text)}
    usual = {text for text in numbers if text in NULL_NUMBERS and text.startswith("-")}
    if numbers != usual or usual == set(counts):
        return ()
    return tuple(sorted(text for text in usual if counts[text] > 1))


def _number(text: str, decimal: str, thousands: str) -> float | None:
    """What a text with these marks amounts to, roughly; None where it is no number."""
    plain = text.replace(thousands, "") if thousands and _fits(text, decimal, thousands) else text
    plain = plain.replace(decimal, ".") if decimal != "." else plain
    return float(plain) if _READ.match(plain) else None


def pattern_of(counts: Mapping[str, int]) -> str | None:
    """The way that most of these texts write days; None where they are ISO days, or no days."""
    words = [text for text in counts if not is_null_word(text)]
    total = sum(counts[text] for text in words)
    if not any(letter.isdigit() for word in words for letter in word):
        return None
    texts = _texts(words)
    if _readable(read_days(texts).states == VALUE, words, counts) >= MOSTLY * total:
        return None
    found = {p: _readable(read_days_by(texts, p).states == VALUE, words, counts) for p in PATTERNS}
    best = max(found, key=lambda pattern: found[pattern])
    return best if found[best] >= MOSTLY * total else None


def marks_of(counts: Mapping[str, int]) -> tuple[str, str] | None:
    """(decimal mark, mark between thousands) of most of these texts; None where they are plain numbers or none.

    A group mark that occurs once before three digits could be a decimal mark: it is believed where some number has two
    of it, or a decimal mark of the other kind, or where all numbers are grouped alike.
    """
    words = {text: rows for text, rows in counts.items() if not is_null_word(text)}
    total = sum(words.values())
    if not total or all(_fits(text, ".", "") for text in words):
        return None
    best: tuple[int, tuple[str, str]] | None = None
    for decimal in ".,":
        for thousands in ("", ".", ",", "'", " ", "\u00a0", "\u202f", "’"):
            if thousands == decimal:
                continue
            fits = sum(rows for text, rows in words.items() if _fits(text, decimal, thousands))
            if total and fits >= MOSTLY * total and (best is None or fits > best[0]):
                best = fits, (decimal, thousands)
    if best is None or best[1] == (".", "") or not any(_uses(text, *best[1]) for text in words):
        return None
    return best[1]


def has_sign(text: str) -> bool:
    """Whether a percent sign or that of a currency stands beside a number.

    >>> has_sign("57%"), has_sign("€ 1,200.50"), has_sign("57"), has_sign("A%")
    (True, True, False, False)
    """
    bare = text.strip(" \u00a0%$€£¥")
    return bare != text.strip() and (_PLAIN.match(bare) or _GROUPED.match(bare)) is not None


def _fits(text: str, decimal: str, thousands: str) -> bool:
    plain, grouped = _PLAIN.match(text), _GROUPED.match(text)
    if plain is not None and (plain["rest"] is None or plain["rest"][0] == decimal):
        return True
    if grouped is None or grouped["mark"] != thousands:
        return False
    return grouped["rest"] is None or grouped["rest"][0] == decimal


def _uses(text: str, decimal: str, thousands: str) -> bool:
    return (bool(thousands) and thousands in text) or (decimal == "," and _COMMA.match(text) is not None)


def words_of(texts: Iterable[str]) -> tuple[str, str] | None:
    """(word for true, word for false) where these are all there is, in any case and with nulls left out."""
    seen = {text.strip().casefold() for text in texts if not is_null_word(text) or text.strip() == "-"}
    return next((pair for pair in TRUE_FALSE if seen and seen == set(pair)), None)


def _texts(words: list[str]) -> Texts:
    return from_arrow(pa.array([word.encode("utf-8", "replace") for word in words], pa.large_binary()))


def _readable(read: Iterable[bool], words: list[str], counts: Mapping[str, int]) -> int:
    return sum(counts[word] for word, fits in zip(words, read, strict=True) if fits)
