"""Sequential fitting: each level of queries is fitted as well as the levels before it allow.

uncertainty-principle-microdata, Algorithm 1.  A level that is one marginal is fitted in the space of that marginal
whenever the measured sets form an acyclic hypergraph with it: tables that agree where they overlap then always
extend to a nonnegative table, so that the level is a projection on few equations.  Every other level is solved on the
whole table with the earlier levels as equations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.microdata.answer_groups import Measurement
from hushtable.microdata.assemble import Builder, query_values
from hushtable.microdata.noise import Noise
from hushtable.microdata.program import solve

_UNIT = Noise.gaussian(1.0)


def sequential(
    measurements: Sequence[Measurement],
    shape: tuple[int, ...],
    levels: tuple[tuple[int, ...], ...],
    possible: NDArray[np.bool_] | None,
    work: Floats,
) -> tuple[Floats, float]:
    """The table of the last level, and the largest relative KKT residual of all levels."""
    held: list[Measurement] = []
    table: Floats | None = None
    worst = 0.0
    for level in levels:
        chosen = [measurements[k] for k in level]
        if possible is None and len(chosen) == 1 and _reducible(chosen[0], held):
            fitted, residual = _project(chosen[0], held, shape, work)
            held.append(fitted)
            table = fitted.answers if len(fitted.axes or ()) == len(shape) else None
        else:
            table, residual = _stage(chosen, held, shape, possible, work)
            held += [_held(given, table) for given in chosen]
        worst = max(worst, residual)
    if table is None:
        table, residual = _flattest(held, shape, work)
        worst = max(worst, residual)
    return table, worst


def _project(
    given: Measurement, held: Sequence[Measurement], shape: tuple[int, ...], work: Floats
) -> tuple[Measurement, float]:
    """The nonnegative marginal nearest to its answers that agrees with what is held."""
    axes = given.axes or ()
    place = {axis: k for k, axis in enumerate(axes)}
    overlaps = _overlaps(axes, held)
    if axes in overlaps:
        return Measurement(axes, overlaps[axes], given.noise), 0.0
    builder = Builder(tuple(shape[axis] for axis in axes))
    builder.d += 1.0
    builder.pull += given.answers.ravel()
    kept = [Measurement([place[axis] for axis in s], values, _UNIT) for s, values in overlaps.items()]
    table, residual = _solved(builder, kept, work)
    return Measurement(axes, table, given.noise), residual


def _overlaps(axes: tuple[int, ...], held: Sequence[Measurement]) -> dict[tuple[int, ...], Floats]:
    """The held marginals summed to what they share with ``axes``; only the largest of nested ones."""
    found: dict[tuple[int, ...], Floats] = {}
    for given in held:
        own = given.axes or ()
        shared = tuple(axis for axis in own if axis in axes)
        gone = tuple(k for k, axis in enumerate(own) if axis not in axes)
        found[shared] = np.asarray(given.answers.sum(axis=gone) if gone else given.answers)
    return {s: v for s, v in found.items() if not any(set(s) < set(other) for other in found)}


def _stage(
    chosen: Sequence[Measurement],
    held: Sequence[Measurement],
    shape: tuple[int, ...],
    possible: NDArray[np.bool_] | None,
    work: Floats,
) -> tuple[Floats, float]:
    """A level on the whole table."""
    builder = Builder(shape, possible)
    for given in chosen:
        builder.weigh(given, np.full(given.answers.size, 1.0 / given.noise.variance))
    return _solved(builder, held, work)


def _flattest(held: Sequence[Measurement], shape: tuple[int, ...], work: Floats) -> tuple[Floats, float]:
    """The most even table that has all held marginals."""
    builder = Builder(shape)
    level = max((float(given.answers.sum()) for given in held if given.axes is not None), default=0.0)
    builder.d += 1.0
    builder.pull += level / builder.cells
    return _solved(builder, held, work)


def _solved(builder: Builder, held: Sequence[Measurement], work: Floats) -> tuple[Floats, float]:
    """The best table that has all that is held, and its residual; cells under a marginal of zero are zero."""
    for given in held:
        builder.hold(given, given.answers)
        if given.axes is not None and len(given.axes) < len(builder.shape):
            absent = tuple(k for k in range(len(builder.shape)) if k not in given.axes)
            kept = np.expand_dims(given.answers, absent) > 0.0
            builder.high[~np.broadcast_to(kept, builder.shape).ravel()] = 0.0
    solution = solve(builder.program(), work=work)
    return solution.x.reshape(builder.shape), solution.residual


def _held(given: Measurement, table: Floats) -> Measurement:
    values = query_values(given, table).reshape(given.answers.shape)
    return Measurement(given.axes, values, given.noise, given.matrix)


def _reducible(given: Measurement, held: Sequence[Measurement]) -> bool:
    """Whether this marginal can be fitted in its own space."""
    if given.axes is None or any(h.axes is None for h in held):
        return False
    return acyclic([set(given.axes), *(set(h.axes or ()) for h in held)])


def acyclic(edges: Sequence[set[int]]) -> bool:
    """Whether attribute sets form an acyclic hypergraph (Graham reduction).

    >>> acyclic([{0, 1}, {1, 2}]), acyclic([{0, 1}, {1, 2}, {0, 2}]), acyclic([{0, 1}, {1, 2}, {0, 2}, {0, 1, 2}])
    (True, False, True)
    """
    left = [set(edge) for edge in edges]
    changed = True
    while changed:
        changed = False
        for k, edge in enumerate(left):
            others = [other for i, other in enumerate(left) if i != k]
            lonely = {axis for axis in edge if not any(axis in other for other in others)}
            if lonely:
                edge -= lonely
                changed = True
            if others and any(edge <= other for other in others):
                del left[k]
                changed = True
                break
    return len(left) <= 1 and not any(left)
