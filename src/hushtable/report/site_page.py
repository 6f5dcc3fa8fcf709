"""The page of one release in a site: its tables to explore, archives to take along, how to cite and how to check it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from hushtable.report.citation import Citation
from hushtable.report.downloads import Download
from hushtable.report.explorer import Explorer
from hushtable.report.pieces import Chapter, Grid, Section
from hushtable.report.public import FILE as REPORT
from hushtable.report.public import explorers, lead, subtitle
from hushtable.report.sections.about_section import about_section
from hushtable.report.sections.explore_section import explore_section, first_table
from hushtable.report.sections.opening_section import opening_section
from hushtable.report.sections.reading_section import reading_section
from hushtable.report.sections.record_section import record_section
from hushtable.report.templates import render, script_json
from hushtable.report.view import View

INDEX, ASSETS = "index.html", "assets"
STYLES = ("page.css", "explorer.css", "site.css")
FOOTER = (
    "Made from released answers alone. Reading, copying or analysing these pages reveals nothing more about any person "
    "than what was spent, as the report of each release lists it, allows."
)
_COLUMNS = {
    "download": ("File", "{:,}"),
    "holds": ("What it holds", "{:,}"),
    "size": ("Size", "{:,}"),
    "sha256": ("SHA-256", "{:,}"),
}


@dataclass(frozen=True, eq=False)
class SitePage:
    """A page of a site; ``above`` leads to the folder of the site."""

    title: str
    subtitle: str
    lead: str
    chapters: tuple[Chapter, ...]
    version: str
    above: str
    explorer: Explorer | None = None
    first: tuple[int, ...] = ()
    raw: bool = False
    citation: Citation | None = None
    files: tuple[Download, ...] = ()
    report: str = ""
    home: str = ""

    def html(self) -> str:
        """The page, the same bytes for the same contents."""
        packed = None if self.explorer is None else {**self.explorer.to_dict(), "raw": self.raw}
        listed = [file.to_dict() for file in self.files]
        data: dict[str, Any] = {
            "first": self.first,
            "files": {file["sha256"]: file["path"].split("/")[-1] for file in listed},
        }
        return render(
            "site.html.j2",
            page=self,
            version=self.version,
            footer=FOOTER,
            data=script_json(data),
            explorer=None if packed is None else script_json(packed),
            dataset=None if self.citation is None else script_json(self.citation.dataset(listed)),
        )


def release_pages(
    view: View, files: Sequence[Download], manifest: str, *, home: str, raw: bool
) -> dict[str, SitePage]:
    """The pages of a release by their names: one, and more where its tables do not fit; ``manifest`` is its hash."""
    explorer, others = explorers(view, INDEX)
    cite = Citation.of(view)
    made = SitePage(
        title=cite.title,
        subtitle=subtitle(view),
        lead=lead(view),
        chapters=(
            Chapter.of("explore", "Explore", explore_section(view, explorer, others)),
            Chapter.of(
                "about",
                "About",
                opening_section(view, view.card.ledger.account),
                about_section(view),
                reading_section(view),
            ),
            Chapter.of("downloads", "Downloads", _downloads(files)),
            Chapter.of("cite", "Cite", _cite(cite)),
            Chapter.of("verify", "Verify", _verify(view, manifest)),
        ),
        version=cite.version,
        above="../",
        explorer=explorer,
        first=first_table(view, None, explorer),
        raw=raw,
        citation=cite,
        files=tuple(files),
        report=REPORT,
        home=home,
    )
    return {INDEX: made, **{name: _tables_page(made, view, page) for name, page in others.items()}}


def _tables_page(first: SitePage, view: View, explorer: Explorer) -> SitePage:
    section = explore_section(view, explorer, {})
    return SitePage(
        first.title,
        first.subtitle,
        first.lead,
        (Chapter.of("explore", "More tables", section),),
        first.version,
        first.above,
        explorer,
        first_table(view, None, explorer),
        first.raw,
        report=first.report,
        home=first.home,
    )


def _downloads(files: Sequence[Download]) -> Section:
    data = pl.DataFrame(
        {
            "download": [file.path.split("/")[-1] for file in files],
            "holds": [file.summary for file in files],
            "size": [size_text(file.bytes) for file in files],
            "sha256": [file.sha256 for file in files],
        }
    )
    links = tuple(file.path for file in files)
    grid = Grid("downloads-list", "Archives of this release", data, also=_COLUMNS, links=links)
    return Section(
        "downloads-files",
        "Files",
        (
            "Every archive has a README that says how to open it in pandas, polars, R and Excel, with errors and "
            "quality beside every number. What the explorer shows can be saved there, as CSV or XLSX.",
        ),
        grids=(grid,),
        kind="hashes",
    )


def _cite(cite: Citation) -> Section:
    return Section("cite-text", "Reference", (cite.text,), kind="cite")


def _verify(view: View, manifest: str) -> Section:
    record = record_section(view)
    return Section(
        record.key,
        record.title,
        (
            *record.text,
            "The files of a release carry their SHA-256 in its release.json, and hush refuses one of which a byte was "
            "changed. So its hash and the ledger's head stand for all of it: whoever wrote one of them down can tell "
            "whether this is what was published.",
        ),
        facts=(*record.facts, ("Release", f"SHA-256 {manifest} of release.json")),
        kind="verify",
    )


def size_text(count: int) -> str:
    """A size as people read it.

    >>> size_text(900), size_text(12_400), size_text(3_500_000)
    ('900 B', '12 kB', '3.5 MB')
    """
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
