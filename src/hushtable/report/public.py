"""The public report of a bundle: its sections in the order of reading, written beside the tables."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from hushtable.report.books import Books
from hushtable.report.labelled import read_records
from hushtable.report.page import Page, ReportFile, check_place
from hushtable.report.sections.about_section import about_section
from hushtable.report.sections.budget_section import budget_section
from hushtable.report.sections.card_section import card_section
from hushtable.report.sections.choices_section import choices_section
from hushtable.report.sections.error_map_section import error_map_section
from hushtable.report.sections.marginals_section import marginals_section
from hushtable.report.sections.microdata_section import microdata_section
from hushtable.report.sections.reading_section import reading_section
from hushtable.report.sections.rounds_section import rounds_section
from hushtable.report.sections.tables_section import tables_section
from hushtable.report.sections.uncertainty_section import uncertainty_section
from hushtable.report.sections.verdicts_section import verdicts_section
from hushtable.report.view import View

FILE, DATA = "report.html", "report-data"
_FOOTER = (
    "Made from the released answers alone. Reading, copying or analysing this report reveals nothing more about any "
    "person than the price above allows."
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

    ``ledger`` shows its budget as it stands now, its verdicts and its choices; ``tables`` are charted instead of the
    single attributes; ``microdata`` is a file of records whose counts are drawn beside the intervals.  With ``raw``,
    no text in the CSV files gets an apostrophe.  ``language`` takes the labels of one that the schema has words of.
    """
    view = View.open(Path(folder), language)
    records = None if microdata is None else read_records(microdata, view.schema)
    books = Books.read(ledger, view.card)
    rows = view.card.unit.rows
    sections = (
        about_section(view),
        card_section(view),
        budget_section(view, books.account),
        reading_section(view),
        error_map_section(view),
        tables_section(view, tables, records),
        marginals_section(view),
        rounds_section(view),
        microdata_section(view),
        uncertainty_section(view),
        verdicts_section(books.verdicts, rows),
        choices_section(books.choices),
    )
    total = view.total
    return Page(
        title=f"{view.schema.about.title or view.card.ledger.name}: what was released, and how far to trust it",
        lead=(
            f"{len(view.release.workload):,} tables about {total['estimate']:,.0f} records "
            f"(between {total['lower']:,.0f} and {total['upper']:,.0f} at 95%), "
            f"{len(view.schema.attributes)} attributes, strategy {view.card.plan.strategy}."
        ),
        sections=tuple(section for section in sections if section is not None),
        footer=_FOOTER,
        folder=DATA,
        raw=raw,
        version=view.card.versions["hushtable"],
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
    page = public_report(
        folder, ledger=ledger, tables=tables, microdata=microdata, raw=raw, language=language
    )
    return page.write(file)
