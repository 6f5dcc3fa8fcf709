"""How charts look: the colours of the page, one font, data inside the chart."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import polars as pl

INK, SOFT, LINE = "var(--ink)", "var(--soft)", "var(--faint)"
BLUE, PALE, RED, GREEN, GREY = "var(--blue)", "var(--pale)", "var(--red)", "var(--green)", "var(--grey)"
KINDS = (BLUE, "var(--purple)", GREEN, "var(--amber)", "var(--slate)")
SHADES = tuple(f"var(--map-{k})" for k in range(1, 7))
"""From faint to strong.  Colours are names of the style sheet, which has them for light, for dark and for paper."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": _FONT,
    "view": {"stroke": None},
    "rule": {"color": INK},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": LINE,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 150,
        "labelSeparation": 6,
    },
    "legend": {
        "labelLimit": 400,
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "bottom",
        "columns": {"expr": "width < 420 ? 1 : 0"},
    },
}
"""How charts look beside the page's text: its font and sizes, and lines as light as its rules.  On a phone (a chart of
fewer than 420 pixels) names in a legend stand one below the other, elsewhere (0) side by side."""


def chart(data: pl.DataFrame) -> alt.Chart:
    """A chart that carries its own rows."""
    return alt.Chart(alt.Data(values=data.to_dicts()))


def finished(drawing: alt.TopLevelMixin, **size: Any) -> Any:
    """The drawing with the report's look; as wide as its place in the page unless told otherwise."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    placed = cast("Any", drawing).properties(**{"width": "container", "autosize": fit, **size})
    return placed.configure(**_CONFIG)


def bars(data: pl.DataFrame, **channels: Any) -> alt.Chart:
    """Bars, in blue where no channel gives them colours."""
    colour: dict[str, Any] = {} if "color" in channels else {"color": BLUE}
    return chart(data).mark_bar(**colour).encode(**channels)


def histogram(data: pl.DataFrame, field: str, title: str, *, top: float = 0.0) -> alt.Chart:
    """How many tables have which value of a field; ``top``: the axis goes from 0 to there at least."""
    largest = max(top, cast("float", data[field].max() or 0.0))
    parts = alt.Bin(maxbins=30, extent=[0.0, largest]) if top else alt.Bin(maxbins=30)
    binned = alt.X(f"{field}:Q", bin=parts, title=title)
    return bars(data, x=binned, y=alt.Y("count()", title="tables"))


def tips(*fields: str | tuple[str, ...]) -> list[alt.Tooltip]:
    """What is shown under the pointer: fields, each alone or with a format of its number and another name."""
    found: list[alt.Tooltip] = []
    for field in fields:
        name, *more = (field,) if isinstance(field, str) else field
        named: dict[str, Any] = {
            word: given for word, given in zip(("format", "title"), more, strict=False) if given
        }
        found.append(alt.Tooltip(name, **named))
    return found
