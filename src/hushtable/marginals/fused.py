"""The algebra of ``algebra`` on many attribute sets at once, on flat arrays, on two threads.

All functions take a ``Layout`` that says where each set lies.  Integers stay exact; overflow is excluded beforehand
by ``planning.limits`` from public sizes.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.axes import summed_to
from hushtable.errors import WorkloadError
from hushtable.marginals.incidence import Incidence, Links
from hushtable.marginals.kernels import (
    accumulate_sets,
    assemble_sets,
    centre_sets,
    lift_sets,
    spread_sets,
)
from hushtable.marginals.layout import Layout
from hushtable.marginals.spreads import spreads_of
from hushtable.marginals.threads import in_ranges


def lift_all(layout: Layout, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """``algebra.lift`` of every set of the layout."""
    _require_length(counts, layout, np.int64)
    lifted = counts.copy()
    in_ranges(lift_sets, layout.lengths, layout.offsets, layout.shapes, _blocks(layout), lifted)
    return lifted


def centre_all(
    layout: Layout, values: NDArray[Any], scale: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """``algebra.centre`` of every set, after dividing set ``k`` by ``scale[k]`` (1 when not given)."""
    _require_length(values, layout, None)
    divide = np.ones(len(layout.sets)) if scale is None else np.ascontiguousarray(scale, np.float64)
    centred = np.array(values, np.float64)
    in_ranges(centre_sets, layout.lengths, layout.offsets, layout.shapes, _blocks(layout), divide, centred)
    return centred


def centre_lifted(layout: Layout, lifted: NDArray[Any]) -> NDArray[np.float64]:
    """What ``lift_all`` made, noise and all, as centred residuals: each cell over those of its block."""
    if not layout.has_levels:
        return centre_all(layout, lifted, layout.lengths.astype(np.float64))
    cells = np.empty(layout.cells)
    for k, attributes in enumerate(layout.sets):
        blocks = (layout.axes.block_sizes(a).astype(np.float64) for a in attributes)
        layout.at(cells, k)[:] = reduce(np.multiply.outer, blocks, np.ones(())).ravel()
    return centre_all(layout, lifted / cells)


def assemble(
    residuals: Layout, centred: NDArray[np.float64], target: Layout, incidence: Incidence | None = None
) -> NDArray[np.float64]:
    """The marginals of ``target`` from centred residuals; residuals that are not there count as zero."""
    _require_length(centred, residuals, np.float64)
    pairs = Incidence.between(target.sets, residuals) if incidence is None else incidence
    flat = np.empty(target.cells)
    work = target.lengths * np.diff(pairs.starts)
    source, made = residuals.tables(centred), target.tables(flat)
    if residuals.has_levels:
        ways = spreads_of(residuals.axes)
        spreads = ways.starts, ways.lengths, ways.codes, ways.weights
        in_ranges(spread_sets, work, source, pairs.way_links, spreads, made)
    else:
        in_ranges(assemble_sets, work, source, pairs.links, made)
    return flat


def accumulate(
    marginals: Layout, values: NDArray[Any], weights: NDArray[np.float64], target: Layout
) -> NDArray[np.float64]:
    """For each set of ``target``: the weighted sum, over the marginals that contain it, of those summed to it."""
    _require_length(values, marginals, None)
    above = Incidence.between(marginals.sets, target).upward(len(target.sets))
    if marginals.has_levels:
        return _accumulate_levels(marginals, values, weights, target, above)
    ahead = np.concatenate([[0], np.cumsum(marginals.lengths[above.numbers])])
    work = np.diff(ahead[above.starts])
    flat = np.empty(target.cells)
    source = marginals.tables(np.ascontiguousarray(values))
    scale = np.ascontiguousarray(weights, np.float64)
    in_ranges(accumulate_sets, work, source, scale, above, target.tables(flat))
    return flat


def _accumulate_levels(
    marginals: Layout, values: NDArray[Any], weights: NDArray[np.float64], target: Layout, above: Links
) -> NDArray[np.float64]:
    flat = np.zeros(target.cells)
    for k, below in enumerate(target.sets):
        for number in map(int, above.numbers[above.starts[k] : above.starts[k + 1]]):
            gamma = marginals.sets[number]
            summed = summed_to(marginals.axes, marginals.view(values, gamma), gamma, below)
            target.view(flat, below)[...] += float(weights[number]) * summed
    return flat


def _blocks(layout: Layout) -> tuple[NDArray[np.int64], ...]:
    """Axis numbers of each set, and the blocks of all axes."""
    return layout.rows, *layout.axes.flat_blocks


def _require_length(flat: NDArray[Any], layout: Layout, dtype: Any) -> None:
    if flat.shape != (layout.cells,) or (dtype is not None and flat.dtype != dtype):
        raise WorkloadError(
            "workload.axes",
            f"A flat array of {layout.cells} cells is needed, not {flat.dtype} of shape {flat.shape}.",
            "Build it with the same layout.",
        )
