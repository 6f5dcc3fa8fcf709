"""The public report of a bundle: its sections in the order of reading, written beside the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from hushtable.release import ALPHA
from hushtable.report.bar_table import count_text
from hushtable.report.books import Books
from hushtable.report.explorer import Explorer, explorer_pages
from hushtable.report.labelled import read_records
from hushtable.report.page import Page, ReportFile, check_place
from hushtable.report.pieces import Chapter
from hushtable.report.sections.about_section import about_section
from hushtable.report.sections.benchmarks_section import benchmarks_section
from hushtable.report.sections.budget_section import budget_section
from hushtable.report.sections.card_section import card_section
from hushtable.report.sections.choices_section import choices_section
from hushtable.report.sections.coverage_section import coverage_section
from hushtable.report.sections.error_map_section import error_map_section
from hushtable.report.sections.explore_section import explore_section, first_table
from hushtable.report.sections.groups_section import groups_section
from hushtable.report.sections.levels_section import levels_section
from hushtable.report.sections.marginals_section import marginals_section
from hushtable.report.sections.microdata_section import microdata_section
from hushtable.report.sections.opening_section import opening_section
from hushtable.report.sections.reading_section import reading_section
from hushtable.report.sections.record_section import record_section
from hushtable.report.sections.rounds_section import rounds_section
from hushtable.report.sections.sampling_section import sampling_section
from hushtable.report.sections.tables_section import headline_section, records_section
from hushtable.report.sections.totals_section import totals_section
from hushtable.report.sections.uncertainty_section import uncertainty_section
from hushtable.report.sections.verdicts_section import verdicts_section
from hushtable.report.view import View
from hushtable.texts import counted

FILE, DATA = "report.html", "report-data"
MOST_PACKED = 3_400_000
"""Bytes of packed tables and their index on one page: 1.2 MB of scripts, charts and lists come on top, and less than
0.2 MB of the last piece and of where other tables are.  It stays below 5 MB, which mail and phones take."""
_FOOTER = (
    "Made from released answers alone. Reading, copying or analysing this report reveals nothing more about any "
    "person than what was spent, as the chapter on privacy lists it, allows."
)


def public_report(
    folder: str | PathLike[str],
    *,
    ledger: str | PathLike[str] | None = None,
    tables: Sequence[tuple[str, ...]] = (),
    microdata: str | PathLike[str] | None = None,
    raw: bool = False,
    language: str | None = None,
) -> Page:
    """The report of a bundle.

    ``ledger`` shows its budget as it stands now, its verdicts and its choices; ``tables`` open the report instead of
    two single attributes; ``microdata`` is a file of records whose counts are drawn beside the intervals.  With
    ``raw``, no text in the CSV files gets an apostrophe.  ``language`` takes the labels of one that the schema has
    words of.
    """
    view = View.open(Path(folder), language)
    return report_of(view, FILE, ledger=ledger, tables=tables, microdata=microdata, raw=raw)


def report_of(
    view: View,
    file: str = FILE,
    *,
    ledger: str | PathLike[str] | None = None,
    tables: Sequence[tuple[str, ...]] = (),
    microdata: str | PathLike[str] | None = None,
    raw: bool = False,
) -> Page:
    """The report that will be a file of this name, which pages beside it lead back to."""
    records = None if microdata is None else read_records(microdata, view.schema)
    books = Books.read(ledger, view.card)
    explorer, others = explorers(view, file, DATA)
    about = view.schema.about
    made = Page(
        title=about.title or view.card.ledger.name,
        subtitle=subtitle(view),
        lead=lead(view),
        chapters=(
            Chapter.of(
                "result",
                "Result",
                opening_section(view, books.account),
                headline_section(view, tables),
                totals_section(view),
                benchmarks_section(view),
                sampling_section(view),
                about_section(view),
            ),
            Chapter.of("explore", "Explore", explore_section(view, explorer, others)),
            Chapter.of(
                "quality",
                "Quality",
                reading_section(view),
                error_map_section(view),
                levels_section(view),
                marginals_section(view),
                groups_section(view),
                coverage_section(view),
                records_section(view, records, tables),
                microdata_section(view),
                uncertainty_section(view),
            ),
            Chapter.of(
                "privacy",
                "Privacy",
                card_section(view),
                budget_section(view, books.account, books.spends),
                rounds_section(view),
                verdicts_section(books.verdicts, view.card.unit.rows),
                choices_section(books.choices),
            ),
            Chapter.of("appendix", "Appendix", record_section(view)),
        ),
        footer=_FOOTER,
        folder=DATA,
        raw=raw,
        version=view.card.versions["hushtable"],
        first=first_table(view, tables[0] if tables else None, explorer),
    )
    return replace(made, beside={name: _tables_page(made, view, page) for name, page in others.items()})


def subtitle(view: View) -> str:
    """Whom the numbers are about, where and when."""
    about = view.schema.about
    return ", ".join(filter(None, (about.universe, about.area, about.period)))


def lead(view: View) -> str:
    """A release in one sentence."""
    total, unit = view.total, view.schema.about.unit or "records"
    return (
        f"{counted(len(view.release.workload), 'table')} about {count_text(total['estimate'])} {unit} (between "
        f"{count_text(total['lower'])} and {count_text(total['upper'])} at 95%), with noise that protects every person."
    )


def explorers(view: View, file: str, folder: str = "") -> tuple[Explorer | None, dict[str, Explorer]]:
    """The tables of a page itself, and those of pages in a folder beside it by name, all knowing of each other."""
    if view.cells is None:
        return None, {}
    first, *more = explorer_pages(view.release, view.cells, ALPHA, MOST_PACKED)
    named = {f"tables-{k}.html": page for k, page in enumerate(more, 2)}
    inside = {f"{folder}/{name}" if folder else name: page for name, page in named.items()}
    back = {f"../{file}" if folder else file: first}
    others = {
        name: page.beside(back | {other: p for other, p in named.items() if other != name})
        for name, page in named.items()
    }
    return first.beside(inside), others


def _tables_page(report: Page, view: View, explorer: Explorer) -> Page:
    """A page of more tables beside the report."""
    section = explore_section(view, explorer, {})
    return replace(
        report,
        chapters=(Chapter.of("explore", "More tables", section),),
        first=first_table(view, None, explorer),
    )


def write_report(
    folder: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = None,
    ledger: str | PathLike[str] | None = None,
    tables: Sequence[tuple[str, ...]] = (),
    microdata: str | PathLike[str] | None = None,
    raw: bool = False,
    language: str | None = None,
) -> ReportFile:
    """Write the report of a bundle, by default as ``report.html`` inside it."""
    file = Path(folder) / FILE if out is None else Path(out)
    check_place(file)
    made = report_of(
        View.open(Path(folder), language),
        file.name,
        ledger=ledger,
        tables=tables,
        microdata=microdata,
        raw=raw,
    )
    return made.write(file)
