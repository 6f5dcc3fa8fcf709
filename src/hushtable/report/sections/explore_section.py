"""The explorer: every released table, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from hushtable.marginals import AttributeSet
from hushtable.report.explorer import Explorer
from hushtable.report.pieces import BARE, Section
from hushtable.report.view import View
from hushtable.texts import counted

MOST_FIRST_CELLS = 300
"""The explorer opens with a table that can be taken in; larger ones are a choice away."""


def explore_section(view: View, explorer: Explorer | None, others: Mapping[str, Explorer]) -> Section:
    """The explorer with a line about what it holds and where the rest is."""
    return Section(
        "explorer-tables", "Tables", tuple(_sentences(view, explorer, others)), explorer=explorer, kind=BARE
    )


def first_table(view: View, chosen: tuple[str, ...] | None, explorer: Explorer | None) -> AttributeSet:
    """The table that the explorer opens with: one that was asked for here, or a small one of two attributes."""
    if chosen is not None:
        return tuple(view.schema.axes(chosen))
    sizes = view.schema.sizes
    asked = [] if explorer is None else [tuple(s) for s in explorer.asked]
    small = [s for s in asked if prod(sizes[a] for a in s) <= MOST_FIRST_CELLS]
    return max(small or asked, key=lambda s: min(len(s), 2), default=())


def _sentences(view: View, explorer: Explorer | None, others: Mapping[str, Explorer]) -> list[str]:
    whole = len(view.release.workload)
    here = 0 if explorer is None else len(explorer.asked)
    beside = sum(len(other.asked) for other in others.values())
    files = f"{counted(len(others), 'page')} beside this one"
    every = "all " if here == whole > 1 else ""
    text = [f"Pick attributes to count by: {every}{counted(here, 'released table')} can be shown here."]
    if beside:
        text.append(f"{beside:,} more are on {files}, in the folder of its data; the explorer leads there.")
    if here + beside < whole:
        text.append(
            f"The other {whole - here - beside:,} are too large for a page: read them from the release's files, or "
            "with hush table."
        )
    return text
