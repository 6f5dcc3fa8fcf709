"""Where the budget went: selection, measurement, checks, choices, what is left."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from hushtable.ledger import Statement
from hushtable.privacy import UNIT, Cost
from hushtable.report.books import BookedSpend
from hushtable.report.pieces import Figure, Section
from hushtable.report.theme import BLUE, GREEN, GREY, KINDS, bars, chart, finished, tips
from hushtable.report.view import View

SELECTION, MEASUREMENT, LEFT, HELD = "selection", "measurement", "left", "held"
OWN = "this release"
_WORDS = {"release": "other releases", "choose": "choices", "check": "checks"}
_WORDS_ALONE = {**_WORDS, "release": "releases"}
_KINDS = {"release": "release", "choose": "choice", "check": "check"}
_COLOURS = {SELECTION: KINDS[1], MEASUREMENT: BLUE, LEFT: GREY, HELD: KINDS[3]}
CURRENCIES = (("rho", "zCDP rho"), ("xi", "pure epsilon"), ("delta", "set-aside delta"))
_UNITS = {"delta": 1}
"""What one of an amount is worth, where it is not 1e-12."""


def budget_section(view: View, account: Statement | None, spends: Sequence[BookedSpend] = ()) -> Section:
    """A waterfall of the dataset's budget, or of this release alone where the ledger is not known; and its course."""
    data = budget_data(view, account)
    whole = "the budget of this dataset" if account is not None else "the price of this release"
    text = [f"The bars add up to {whole}, per person. What is spent can never be taken back."]
    if account is not None and account.left == Cost.ZERO:
        text.append(
            "Nothing is left: nothing more can be published of this dataset without raising its budget."
        )
    figures = tuple(_figure(name, data.filter(pl.col("currency") == name), whole) for _, name in CURRENCIES)
    drawn = [figure for figure in figures if figure is not None]
    if account is not None and len(spends) > 1:
        drawn.append(_course(course_data(account, spends)))
    return Section("budget", "Where the budget went", tuple(text), figures=tuple(drawn))


def account_section(account: Statement, spends: Sequence[BookedSpend] = ()) -> Section:
    """The same for an account alone, whatever was released: by kind of spend, what is held and left, and its course."""
    steps = {_WORDS_ALONE.get(kind, kind): cost for kind, cost in sorted(account.spent)}
    steps |= {HELD: account.held, LEFT: account.left}
    whole = "the budget of this dataset"
    figures: list[Figure | None] = []
    for key, name in CURRENCIES:
        if getattr(account.limit, key):
            figures.append(_figure(name, pl.DataFrame(_rows(steps, key, name, account.limit)), whole))
    if len(spends) > 1:
        figures.append(_course(course_data(account, spends)))
    text = (f"The bars add up to {whole}, per person. What is spent can never be taken back.",)
    return Section(
        "budget", "Where the budget went", text, figures=tuple(f for f in figures if f is not None)
    )


def course_data(account: Statement, spends: Sequence[BookedSpend]) -> pl.DataFrame:
    """One row per entry and currency: when, what for, what it cost, and the share of the budget spent by then."""
    rows: list[dict[str, object]] = []
    for key, name in CURRENCIES:
        limit, at = getattr(account.limit, key), 0
        for spend in spends if limit else ():
            at += getattr(spend.cost, key)
            rows.append(
                {
                    "currency": name,
                    "entry": spend.number,
                    "time": spend.time,
                    "kind": _KINDS.get(spend.kind, spend.kind),
                    "amount": float(getattr(spend.cost, key) / _UNITS.get(key, UNIT)),
                    "spent": float(at / limit),
                }
            )
    return pl.DataFrame(rows)


def _course(data: pl.DataFrame) -> Figure:
    last = data.group_by("currency", maintain_order=True).last()
    ends = ", ".join(f"{row['spent']:.1%} of the {row['currency']}" for row in last.iter_rows(named=True))
    sentence = (
        f"How the budget was used up over {data['entry'].n_unique()} entries of the ledger: by now {ends}."
    )
    lines = (
        chart(data)
        .mark_line(interpolate="step-after", point=True)
        .encode(
            x=alt.X("entry:O", title="entry of the ledger", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y(
                "spent:Q", title="share spent", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            color=alt.Color("currency:N", title=None, scale=alt.Scale(range=list(KINDS))),
            tooltip=tips("entry:O", "time:N", "kind:N", ("amount:Q", ".6g"), ("spent:Q", ".1%")),
        )
    )
    return Figure("budget-course", "The budget over time", sentence, finished(lines, height=200), data)


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
        steps |= {name: cost for name, cost in spent_steps(view, account).items() if name != OWN}
        steps |= {HELD: account.held, LEFT: account.left}
    whole = account.limit if account is not None else own
    rows = [row for key, name in CURRENCIES if getattr(whole, key) for row in _rows(steps, key, name, whole)]
    return pl.DataFrame(rows)


def spent_steps(view: View, account: Statement) -> dict[str, Cost]:
    """What an account has spent: on this release, on others, on checks, on choices."""
    own = view.card.charged
    steps = {OWN: own}
    for kind, cost in sorted(account.spent):
        steps[_WORDS.get(kind, kind)] = cost - own if kind == own_kind(view) else cost
    return steps


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
    rows = view.release.schema.most_per_person
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
