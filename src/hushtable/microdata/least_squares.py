"""Ordinary least squares in closed form: each residual of the table is a weighted mean of what measured it.

The normal matrix of marginals with equal noise per marginal is diagonal in residuals: for the residual of ``tau`` it
is the sum, over the measured sets above ``tau``, of their weight times the cells that one of their cells covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import centre, closure
from hushtable.microdata.answer_groups import Measurement
from hushtable.microdata.max_fit import query_matrix


def ordinary(measurements: Sequence[Measurement], shape: tuple[int, ...]) -> Floats:
    """The table of least weighted squared error; parts that nothing measures are zero (the smallest such table)."""
    if any(given.matrix is not None for given in measurements):
        return _explicit(measurements, shape)
    sets = [given.axes or () for given in measurements]
    table = np.zeros(shape)
    for tau in closure(sets):
        above = [k for k, axes in enumerate(sets) if set(tau) <= set(axes)]
        weights = [1.0 / measurements[k].noise.variance for k in above]
        spread = [prod(n for axis, n in enumerate(shape) if axis not in sets[k]) for k in above]
        total = sum(w * s for w, s in zip(weights, spread, strict=True))
        parts = [
            w * _summed(measurements[k].answers, sets[k], tau) for k, w in zip(above, weights, strict=True)
        ]
        share = centre(sum(parts[1:], parts[0])) / total
        # A residual of the marginal is spread evenly over the axes that tau lacks, once per measured set's own share.
        table += share.reshape([n if axis in tau else 1 for axis, n in enumerate(shape)])
    return table


def _summed(answers: Floats, axes: tuple[int, ...], tau: tuple[int, ...]) -> Floats:
    """Mean over the axes of a marginal that ``tau`` lacks."""
    gone = tuple(k for k, axis in enumerate(axes) if axis not in tau)
    return answers.mean(axis=gone) if gone else answers


def _explicit(measurements: Sequence[Measurement], shape: tuple[int, ...]) -> Floats:
    """By a dense solve, for query matrices."""
    rows = [query_matrix(given, shape).toarray() / given.noise.std for given in measurements]
    answers = [given.answers.ravel() / given.noise.std for given in measurements]
    solution = np.linalg.lstsq(np.concatenate(rows), np.concatenate(answers), rcond=None)[0]
    return solution.astype(np.float64, copy=False).reshape(shape)
