"""Where the budget went: selection, measurement, checks, choices, what is left."""

from __future__ import annotations

import altair as alt
import polars as pl

from hushtable.ledger import Statement
from hushtable.privacy import UNIT, Cost
from hushtable.report.pieces import Figure, Section
from hushtable.report.theme import BLUE, GREEN, GREY, KINDS, bars, finished, tips
from hushtable.report.view import View

SELECTION, MEASUREMENT, LEFT, HELD = "selection", "measurement", "left", "held"
_WORDS = {"release": "other releases", "choose": "choices", "check": "checks"}
_COLOURS = {SELECTION: KINDS[1], MEASUREMENT: BLUE, LEFT: GREY, HELD: KINDS[3]}
_CURRENCIES = (("rho", "zCDP rho"), ("xi", "pure epsilon"), ("delta", "set-aside delta"))
_UNITS = {"delta": 1}
"""What one of an amount is worth, where it is not 1e-12."""


def budget_section(view: View, account: Statement | None) -> Section:
    """A waterfall of the dataset's budget, or of this release alone where the ledger is not known."""
    data = budget_data(view, account)
    whole = "the budget of this dataset" if account is not None else "the price of this release"
    text = [f"The bars add up to {whole}, per person. What is spent can never be taken back."]
    if account is not None and account.left == Cost.ZERO:
        text.append(
            "Nothing is left: nothing more can be published of this dataset without raising its budget."
        )
    figures = tuple(_figure(name, data.filter(pl.col("currency") == name), whole) for _, name in _CURRENCIES)
    drawn = tuple(figure for figure in figures if figure is not None)
    return Section("budget", "Where the budget went", tuple(text), figures=drawn)


def _figure(currency: str, data: pl.DataFrame, whole: str) -> Figure | None:
    """The waterfall of one currency, if the budget has any of it."""
    if data.is_empty():
        return None
    steps = ", ".join(f"{row['step']} {row['share']:.1%}" for row in data.iter_rows(named=True))
    sentence = f"Shares of {whole} in {currency}: {steps}."
    return Figure(f"budget-{currency.split()[-1]}", f"Where the {currency} went", sentence, _draw(data), data)


def budget_data(view: View, account: Statement | None) -> pl.DataFrame:
    """One row per step: currency, amount, share of the whole, and where its bar begins and ends."""
    own = view.card.charged
    selection = _selection(view, own)
    steps = {SELECTION: selection, MEASUREMENT: own - selection}
    if account is not None:
        for kind, cost in sorted(account.spent.items()):
            rest = cost - own if kind == own_kind(view) else cost
            steps[_WORDS.get(kind, kind)] = rest
        steps |= {HELD: account.held, LEFT: account.left}
    whole = account.limit if account is not None else own
    rows = [row for key, name in _CURRENCIES if getattr(whole, key) for row in _rows(steps, key, name, whole)]
    return pl.DataFrame(rows)


def own_kind(view: View) -> str:
    """The kind of spend that made this bundle."""
    return "release" if view.card.choice is None else "choose"


def _rows(steps: dict[str, Cost], key: str, name: str, whole: Cost) -> list[dict[str, object]]:
    total, at = getattr(whole, key), 0
    rows: list[dict[str, object]] = []
    for step, cost in steps.items():
        amount = getattr(cost, key)
        if amount or step in (MEASUREMENT, LEFT):
            rows.append(
                {
                    "currency": name,
                    "step": step,
                    "amount": float(amount / _UNITS.get(key, UNIT)),
                    "share": float(amount / total),
                    "begin": float(at / total),
                    "end": float((at + amount) / total),
                }
            )
        at += amount
    return rows


def _selection(view: View, own: Cost) -> Cost:
    """What looking cost: rows^2 epsilon^2 / 8 for each private choice, and the rounds that measured no table."""
    history = view.release.history
    if history is None:
        return Cost.ZERO
    rows = view.card.unit.rows
    chosen = sum(rows**2 * float(e) ** 2 / 8 for e in history["epsilon"].fill_null(0.0))
    looked = float(history.filter(pl.col("residuals") == 0)["share"].sum())
    return Cost(xi=0, rho=min(own.rho, round(chosen * UNIT + looked * own.rho)))


def _draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    steps = data["step"].unique(maintain_order=True).to_list()
    colours = [_COLOURS.get(step, GREEN if step == "checks" else KINDS[4]) for step in steps]
    whole = alt.Scale(domain=[0, 1])
    waterfall = bars(
        data,
        y=alt.Y("step:N", sort=steps, title=None),
        x=alt.X("begin:Q", title="share of the budget", axis=alt.Axis(format="%"), scale=whole),
        x2=alt.X2("end:Q"),
        color=alt.Color("step:N", scale=alt.Scale(domain=steps, range=colours), legend=None),
        tooltip=tips("step:N", "currency:N", ("amount:Q", ".6g"), ("share:Q", ".1%")),
    )
    return finished(waterfall, height=28 * len(steps))
