"""What a report reads: a bundle on disk, opened once, and figures that several sections need.

Only the bundle is read.  Numbers of whole tables come from its Parquet files, so that nothing is fitted again.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hushtable.marginals import AttributeSet, marginal_label
from hushtable.reconstruct.bounds import FULLY, measured_flags
from hushtable.release import Release
from hushtable.schema import Schema

ALPHA = 0.05


class View:
    """A bundle with cached summaries."""

    def __init__(self, folder: Path, release: Release) -> None:
        self.folder = folder
        self.release = release

    @classmethod
    def open(cls, folder: str | Path) -> View:
        """Open a bundle; a damaged or foreign folder is refused."""
        return cls(Path(folder), Release.load(folder))

    @property
    def card(self) -> dict[str, Any]:
        """The privacy card."""
        return self.release.card

    @property
    def schema(self) -> Schema:
        """The declared domain."""
        return self.release.schema

    def label(self, attributes: AttributeSet) -> str:
        """``age x sex``."""
        return marginal_label(attributes, self.schema.names)

    @cached_property
    def small_sets(self) -> tuple[AttributeSet, ...]:
        """The total, single attributes and pairs that lie inside the released marginals."""
        inside = {
            part
            for s in self.release.workload
            for k in range(min(len(s), 2) + 1)
            for part in combinations(s, k)
        }
        return tuple(sorted(inside, key=lambda s: (len(s), s)))

    @cached_property
    def small_errors(self) -> pl.DataFrame:
        """One row per small set: attributes, what was measured, std and half-width where they are known."""
        sets = self.small_sets
        errors = self.release.estimates.errors(sets, ALPHA)
        known = np.isfinite(errors.std)
        return pl.DataFrame(
            {
                "order": [len(s) for s in sets],
                "first": [self.schema.names[s[0]] if s else None for s in sets],
                "second": [self.schema.names[s[-1]] if s else None for s in sets],
                "measured": measured_flags(self.release.estimates, sets),
                "std": np.where(known, errors.std, np.nan),
                "half_width": np.where(known, errors.half_width, np.nan),
            },
            schema_overrides={"first": pl.String, "second": pl.String},
            nan_to_null=True,
        )

    @cached_property
    def marginals(self) -> pl.DataFrame:
        """One row per marginal: its accuracy, and what its cells say (null where the bundle has no cells)."""
        accuracy = self.release.accuracy(ALPHA)
        cells = [self._cells(path) for path in sorted((self.folder / "tables").glob("order-*.parquet"))]
        if not cells:
            return accuracy.with_columns(half_range=pl.lit(None, pl.Float64), below=pl.lit(None, pl.Float64))
        return accuracy.join(pl.concat(cells), on="marginal", how="left", maintain_order="left")

    @cached_property
    def total(self) -> dict[str, Any]:
        """The noisy total with its interval."""
        return self.release.table().to_dicts()[0]

    @property
    def fully_measured(self) -> bool:
        """Whether every marginal has a known standard error."""
        return bool((self.marginals["measured"] == FULLY).all())

    def _cells(self, path: Path) -> pl.DataFrame:
        """Half the range of the bounds (median over cells) and the share of cells below two standard errors."""
        order = int(path.stem.removeprefix("order-"))
        names = [f"attribute_{k}" for k in range(1, order + 1)]
        label = pl.concat_str(names, separator=" x ") if names else pl.lit(self.label(()))
        below = (pl.col("estimate") < 2 * pl.col("std")).mean().alias("below")
        half = ((pl.col("upper") - pl.col("lower")) / 2).median().alias("half_range")
        columns = [*names, "estimate", "std", "lower", "upper"]
        lazy = pl.scan_parquet(path).select(columns)
        grouped = lazy.group_by(names).agg(half, below) if names else lazy.select(half, below)
        casts = [pl.col(name).cast(pl.String) for name in names]
        return grouped.with_columns(casts).collect().select(label.alias("marginal"), "half_range", "below")
