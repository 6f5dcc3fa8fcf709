"""How a text file writes days, declared as a pattern: ``%d.%m.%Y``, ``%m/%d/%y``, ``%YQ%q``, ``%d%b%Y``, ``%Y-%m``.

========  ==========================================================================
``%Y``    a year of four digits
``%y``    a year of two digits: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068
``%m``    a month, one or two digits
``%b``    a month in three English letters, in any case
``%d``    a day, one or two digits
``%q``    a quarter, 1 to 4
``%%``    a percent sign
========  ==========================================================================

Every other character is itself.  A pattern without a day means the first of its month or quarter, one without a month
the first of January.  Where a field of digits follows another without anything between them, each has its full number
of digits.  A time of day behind a T or a space is ignored, as it is behind YYYY-MM-DD.
"""

from __future__ import annotations

LITERAL, YEAR, SHORT_YEAR, MONTH, MONTH_NAME, DAY, QUARTER = 0, 1, 2, 3, 4, 5, 6
"""Steps of a pattern.  Of a number, ``FULL`` is added where it must have all of its digits."""
FULL = 16
PIVOT = 69
"""The first two-digit year of the last century, as in POSIX."""

_FIELDS = {"Y": YEAR, "y": SHORT_YEAR, "m": MONTH, "b": MONTH_NAME, "d": DAY, "q": QUARTER}
_NUMBERS = (YEAR, SHORT_YEAR, MONTH, DAY, QUARTER)
MONTH_NAMES = "janfebmaraprmayjunjulaugsepoctnovdec"

PatternStep = tuple[int, int]


class PatternError(ValueError):
    """A pattern that means no day; ``args`` are (message, fix)."""


def steps_of(pattern: str) -> tuple[PatternStep, ...]:
    """The pattern as steps: what is read, and the byte of a literal.

    >>> steps_of("%d.%m.%Y")
    ((5, 0), (0, 46), (3, 0), (0, 46), (1, 0))
    """
    steps: list[PatternStep] = []
    letters = iter(pattern)
    for letter in letters:
        if letter != "%":
            steps += [(LITERAL, byte) for byte in letter.encode()]
            continue
        field = next(letters, "")
        if field == "%":
            steps.append((LITERAL, ord("%")))
        elif field in _FIELDS:
            steps.append((_FIELDS[field], 0))
        else:
            raise PatternError(
                "has a field that is not known", f"Use {', '.join(f'%{known}' for known in _FIELDS)}."
            )
    _check([kind for kind, _ in steps])
    after = [*(kind for kind, _ in steps[1:]), LITERAL]
    return tuple(
        (kind | FULL if kind in _NUMBERS and following in _NUMBERS else kind, byte)
        for (kind, byte), following in zip(steps, after, strict=True)
    )


def months_of(pattern: str) -> int:
    """Months that a field written so stands for, the first day of which it is read as; 0 where it names a day.

    >>> months_of("%Y-Q%q"), months_of("%b %Y"), months_of("%Y"), months_of("%d.%m.%Y"), months_of("")
    (3, 1, 12, 0, 0)
    """
    kinds = {kind & ~FULL for kind, _ in steps_of(pattern)} if pattern else {DAY}
    if DAY in kinds:
        return 0
    return 3 if QUARTER in kinds else 1 if kinds & {MONTH, MONTH_NAME} else 12


def _check(kinds: list[int]) -> None:
    years = kinds.count(YEAR) + kinds.count(SHORT_YEAR)
    months = kinds.count(MONTH) + kinds.count(MONTH_NAME) + kinds.count(QUARTER)
    days = kinds.count(DAY)
    if years != 1 or months > 1 or days > 1 or (days and (not months or QUARTER in kinds)):
        raise PatternError(
            "does not name a day, a month, a quarter or a year once",
            'Write for example "%d.%m.%Y", "%Y-%m", "%YQ%q" or "%Y".',
        )
