"""What a release leaves out, as it can be published: noisy counts of rows that were dropped or moved to a bound.

A schema asks for them by ``coverage``, the share of a budget that they may cost.  There is one counter for each field
of a row and reason, and one for rows that are dropped for whatever reason.  A row is in at most one counter of a
field, and in those of at most ``reasons`` fields, the first in the order of the schema: that bounds what it costs
(proofs/coverage.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushtable.errors import HushtableError
from hushtable.privacy import exact_number
from hushtable.schema.attribute import Attribute, Binned
from hushtable.schema.fields import Fields, is_integer, is_mapping, is_number

MISSING, UNKNOWN, OUTSIDE, CLIPPED = 1, 2, 3, 4
"""What may befall a field; 0 is nothing."""
REASONS = {
    MISSING: "dropped: no value",
    UNKNOWN: "dropped: not a declared value",
    OUTSIDE: "dropped: out of bounds",
    CLIPPED: "moved to a bound",
}
DROPPING = frozenset({MISSING, UNKNOWN, OUTSIDE})
"""What drops a row."""
DROPPED = "dropped: for any reason"
USUAL_REASONS = 3
"""Fields for which a row is counted unless the schema says otherwise: of rows with more, which are rare, the later
ones are not counted.  The noise grows with the square root of it."""
MOST_SHARE = Fraction(1, 2)
"""A documented limit: who wants to know more of what is left out than of what is counted looks at the rows."""


@dataclass(frozen=True)
class Loss:
    """A counter: of rows to which something befell in a field, or which were dropped at all."""

    field: str
    reason: str


@dataclass(frozen=True)
class Coverage:
    """The share of a budget for counting what is left out, and for how many fields a row is counted."""

    share: Fraction
    reasons: int = USUAL_REASONS

    def to_value(self) -> Any:
        """As a schema has it."""
        share = f"{float(100 * self.share):.10g}%"
        return share if self.reasons == USUAL_REASONS else {"share": share, "reasons": self.reasons}


def read_coverage(top: Fields) -> Coverage | None:
    """``coverage`` of a schema."""
    if "coverage" not in top:
        return None
    given = top["coverage"]
    if not is_mapping(given):
        return Coverage(read_share(top, "coverage", given))
    fields = top.inner(("coverage",), given)
    fields.only(("share", "reasons"))
    if "share" not in fields:
        raise fields.error("schema.missing-field", None, "has no `share`", "Write `coverage: 1%`.")
    return Coverage(read_share(fields, "share", fields["share"]), fields.positive("reasons") or USUAL_REASONS)


def read_share(fields: Fields, name: str, given: Any) -> Fraction:
    """A share of a budget, as a percentage or a decimal number."""
    text = given.strip() if isinstance(given, str) else given
    try:
        if isinstance(text, str) and text.endswith("%"):
            share = exact_number(text[:-1], "share") / 100
        elif is_number(text) and not is_integer(text):
            share = exact_number(text, "share")
        else:
            share = Fraction(0)
    except (ValueError, HushtableError):
        share = Fraction(0)
    if not 0 < share <= MOST_SHARE:
        raise fields.error(
            "schema.wrong-share",
            name,
            "must be a share above 0% and at most 50%",
            "Write for example `1%`.",
        )
    return share


def fates_of(attribute: Attribute) -> tuple[int, ...]:
    """What may befall a field that a reader of tables should know."""
    found = [MISSING] if attribute.null_code is None else []
    found += [UNKNOWN] if attribute.other_code is None else []
    if isinstance(attribute, Binned) and attribute.outside in ("drop", "clip"):
        found.append(OUTSIDE if attribute.outside == "drop" else CLIPPED)
    return tuple(found)


def losses_of(fields: Sequence[Attribute]) -> tuple[Loss, ...]:
    """The counters, field by field; the last is of rows that are dropped for whatever reason."""
    every = [Loss(field.name, REASONS[fate]) for field in fields for fate in fates_of(field)]
    return (*every, Loss("", DROPPED))
