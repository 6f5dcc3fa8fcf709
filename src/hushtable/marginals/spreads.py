"""How a residual on one level spreads over the categories of a finer one, axis by axis.

A category holds ``1 / n`` of what lies above it, n the categories of its block, and so on up to the level of the
residual: its weight is the product of these shares.  An attribute that the residual lacks lies above its first level.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.axes import Axes


class Spreads(NamedTuple):
    """All ways up from all axes, one after another; ``number`` has the number of (axis, axis above or -1)."""

    number: dict[tuple[int, int], int]
    starts: Ints
    """Where the categories of each way begin in the arrays of categories."""
    lengths: Ints
    """Categories at its upper end; 1 where the residual lacks the attribute."""
    codes: Ints
    """For every category the one at the upper end."""
    weights: Floats
    """For every category its share of that."""
    noise: Floats
    """Variance that a residual at the upper end has in every category, over ``s2 / p``: see ``planning.problem``."""
    totals: Floats
    """Sum of ``noise`` over the categories of each way."""


@lru_cache(maxsize=8)
def spreads_of(axes: Axes) -> Spreads:
    """The ways of all axes."""
    number: dict[tuple[int, int], int] = {}
    codes: list[Ints] = []
    weights: list[Floats] = []
    noise: list[Floats] = []
    lengths: list[int] = []
    for axis, levels in enumerate(axes.chains):
        for above in (*reversed(levels), -1):
            number[axis, above] = len(codes)
            codes.append(axes.codes_above(axis, above))
            weights.append(_shares(axes, axis, above))
            lengths.append(1 if above < 0 else axes[above])
            own = 1.0 if above < 0 else (1.0 - 1.0 / axes.block_sizes(above))[codes[-1]]
            noise.append((own * weights[-1]) ** 2)
    return Spreads(
        number,
        np.cumsum([0, *map(len, codes)]),
        np.array(lengths, np.int64),
        np.concatenate([np.empty(0, np.int64), *codes]),
        np.concatenate([np.empty(0), *weights]),
        np.concatenate([np.empty(0), *noise]),
        np.array([part.sum() for part in noise]),
    )


def _shares(axes: Axes, axis: int, above: int) -> Floats:
    shares, codes = np.ones(axes[axis]), np.arange(axes[axis])
    while axis != above:
        shares = shares / axes.block_sizes(axis)[codes]
        codes, axis = axes.parent_codes(axis)[codes], axes.parents[axis]
    return shares


class Kinds(NamedTuple):
    """Categories of an axis by the lengths of the blocks that they lie in, on every level: errors depend on nothing
    else."""

    first: Ints
    """A category of each kind."""
    of: Ints
    """The kind of every category."""
    counts: Ints
    """Categories of each kind."""


@lru_cache(maxsize=1024)
def kinds_of(axes: Axes, axis: int) -> Kinds:
    """The kinds of an axis's categories; one where it has a single block."""
    lengths = [axes.block_sizes(a)[axes.codes_above(axis, a)] for a in axes.chains[axis]]
    _, first, of, counts = np.unique(
        np.stack(lengths), axis=1, return_index=True, return_inverse=True, return_counts=True
    )
    return Kinds(first, of.reshape(-1), counts)
