"""Estimates where some tables are known from elsewhere: their residuals are taken as stated, without noise.

Residuals of different sets are estimated independently, so that what is known of some changes nothing in the others:
these are the estimates of least squares under the condition that the stated tables hold (proofs/known-totals.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hushtable.arrays import Floats
from hushtable.axes import Axes, summed_to
from hushtable.marginals import Layout, centre_all, sorted_sets
from hushtable.reconstruct.fits import Fitted
from hushtable.reconstruct.mle import ResidualEstimates
from hushtable.reconstruct.raking import margins_of, raked
from hushtable.schema import KnownTable

FIRM = 1e4
"""How many times more precise than the best measurement a stated residual counts in fits of nonnegative tables, which
take no certainty: their known tables are then off by a hundredth of the least noise.  With more they converge slowly;
with less they drift from what was stated."""


class KnownFitted:
    """Fitted nonnegative tables that add up to what is known."""

    def __init__(self, fitted: Fitted, estimates: ResidualEstimates, tables: Sequence[KnownTable]) -> None:
        self._fitted, self._estimates, self._tables = fitted, estimates, tables

    def estimate_all(self, layout: Layout) -> Floats:
        """All marginals of ``layout`` in one flat array: known ones as stated, others with these as their margins."""
        flat, stated, axes = self._fitted.estimate_all(layout), self._estimates.stated, layout.axes
        for s in layout.sets:
            table = layout.view(flat, s)
            if s in stated:
                table[...] = self._estimates.marginal(s)
            else:
                table[...] = raked(axes, table, s, margins_of(axes, s, self._tables))
        return flat


def with_known(estimates: ResidualEstimates, tables: Sequence[KnownTable]) -> ResidualEstimates:
    """The same estimates under the condition that these tables are as stated."""
    if not tables:
        return estimates
    axes = Axes.of(estimates.layout.sizes)
    stated = {s: table for table in tables for s in axes.below(table.axes)}
    model = estimates.model.knowing(frozenset(stated))
    layout, values = model.residuals, np.empty(model.residuals.cells)
    for s in layout.sets:
        if s not in stated:
            layout.view(values, s)[...] = estimates.value(s)
    told = Layout(layout.sizes, sorted_sets(tuple(stated)))
    sums = np.concatenate([np.ravel(summed_to(axes, stated[s].table, stated[s].axes, s)) for s in told.sets])
    centred = centre_all(told, sums)
    for s in told.sets:
        layout.view(values, s)[...] = told.view(centred, s)
    measured = np.array([s not in stated for s in layout.sets])
    finest = float((1.0 / model.variances[measured]).max(initial=1.0)) if measured.any() else 1.0
    with np.errstate(divide="ignore"):
        precisions = np.where(measured, 1.0 / model.variances, FIRM * finest)
    made = ResidualEstimates(layout, values, precisions, model)
    return replace(made, stated=frozenset(stated))
