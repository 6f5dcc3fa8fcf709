"""What a report reads: a bundle on disk, opened once, and figures that several sections need.

Only the bundle is read.  Numbers of whole tables come from its Parquet files, so that nothing is fitted again; what a
row stands for follows from schema and workload.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, marginal_label
from hushtable.microdata import Explanation
from hushtable.reconstruct import measured_flags
from hushtable.release import ALPHA, QUALITY_FLAGS, Bundle, Card, Release, interval_promise, quality_codes
from hushtable.report.cells import Cells
from hushtable.schema import Schema


class View:
    """A bundle with cached summaries."""

    def __init__(self, bundle: Bundle, language: str | None = None) -> None:
        self._bundle = bundle
        release = Release.of(bundle)
        self.release = release if language is None else release.in_language(language)

    @classmethod
    def open(cls, folder: str | Path, language: str | None = None) -> View:
        """Open a bundle; a damaged or foreign folder is refused."""
        return cls(Bundle.open(folder), language)

    @property
    def card(self) -> Card:
        """The privacy card."""
        return self.release.card

    @property
    def schema(self) -> Schema:
        """The declared domain."""
        return self.release.schema

    @property
    def promise(self) -> str:
        """What intervals of counts hold for.  Of adjusted counts their own section speaks."""
        return interval_promise(self.card, ALPHA, adjusted=False)

    def label(self, attributes: AttributeSet) -> str:
        """``age x sex``."""
        return marginal_label(attributes, self.schema.names)

    @cached_property
    def small_sets(self) -> tuple[AttributeSet, ...]:
        """The total, single attributes and pairs that lie inside the released marginals."""
        axes = Axes.of(self.schema.sizes)
        pairs = {pair for s in self.release.workload for pair in combinations(s, min(len(s), 2))}
        inside = {part for pair in pairs for part in axes.below(pair)}
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
        cells = [self._cells(order) for order in self._bundle.orders]
        if not cells:
            nothing = pl.lit(None, pl.Float64)
            return accuracy.with_columns(half_range=nothing, below=nothing, reliable=nothing)
        return accuracy.join(pl.concat(cells), on="marginal", how="left", maintain_order="left")

    @cached_property
    def cells(self) -> Cells | None:
        """All tables that a page can hold, cell by cell; None where even the first is too large."""
        return Cells.of(self.release, self._bundle, ALPHA)

    @cached_property
    def quality(self) -> dict[str, int]:
        """How many cells of the tables that were asked for have which quality."""
        counts = np.zeros(len(QUALITY_FLAGS), np.int64)
        for numbers in (self._bundle.numbers(order) for order in self._bundle.orders):
            codes = quality_codes(numbers.estimate, numbers.lower, numbers.upper, ALPHA)
            counts += np.bincount(codes, minlength=len(counts))
        return {flag.name: int(count) for flag, count in zip(QUALITY_FLAGS, counts, strict=True)}

    @cached_property
    def typical_half(self) -> float | None:
        """Half the width of the interval of a typical cell: the median over the tables that were asked for."""
        halves = [(n.upper - n.lower) / 2 for n in map(self._bundle.numbers, self._bundle.orders)]
        return float(np.median(np.concatenate(halves))) if halves else None

    @cached_property
    def explanation(self) -> Explanation | None:
        """What ``hush microdata --explain`` kept in the bundle."""
        return self._bundle.explanation()

    @cached_property
    def total(self) -> dict[str, Any]:
        """The noisy total with its interval."""
        return self.release.table().to_dicts()[0]

    def _cells(self, order: int) -> pl.DataFrame:
        """Half the range of the bounds (median over cells), shares of cells below two standard errors and reliable."""
        sets = [s for s in self.release.workload if len(s) == order]
        numbers = self._bundle.numbers(order)
        lengths = [prod(self.schema.sizes[i] for i in s) for s in sets]
        frame = pl.DataFrame(
            {
                "place": np.repeat(np.arange(len(sets)), lengths),
                "half": (numbers.upper - numbers.lower) / 2,
                "below": numbers.estimate < 2 * numbers.std,
                "known": ~np.isnan(numbers.std),
                "good": quality_codes(numbers.estimate, numbers.lower, numbers.upper, ALPHA) == 0,
            }
        )
        below = pl.col("below").filter("known").mean().alias("below")
        found = frame.group_by("place", maintain_order=True).agg(
            pl.col("half").median().alias("half_range"), below, pl.col("good").mean().alias("reliable")
        )
        labels = pl.Series("marginal", [self.label(s) for s in sets], dtype=pl.String)
        return found.select(labels.gather(found["place"]), "half_range", "below", "reliable")
