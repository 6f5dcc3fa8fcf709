"""The internal report: true errors, stamped as confidential, in a file of its own that no bundle contains.

The figures come from the session as found; this module only lays them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from hushtable.errors import UsageError
from hushtable.reconstruct import Evaluation
from hushtable.release import Card
from hushtable.report.page import Page, check_place
from hushtable.report.parts import Figure, Grid, Section
from hushtable.report.theme import BLUE, chart, finished

STAMP = "confidential: not differentially private"

_HEADINGS = {
    "marginal": "Table",
    "cells": "Cells",
    "l1_share": "L1 error / records",
    "mean_error": "Mean error of a cell",
    "largest_error": "Largest error",
    "coverage": "Intervals that hold",
    "sample_share": "As good as a plain sample of",
    "attribute": "Attribute",
    "value": "Value",
    "records": "Records",
    "error_share": "L1 error / records of the group",
    "mean_l1": "L1 error in a table",
    "true_count": "True count",
    "bias": "Mean signed error",
    "cell": "Cell",
    "true": "True count",
    "estimate": "Estimate",
    "lower": "Lower",
    "upper": "Upper",
    "error": "Error",
}
_FORMATS = {
    "l1_share": "{:.4f}",
    "mean_error": "{:,.2f}",
    "largest_error": "{:,.1f}",
    "coverage": "{:.1%}",
    "sample_share": "{:.2%}",
    "error_share": "{:.4f}",
    "mean_l1": "{:,.1f}",
    "bias": "{:,.2f}",
    "estimate": "{:,.1f}",
    "lower": "{:,.1f}",
    "upper": "{:,.1f}",
    "error": "{:,.1f}",
}


def confidential_page(found: Evaluation, card: Card, folder: str) -> Page:
    """The page of a curator's evaluation."""
    overall = found.overall.to_dicts()[0]
    return Page(
        title=f"{card.ledger.name}: true errors of a release",
        lead=(
            "Computed from the confidential records themselves, for the curator alone. Do not publish any number "
            "of this page: none of them is protected."
        ),
        sections=(
            _overview(overall, found),
            _tables(found),
            _groups(found),
            _sizes(found),
            _worst(found),
        ),
        footer=STAMP,
        folder=folder,
        version=card.versions["hushtable"],
        stamp=STAMP,
    )


def write_confidential_report(
    folder: str | PathLike[str],
    found: Evaluation,
    card: Card,
    out: str | PathLike[str] | None = None,
    *,
    raw: bool = False,
) -> Path:
    """Write the page and its data beside the bundle, never inside one, readable by its owner only."""
    bundle = Path(folder).absolute()
    file = bundle.with_name(f"{bundle.name}-confidential.html") if out is None else Path(out).absolute()
    check_place(file)
    if any((parent / "release.json").exists() for parent in file.resolve().parents):
        raise UsageError(
            "report.inside-bundle",
            "The confidential report would lie inside a release, which is there to be published.",
            "Give --out a place outside of it.",
        )
    data = file.with_suffix("").name + "-data"
    replace(confidential_page(found, card, data), raw=raw).write(file)
    for path in (file, *(file.parent / data).glob("*.csv")):
        path.chmod(0o600)
    (file.parent / data).chmod(0o700)
    return file


def _overview(overall: Mapping[str, Any], found: Evaluation) -> Section:
    data = found.marginals.select("marginal", "l1_share", "coverage", "sample_share")
    figure = Figure(
        "true-error",
        "Tables by true error",
        f"Distribution of the L1 error per record over {data.height:,} tables; the mean is {overall['l1_share']:.4f}.",
        _histogram(data),
        data,
    )
    return Section(
        "overview",
        "In short",
        (
            "Intervals are meant to hold for 95% of cells. The last line is the yardstick: how large a plain random "
            "sample, published without any protection, would have to be to have the same error.",
        ),
        facts=(
            ("Records", f"{overall['records']:,}"),
            ("Tables", f"{overall['marginals']:,}"),
            ("Mean L1 error / records", f"{overall['l1_share']:.4f}"),
            ("Intervals that hold", f"{overall['coverage']:.2%}"),
            ("As good as a plain sample of", f"{overall['sample_share']:.2%} of the records"),
        ),
        figures=(figure,),
    )


def _tables(found: Evaluation) -> Section:
    data = found.marginals.sort("l1_share", descending=True)
    return Section(
        "by-table",
        "By table",
        ("The worst first.",),
        grids=(_grid("true-marginals", "True errors", data, True),),
    )


def _groups(found: Evaluation) -> Section:
    data = found.groups.sort("error_share", descending=True, nulls_last=True)
    text = "How wrong the tables are for the people of each group, per person in it: small groups pay more."
    return Section(
        "by-group", "By group", (text,), grids=(_grid("true-groups", "Errors by group", data, True),)
    )


def _sizes(found: Evaluation) -> Section:
    grid = _grid("true-sizes", "Errors by true count of the cell", found.sizes, False)
    return Section("by-size", "By size of the cell", grids=(grid,))


def _worst(found: Evaluation) -> Section:
    return Section(
        "worst", "The worst cells", grids=(_grid("true-worst", "Largest errors", found.worst, True),)
    )


def _grid(key: str, caption: str, data: pl.DataFrame, searchable: bool) -> Grid:
    return Grid(key, caption, data, _HEADINGS, _FORMATS, searchable=searchable)


def _histogram(data: pl.DataFrame) -> alt.TopLevelMixin:
    bars = (
        chart(data)
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X("l1_share:Q", bin=alt.Bin(maxbins=30), title="L1 error / records"),
            y=alt.Y("count()", title="tables"),
        )
    )
    return finished(bars, height=220)
