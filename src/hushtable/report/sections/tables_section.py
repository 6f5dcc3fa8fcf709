"""Charts of chosen tables: estimates with intervals, and the microdata's value as a dot."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import altair as alt
import polars as pl

from hushtable.report.labelled import NULL
from hushtable.report.pieces import Figure, Section
from hushtable.report.theme import BLUE, INK, PALE, RED, chart, finished, tips
from hushtable.report.view import ALPHA, View

MOST_CHARTS = 30
MOST_CELLS = 60
STEP = 15
Names = tuple[str, ...]


def tables_section(
    view: View, chosen: Sequence[Names] = (), records: pl.DataFrame | None = None
) -> Section | None:
    """A chart of each table in ``chosen``; by default of every single attribute, the small ones first."""
    tables = tuple(chosen) or default_tables(view)
    if not tables:
        return None
    figures = tuple(_figure(view, names, records) for names in tables)
    text = ["The dark mark is the released estimate, the band its interval. " + view.release.promise(ALPHA)]
    if records is not None:
        text.append(
            "The dot is the same count in the microdata; it is red where it lies outside the interval: read that "
            "count from the table."
        )
    return Section("charts", "Tables with their error bars", tuple(text), figures=figures, small_figures=True)


def default_tables(view: View) -> tuple[Names, ...]:
    """Single attributes of up to 60 categories inside the release, at most 30 of them."""
    sets = [s for s in view.small_sets if len(s) == 1 and view.schema.sizes[s[0]] <= MOST_CELLS]
    return tuple((view.schema.names[s[0]],) for s in sets[:MOST_CHARTS])


def table_data(view: View, names: Names, records: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per cell: label, estimate, bounds, what was measured, the microdata's value and where it lies."""
    table = view.release.table(*names, alpha=ALPHA)
    labels = pl.concat_str([pl.col(n).cast(pl.String).fill_null(NULL) for n in names], separator=" / ")
    data = table.select(labels.alias("cell"), "estimate", "std", "lower", "upper", "measured")
    if records is None:
        return data
    keys = [pl.col(n).cast(pl.String).fill_null(NULL) for n in names]
    counted = records.select(keys).group_by(names).agg(pl.len().cast(pl.Int64).alias("microdata"))
    found = table.select(keys).join(counted, on=list(names), how="left", maintain_order="left")
    data = data.with_columns(microdata=found["microdata"].fill_null(0))
    inside = pl.col("microdata").is_between("lower", "upper")
    return data.with_columns(microdata_is=pl.when(inside).then(pl.lit("inside")).otherwise(pl.lit("outside")))


def _figure(view: View, names: Names, records: pl.DataFrame | None) -> Figure:
    data = table_data(view, names, records)
    if data.height > MOST_CELLS:
        data = data.top_k(MOST_CELLS, by="estimate")
    title = " by ".join(names)
    largest = data.sort("estimate", descending=True).to_dicts()[0]
    cells = prod(view.schema.sizes[a] for a in view.schema.axes(names))
    part = f" (the {MOST_CELLS} largest of {cells:,} cells)" if cells > MOST_CELLS else ""
    sentence = (
        f"Estimated counts of {title} with intervals{part}; the largest is {largest['cell']} with about "
        f"{largest['estimate']:,.0f}, between {largest['lower']:,.0f} and {largest['upper']:,.0f}."
    )
    if records is not None:
        outside = data.filter(pl.col("microdata_is") == "outside").height
        sentence += f" The microdata lie outside {outside} of {data.height} intervals."
    key = "counts-" + "-".join(str(a) for a in view.schema.axes(names))
    return Figure(key, title, sentence, _draw(data), data)


def _draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    ordered = data["cell"].to_list()
    numbers = [(f"{name}:Q", ",.1f") for name in ("estimate", "lower", "upper")]
    told = tips("cell:N", *numbers, "measured:N")
    base = chart(data).encode(y=alt.Y("cell:N", sort=ordered, title=None), tooltip=told)
    title = "count" if "microdata" not in data.columns else "count (dot: microdata)"
    band = base.mark_bar(height=9, color=PALE).encode(
        x=alt.X("lower:Q", title=title, scale=alt.Scale(zero=True, nice=False)), x2=alt.X2("upper:Q")
    )
    mark = base.mark_tick(color=INK, thickness=2, height=13).encode(x="estimate:Q")
    layers = [band]
    if "microdata" in data.columns:
        scale = alt.Scale(domain=["inside", "outside"], range=[BLUE, RED])
        colour = alt.Color("microdata_is:N", scale=scale, legend=None)
        layers.append(base.mark_circle(size=48, opacity=1).encode(x="microdata:Q", color=colour))
    layers.append(mark)
    return finished(alt.layer(*layers), height=max(60, STEP * data.height))
