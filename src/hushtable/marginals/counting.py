"""What is counted: the marginals of a layout, of rows or of another quantity that rows have."""

from __future__ import annotations

from dataclasses import dataclass

from hushtable.marginals.layout import Layout

ROWS = "rows"
"""The quantity that a table is of unless it says otherwise: rows, each by its weight."""

COVERAGE = "coverage"
"""What was left out of the rows: the counters of a schema's ``losses``, along one axis."""

REPLICATES = "replicates"
"""Deviations of replicate weights: those of each replicate, one after the other, by the categories of an attribute."""


@dataclass(frozen=True, eq=False)
class Counting:
    """The marginals of a layout, and of what: ``ROWS``, ``COVERAGE``, or what a schema calls the total of a column."""

    layout: Layout
    of: str = ROWS
