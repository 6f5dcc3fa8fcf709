"""The map of expected error, attribute by attribute."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from hushtable.reconstruct import FULLY
from hushtable.report.pieces import Figure, Section
from hushtable.report.theme import GREY, INK, SHADES, chart, finished, tips
from hushtable.report.view import View

NOT_RELEASED = "not released"
SMALLEST_STEP, LARGEST_STEP = 8, 30
MOST_MAPPED = 60
"""Attributes of a map: more squares could not be told apart, and would fill the page's megabytes."""


_GREY = (
    "Grey tables (×) were not measured in full. Where they are shown elsewhere, their estimates follow from "
    "other tables by a model: rely on their bounds; some may not be part of the release."
)


def error_map_section(view: View) -> Section | None:
    """A heat map of the tables of one and two attributes."""
    if not 0 < len(view.schema.names) <= MOST_MAPPED:
        return None
    data = error_map_data(view)
    known = data.filter(pl.col("half_width").is_not_null())
    grey = data.height - known.height
    widest = known["half_width"].max()
    sentence = (
        f"Expected error of every table of one attribute (diagonal) and two attributes: {known.height} squares "
        f"have a known error, the largest half-width is {widest:,.1f}; {grey} are grey."
        if known.height
        else "No table of one or two attributes was measured in full, so every square is grey."
    )
    figure = Figure(
        "error-map", "Expected error of tables of one and two attributes", sentence, _draw(data, view), data
    )
    return Section(
        "errors",
        "Where the tables are sharp, and where they are not",
        (
            "Each square is a table: a single attribute on the diagonal, a pair elsewhere. The stronger its colour, "
            "the wider the interval around each of its counts at 95%.",
            *([_GREY] if grey else []),
        ),
        figures=(figure,),
    )


def error_map_data(view: View) -> pl.DataFrame:
    """One row per ordered pair of attributes: what was measured, std and half-width of a cell."""
    names = view.schema.names
    every = pl.DataFrame({"first": names}).join(pl.DataFrame({"second": names}), how="cross")
    found = view.small_errors.filter(pl.col("order") > 0).drop("order")
    swapped = found.filter(pl.col("first") != pl.col("second")).select(
        pl.col("second").alias("first"), pl.col("first").alias("second"), "measured", "std", "half_width"
    )
    both = pl.concat([found, swapped])
    joined = every.join(both, on=["first", "second"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("measured").fill_null(NOT_RELEASED))


def _draw(data: pl.DataFrame, view: View) -> alt.TopLevelMixin:
    names = list(view.schema.names)
    step = max(SMALLEST_STEP, min(LARGEST_STEP, 640 // len(names)))
    errors = (("std:Q", ",.1f", "standard error"), ("half_width:Q", ",.1f", "half-width at 95%"))
    place: dict[str, Any] = {
        "x": alt.X("first:N", sort=names, title=None, axis=alt.Axis(labelAngle=-60, labelOverlap=True)),
        "y": alt.Y("second:N", sort=names, title=None, axis=alt.Axis(labelOverlap=True)),
        "tooltip": tips(("first:N", "", "attribute"), ("second:N", "", "with"), "measured:N", *errors),
    }
    unmeasured = chart(data.filter(pl.col("half_width").is_null())).encode(**place)
    unknown = unmeasured.mark_rect(fill=GREY) + unmeasured.mark_text(text="×", color=INK)
    known_ones = data.filter((pl.col("measured") == FULLY) & pl.col("half_width").is_not_null())
    classes, names_of = _classes(known_ones["half_width"])
    shade = alt.Color(
        "class:N",
        title="half-width at 95%",
        scale=alt.Scale(domain=names_of, range=list(SHADES[: len(names_of)])),
    )
    known = chart(known_ones.with_columns(classes)).mark_rect().encode(color=shade, **place)
    return finished(alt.layer(unknown, known), height=step * len(names))


def _classes(widths: pl.Series) -> tuple[pl.Series, list[str]]:
    """Widths in classes of about as many tables each, and the names of the classes in their order."""
    if widths.is_empty():
        return pl.Series("class", [], dtype=pl.String), []
    cuts = np.quantile(widths.to_numpy(), np.linspace(0, 1, len(SHADES) + 1)[1:-1])
    edges = sorted({float(f"{cut:.2g}") for cut in cuts.tolist() if cut < float(widths.max())})  # pyright: ignore
    names = [f"up to {edge:,.10g}" for edge in edges]
    names.append(f"above {edges[-1]:,.10g}" if edges else f"{widths[0]:,.3g}")
    found = np.searchsorted(np.array(edges), widths.to_numpy(), side="left")
    used = sorted(set(found.tolist()))
    return pl.Series("class", [names[k] for k in found]), [names[k] for k in used]
