"""Fourth cumulants of estimated cells, when marginals were measured with noise that is not Gaussian.

An estimated cell of ``gamma`` is a weighted sum of the noises of all measured cells.  The weight of a cell of a
measured marginal depends only on which attributes, common to both, agree; so few distinct weights occur, and their
numbers are known from the sizes.  With ``g(tau) = s2_tau n_tau^2`` and ``delta`` the common attributes, the weight is
``c(A) / (s n n_gamma)``, where ``c(A) = sum over tau in delta of g(tau) prod over tau of (1[agrees] - 1/n_i)``.  Here
``A`` are the attributes that agree, ``s`` is the measured marginal's cell variance and ``n`` its number of cells.

The sum over cells is one over an attribute's three states, in every measured marginal: not common to both, common with
another value, common with the same value.  Tables of two states an attribute become tables of three, axis by axis.
"""

from __future__ import annotations

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import Links

_AT_ONCE = 2**20
"""Entries of a table of states, 8 MB: as fast as larger ones, and small beside the tables that are planned."""


def power_sums(power: int, shapes: np.ndarray, below: Links, weight: Floats, sources: Floats) -> Floats:
    """For each marginal: sum over all measured cells of (source factor) * (weight of it in a cell of g)^power.

    ``shapes`` are the marginals' sizes, 0 where there is no attribute, and ``below`` the residuals below them.
    ``weight`` is g(tau) by residual; ``sources`` the sum, over measured marginals above each residual, of
    ``factor / (s^power n^(power - 1))``.  The sum over marginals that share exactly ``delta`` with ``gamma``
    follows by inclusion and exclusion, so the work per marginal does not depend on how many were measured.
    """
    rows = max(1, _AT_ONCE // 3 ** shapes.shape[1])
    result = np.empty(len(shapes))
    for first in range(0, len(shapes), rows):
        some = slice(first, first + rows)
        result[some] = _sums(power, shapes[some].astype(np.float64), below, first, (weight, sources))
    return result


def _sums(power: int, shapes: Floats, below: Links, first: int, told: tuple[Floats, Floats]) -> Floats:
    """The same for the marginals from ``first`` on."""
    count, width = shapes.shape
    starts = below.starts[first : first + count + 1]
    links = slice(int(starts[0]), int(starts[-1]))
    numbers, masks = below.numbers[links], below.masks[links]
    rows: Ints = np.repeat(np.arange(count, dtype=np.int64), np.diff(starts))
    g, above = np.zeros((2, count, 1 << width))
    for table, values in zip((g, above), told, strict=True):
        table[rows, masks] = np.where(numbers >= 0, values[numbers], 0.0)
    sizes = np.maximum(shapes, 1.0)
    for axis in range(width):
        n = sizes[:, axis, None, None]
        without, common = _halves(g, axis)
        g = np.stack([without, without - common / n, without + common * (1.0 - 1.0 / n)], axis=2)
        without, common = _halves(above, axis)
        above = np.stack([without - common, common / n * (n - 1.0), common / n], axis=2)
    return (above * g**power).reshape(count, -1).sum(axis=1) / sizes.prod(axis=1) ** power


def _halves(table: Floats, axis: int) -> tuple[Floats, Floats]:
    """Entries without an attribute and with it; those before it have three states already."""
    both = table.reshape(len(table), -1, 2, 3**axis)
    return both[:, :, 0], both[:, :, 1]
