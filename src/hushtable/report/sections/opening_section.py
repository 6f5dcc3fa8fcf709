"""The result in four numbers: what was counted, how much, how sure, at what price."""

from __future__ import annotations

from hushtable.ledger import Statement
from hushtable.privacy import Cost
from hushtable.release import QUALITY_FLAGS
from hushtable.report.bar_table import count_text
from hushtable.report.pieces import BARE, Section, Tile
from hushtable.report.sections.budget_section import CURRENCIES, spent_steps
from hushtable.report.view import View
from hushtable.texts import counted


def opening_section(view: View, account: Statement | None) -> Section:
    """The tiles that a report begins with, and the line about its price."""
    tiles = [_records(view), _tables(view), _errors(view), _price(view)]
    return Section(
        "opening",
        "In short",
        (price_sentence(view, account),),
        tiles=tuple(tile for tile in tiles if tile is not None),
        kind=BARE,
    )


def _records(view: View) -> Tile:
    total, unit = view.total, view.schema.about.unit or "records"
    ends = f"{count_text(total['lower'])} to {count_text(total['upper'])} at 95%"
    return Tile(unit[:1].upper() + unit[1:], count_text(total["estimate"]), ends)


def _tables(view: View) -> Tile:
    tables, cells = len(view.release.workload), int(view.marginals["cells"].sum())
    attributes = counted(len(view.schema.attributes), "attribute")
    return Tile(
        "Tables" if tables != 1 else "Table", f"{tables:,}", f"{counted(cells, 'number')}, {attributes}"
    )


def _errors(view: View) -> Tile | None:
    """The typical half-width, and how many numbers can be relied on."""
    numbers = sum(view.quality.values())
    if view.typical_half is None or not numbers:
        return None
    reliable, hidden = (view.quality[flag.name] / numbers for flag in (QUALITY_FLAGS[0], QUALITY_FLAGS[-1]))
    half = view.typical_half
    return Tile(
        "Error of a typical number, at 95%",
        f"± {half:,.0f}" if half >= 10 else f"± {half:,.2g}",
        f"{reliable:.0%} of the numbers are reliable; noise hides {hidden:.0%}",
    )


def _price(view: View) -> Tile:
    note = "".join(
        f"epsilon {epsilon:.3g} at delta {delta}" for delta, epsilon in view.card.epsilon_by_delta[:1]
    )
    return Tile("Price of this release, per person", str(view.card.charged), note)


def price_sentence(view: View, account: Statement | None) -> str:
    """What was spent of the dataset's budget, all told: this release, others, checks and choices."""
    if account is None:
        return f"This release cost {view.card.charged} per person; what else was published is not known here."
    parts = [_spent(view, account, key, name) for key, name in CURRENCIES if getattr(account.limit, key)]
    return f"Of this dataset's privacy budget ({account.limit} per person), {'; '.join(parts)}."


def _spent(view: View, account: Statement, key: str, name: str) -> str:
    """How much of one currency is gone, and on what."""
    limit = getattr(account.limit, key)

    def share(cost: Cost) -> str:
        return f"{float(getattr(cost, key) / limit):.1%}"

    whole = account.whole_spent
    steps = {step: cost for step, cost in spent_steps(view, account).items() if getattr(cost, key)}
    listed = f" ({', '.join(f'{step} {share(cost)}' for step, cost in steps.items())})" if steps else ""
    of = f" of the {name}" if sum(bool(getattr(account.limit, k)) for k, _ in CURRENCIES) > 1 else ""
    held = f", {share(account.held)} held for what is still open" if getattr(account.held, key) else ""
    return f"{share(whole)}{of} is spent{listed}{held}, {share(account.left)} is left"
