"""From sections to one HTML file that needs nothing else, and a CSV file for the data behind every chart and table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, cast

import polars as pl
from markupsafe import Markup

from hushtable.errors import BundleError
from hushtable.notebook import html_card
from hushtable.outputs import can_write, whole_file
from hushtable.report import javascript
from hushtable.report.explorer import Explorer
from hushtable.report.headings import SHOWN_ROWS
from hushtable.report.pieces import Chapter, Grid, Section
from hushtable.report.templates import render, script_json, style_text, visible_text
from hushtable.spreadsheets import write_csv
from hushtable.texts import visible_lines

STYLES = ("page.css", "explorer.css")
MOST_FOUND = 200
"""Rows that a search shows, and that a press of the button adds: more at once make the browser slow."""


@dataclass(frozen=True, eq=False)
class Page:
    """A whole report.  ``stamp`` is printed on every page of paper; ``folder`` names the folder of the CSV files.

    With ``raw`` their texts are as they are, also those that a spreadsheet would run.
    """

    title: str
    lead: str
    chapters: tuple[Chapter, ...]
    footer: str
    folder: str
    version: str
    subtitle: str = ""
    stamp: str | None = None
    raw: bool = False
    first: tuple[int, ...] = ()
    """The table that the explorer opens with."""
    beside: Mapping[str, Page] = field(default_factory=dict[str, "Page"])
    """Pages of more tables, by their names in ``folder``."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections of all chapters."""
        return tuple(section for chapter in self.chapters for section in chapter.sections)

    @property
    def explorer(self) -> Explorer | None:
        """The tables that can be picked on this page."""
        return next((section.explorer for section in self.sections if section.explorer is not None), None)

    def html(self) -> str:
        """The page, the same bytes for the same contents."""
        payload, explorer = self._payload(), self.explorer
        packed = None if explorer is None else {**explorer.to_dict(), "raw": self.raw}
        scripts = [javascript.vega()] if payload["specs"] else []
        scripts += javascript.explorer_scripts() if explorer is not None else []
        return render(
            "page.html.j2",
            page=self,
            style=Markup(style_text(STYLES)),
            payload=script_json(payload),
            explorer=None if packed is None else script_json(packed),
            scripts=[Markup(script) for script in (*scripts, javascript.page_script())],
        )

    def data(self) -> dict[str, pl.DataFrame]:
        """The data behind every chart and table, by key."""
        parts = [p for section in self.sections for p in (*section.bars, *section.figures, *section.grids)]
        return {part.key: part.data for part in parts}

    def write(self, file: Path) -> ReportFile:
        """Write the page, and its data beside it in ``folder``; a stamped page is for its owner's eyes only."""
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            data = file.parent / self.folder
            if data.is_symlink():
                raise NotADirectoryError
            data.mkdir(mode=0o777 if self.stamp is None else 0o700, exist_ok=True)
            for key, frame in self.data().items():
                with whole_file(data / f"{key}.csv", mode=0o666 if self.stamp is None else 0o600) as table:
                    write_csv(frame, table, raw=self.raw)
            for name, page in self.beside.items():
                with whole_file(data / name) as other:
                    other.write(page.html().encode())
            with whole_file(file, mode=0o666 if self.stamp is None else 0o600) as page:
                page.write(self.html().encode())
        except OSError:
            raise not_written(file) from None
        return ReportFile(file, self.stamp)

    def _payload(self) -> dict[str, Any]:
        figures = [figure for section in self.sections for figure in section.figures]
        grids = [grid for section in self.sections for grid in section.grids if grid.searchable]
        return {
            "specs": {figure.key: _visible(figure.spec) for figure in figures},
            "csv": {figure.key: write_csv(figure.data, raw=self.raw) for figure in figures},
            "tables": {grid.key: _visible(_search_data(grid)) for grid in grids},
            "first": self.first,
        }


@dataclass(frozen=True)
class ReportFile(PathLike[str]):
    """A page that was written, with the data behind it beside it; a stamped one is for its owner's eyes only."""

    path: Path
    stamp: str | None = None

    def __fspath__(self) -> str:
        return str(self.path)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"report": str(self.path), "bytes": self.path.stat().st_size, "stamp": self.stamp}

    def _repr_html_(self) -> str:
        return html_card(f"Report {self.path.name}", self.to_dict())


def check_place(file: Path) -> None:
    """Refuse a place where no page can be written, before anything is drawn."""
    if not can_write(file, parents=True):
        raise not_written(file)


def not_written(file: Path) -> BundleError:
    """The error for a page that cannot be written."""
    return BundleError("report.not-written", f"{file} cannot be written.", "Give --out another place.")


def _search_data(grid: Grid) -> dict[str, Any]:
    numbers: Sequence[bool] = [column["number"] for column in grid.columns]
    found: dict[str, Any] = {"rows": grid.rows, "numbers": numbers, "first": SHOWN_ROWS, "most": MOST_FOUND}
    return found | ({"links": list(grid.links)} if grid.links else {})


def _visible(value: Any) -> Any:
    """A spec or table with every text in it as it is to be read: data, domains of axes and orders alike."""
    if isinstance(value, str):
        return visible_text(value)
    if isinstance(value, dict):
        return {
            visible_lines(str(key)): _visible(part) for key, part in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, list | tuple):
        return [_visible(part) for part in cast("Sequence[Any]", value)]
    return value
