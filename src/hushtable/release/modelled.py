"""Tables that are nowhere below zero: what whole numbers and records are made from.  Released answers only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushtable.marginals import AttributeSet
from hushtable.reconstruct import Fitted, Zeros, fit_tables, reconstruction_named

if TYPE_CHECKING:
    from hushtable.release.release import Release


def modelled_tables(release: Release, sets: Sequence[AttributeSet], *, afresh: bool = False) -> Fitted:
    """The tables of a release where a model read them; else, or ``afresh``, those of maximum entropy over ``sets``."""
    if afresh or reconstruction_named(release.reconstruction).unbiased:
        return fit_tables("maxent", release.estimates, sets, Zeros.of(release.schema, sets))
    return release.fitted
