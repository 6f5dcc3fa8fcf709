"""Draw the pictures of these pages into SVG files, from formulas and made-up counts alone.

python docs/explanation/draw.py
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

import hushtable as ht

FOLDER = Path(__file__).parent
INK, BLUE, ORANGE = "#333333", "#20639b", "#b5541c"


def residuals() -> alt.Chart:
    """A table as the sum of four parts."""
    rng = np.random.default_rng(7)
    rows, columns = np.array([60, 90, 40, 25]), np.array([1.0, 0.7, 0.4])
    table = np.outer(rows, columns) + rng.integers(-9, 10, (4, 3))
    total = np.full((4, 3), table.mean())
    row = np.repeat(table.mean(axis=1, keepdims=True), 3, axis=1) - total
    column = np.repeat(table.mean(axis=0, keepdims=True), 4, axis=0) - total
    parts = {
        "table": table,
        "= total": total,
        "+ age": row,
        "+ sex": column,
        "+ age x sex": table - total - row - column,
    }
    cells = [
        {"part": name, "age": f"a{i + 1}", "sex": f"s{j + 1}", "value": float(values[i, j])}
        for name, values in parts.items()
        for i in range(4)
        for j in range(3)
    ]
    base = alt.Chart(pl.DataFrame(cells)).encode(
        x=alt.X("sex:N", title=None, axis=None), y=alt.Y("age:N", title=None, axis=None)
    )
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(scheme="blueorange", domainMid=0, domain=[-80, 80], clamp=True),
        legend=None,
    )
    text = base.mark_text(fontSize=12, color=INK).encode(text=alt.Text("value:Q", format=".0f"))
    layered = (base.mark_rect(opacity=0.6).encode(color=colour) + text).properties(width=110, height=120)
    return layered.facet(column=alt.Column("part:N", title=None, sort=list(parts)))


def uncertainty() -> alt.Chart:
    """Errors of the total and of the one large cell when all other cells are empty."""
    rng = np.random.default_rng(11)
    rows = []
    for cells in (10, 30, 100, 300, 1000, 3000, 10_000):
        errors: dict[tuple[str, str], list[float]] = {}
        for _ in range(200):
            truth = np.zeros(cells)
            truth[0] = 60.0
            noisy, total = truth + rng.laplace(0, 2, cells), 60.0 + rng.laplace(0, 2)
            tables = {
                "unbiased, with negative cells": noisy + (total - noisy.sum()) / (cells + 1),
                "negative cells set to zero": np.maximum(noisy, 0),
                "nonnegative, made to add up": nonnegative_with_total(noisy, total),
            }
            for name, table in tables.items():
                errors.setdefault((name, "the total"), []).append(table.sum() - 60.0)
                errors.setdefault((name, "the large cell"), []).append(table[0] - 60.0)
        rows += [
            {"cells": cells, "method": name, "of": of, "error": float(np.sqrt(np.mean(np.square(found))))}
            for (name, of), found in errors.items()
        ]
    scale = alt.Scale(type="log")
    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X(
                "cells:Q", title="cells of the table", scale=scale, axis=alt.Axis(values=[10, 100, 1e3, 1e4])
            ),
            y=alt.Y("error:Q", title="typical error (records)", scale=scale, axis=alt.Axis(tickCount=5)),
            color=alt.Color(
                "method:N",
                title=None,
                scale=alt.Scale(range=[ORANGE, BLUE, INK]),
                legend=alt.Legend(orient="top", labelLimit=400),
            ),
            strokeDash=alt.StrokeDash(
                "method:N", legend=None, scale=alt.Scale(range=[[1, 0], [1, 0], [6, 6]])
            ),
            column=alt.Column("of:N", title=None, sort="descending"),
        )
        .properties(width=260, height=190)
    )


def nonnegative_with_total(noisy: np.ndarray, total: float) -> np.ndarray:
    """The nearest nonnegative table with this total."""
    if total <= 0:
        return np.zeros_like(noisy)
    falling = np.sort(noisy)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, len(noisy) + 1)
    return np.maximum(noisy - shifts[np.flatnonzero(falling > shifts)[-1]], 0)


def common() -> alt.Chart:
    """What a decision costs, by either way."""
    schema = ht.Schema.from_dict(
        {"attributes": {f"a{k}": {"type": "categorical", "values": ["y", "n"]} for k in range(7)}}
    )
    rows = []
    for low, high in ((1, 2), (1, 3), (2, 3)):
        options = [ht.linear.marginals(schema, order=k, rho=1) for k in (low, high)]
        shared = float(ht.linear.budget_saved(options))
        name = f"{low}-way or {high}-way"
        rows += [
            {"options": name, "way": "look, then start again", "part": "1 look", "rho": shared},
            {"options": name, "way": "look, then start again", "part": "2 table", "rho": 1.0},
            {"options": name, "way": "common mechanism", "part": "1 look", "rho": shared},
            {"options": name, "way": "common mechanism", "part": "2 table", "rho": 1.0 - shared},
        ]
    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar(size=20)
        .encode(
            y=alt.Y("way:N", title=None, sort=["look, then start again", "common mechanism"]),
            x=alt.X("rho:Q", title="budget, as a multiple of the option's own price"),
            color=alt.Color(
                "part:N", title=None, scale=alt.Scale(range=[BLUE, ORANGE]), legend=alt.Legend(orient="top")
            ),
            order=alt.Order("part:N"),
            row=alt.Row(
                "options:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelFontSize=12)
            ),
        )
        .properties(width=380, height=60)
    )


def deciders() -> alt.Chart:
    """How often a count decider says yes, by the true distance."""
    rows = [
        {"distance": d, "yes": yes_at(d, epsilon), "epsilon": f"epsilon {epsilon:g}"}
        for epsilon in (0.02, 0.05, 0.25)
        for d in range(0, 201, 4)
    ]
    lines = (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("distance:Q", title="true distance between synthetic and true count; tau = 100"),
            y=alt.Y("yes:Q", title="probability of yes", axis=alt.Axis(format="%")),
            color=alt.Color(
                "epsilon:N",
                title=None,
                scale=alt.Scale(range=[ORANGE, "#777777", BLUE]),
                legend=alt.Legend(orient="top"),
            ),
        )
    )
    edge = (
        alt.Chart(pl.DataFrame({"distance": [100]}))
        .mark_rule(color=INK, strokeDash=[4, 4])
        .encode(x="distance:Q")
    )
    return (lines + edge).properties(width=460, height=220)


def yes_at(distance: int, epsilon: float) -> float:
    return float(
        ht.deciders.probability_satisfied(
            "count-em", true=5000, synthetic=5000 + distance, tau=100, epsilon=epsilon
        )
    )


PICTURES = {"residuals": residuals, "uncertainty": uncertainty, "common": common, "deciders": deciders}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        chart = draw().properties(background="white").configure_view(stroke=None)
        chart.configure_axis(labelColor=INK, titleColor=INK, grid=False).save(FOLDER / f"{name}.svg")
