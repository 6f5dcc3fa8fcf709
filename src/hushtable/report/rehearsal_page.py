"""The page of a rehearsal: how wrong a release for this budget would be, shown on data that are not confidential."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import polars as pl

from hushtable.release import REHEARSED, Rehearsal
from hushtable.report.page import Page, ReportFile, check_place
from hushtable.report.pieces import Chapter, Grid, Section
from hushtable.version import __version__

_WHAT = (
    "The whole release was made several times on these data, each time with fresh noise, and compared with what is "
    "counted in them. A release of the confidential data for the same budget has the same noise; how much of it shows "
    "depends on how large their counts are."
)
_COLUMNS = (
    "mean_error: mean distance of a number from the true count. bias: mean of its signed distance, near 0 where "
    "nothing pulls numbers to one side. coverage: how often intervals meant for 95% held the true count."
)


def rehearsal_page(found: Rehearsal, folder: str) -> Page:
    """The page with the data behind it in ``folder``."""
    overall, plan = found.overall.to_dicts()[0], found.plan
    facts = (
        ("Data", found.data),
        ("Budget", f"{plan.budget}, for {found.unit}"),
        ("Strategy", plan.strategy),
        ("Runs", f"{found.runs:,}"),
        ("Records", f"{overall['records']:,}"),
        ("Tables", f"{overall['marginals']:,}"),
        ("Mean absolute error of a number", f"{overall['mean_error']:,.2f}"),
        ("Bias", f"{overall['bias']:+,.3f}"),
        ("Intervals that held", f"{overall['coverage']:.2%}"),
        ("As good as a plain sample of", f"{overall['sample_share']:.2%} of the records"),
    )
    return Page(
        title=f"Rehearsal of a release on {found.data}",
        lead=_WHAT,
        chapters=(
            Chapter.of(
                "rehearsal",
                "",
                Section("overview", "In short", (_COLUMNS,), facts=facts),
                _listed("by-size", "By size of the true count", found.sizes),
                _listed("by-level", "By level", found.levels),
                _listed("by-table", "By table", found.marginals),
                _listed("by-group", "By group", found.groups),
            ),
        ),
        footer=REHEARSED,
        folder=folder,
        version=__version__,
        stamp=REHEARSED,
    )


def write_rehearsal_report(found: Rehearsal, out: str | PathLike[str] = "rehearsal.html") -> ReportFile:
    """Write the page and its data."""
    file = Path(out).absolute()
    check_place(file)
    return rehearsal_page(found, file.with_suffix("").name + "-data").write(file)


def _listed(key: str, title: str, data: pl.DataFrame) -> Section:
    return Section(key, title, (), grids=(Grid(key, title, data, searchable=data.height > 20),))
