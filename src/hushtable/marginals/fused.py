"""The algebra of ``algebra`` on many attribute sets at once, on flat arrays, on two threads.

All functions take a ``Layout`` that says where each set lies.  Integers stay exact; overflow is excluded beforehand
by ``planning.limits`` from public sizes.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import WorkloadError
from hushtable.marginals.incidence import Incidence, Links
from hushtable.marginals.kernels import accumulate_sets, assemble_sets, centre_sets, lift_sets, sum_axis
from hushtable.marginals.layout import AttributeSet, Layout
from hushtable.marginals.threads import in_ranges


def project(counts: NDArray[np.int64], source: Layout, target: Layout) -> NDArray[np.int64]:
    """The marginals of ``target`` from those of ``source``, each by sums over a larger one; exact.

    Every set of ``target`` must lie inside some set of ``source``.  Sets are made from large to small, each from the
    smallest superset at hand, one axis at a time.
    """
    _require_length(counts, source, np.int64)
    steps, working = _projection_steps(source, target)
    buffer = np.empty(working.cells, np.int64)
    for attributes in source.sets:
        if attributes in working.index:
            working.view(buffer, attributes)[...] = source.view(counts, attributes)
    for level in sorted(steps, reverse=True):
        for flat, jobs in ((counts, steps[level][0]), (buffer, steps[level][1])):
            if jobs:
                table = np.array(jobs, np.int64)
                in_ranges(sum_axis, table[:, 2] * table[:, 3] * table[:, 4], table, flat, buffer)
    if working.sets == target.sets:
        return buffer
    result = np.empty(target.cells, np.int64)
    for attributes in target.sets:
        target.view(result, attributes)[...] = working.view(buffer, attributes)
    return result


def lift_all(layout: Layout, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """``algebra.lift`` of every set of the layout."""
    _require_length(counts, layout, np.int64)
    lifted = counts.copy()
    in_ranges(lift_sets, layout.lengths, layout.offsets, layout.shapes, lifted)
    return lifted


def centre_all(
    layout: Layout, values: NDArray[Any], scale: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """``algebra.centre`` of every set, after dividing set ``k`` by ``scale[k]`` (1 when not given)."""
    _require_length(values, layout, None)
    divide = np.ones(len(layout.sets)) if scale is None else np.ascontiguousarray(scale, np.float64)
    centred = np.empty(layout.cells)
    source = np.ascontiguousarray(values).view()
    source.setflags(
        write=False
    )  # stored answers are read-only, and numba would compile a second copy for the others
    in_ranges(centre_sets, layout.lengths, layout.offsets, layout.shapes, divide, source, centred)
    return centred


def assemble(
    residuals: Layout, centred: NDArray[np.float64], target: Layout, incidence: Incidence | None = None
) -> NDArray[np.float64]:
    """The marginals of ``target`` from centred residuals; residuals that are not there count as zero."""
    _require_length(centred, residuals, np.float64)
    pairs = Incidence.between(target.sets, residuals) if incidence is None else incidence
    flat = np.empty(target.cells)
    work = target.lengths * np.diff(pairs.starts)
    in_ranges(assemble_sets, work, residuals.tables(centred), pairs.links, target.tables(flat))
    return flat


def accumulate(
    marginals: Layout, values: NDArray[Any], weights: NDArray[np.float64], target: Layout
) -> NDArray[np.float64]:
    """For each set of ``target``: the weighted sum, over the marginals that contain it, of those summed to it."""
    _require_length(values, marginals, None)
    pairs = Incidence.between(marginals.sets, target)
    there = np.flatnonzero(pairs.members >= 0)
    by_target = there[np.argsort(pairs.members[there], kind="stable")]
    counts = np.bincount(pairs.members[there], minlength=len(target.sets))
    starts = np.concatenate([[0], np.cumsum(counts)])
    owners = pairs.owners[by_target]
    work = np.bincount(pairs.members[by_target], marginals.lengths[owners], len(target.sets))
    flat = np.empty(target.cells)
    source = marginals.tables(np.ascontiguousarray(values))
    above = Links(starts, owners, pairs.masks[by_target])
    scale = np.ascontiguousarray(weights, np.float64)
    in_ranges(accumulate_sets, work.astype(np.int64), source, scale, above, target.tables(flat))
    return flat


Jobs = tuple[list[tuple[int, ...]], list[tuple[int, ...]]]


def _projection_steps(source: Layout, target: Layout) -> tuple[dict[int, Jobs], Layout]:
    """Jobs of ``sum_axis`` by level (size of the result): from ``source``, and from the sets already made."""
    parents = _parents(source, target)
    extra = tuple(s for s in parents if s not in target.index)
    working = Layout(target.sizes, target.sets + extra) if extra else target
    steps: dict[int, Jobs] = {}
    for child, parent in parents.items():
        if child in source.index:
            continue
        axis = next(k for k, a in enumerate(parent) if k == len(child) or child[k] != a)
        shape = source.shape(parent)
        from_source = parent in source.index
        start = source if from_source else working
        job = (
            int(start.offsets[start.index[parent]]),
            int(working.offsets[working.index[child]]),
            prod(shape[:axis]),
            shape[axis],
            prod(shape[axis + 1 :]),
        )
        steps.setdefault(len(child), ([], []))[0 if from_source else 1].append(job)
    return steps, working


def _parents(source: Layout, target: Layout) -> dict[AttributeSet, AttributeSet]:
    """For each set to be made, the set with one attribute more that it is summed from, intermediate sets included."""
    best: dict[AttributeSet, tuple[int, AttributeSet]] = {}
    known = dict.fromkeys(target.sets) | dict.fromkeys(source.sets)
    by_level: dict[int, list[AttributeSet]] = {}
    for attributes in known:
        by_level.setdefault(len(attributes), []).append(attributes)
    parents: dict[AttributeSet, AttributeSet] = {s: s for s in target.sets if s in source.index}
    reachable = set(source.sets)
    for level in range(max(by_level, default=0), -1, -1):
        for child in by_level.get(level, []):
            if child not in source.index and child in best:
                parents[child] = best[child][1]
                reachable.add(child)
        for attributes in by_level.get(level, []):
            if attributes not in reachable:
                continue
            cells = prod(source.sizes[a] for a in attributes)
            for k in range(level):
                child = attributes[:k] + attributes[k + 1 :]
                if child not in best or cells < best[child][0]:
                    best[child] = (cells, attributes)
    for attributes in sorted(target.sets, key=len):
        if attributes not in reachable:
            _bridge(attributes, source, parents)
    return parents


def _bridge(child: AttributeSet, source: Layout, parents: dict[AttributeSet, AttributeSet]) -> None:
    """Intermediate sets from the smallest source above ``child``, for targets that skip a level."""
    wanted = set(child)
    above = [s for s in source.sets if wanted <= set(s)]
    if not above:
        raise WorkloadError(
            "workload.axes",
            f"Axes {child} lie in none of the marginals at hand.",
            "Tabulate a larger marginal.",
        )
    start = min(above, key=lambda s: prod(source.sizes[a] for a in s))
    while child != start:
        add = next(a for a in start if a not in child)
        parent = tuple(sorted((*child, add)))
        parents.setdefault(child, parent)
        child = parent


def _require_length(flat: NDArray[Any], layout: Layout, dtype: Any) -> None:
    if flat.shape != (layout.cells,) or (dtype is not None and flat.dtype != dtype):
        raise WorkloadError(
            "workload.axes",
            f"A flat array of {layout.cells} cells is needed, not {flat.dtype} of shape {flat.shape}.",
            "Build it with the same layout.",
        )
