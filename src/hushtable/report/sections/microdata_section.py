"""What the records cost against the tables: deviations, bias of small cells, the sum and its parts, fits compared."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from hushtable.errors import HushtableError
from hushtable.microdata import FAR, METHODS, Explanation
from hushtable.release import MOST_WORK, make_microdata
from hushtable.report.headings import Heading
from hushtable.report.pieces import Figure, Grid, Section
from hushtable.report.sections.tables_section import overlap_score
from hushtable.report.theme import RED, bars, chart, finished, histogram, tips
from hushtable.report.view import View

GENERATED, MICRODATA = "generated", "microdata"
EITHER = "either"
"""Where records lie as near to a table as its own noise: the table is never the worse source."""
MOST_COMPARED = 100_000
"""Cells of a domain on which all fits are tried for the comparison."""

_DEVIATIONS = ("std", "rms_deviation", "largest_deviation", "beyond_two")
"""Known only where the noise of a table is."""
_ALSO: dict[str, Heading] = {"l1_share": ("L1 / records", "{:.3f}")}


def microdata_section(view: View) -> Section | None:
    """The distortion of the records, where the bundle has it."""
    found = view.explanation
    if found is None:
        return None
    tables = tables_data(found)
    bands = pl.DataFrame([band.to_dict() for band in found.small_cells])
    fits = fits_data(view, found)
    figures = [_deviations(tables)] if tables["rms_deviation"].count() else []
    figures += [] if bands.is_empty() else [_bias(bands)]
    grids = [] if fits is None else [Grid("fits", "Fits compared", fits)]
    grids.append(Grid("distortion", "Records against tables", tables, also=_ALSO, searchable=True))
    return Section(
        "microdata",
        "What the records cost against the tables",
        (
            "Records must be whole and nonnegative; noisy tables need not be. The difference, in standard errors of "
            "the released number: about 1 or less is noise that was taken out, more is a price of having records.",
        ),
        facts=_facts(found),
        figures=tuple(figures),
        grids=tuple(grids),
    )


def tables_data(found: Explanation) -> pl.DataFrame:
    """One row per compared table, the worst first."""
    frame = pl.DataFrame(
        [gap.to_dict() for gap in found.tables],
        schema_overrides=dict.fromkeys(_DEVIATIONS, pl.Float64),
        infer_schema_length=None,
    )
    near = pl.col("read_from").replace({MICRODATA: EITHER})
    return (
        frame.with_columns(near)
        .sort("rms_deviation", descending=True, nulls_last=True)
        .select("marginal", "cells", *_DEVIATIONS, "l1_share", "read_from")
    )


def fits_data(view: View, found: Explanation) -> pl.DataFrame | None:
    """Every fit of a small domain side by side; None where records can only be generated."""
    if found.fit == GENERATED or view.schema.domain_cells > MOST_COMPARED:
        return None
    made = [_tried(view, name) for name in METHODS]
    rows = [_fit_row(one) for one in made if one is not None]
    return pl.DataFrame(rows) if rows else None


def _tried(view: View, name: str) -> Explanation | None:
    """The explanation of one fit; None where it would take more than a second."""
    try:
        made = make_microdata(view.release, fit=name, work=MOST_WORK / 5)
    except HushtableError:
        return None
    return None if made.explanation.fit == GENERATED else made.explanation


def _fit_row(found: Explanation) -> dict[str, Any]:
    deviations = [t.rms_deviation for t in found.tables if t.rms_deviation is not None]
    largest = [t.largest_deviation for t in found.tables if t.largest_deviation is not None]
    small = [band for band in found.small_cells[:2] if band.cells]
    cells = sum(band.cells for band in small)
    return {
        "fit": found.fit,
        "mean": sum(deviations) / max(1, len(deviations)),
        "worst": max(largest, default=0.0),
        "sum_gap": None if found.sum.released is None else found.rows - found.sum.released,
        "small_bias": sum(band.bias * band.cells for band in small) / max(1, cells),
    }


def k_marginal_score(found: Explanation) -> float | None:
    """1,000 times the mean overlap of records and released tables: one minus half of their L1 distance, no less than 0.

    The score of synthetic data challenges, with released tables in the place of the truth.
    """
    return overlap_score([table.l1_share for table in found.tables if table.cells > 1])


def _facts(found: Explanation) -> tuple[tuple[str, str], ...]:
    total = found.sum
    facts = [
        ("Records", f"{found.rows:,}, {found.fit}"),
        ("Tables that agree up to noise", f"{found.agreeing:,} of {len(found.tables):,}"),
    ]
    score = k_marginal_score(found)
    if score is not None:
        facts.append(("k-marginal score against the tables", f"{score:,.0f} of 1,000"))
    if total.released is not None:
        std = "" if total.std is None else f" (standard error {total.std:,.1f})"
        facts.append(("Released total", f"{total.released:,.1f}{std}"))
    if total.smallest_sum_of_parts is not None:
        low, high = total.smallest_sum_of_parts, total.largest_sum_of_parts
        least, most = f"{low:,.1f}", f"{high:,.1f}"
        facts.append(("Sums of the released parts", least if least == most else f"{least} to {most}"))
    return (*facts, *(("Note", note) for note in found.notes))


def _deviations(tables: pl.DataFrame) -> Figure:
    data = tables.select("marginal", "rms_deviation").drop_nulls()
    far = data.filter(pl.col("rms_deviation") > FAR).height
    sentence = (
        f"Distribution of the deviation between records and {data.height:,} tables in standard errors; "
        f"{far:,} tables deviate by more than {FAR}."
    )
    at = chart(pl.DataFrame({"far": [FAR], "said": [f"beyond {FAR}: read the table"]}))
    limit = at.mark_rule(color=RED, strokeDash=[4, 3]).encode(x="far:Q")
    said = at.mark_text(align="right", baseline="top", dx=-6, fontSize=12, color=RED).encode(
        x="far:Q", y=alt.value(0), text="said:N"
    )
    counts = histogram(data, "rms_deviation", "deviation, in standard errors", top=1.1 * FAR)
    drawing = finished(counts + limit + said, height=220)
    return Figure("deviations", "How far the records lie from the tables", sentence, drawing, data)


def _bias(bands: pl.DataFrame) -> Figure:
    listed = ", ".join(f"{row['released']}: {row['bias']:+,.2f}" for row in bands.iter_rows(named=True))
    drawing = bars(
        bands,
        y=alt.Y("released:N", sort=bands["released"].to_list(), title="released cell"),
        x=alt.X("bias:Q", title="records above the released number, on average"),
        tooltip=tips(
            "released:N",
            ("cells:Q", ","),
            ("bias:Q", "+,.2f"),
            ("bias_of_their_sum:Q", "+,.0f", "bias of their sum"),
        ),
    )
    sentence = f"Mean difference between records and tables by size of the released cell: {listed}."
    drawing = finished(drawing, height=30 * bands.height)
    return Figure("small-cells", "Bias of small cells", sentence, drawing, bands)
