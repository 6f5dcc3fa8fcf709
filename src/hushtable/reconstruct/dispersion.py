"""How far the cells of tables depart from their prior means: phi, where a cell of mean m has variance phi m."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet
from hushtable.measurement import Residuals

DISPERSIONS = np.exp(np.linspace(math.log(1e-2), math.log(3e4), 28))
"""Candidates for phi, each 1.74 times the one before; a fitted phi is a mean over them.  1 is the variance of a Poisson
count.  More candidates are slower, and a wider range matters only to tables at its ends; not tuned."""

CENTRE, WIDTH = 30.0, 2.0
"""The prior of phi at which EM begins: median, and standard deviation of its logarithm (a factor of 7).  Not tuned;
where EM settles within ROUNDS it has no say."""

ROUNDS = 30
"""Rounds of EM, each a pass over one row of candidates a table.  Not tuned; with fewer the start shows through."""

LEAST_WIDTH = 0.7
"""The fitted prior is never narrower than a factor of 2: a few tables that look alike do not force their phi on all.
Not tuned; with less, tables that differ from the others are drawn closer to them."""

TINY = 1e-12
"""Keeps the phi of a table finite that goes all the way to its measurement."""


def dispersions(likelihoods: Floats, noise: Floats) -> Floats:
    """The phi of each table (rows) that moves it as far as the posterior would on average.

    The prior of phi is log-normal, shared by all tables and fitted by EM.  A cell of mean m goes phi m / (phi m + s) of
    the way to its measurement; ``noise`` is s / m of a table's mean cell.
    """
    logs = np.log(DISPERSIONS)
    centre, width = math.log(CENTRE), WIDTH
    scaled = likelihoods - likelihoods.max(axis=1, keepdims=True)
    weight = scaled
    for _ in range(ROUNDS):
        weight = scaled - 0.5 * ((logs - centre) / width) ** 2
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        centre = float((weight @ logs).mean())
        width = max(LEAST_WIDTH, math.sqrt(float((weight * (logs - centre) ** 2).sum(axis=1).mean())))
    part = (weight * (DISPERSIONS / (DISPERSIONS + noise[:, None]))).sum(axis=1)
    return noise * part / np.maximum(1.0 - part, TINY)


def dispersions_by_set(
    residuals: Residuals, sets: Sequence[AttributeSet], total: float, likelihoods: Floats
) -> dict[AttributeSet, float]:
    """The same by set, for tables of ``total`` records whose residuals have these likelihoods (rows)."""
    noise = np.array([residuals.relative_noise(s, total) for s in sets])
    return dict(zip(sets, dispersions(likelihoods, noise).tolist(), strict=True))
