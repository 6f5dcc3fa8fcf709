"""Where paid answers contradict tables that are known from elsewhere: said on the card, and never refused.

Two things can show it: answers about a stated table that were paid for all the same (earlier releases, tables measured
by themselves), and cells that fall below 0 because what was stated leaves too few persons for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushtable.marginals import AttributeSet, Layout, marginal_label
from hushtable.reconstruct import ResidualEstimates

if TYPE_CHECKING:
    from hushtable.arrays import Floats
    from hushtable.release.release import Release

ALPHA = 0.001
"""Probability that true statements are doubted at all, by the noise alone.  With more, good figures are doubted more
often; with less, wrong ones are found later."""
MOST_CELLS = 2**22
"""Cells of released tables that are looked at: 32 MB for each of their numbers."""
_APART = (
    "Paid answers about {of} are further from what is stated than noise explains, in {cells:,} of {all:,} cells and by "
    "up to {far:.1f} standard deviations."
)
_BELOW = (
    "With what is stated, {cells:,} of {all:,} cells of {of} are below 0 by more than noise explains, by up to "
    "{far:.1f} standard deviations."
)
ADVICE = "The stated figures may count other people than the file: intervals that rest on them may not hold."


def doubts_of(release: Release) -> tuple[str, ...]:
    """What speaks against the tables that are taken as stated; nothing where nothing does."""
    if not release.schema.free_tables:
        return ()
    stated = sorted(release.estimates.stated)
    paid = [s for s in stated if set(release.paid.layout.sets).issuperset(_needed(release.paid, s))]
    asked = [s for s in release.workload if s not in release.estimates.stated]
    if sum(Layout(release.schema.sizes, tuple(asked)).lengths) > MOST_CELLS:
        asked = []
    share = ALPHA / max(len(paid) + len(asked), 1)
    told = [_apart(release, s, share) for s in paid] + [_below(release, s, share) for s in asked]
    found = tuple(sentence for sentence in told if sentence)
    return (*found, ADVICE) if found else ()


def _needed(estimates: ResidualEstimates, attributes: AttributeSet) -> list[AttributeSet]:
    axes = estimates.layout.axes
    return [s for s in axes.below(attributes) if axes.real(s)]


def _apart(release: Release, attributes: AttributeSet, alpha: float) -> str:
    apart = release.paid.marginal(attributes) - release.estimates.marginal(attributes)
    return _sentence(_APART, release, release.paid, attributes, np.abs(apart).reshape(-1), alpha)


def _below(release: Release, attributes: AttributeSet, alpha: float) -> str:
    missing = -release.estimates.marginal(attributes).reshape(-1)
    return _sentence(_BELOW, release, release.estimates, attributes, missing, alpha)


def _sentence(
    words: str,
    release: Release,
    estimates: ResidualEstimates,
    attributes: AttributeSet,
    apart: Floats,
    alpha: float,
) -> str:
    """The sentence where a cell is further off than noise explains, all cells of the table together; else nothing."""
    layout = Layout(release.schema.sizes, (attributes,))
    reach = estimates.model.half_widths_of(layout, alpha / apart.size)
    far = apart > reach
    if not far.any():
        return ""
    with np.errstate(divide="ignore"):
        stds = (apart / np.sqrt(estimates.model.variances_of(layout)))[far]
    label = marginal_label(attributes, release.schema.names)
    told = {"of": label, "cells": int(far.sum()), "all": apart.size, "far": min(float(stds.max()), 1e6)}
    return words.format(**told)
