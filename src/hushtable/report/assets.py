"""Style sheets and scripts of the report for pages that link to them: a site, a service."""

from __future__ import annotations

from hushtable.report import javascript


def explorer_text() -> str:
    """The explorer as one script."""
    return "".join(javascript.explorer_scripts())


def vega_text() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return javascript.vega()
