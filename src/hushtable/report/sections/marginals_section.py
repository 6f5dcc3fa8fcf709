"""Every marginal with its accuracy, searchable."""

from __future__ import annotations

from urllib.parse import quote

import polars as pl

from hushtable.reconstruct import FULLY, reconstruction_named
from hushtable.release import MODELLED, WHOLE_TABLE
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View
from hushtable.texts import counted

_COLUMNS = (
    "marginal",
    "cells",
    "measured",
    "std",
    "half_width",
    "half_range",
    "reliable",
    "below",
    "l1_bound",
)
MOST_LISTED = 1000
"""Tables that the page itself lists, 100 KB; the file beside it has all.  Of more, the sharpest and the vaguest."""


def marginals_section(view: View) -> Section:
    """The accuracy of each table."""
    data = marginals_data(view)
    return Section(
        "tables",
        "Every table and its error",
        (
            *_in_general(view, data),
            *_sharpest(data),
            f"{view.promise} {MODELLED}" if _modelled(data) else view.promise,
            *([WHOLE_TABLE] if "l1_bound" in data.columns else []),
        ),
        grids=(_grid(view, data),),
    )


def marginals_data(view: View) -> pl.DataFrame:
    """One row per marginal, in the order of the workload; columns that are known for none are left out."""
    known = [series.name for series in view.marginals if series.count()]
    return view.marginals.select(name for name in _COLUMNS if name in known)


def _in_general(view: View, data: pl.DataFrame) -> list[str]:
    counts = data.group_by("measured").len().sort("len", descending=True)
    listed = ", ".join(f"{n:,} {flag}" for flag, n in counts.iter_rows())
    way = reconstruction_named(view.release.reconstruction)
    estimate = f"An estimate is {'an' if way.unbiased else 'a'} {way.estimate}."
    return [f"{counted(data.height, 'table')}, measured: {listed}. {estimate}"]


def _sharpest(data: pl.DataFrame) -> list[str]:
    """Which tables have the most and the fewest numbers to rely on; of equal ones, by the width of their intervals."""
    if "reliable" not in data.columns or data.height < 2:
        return []
    ties = ["half_width"] if "half_width" in data.columns else []
    ordered = data.sort("reliable", *ties, descending=[True, *(False for _ in ties)], maintain_order=True)
    best, worst = ordered.row(0, named=True), ordered.row(-1, named=True)
    return [
        f"The sharpest table is {best['marginal']}, where {best['reliable']:.0%} of the numbers are reliable; the "
        f"vaguest is {worst['marginal']} with {worst['reliable']:.0%}."
    ]


def _modelled(data: pl.DataFrame) -> bool:
    return bool((data["measured"] != FULLY).any())


def _grid(view: View, data: pl.DataFrame) -> Grid:
    places = pl.Series(range(data.height))
    caption = "Released tables"
    if data.height > MOST_LISTED:
        by = "reliable" if "reliable" in data.columns else "cells"
        ordered = data.select(pl.col(by).arg_sort(descending=True, nulls_last=True)).to_series()
        places = pl.concat([ordered.head(MOST_LISTED // 2), ordered.tail(MOST_LISTED // 2)])
        caption = (
            f"The {MOST_LISTED // 2} sharpest and the {MOST_LISTED // 2} vaguest of {data.height:,} tables"
        )
    marginals = view.release.marginals
    listed_ones: list[int] = places.to_list()
    links = [table_link(marginals[k]) for k in listed_ones]
    return Grid(
        "marginals",
        caption,
        data,
        searchable=True,
        links=links,
        listed=data[places] if len(places) < data.height else None,
    )


def table_link(names: tuple[str, ...]) -> str:
    """The address that opens a table in the explorer."""
    return "#table=" + ",".join(quote(name, safe="") for name in names)
