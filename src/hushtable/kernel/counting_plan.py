"""How every marginal of a layout is counted: by bit planes, by a histogram, or summed from a larger one.

The choice rests on public sizes alone, so the plan, its memory and its order of work say nothing about the records.
Costs are nanoseconds for one record on one core; only their ratio matters, and the counts are the same either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import cast

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

from hushtable.errors import WorkloadError
from hushtable.kernel.bitplanes import Places
from hushtable.kernel.histograms import Histograms, build_histograms
from hushtable.kernel.plane_program import PlaneProgram, build_program, by_orders, fits
from hushtable.marginals import AttributeSet, Layout

LARGEST_MARGINAL = 2**32
"""Cells of a marginal: the codes that tables share have 32 bits."""
LARGEST_PLANE_ATTRIBUTE = 256
"""Values of an attribute that gets bit planes: each but one is a bit of every record.  The costs below let it matter
only for attributes of 257 to 362 values."""
LARGEST_PLANE_ORDER = 6
"""Attributes of a table counted with bit planes, which count its 2^6 subsets too.  Not tuned: all tables of seven among
16 binary attributes took 2.3 s of processor time by histograms and 0.3 s by planes (300,000 records)."""

HISTOGRAM_CELLS = (2**15, 2**18, 2**22)
HISTOGRAM_COST = (0.65, 1.2, 2.5, 5.0)
"""Nanoseconds of an increment in a table of up to so many cells, measured (ADR 5): they rise as the table leaves the
caches.  With larger figures more tables are counted with bit planes; counts are the same."""


def plane_cost() -> float:
    """Nanoseconds per record of a cell counted with bit planes: 64 at once, by a vector or a scalar instruction."""
    features = cast("dict[str, bool]", binding.get_host_cpu_features())
    return 0.0018 if features.get("avx512vpopcntdq") else 0.007


@dataclass(frozen=True)
class SumOver:
    """Table ``target`` is table ``source`` summed over ``axes``; both are positions in the layout."""

    target: int
    source: int
    axes: tuple[int, ...]


@dataclass(frozen=True)
class CountingPlan:
    """The work that fills a layout."""

    layout: Layout
    program: PlaneProgram | None
    expansions: tuple[Places, ...]
    histograms: Histograms | None
    histogram_positions: tuple[int, ...]
    sums: tuple[SumOver, ...]
    totals: tuple[int, ...]

    @property
    def histogram_cells(self) -> int:
        """Counters of all histograms."""
        return 0 if self.histograms is None else int(self.histograms.offset[-1])

    @property
    def plane_cells(self) -> int:
        """Counters of the plane program."""
        return 0 if self.program is None else self.program.counters


def build_plan(layout: Layout) -> CountingPlan:
    """Choose for every distinct set; the sets that have a larger one in the layout are not counted again."""
    _check(layout)
    larger = _smallest_larger(layout)
    counted = [s for s in layout.index if s and s not in larger]
    by_planes = [s for group in by_orders(counted) for s in _suited_to_planes(layout, group)]
    by_histogram = sorted(set(counted).difference(by_planes))
    program = build_program(layout.sizes, by_planes) if by_planes else None
    expanded = list(by_planes)
    if program is not None:
        for group in by_orders(list(larger)):
            expanded += [s for s, held in zip(group, program.holds(group), strict=True) if held]
    return CountingPlan(
        layout,
        program,
        tuple(_expansions(layout, program, expanded)),
        build_histograms(layout.sizes, by_histogram) if by_histogram else None,
        tuple(layout.index[s] for s in by_histogram),
        tuple(_sums(layout, larger, set(expanded))),
        tuple(k for k, s in enumerate(layout.sets) if not s),
    )


def _check(layout: Layout) -> None:
    cells: list[int] = np.diff(layout.offsets).tolist()
    if max(cells, default=0) >= LARGEST_MARGINAL:
        attributes = layout.sets[cells.index(max(cells))]
        raise WorkloadError(
            "workload.marginal-too-large",
            f"The marginal of attributes {', '.join(map(str, attributes))} has 2^32 cells or more.",
            "Ask for fewer attributes at once, or declare them with fewer values.",
        )


def _suited_to_planes(layout: Layout, sets: Sequence[AttributeSet]) -> list[AttributeSet]:
    """The sets of one order that cost less with bit planes than with a histogram."""
    order = len(sets[0])
    if order > LARGEST_PLANE_ORDER or not fits(order, len(layout.sizes)):
        return []
    shapes = np.array(layout.sizes, np.int64)[np.array(sets, np.int64)]
    histogram = np.array(HISTOGRAM_COST)[np.searchsorted(HISTOGRAM_CELLS, shapes.prod(axis=1))]
    suited: NDArray[np.bool_] = plane_cost() * np.maximum(shapes - 1, 1).prod(axis=1) < histogram
    suited &= shapes.max(axis=1) <= LARGEST_PLANE_ATTRIBUTE
    return [attributes for attributes, yes in zip(sets, suited.tolist(), strict=True) if yes]


def _smallest_larger(layout: Layout) -> dict[AttributeSet, AttributeSet]:
    """For every set with a proper superset in the layout, the superset of fewest cells."""
    by_order = {len(group[0]): group for group in by_orders(tuple(layout.index))}
    best: dict[AttributeSet, tuple[int, AttributeSet]] = {}
    for order in by_order:
        for below in [k for k in by_order if 0 < k < order]:
            for attributes in by_order[order]:
                cells = prod(layout.shape(attributes))
                for part in _parts(attributes, by_order[below], below, layout.index):
                    if part not in best or cells < best[part][0]:
                        best[part] = (cells, attributes)
    return {part: attributes for part, (_, attributes) in best.items()}


def _parts(
    attributes: AttributeSet, members: Sequence[AttributeSet], order: int, known: dict[AttributeSet, int]
) -> Iterator[AttributeSet]:
    """The sets of one order inside a larger one, found by whichever search is shorter."""
    if comb(len(attributes), order) <= len(members):
        return (part for part in combinations(attributes, order) if part in known)
    return (part for part in members if set(part) <= set(attributes))


def _expansions(
    layout: Layout, program: PlaneProgram | None, sets: Sequence[AttributeSet]
) -> Iterator[Places]:
    if program is None:
        return
    for group in by_orders(sets):
        offsets: NDArray[np.int64] = layout.offsets[[layout.index[s] for s in group]]
        yield program.places(group, offsets)


def _sums(
    layout: Layout, larger: dict[AttributeSet, AttributeSet], expanded: set[AttributeSet]
) -> Iterator[SumOver]:
    """Large sets first, so that a source is complete before it is summed; repeated sets are copied at the end."""
    for part in sorted(larger, key=len, reverse=True):
        if part not in expanded:
            source = larger[part]
            axes = tuple(i for i, axis in enumerate(source) if axis not in part)
            yield SumOver(layout.index[part], layout.index[source], axes)
    for position, attributes in enumerate(layout.sets):
        if attributes and layout.index[attributes] != position:
            yield SumOver(position, layout.index[attributes], ())
