"""Every marginal with its accuracy, searchable."""

from __future__ import annotations

import polars as pl

from hushtable.release import MODELLED, WHOLE_TABLE
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import ALPHA, View

_COLUMNS = ("marginal", "cells", "measured", "std", "half_width", "half_range", "below", "l1_bound")


def marginals_section(view: View) -> Section:
    """The accuracy of each table."""
    data = marginals_data(view)
    counted = data.group_by("measured").len().sort("len", descending=True)
    listed = ", ".join(f"{n:,} {flag}" for flag, n in counted.iter_rows())
    return Section(
        "tables",
        "Every table and its error",
        (
            f"{data.height:,} tables were released ({listed}). Fully measured tables are unbiased, with a known "
            "standard error; a cell below two standard errors cannot be told from zero.",
            f"{view.release.promise(ALPHA)} {MODELLED}",
            *([WHOLE_TABLE] if "l1_bound" in data.columns else []),
        ),
        grids=(Grid("marginals", "Released tables", data, searchable=True),),
    )


def marginals_data(view: View) -> pl.DataFrame:
    """One row per marginal, in the order of the workload; columns that are known for none are left out."""
    known = [series.name for series in view.marginals if series.count()]
    return view.marginals.select(name for name in _COLUMNS if name in known)
