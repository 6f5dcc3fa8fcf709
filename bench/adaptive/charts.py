"""Charts of the adaptive benchmarks as SVG, from the figures on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from bench.adaptive.figures import Figures

LABELS = {
    ("auto", "maxent"): "auto, maxent",
    ("aim", "mle"): "aim, mle (AIM+GReM)",
    ("aim", "maxent"): "aim, maxent",
    ("residual-planner", "mle"): "residual-planner, mle",
    ("residual-planner", "maxent"): "residual-planner, maxent",
    ("residual-planner", "nonneg"): "residual-planner, nonneg",
}


def by_epsilon(figures: Figures, name: str, path: Path) -> bool:
    """Mean L1 of each method by epsilon, both logarithmic."""
    rows = [
        {"epsilon": r["epsilon"], "L1": r["l1"], "method": LABELS[r["strategy"], r["reconstruction"]]}
        for r in figures.where(table=name)
        if "l1" in r
    ]
    if not rows:
        return False
    chart = (
        alt.Chart(alt.Data(values=rows), width=380, height=260, title=name)
        .mark_line(point=True)
        .encode(
            x=alt.X("epsilon:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[0.1, 0.31, 1, 3.16, 10])),
            y=alt.Y("mean(L1):Q", scale=alt.Scale(type="log"), title="mean L1 / records"),
            color=alt.Color("method:N", sort=list(LABELS.values()), title=None),
        )
    )
    return _saved(chart, path)


def loops(rows: list[dict[str, Any]], path: Path) -> bool:
    """Seconds of the fixed sequence, loop by loop."""
    if not rows:
        return False
    chart = (
        alt.Chart(alt.Data(values=rows), width=420, height=110)
        .mark_bar()
        .encode(
            x=alt.X("seconds:Q", scale=alt.Scale(type="symlog"), title="elapsed seconds, whole sequence"),
            y=alt.Y("loop:N", sort=None, title=None),
            color=alt.Color("extrapolated:N", title="extrapolated"),
            row=alt.Row("table:N", title=None),
        )
    )
    return _saved(chart, path)


def axes(figures: Figures, path: Path) -> bool:
    """Seconds of both operations by the size of the marginal, in its axes and by Kronecker products."""
    rows = [
        {
            "cells": r["cells"],
            "seconds": r[operation + suffix],
            "how": how,
            "what": f"{operation}, {r['setting']}",
        }
        for r in figures.rows.values()
        for operation in ("decompose", "reconstruct")
        for suffix, how in (("", "in its axes"), ("_kronecker", "Kronecker products"))
    ]
    if not rows:
        return False
    chart = (
        alt.Chart(alt.Data(values=rows), width=260, height=180)
        .mark_line(point=True)
        .encode(
            x=alt.X("cells:Q", scale=alt.Scale(type="log")),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log")),
            color=alt.Color("how:N", title=None),
            facet=alt.Facet("what:N", columns=2, title=None),
        )
    )
    return _saved(chart, path)


def _saved(chart: Any, path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.save(str(path))
    return True
