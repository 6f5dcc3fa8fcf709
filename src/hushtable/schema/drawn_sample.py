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
    "sampling (design effect {effect:.10g}, {rows:,} rows) together, for means and totals with the largest error of "
    "sampling that their bounds allow."
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

    @property
    def tells(self) -> bool:
        """Whether enough is declared for the error of sampling."""
        return self.rows is not None and self.design_effect is not None

    def relative_error(self, share: float, among: float = 1.0) -> float | None:
        """Relative standard error of a count by sampling alone: of a group with this share of those ``among`` whom it
        is counted, who are themselves a share of everybody."""
        if self.rows is None or self.design_effect is None or share <= 0.0 or among <= 0.0:
            return None
        return (self.design_effect * max(1.0 - share, 0.0) / (self.rows * among * share)) ** 0.5

    def mean_error(self, share: float, mean: float, low: float, high: float) -> float | None:
        """The largest relative standard error of a mean in such a group: values from ``low`` to ``high`` with this mean
        have at most the variance ``(high - mean) (mean - low)``."""
        if self.rows is None or self.design_effect is None or share <= 0.0 or mean <= 0.0:
            return None
        variance = max((high - mean) * (mean - low), 0.0)
        return (self.design_effect * variance / (self.rows * share)) ** 0.5 / mean

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
