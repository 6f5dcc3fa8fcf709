"""Relative errors of a sample by group, with the part of noise and that of sampling."""

from __future__ import annotations

from hushtable.release import CVS, has_sampling_errors
from hushtable.report.pieces import Grid, Section
from hushtable.report.sections.group_rows import MOST_GROUPS, group_rows
from hushtable.report.view import View


def sampling_section(view: View) -> Section | None:
    """Of every category of every attribute, and of all together, where a design effect is declared or was measured."""
    note = view.card.sampling
    if note is None or not has_sampling_errors(view.release):
        return None
    data = group_rows(view, ("estimate", *CVS))
    heads = ("Relative error, noise", "Relative error, sampling", "Relative error, both")
    also = {"estimate": ("Count", "{:,.0f}")}
    also |= {name: (head, "{:.1%}") for name, head in zip(CVS, heads, strict=True)}
    listed = data.head(MOST_GROUPS) if data.height > MOST_GROUPS else None
    grid = Grid("sampling", "Relative errors by group", data, True, also=also, listed=listed)
    return Section("sampling", "A sample", (note,), grids=(grid,))
