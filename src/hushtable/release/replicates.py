"""Draws of a release's noise, as columns beside the estimates: the error of any function of released numbers.

A replicate is the estimate plus fresh noise of the same law as the release's, on all tables at once; the spread of a
function over replicates is its standard error.  The noise is public chance from a seed and protects nobody: what
protects is in the estimates already.  Nothing is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, Layout, assemble, centre_all, marginal_label
from hushtable.microdata import seeded
from hushtable.release.outline import checked_replicates
from hushtable.release.promise import ALPHA
from hushtable.release.tables import ReleasedTable, columns_named, reordered

if TYPE_CHECKING:
    from hushtable.reconstruct import ResidualEstimates
    from hushtable.release.release import Release

PROMISE = "The standard deviation of a function over the replicates is its standard error."
_HALF = 2.0**-54  # of a step between two draws: none of them is 0, where the normal quantile is infinite


def replicates_of(
    release: Release, number: int, attributes: Sequence[str], seed: object = 0
) -> ReleasedTable:
    """One table's unbiased estimates with ``number`` replicates beside them."""
    schema, axes = release.schema, release.schema.axes(attributes)
    table, key = release.table(*attributes), tuple(sorted(axes))
    unbiased = release.columns((key,), ALPHA).unbiased
    if np.isnan(unbiased).any():
        raise WorkloadError(
            "combine.not-measured",
            f"The marginal {marginal_label(key, schema.names)} was not measured in full.",
            "Ask for a table whose `measured` is fully.",
        )
    centre = reordered(unbiased, schema, axes)
    own = (seed, release.card.ledger.head)  # the noise of another release is independent of this one's
    noise = replicated(release.estimates, (key,), number, own)
    columns = [
        pl.Series(f"replicate_{k + 1}", centre + reordered(row, schema, axes)) for k, row in enumerate(noise)
    ]
    labels = [table[schema.names[a]] for a in axes]
    frame = pl.DataFrame([*labels, pl.Series("estimate", centre), *columns])
    return ReleasedTable(columns_named(schema, attributes), frame, ALPHA, PROMISE)


def replicated(
    estimates: ResidualEstimates, sets: Sequence[AttributeSet], number: int, seed: object
) -> Floats:
    """Noise of the unbiased estimates of some marginals, one row per replicate, cells flat; normal law."""
    from scipy.special import ndtri  # takes longer to load than most releases take to read

    layout, target = estimates.layout, Layout(estimates.layout.sizes, tuple(sets))
    deviations = _deviations(estimates)
    found = np.empty((checked_replicates(number), target.cells))
    for k in range(number):
        drawn = seeded.uniforms(seeded.seeded("replicate", seed, k), layout.cells)
        noise = centre_all(layout, deviations * ndtri(drawn + _HALF))
        found[k] = assemble(layout, noise, target)
    return found


def _deviations(estimates: ResidualEstimates) -> Floats:
    """Standard deviation of the noise of every residual cell before it is centred."""
    layout = estimates.layout
    deviations = np.sqrt(np.repeat(estimates.model.variances, layout.lengths))
    if layout.has_levels:
        for k, attributes in enumerate(layout.sets):
            shares = [1.0 - 1.0 / layout.axes.block_sizes(a) for a in attributes]
            widest = np.prod([1.0 - 1.0 / layout.axes.widest[a] for a in attributes])
            blocks = reduce(np.multiply.outer, shares, np.ones(())).ravel()
            layout.at(deviations, k)[:] *= np.sqrt(blocks / widest) if widest > 0 else 0.0
    return deviations
