"""The cells of a release's tables as a page shows them: estimates, ends as published, what is known of their errors.

Numbers of the tables that were asked for come from the bundle's files; those of the tables inside them, which are their
totals, from the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, closure
from hushtable.reconstruct import measured_flags
from hushtable.release import Bundle, Release

MOST_CELLS = 8_000_000
"""Cells that a page holds or has beside it, 300 MB while they are packed.  More would make pages that no browser
likes; whole tables are in the bundle's Parquet files then."""
FAR = 0.001
"""A whole at 99.9% under a part at 95% makes a share at 94.9%: near enough to 95%, and hardly wider."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Tables of a release, small ones first, their cells flat in C order.

    ``known`` and ``measured`` are by table, everything else by cell.  ``unbiased``, ``std``, ``reach`` (half-width at
    ``1 - alpha``) and ``far`` (at ``1 - FAR``) mean something where a table is known, which is one that was measured in
    full.  ``lower`` is never negative.
    """

    layout: Layout
    asked: frozenset[AttributeSet]
    estimate: Floats
    lower: Floats
    upper: Floats
    unbiased: Floats
    std: Floats
    reach: Floats
    far: Floats
    known: np.ndarray[tuple[int], np.dtype[np.bool_]]
    measured: Sequence[str]

    @classmethod
    def of(cls, release: Release, bundle: Bundle, alpha: float) -> Cells | None:
        """The tables that were asked for and those inside them, up to ``MOST_CELLS``; None if the first has more."""
        asked = _first(release.workload, release.schema.sizes)
        if not asked:
            return None
        sets = closure(asked, release.schema.sizes)
        layout = Layout(release.schema.sizes, sets)
        model = release.estimates.model
        known = np.isfinite(model.cell_variances(sets))
        estimate, lower, upper = _published(release, bundle, layout, alpha)
        return cls(
            layout,
            frozenset(asked),
            estimate,
            np.maximum(lower, 0.0),
            np.maximum(upper, 0.0),
            release.estimates.estimate_all(layout),
            np.sqrt(model.variances_of(layout)),
            model.half_widths_of(layout, alpha),
            model.half_widths_of(layout, FAR),
            known,
            measured_flags(release.estimates, sets),
        )

    def span(self, attributes: AttributeSet) -> slice:
        """Where the cells of a table are."""
        k = self.layout.index[attributes]
        return slice(int(self.layout.offsets[k]), int(self.layout.offsets[k + 1]))


def _first(workload: Sequence[AttributeSet], sizes: Sequence[int]) -> list[AttributeSet]:
    """Tables from the smallest order on, as many as ``MOST_CELLS`` allow."""
    found: list[AttributeSet] = []
    cells = 0
    for attributes in sorted(workload, key=len):
        cells += prod(sizes[a] for a in attributes)
        if cells > MOST_CELLS:
            break
        found.append(attributes)
    return found


def _published(
    release: Release, bundle: Bundle, layout: Layout, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Estimates and ends: of whole orders from the bundle where it has them, of other tables by the release."""
    flat = np.empty((3, layout.cells))
    workload, rest = set(release.workload), [*layout.sets]
    for order in bundle.orders:
        sets = [s for s in release.workload if len(s) == order]
        if not set(sets) & layout.index.keys():
            continue
        numbers = bundle.numbers(order)
        kept = Layout(layout.sizes, tuple(sets))
        for k, attributes in enumerate(sets):
            if attributes in layout.index:
                for row, column in enumerate((numbers.estimate, numbers.lower, numbers.upper)):
                    layout.at(flat[row], layout.index[attributes])[:] = kept.at(column, k)
        rest = [s for s in rest if len(s) != order or s not in workload]
    if rest:
        target = Layout(layout.sizes, tuple(rest))
        for row, values in enumerate(release.published(rest, alpha)):
            for k, attributes in enumerate(rest):
                layout.at(flat[row], layout.index[attributes])[:] = target.at(values, k)
    return flat[0], flat[1], flat[2]
