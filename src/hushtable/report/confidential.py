"""The internal report: true errors, stamped as confidential, in a file of its own that no bundle contains.

The figures come from the session as found; this module only lays them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from hushtable.errors import UsageError
from hushtable.reconstruct import Evaluation
from hushtable.release import Card
from hushtable.report.page import Page, ReportFile, check_place
from hushtable.report.pieces import Chapter, Figure, Grid, Section
from hushtable.report.sections.rows_section import rows_section
from hushtable.report.theme import finished, histogram
from hushtable.schema import Preflight
from hushtable.texts import CONFIDENTIAL

STAMP = CONFIDENTIAL

_PLACES = {"marginals": "by-table", "groups": "by-group", "sizes": "by-size", "worst": "worst"}
_ON_GROUPS = "How wrong the tables are for the people of each group, per person in it: small groups pay more."


def confidential_page(found: Evaluation, card: Card, folder: str, rows: Preflight | None = None) -> Page:
    """The page of a curator's evaluation, with what became of the rows where a preflight counted them."""
    overall = found.overall.to_dicts()[0]
    tables = found.marginals.sort("l1_share", descending=True)
    groups = found.groups.sort("error_share", descending=True, nulls_last=True)
    return Page(
        title=f"{card.ledger.name}: true errors of a release",
        lead=(
            "Computed from the confidential records themselves, for the curator alone. Do not publish any number "
            "of this page: none of them is protected."
        ),
        chapters=(
            Chapter.of(
                "errors",
                "",
                _overview(overall, found),
                None if rows is None else rows_section(rows),
                _listed("marginals", "By table", "True errors", tables, "The worst first."),
                _listed("groups", "By group", "Errors by group", groups, _ON_GROUPS),
                _listed("sizes", "By size of the cell", "Errors by true count of the cell", found.sizes),
                _listed("worst", "The worst cells", "Largest errors", found.worst),
            ),
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
    rows: Preflight | None = None,
) -> ReportFile:
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
    written = replace(confidential_page(found, card, data, rows), raw=raw).write(file)
    for path in (file, *(file.parent / data).glob("*.csv")):
        path.chmod(0o600)
    (file.parent / data).chmod(0o700)
    return written


def _overview(overall: Mapping[str, Any], found: Evaluation) -> Section:
    data = found.marginals.select("marginal", "l1_share", "coverage", "sample_share")
    figure = Figure(
        "true-error",
        "Tables by true error",
        f"Distribution of the L1 error per record over {data.height:,} tables; the mean is {overall['l1_share']:.4f}.",
        finished(histogram(data, "l1_share", "L1 error / records"), height=220),
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


def _listed(key: str, title: str, caption: str, data: pl.DataFrame, text: str = "") -> Section:
    """A section of one table, which can be searched where it is longer than a few rows."""
    grid = Grid(f"true-{key}", caption, data, searchable=key != "sizes")
    return Section(_PLACES[key], title, (text,) if text else (), grids=(grid,))
