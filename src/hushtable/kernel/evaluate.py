"""True errors of a release, for the curator's own eyes: the one result of the kernel that is not private.

Nothing here is charged, because nothing here may be published.  It compares released tables with exact counts: by
table, by group, by size of cell, the worst cells, how often intervals hold, and which share of the records a plain
random sample would need for the same error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints
from hushtable.errors import RefusedError
from hushtable.kernel.counter import Counter
from hushtable.kernel.yardstick import sample_share
from hushtable.marginals import AttributeSet, Layout, marginal_label
from hushtable.reconstruct import Evaluation
from hushtable.schema import Schema

CHUNK_CELLS = 10_000_000
"""Cells that are compared at once, 80 MB for each of their numbers.  More take memory; fewer read rows more often."""
WORST_CELLS = 50
"""Rows of the list of the largest errors: a page's worth."""
_GROUPS = {
    "attribute": pl.String,
    "value": pl.String,
    "records": pl.Int64,
    "error_share": pl.Float64,
    "mean_l1": pl.Float64,
    "bias": pl.Float64,
}
_BANDS = (0, 1, 10, 100, 1000, 10_000, 100_000)
"""True counts by which errors are listed: powers of ten."""


class ReleasedTables(Protocol):
    """Released tables: of which schema, which marginals, and what was published of them."""

    @property
    def schema(self) -> Schema: ...
    @property
    def workload(self) -> Sequence[AttributeSet]: ...
    def published(self, sets: Sequence[AttributeSet]) -> tuple[Floats, Floats, Floats]:
        """Estimates, lower and upper ends of all cells of some marginals, flat."""
        ...


def true_errors(counter: Counter, release: ReleasedTables, *, confidential: bool) -> Evaluation:
    """Compare published tables with exact counts; refused unless the caller says that it stays ``confidential``."""
    if not confidential:
        raise RefusedError(
            "report.not-private",
            "Comparing a release with the data gives numbers that are not differentially private.",
            "Add --confidential (confidential=True) if only the curator will see them.",
        )
    tally = _Tally(release.schema)
    for _, layout in Layout(release.schema.sizes, tuple(release.workload)).pieces(CHUNK_CELLS):
        exact, unit = counter.tabulate(layout), release.schema.count_unit
        tables = exact if unit == 1 else exact * float(unit), *release.published(layout.sets)
        for k, attributes in enumerate(layout.sets):
            tally.add(attributes, *(layout.at(flat, k) for flat in tables))
    return tally.found()


@dataclass
class _Tally:
    """Sums over marginals."""

    schema: Schema
    rows: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    bands: Floats = field(default_factory=lambda: np.zeros((len(_BANDS), 4)))
    worst: pl.DataFrame | None = None
    groups: dict[int, tuple[Floats, Floats, Floats, int]] = field(
        default_factory=dict[int, tuple[Floats, Floats, Floats, int]]
    )
    seen: list[tuple[Ints, Ints]] = field(default_factory=list[tuple[Ints, Ints]])
    records: int = 0

    def add(
        self, attributes: AttributeSet, exact: Ints, estimate: Floats, lower: Floats, upper: Floats
    ) -> None:
        error = estimate - exact
        held = (lower <= exact) & (exact <= upper)
        self.records = int(exact.sum())
        counts, times = np.unique(exact, return_counts=True)
        self.seen.append((counts, times))
        l1 = float(np.abs(error).sum())
        self.rows.append(
            {
                "marginal": marginal_label(attributes, self.schema.names),
                "cells": exact.size,
                "l1_share": l1 / max(1, self.records),
                "mean_error": l1 / exact.size,
                "largest_error": float(np.abs(error).max()),
                "bias": float(error.mean()),
                "coverage": float(held.mean()),
                "sample_share": sample_share(counts, times, l1),
            }
        )
        self._add_bands(exact, error, held)
        self._add_groups(attributes, exact, error)
        self._add_worst(attributes, exact, estimate, lower, upper)

    def found(self) -> Evaluation:
        worst = pl.DataFrame() if self.worst is None else self.worst
        tables = pl.DataFrame(self.rows)
        return Evaluation(self._overall(), tables, self._group_frame(), self._band_frame(), worst)

    def _add_bands(self, exact: Ints, error: Floats, held: NDArray[np.bool_]) -> None:
        band = np.searchsorted(_BANDS, exact, side="right") - 1
        for k, values in enumerate((np.ones(exact.size), np.abs(error), error, held.astype(np.float64))):
            self.bands[:, k] += np.bincount(band, weights=values, minlength=len(_BANDS))

    def _add_groups(self, attributes: AttributeSet, exact: Ints, error: Floats) -> None:
        shape = tuple(self.schema.sizes[i] for i in attributes)
        for k, axis in enumerate(attributes):
            others = tuple(j for j in range(len(shape)) if j != k)
            size = exact.reshape(shape).sum(axis=others).astype(np.float64)
            wrong = np.abs(error).reshape(shape).sum(axis=others)
            more = error.reshape(shape).sum(axis=others)
            _, before, signed, tables = self.groups.get(axis, (size, 0.0 * wrong, 0.0 * wrong, 0))
            self.groups[axis] = (size, before + wrong, signed + more, tables + 1)

    def _add_worst(
        self, attributes: AttributeSet, exact: Ints, estimate: Floats, lower: Floats, upper: Floats
    ) -> None:
        distance = np.abs(estimate - exact)
        top = np.argsort(-distance)[:WORST_CELLS]
        codes = np.unravel_index(top, [self.schema.sizes[i] for i in attributes]) if attributes else ()
        words = [
            " / ".join(self._labels(axis)[int(code[j])] for axis, code in zip(attributes, codes, strict=True))
            for j in range(top.size)
        ]
        frame = pl.DataFrame(
            {
                "marginal": [marginal_label(attributes, self.schema.names)] * top.size,
                "cell": words,
                "true": exact[top],
                "estimate": estimate[top],
                "lower": lower[top],
                "upper": upper[top],
                "error": (estimate - exact)[top],
            }
        )
        both = frame if self.worst is None else pl.concat([self.worst, frame])
        self.worst = both.sort(pl.col("error").abs(), descending=True).head(WORST_CELLS)

    def _overall(self) -> pl.DataFrame:
        counts = np.concatenate([c for c, _ in self.seen])
        times = np.concatenate([t for _, t in self.seen])
        frame = pl.DataFrame(self.rows)
        whole = float((frame["l1_share"] * max(1, self.records)).sum())
        cells = frame["cells"].to_numpy()
        held = float(np.average(frame["coverage"].to_numpy(), weights=cells))
        return pl.DataFrame(
            {
                "records": [self.records],
                "marginals": [frame.height],
                "l1_share": [whole / max(1, self.records) / frame.height],
                "coverage": [held],
                "sample_share": [sample_share(counts, times, whole)],
            }
        )

    def _group_frame(self) -> pl.DataFrame:
        rows = [
            {
                "attribute": self.schema.names[axis],
                "value": self._labels(axis)[code],
                "records": int(size[code]),
                "error_share": float(wrong[code] / tables / size[code]) if size[code] else None,
                "mean_l1": float(wrong[code] / tables),
                "bias": float(more[code] / tables),
            }
            for axis, (size, wrong, more, tables) in sorted(self.groups.items())
            for code in range(size.size)
        ]
        return pl.DataFrame(rows, schema=_GROUPS)

    def _labels(self, axis: int) -> Sequence[str]:
        return self.schema.of_axis(axis).labels

    def _band_frame(self) -> pl.DataFrame:
        cells = self.bands[:, 0]
        some = np.maximum(cells, 1)
        names = ["0", *(f"{a:,} to {b - 1:,}" for a, b in pairwise(_BANDS[1:]))]
        frame = pl.DataFrame(
            {
                "true_count": [*names, f"{_BANDS[-1]:,} and more"],
                "cells": cells.astype(np.int64),
                "mean_error": self.bands[:, 1] / some,
                "bias": self.bands[:, 2] / some,
                "coverage": self.bands[:, 3] / some,
            }
        )
        return frame.filter(pl.col("cells") > 0)
