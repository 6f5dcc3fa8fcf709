"""Whether the file is a census or a sample, and how much a sample of its design says less than a simple one.

Intervals of a release are about the file.  What its rows say of everybody is another question, with an error of its
own: the ``design_effect`` is how many times larger the variance of a count is than in a simple random sample of as
many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushtable.schema.fields import Fields, is_mapping

NOISE_ALONE = (
    "The file is a sample: intervals cover the noise alone, and not the error of sampling, so that they are for what "
    "the file holds."
)
BOTH = (
    "The file is a sample: intervals cover the noise alone; cv_total is the relative standard error with noise and "
    "sampling (design effect {effect:.10g}, {rows:,} rows) together."
)


@dataclass(frozen=True)
class DrawnSample:
    """A sample; of how many rows and with which design effect, where that is declared."""

    rows: int | None = None
    design_effect: float | None = None

    @property
    def note(self) -> str:
        """What the intervals cover."""
        if self.rows is None or self.design_effect is None:
            return NOISE_ALONE
        return BOTH.format(effect=self.design_effect, rows=self.rows)

    def relative_error(self, share: float) -> float | None:
        """Relative standard error of the count of a group with this share of everybody, by sampling alone."""
        if self.rows is None or self.design_effect is None or share <= 0.0:
            return None
        return (self.design_effect * max(1.0 - share, 0.0) / (self.rows * share)) ** 0.5

    def to_value(self) -> Any:
        """As a schema has it."""
        if self.rows is None:
            return True
        return {"rows": self.rows, "design_effect": self.design_effect}


def read_sampling(top: Fields) -> DrawnSample | None:
    """``sample`` of a schema: true, false (a census), or rows and design effect."""
    if "sample" not in top:
        return None
    given = top["sample"]
    if not is_mapping(given):
        return DrawnSample() if top.flag("sample", False) else None
    fields = top.inner(("sample",), given)
    if "replicate_weights" in fields:
        raise fields.error(
            "schema.replicate-weights",
            "replicate_weights",
            "cannot be used: each of them would be one more weighted table that the budget pays for",
            "Compute the design effect where the sample was drawn, and declare `design_effect`.",
        )
    fields.only(("rows", "design_effect"))
    rows, effect = fields.positive("rows"), fields.above_0("design_effect")
    if rows is None or effect is None:
        raise fields.error(
            "schema.missing-field",
            None,
            "needs `rows` and `design_effect`",
            "Write `sample: {rows: 20000, design_effect: 1.8}`, or `sample: true`.",
        )
    return DrawnSample(rows, float(effect))
