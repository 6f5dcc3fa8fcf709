"""Is the change real?  Two releases side by side: difference, interval and significance of every cell.

The noises of two releases are independent, so the variances of their unbiased estimates add up; releases that share
answers (one reuses the other's, or both reuse the same) are refused, because theirs are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hushtable.errors import WorkloadError
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.planning import normal_spread
from hushtable.release.promise import difference_promise
from hushtable.texts import counted

if TYPE_CHECKING:
    from hushtable.release.exports import Exported
    from hushtable.release.release import Release

_COLUMNS = {
    "difference": "difference",
    "std": "difference_std",
    "lower": "difference_lower",
    "upper": "difference_upper",
    "p_value": "p_value",
    "significant": "significant",
    "significant_among_all": "significant_among_all",
    "last": "last",
}
"""What a comparison says of a cell, and what it is called beside the columns of the released table."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseComparison:
    """The tables of two releases, ``this`` and ``last``; intervals are at ``1 - alpha``."""

    this: Release
    last: Release
    alpha: float = 0.05

    @cached_property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """Tables of ``this`` that ``last`` tells too, both measured in full."""
        return tuple(names for names in self.this.marginals if self._comparable(names))

    def table(self, *attributes: str) -> pl.DataFrame:
        """One table: this, last, difference, std, lower, upper, p_value, significant, significant_among_all.

        ``significant`` is about each cell alone, ``significant_among_all`` about all cells of the table together
        (Bonferroni).
        """
        self.this.outline.check_same(self.last.outline, attributes)
        new, old = (release.table(*attributes) for release in (self.this, self.last))
        labels, others = (_labels(r, frame, attributes) for r, frame in ((self.this, new), (self.last, old)))
        old = _in_order(old, others, labels)
        if new["unbiased"].null_count() or old["unbiased"].null_count():
            raise WorkloadError(
                "compare.not-measured",
                f"The table {' x '.join(attributes) or 'of the total'} was not measured in full in both releases.",
                "Compare tables whose `measured` is fully.",
            )
        difference = (new["unbiased"] - old["unbiased"]).to_numpy()
        std = np.hypot(new["std"].to_numpy(), old["std"].to_numpy())
        reach = normal_spread(self.alpha) * std
        p_value = _two_sided(difference, std)
        numbers = {
            "this": new["unbiased"].to_numpy(),
            "last": old["unbiased"].to_numpy(),
            "difference": difference,
            "std": std,
            "lower": difference - reach,
            "upper": difference + reach,
            "p_value": p_value,
            "significant": p_value < self.alpha,
            "significant_among_all": p_value * len(p_value) < self.alpha,
        }
        return pl.DataFrame([*labels, *(pl.Series(name, values) for name, values in numbers.items())])

    def tables(self) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
        """Every table that can be compared."""
        for names in self.marginals:
            yield names, self.table(*names)

    def summary(self) -> pl.DataFrame:
        """One row per table: cells, how many changed beyond noise, and how many would by chance alone."""
        rows = [
            (
                " x ".join(names) or "the total",
                frame.height,
                int(frame["significant"].sum()),
                int(frame["significant_among_all"].sum()),
                self.alpha * frame.height,
            )
            for names, frame in self.tables()
        ]
        columns = ["marginal", "cells", "significant", "significant_among_all", "by_chance"]
        return pl.DataFrame(rows, columns, orient="row")

    def columns(self, attributes: Sequence[str]) -> list[pl.Series]:
        """What changed, as columns to stand beside a table of ``this``; yes and no in words."""
        frame = self.table(*attributes).select(
            pl.col(name).alias(beside) for name, beside in _COLUMNS.items()
        )
        words = [name for name in frame.columns if frame[name].dtype == pl.Boolean]
        shown = (
            pl.when(pl.col(name)).then(pl.lit("yes")).otherwise(pl.lit("no")).alias(name) for name in words
        )
        return frame.with_columns(*shown).get_columns()

    @property
    def note(self) -> str:
        """What a reader of the differences must know."""
        told = (
            f"Differences are those of unbiased estimates from the release of ledger {self.last.card.ledger.name}, "
            f"entry {self.last.card.ledger.entry}. Significant: noise alone would give as much with probability below "
            f"{self.alpha:.10g}, for each cell by itself; among all: for all cells of its table together."
        )
        return " ".join(filter(None, [told, self.resting]))

    @property
    def resting(self) -> str:
        """What the differences rest on beside the noise, and what their intervals leave out; mostly nothing."""
        return difference_promise(self.this.card, self.last.card)

    def export(self, folder: str | PathLike[str], format: str = "csv", *, raw: bool = False) -> Exported:
        """Write every table that both releases tell, with what changed, in a format that others read."""
        from hushtable.release.exports import write_changes  # the formats know comparisons

        return write_changes(self, folder, format, raw=raw)

    def to_dict(self) -> dict[str, Any]:
        """The summary, and every table with its cells."""
        told = [{"attributes": list(names), "rows": frame.to_dicts()} for names, frame in self.tables()]
        return {"alpha": self.alpha, "summary": self.summary().to_dicts(), "tables": told}

    def __repr__(self) -> str:
        return f"<Comparison of {counted(len(self.marginals), 'table')}>"

    def _repr_html_(self) -> str:
        shown = self.summary()
        return html_card(
            repr(self).strip("<>"), {}, shown.columns, shown.rows()[:MOST_ROWS], shown.height - MOST_ROWS
        )

    def _comparable(self, names: tuple[str, ...]) -> bool:
        try:
            self.table(*names)
        except WorkloadError as error:
            if error.code in ("compare.not-measured", "table.not-released"):
                return False
            raise
        return True


def compare(this: Release, last: Release, *, alpha: float = 0.05) -> ReleaseComparison:
    """Two releases side by side, cell by cell; refuses releases whose noise is not independent."""
    this.outline.check_independent(last.outline)
    return ReleaseComparison(this, last, alpha)


def _labels(release: Release, frame: pl.DataFrame, attributes: Sequence[str]) -> list[pl.Series]:
    """The columns of a table that name its cells."""
    return [frame[release.schema.names[axis]] for axis in release.schema.axes(attributes)]


def _in_order(frame: pl.DataFrame, labels: list[pl.Series], wanted: list[pl.Series]) -> pl.DataFrame:
    """The rows of a table in another order of its cells: where a tree changed, its leaves may stand elsewhere."""
    if all(one.equals(two) for one, two in zip(labels, wanted, strict=True)):
        return frame
    place = {cell: row for row, cell in enumerate(zip(*labels, strict=True))}
    return frame[[place[cell] for cell in zip(*wanted, strict=True)]]


def _two_sided(difference: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Chance of a difference as large or larger by noise alone, normal law."""
    from scipy.special import ndtr  # takes longer to load than to compare

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            std > 0.0, 2.0 * ndtr(-np.abs(difference) / std), np.where(difference == 0.0, 1.0, 0.0)
        )
