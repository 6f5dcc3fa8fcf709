"""How an office grades its numbers: marks by relative standard error, declared with the schema, for readers alone.

Part of no version and no price.  A mark says how much noise a number has; none says that a number was left out, because
none is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from hushtable.schema.document import Document
from hushtable.schema.fields import Fields

SMALL = 100
"""Records that a smaller number is graded as if it had, unless ``small`` says otherwise: a relative error of next to
nothing says nothing, its half-width does.  With less, more of them have the worst mark."""

SUPPRESSED = frozenset(
    {
        "x",
        "c",
        "s",
        "q",
        "conf",
        ":",
        "..",
        "...",
        "-",
        "n.a.",
        "n/a",
        "na",
        "n.p.",
        "np",
        "confidential",
        "secret",
    }
)
"""Marks that mean, in tables of one office or another, that a number is not shown for the sake of secrecy."""
_SUPPRESSED_STEMS = ("suppress", "withheld", "hidden", "not shown", "not published", "confidential")
"""Words of such marks, whatever follows them."""
_LOOK_ALIKE = str.maketrans("хсѕԛχсᴄꜱ×–—−․∶", "xcsqxccsx---.:")
"""Letters and signs of other scripts that are read as those of the marks; others have forms that NFKC undoes."""


@dataclass(frozen=True)
class QualityScale:
    """Marks in order, the best first, each with the largest relative standard error that it stands for."""

    name: str
    marks: tuple[str, ...]
    limits: tuple[float, ...]
    """Of all marks but the last, which stands for the rest."""
    small: float = SMALL

    @property
    def meanings(self) -> tuple[str, ...]:
        """What each mark says."""
        upto = [f"relative standard error of {limit:.3g} or less" for limit in self.limits]
        return (*upto, "a larger one: do not use the number by itself")

    def to_value(self) -> Any:
        """What ``read_scale`` reads back: a preset by its name."""
        if PRESETS.get(self.name) == self:
            return self.name
        shown = dict(zip(self.marks, self.limits, strict=False))
        return {**shown, self.marks[-1]: "rest", "small": self.small}


PRESETS: Mapping[str, QualityScale] = MappingProxyType(
    {
        scale.name: scale
        for scale in (
            QualityScale("letters", ("A", "B", "C", "D", "E", "F"), (0.05, 0.10, 0.15, 0.25, 0.35)),
            QualityScale("stars", ("", "*", "**"), (0.25, 0.50)),
            QualityScale("u", ("", "u"), (0.30,)),
        )
    }
)
"""Scales that readers know: letters as Statistics Canada has them, stars as the Australian Bureau of Statistics, and
the one flag for low reliability of Eurostat, here above 30%.  Unlike there, a number with the worst mark is shown."""

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


def read_scale(document: Document, value: Any) -> QualityScale:
    """The ``quality`` part of a schema: the name of a preset, or marks with their limits."""
    known = ", ".join(PRESETS)
    given = Fields(document, (), {"quality": value}, ("quality",))
    example = f"Write one of {known}, or for example {{good: 10%, fair: 30%, poor: rest}}."
    if isinstance(value, str) and value in PRESETS:
        return PRESETS[value]
    if not isinstance(value, dict):
        raise given.error("schema.quality", "quality", "is no known scale", example)
    listed = {str(key): entry for key, entry in cast("dict[Any, Any]", value).items()}
    small = listed.pop("small", SMALL)
    marks = tuple(listed)
    limits = [_share(entry) for entry in list(listed.values())[:-1]]
    fits = len(marks) > 1 and listed[marks[-1]] == "rest" and None not in limits
    if not fits or limits != sorted({limit for limit in limits if limit is not None}):
        raise given.error(
            "schema.quality", "quality", "needs rising limits and a last mark for the rest", example
        )
    if isinstance(small, bool) or not isinstance(small, int | float) or small <= 0:
        raise given.error("schema.quality", "quality", "has a `small` that is no positive number", "Use 100.")
    if len({mark.strip() for mark in marks}) < len(marks):
        raise given.error("schema.quality", "quality", "has two marks that read alike", example)
    wrong = [mark for mark in marks if _means_suppressed(mark)]
    if wrong:
        raise given.error(
            "schema.quality-mark",
            "quality",
            f"has the mark {wrong[0]}, which readers take for a number that was suppressed",
            "Take another letter: every number is shown.",
        )
    return QualityScale("own", marks, tuple(limit for limit in limits if limit is not None), float(small))


def _means_suppressed(mark: str) -> bool:
    """Whether readers take a mark for one of a number that was left out, also in letters that only look like it."""
    read = unicodedata.normalize("NFKC", mark).lower().translate(_LOOK_ALIKE)
    shown = "".join(letter for letter in read if unicodedata.category(letter) != "Cf").strip()
    return shown in SUPPRESSED or shown.strip("()[]") in SUPPRESSED or shown.startswith(_SUPPRESSED_STEMS)


def _share(entry: Any) -> float | None:
    """A share such as 0.05 or "5%"."""
    if isinstance(entry, str) and (match := _PERCENT.fullmatch(entry)):
        entry = float(match[1]) / 100.0
    usable = isinstance(entry, int | float) and not isinstance(entry, bool) and 0 < entry < float("inf")
    return float(entry) if usable else None
