"""How charts look: one palette with enough contrast, one font, data inside the chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import altair as alt
import polars as pl

INK = "#1b1f24"
SOFT = "#57606a"
BLUE = "#0b5cad"
PALE = "#9ec5e8"
RED = "#b3261e"
GREEN = "#1a7f37"
GREY = "#c9ced6"
KINDS = ("#0b5cad", "#7a4fb5", "#1a7f37", "#9a6700", "#8c959f")

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_CONFIG: dict[str, Any] = {
    "background": "#ffffff",
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": "#e6e8eb",
        "domainColor": SOFT,
        "tickColor": SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 150,
    },
    "legend": {
        "labelLimit": 400,
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "bottom",
    },
}


def chart(data: pl.DataFrame) -> alt.Chart:
    """A chart that carries its own rows."""
    return alt.Chart(alt.Data(values=data.to_dicts()))


def finished(drawing: alt.TopLevelMixin, **size: Any) -> Any:
    """The drawing with the report's look; as wide as its place in the page unless told otherwise."""
    return (
        cast("Any", drawing)
        .properties(**{"width": "container", "autosize": _fit(), **size})
        .configure(**_CONFIG)
    )


def labelled(field: str, title: str, **options: Any) -> Mapping[str, Any]:
    """Arguments of a channel: the field and its title."""
    return {"shorthand": field, "title": title, **options}


def _fit() -> alt.AutoSizeParams:
    return alt.AutoSizeParams(type="fit-x", contains="padding")
