"""What the page of a release shows beside its explorer: title, sentences, citation, hashes; for pages of a service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hushtable.report.citation import Citation
from hushtable.report.explorer import Explorer
from hushtable.report.pieces import Section
from hushtable.report.public import explorers, lead, subtitle
from hushtable.report.sections.about_section import about_section
from hushtable.report.sections.explore_section import explore_section, first_table
from hushtable.report.sections.opening_section import opening_section
from hushtable.report.sections.record_section import record_section
from hushtable.report.sections.rounds_section import rounds_section
from hushtable.report.view import View


@dataclass(frozen=True, eq=False)
class ReleaseShown:
    """What the page of a release shows; a release never changes."""

    title: str
    subtitle: str
    lead: str
    cite: Citation
    explorer: Explorer | None
    others: dict[str, Explorer]
    first: tuple[int, ...]
    tables: Section
    about: tuple[Section, ...]

    @classmethod
    def read(cls, folder: Path) -> ReleaseShown:
        """From a bundle."""
        view = View.open(folder)
        explorer, others = explorers(view, "..", "pages")
        about = (opening_section(view, None), about_section(view), rounds_section(view), record_section(view))
        cite = Citation.of(view)
        return cls(
            cite.title,
            subtitle(view),
            lead(view),
            cite,
            explorer,
            others,
            first_table(view, None, explorer),
            explore_section(view, explorer, others),
            tuple(section for section in about if section is not None),
        )
