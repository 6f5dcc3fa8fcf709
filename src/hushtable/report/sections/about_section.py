"""What the numbers are about, in the curator's words."""

from __future__ import annotations

from hushtable.report.pieces import Section
from hushtable.report.view import View


def about_section(view: View) -> Section | None:
    """Universe, period, area, unit, source and contact, and footnotes; None where the schema says nothing of them."""
    about = view.schema.about
    if not about.facts and not about.footnotes:
        return None
    notes = tuple(f"{number}. {note}" for number, note in enumerate(about.footnotes, 1))
    return Section("about", "What the numbers are about", notes, facts=about.facts)
