"""Whether the file is a census or a sample, and how much a sample of its design says less than a simple one.

Intervals of a release are about the file.  What its rows say of everybody is another question, with an error of its
own: the ``design_effect`` is how many times larger the variance of a count is than in a simple random sample of as
many rows.  It is declared, or follows from replicate weights, whose tables a share of the budget pays for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hushtable.schema.dialect import Dialect
from hushtable.schema.fields import Fields, is_mapping
from hushtable.schema.replicate_weights import ReplicateWeights, read_replicates
from hushtable.schema.row_weight import RowWeight

if TYPE_CHECKING:
    from hushtable.arrays import Floats

NOISE_ALONE = (
    "The file is a sample: intervals cover the noise alone, and not the error of sampling, so that they are for what "
    "the file holds."
)
BOTH = (
    "The file is a sample: intervals cover the noise alone, and not the error of sampling. Where a table has cv_total, "
    "that is the relative standard error with noise and sampling (design effect {effect:.4g}, {rows:,} rows) together, "
    "for means and totals with the largest error of sampling that their bounds allow."
)

MEASURED = (
    "The design effect was measured from replicate weights, with a standard error of {error:.2g} by noise, and is one "
    "for all tables: a rough figure. The guarantee takes replicate weights as fixed."
)
UNCLEAR = "Replicate weights are declared, but no design effect that can be told from noise was measured."
CLEAR = 2.0
"""Standard errors that a measured design effect must be above 0: below, noise alone often looks like that."""


@dataclass(frozen=True)
class DrawnSample:
    """A sample; of how many rows and with which design effect, where that is declared or was measured."""

    rows: int | None = None
    design_effect: float | None = None
    replicates: ReplicateWeights | None = None
    effect_error: float | None = None
    """Standard error of a design effect that was measured, by noise alone."""

    @property
    def note(self) -> str:
        """What the intervals cover."""
        if self.rows is None or self.design_effect is None:
            return NOISE_ALONE if self.replicates is None else f"{NOISE_ALONE} {UNCLEAR}"
        if self.effect_error is not None:
            found = MEASURED.format(effect=self.design_effect, error=self.effect_error)
            return f"{BOTH.format(effect=self.design_effect, rows=self.rows)} {found}"
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

    def sum_error(self, shares: Floats, weights: Floats) -> float | None:
        """Relative standard error by sampling alone of a weighted sum of groups that have no row in common."""
        value = float(shares @ weights)
        if self.rows is None or self.design_effect is None or value <= 0.0:
            return None
        variance = max(float(shares @ weights**2) - value**2, 0.0)
        return (self.design_effect * variance / self.rows) ** 0.5 / value

    def mean_error(self, share: float, mean: float, low: float, high: float) -> float | None:
        """The largest relative standard error of a mean in such a group: values from ``low`` to ``high`` with this mean
        have at most the variance ``(high - mean) (mean - low)``."""
        if self.rows is None or self.design_effect is None or share <= 0.0 or mean <= 0.0:
            return None
        variance = max((high - mean) * (mean - low), 0.0)
        return (self.design_effect * variance / (self.rows * share)) ** 0.5 / mean

    def measured(self, effect: float, error: float) -> DrawnSample:
        """With a design effect that was measured, unless that cannot be told from noise."""
        if effect < CLEAR * error:
            return self
        return replace(self, design_effect=effect, effect_error=error)

    def to_value(self) -> Any:
        """As a schema has it."""
        if self.rows is None:
            return True
        if self.replicates is not None:
            return {"rows": self.rows, "replicates": self.replicates.to_dict()}
        return {"rows": self.rows, "design_effect": self.design_effect}


def read_sampling(top: Fields, weight: RowWeight | None, dialect: Dialect) -> DrawnSample | None:
    """``sample`` of a schema: true, false (a census), or rows and design effect or replicate weights."""
    if "sample" not in top:
        return None
    given = top["sample"]
    if not is_mapping(given):
        return DrawnSample() if top.flag("sample", False) else None
    fields = top.inner(("sample",), given)
    fields.only(("rows", "design_effect", "replicates"))
    rows, effect = fields.positive("rows"), fields.above_0("design_effect")
    if rows is None or ("replicates" in fields) == (effect is not None):
        raise fields.error(
            "schema.missing-field",
            None,
            "needs `rows`, and one of `design_effect` and `replicates`",
            "Write `sample: {rows: 20000, design_effect: 1.8}`, or `sample: true`.",
        )
    if effect is None:
        return DrawnSample(rows, None, read_replicates(fields, weight, dialect))
    return DrawnSample(rows, float(effect))
