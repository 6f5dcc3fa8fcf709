"""What the intervals of a release promise, in words: the one place that tables, files, reports and notebooks ask.

A batch fixes its noise before anything is seen, so its intervals hold as often as they say, up to the steps of noise
that comes in whole numbers.  Where the noise depended on earlier replies they are approximate, and how often they
held in trials is part of the sentence (``bench/tables/intervals.py``, docs/benchmarks-intervals.md).
"""

from __future__ import annotations

from hushtable.planning import STRATEGIES
from hushtable.release.card import Card
from hushtable.release.spend_kinds import CHOOSE
from hushtable.release.table_value import RATE, SUM, value_kind

ALPHA = 0.05
"""Of all intervals that are listed without being asked for, in bundles, on cards and in reports: 95%, as custom has it
and as readers of tables expect.  Others can be asked for."""
MODELLED = "Where not all was measured, the estimate is a model's guess: rely on lower and upper."

WHOLE_TABLE = (
    "All errors of a table add up to at most its bound with probability 95%, for each table on its own."
)

SAMPLED = (
    "Rows are a sample: intervals and significance cover the noise alone, and not the error of sampling, so that they "
    "are for what the files hold."
)


def approximate(card: Card) -> bool:
    """Whether intervals are meant to hold as often as they say, and no more: the noise or the answers were chosen."""
    return card.plan.strategy == CHOOSE or _reuses_adaptive(card) or not _foreseen(card.plan.strategy)


def interval_promise(
    card: Card, alpha: float = 0.05, *, simultaneous: bool = False, adjusted: bool = True
) -> str:
    """The sentence for intervals at ``1 - alpha`` of the release with this card; of a sample, what they cover.

    ``adjusted``: whether what it stands beside has columns that are adjusted to benchmarks, if there are any.
    """
    return " ".join([_noise_promise(card, alpha, simultaneous), *_what_else(card, adjusted=adjusted)])


def quantile_promise(card: Card, alpha: float = 0.05) -> str:
    """The sentence for intervals of quantiles, whose two ends have half of ``alpha`` each."""
    told = f"Each interval holds the true quantile with probability {1 - alpha:.10g} or more."
    if approximate(card):
        told = _noise_promise(card, alpha, simultaneous=False).replace("the true count", "the true quantile")
    return " ".join([told, *_what_else(card, adjusted=False)])


def difference_promise(this: Card, last: Card) -> str:
    """What differences of two releases rest on, beside the noise; "" where that is all."""
    sampled = [card.sampling for card in (this, last) if card.sampling is not None]
    told = [*(this.known or ()), *(last.known or ()), *(this.doubts or ()), *(last.doubts or ())]
    return " ".join(dict.fromkeys([*told, *([SAMPLED] if sampled else [])]))


def _what_else(card: Card, *, adjusted: bool) -> list[str]:
    """What intervals rest on beside the noise, and what they leave out."""
    from_elsewhere = [
        *(card.known or ()),
        *(card.doubts or ()),
        *((card.benchmarks if adjusted else None) or ()),
    ]
    return [*from_elsewhere, *([] if card.sampling is None else [card.sampling])]


def _noise_promise(card: Card, alpha: float, simultaneous: bool) -> str:
    strategy, level = card.plan.strategy, f"{100 * (1 - alpha):.10g}%"
    if simultaneous:
        return f"All intervals of the table are meant to hold together, with probability {level} or more."
    meant = f"Each interval is meant to hold the true count with probability {level}"
    if strategy == CHOOSE:
        return f"{meant}; it is approximate, because an option is taken after seeing a part of these answers."
    if not _foreseen(strategy):
        held = _least(strategy, card.reconstruct)
        depended = "depended" if strategy in STRATEGIES else "may have depended"
        trials = "" if held is None else f": in trials at 95%, {held:.1f}% or more of each kind of cell held"
        return f"{meant}; it is approximate, because later noise {depended} on earlier answers{trials}."
    if _reuses_adaptive(card):
        adaptive = " or ".join(name for name, known in STRATEGIES.items() if not known.foreseen)
        return f"{meant}; it is approximate where earlier answers came from {adaptive}."
    return (
        f"Each interval holds the true count with probability {level}, or less where std is small, because noise "
        "comes in whole numbers."
    )


def value_promise(card: Card, value: str, alpha: float = 0.05) -> str:
    """The sentence for intervals of totals, means, shares and rates."""
    total = value_kind(value) == SUM
    told = interval_promise(card, alpha, adjusted=total)
    told = told.replace("the true count", f"the true {value}", 1)
    if total:
        return told
    which = (
        "that may be empty, or whose divisor may be 0," if value_kind(value) == RATE else "that may be empty"
    )
    return f"{told} A group {which} has the whole range that the schema declares, or nearly so."


def _foreseen(strategy: str) -> bool:
    """Whether the noise was known beforehand; of a strategy that is not registered here nobody can say so."""
    return strategy in STRATEGIES and STRATEGIES[strategy].foreseen


def _reuses_adaptive(card: Card) -> bool:
    """Whether earlier answers are, or may be, of a strategy whose noise depended on answers."""
    if card.reuse is None:
        return False
    return card.reuse.strategies is None or not all(map(_foreseen, card.reuse.strategies))


def _least(strategy: str, reconstruct: str) -> float | None:
    """Of the trials of that way to read the answers, or of all ways of the strategy; None where there were none."""
    if strategy not in STRATEGIES:
        return None
    trials = dict(STRATEGIES[strategy].trials)
    return trials.get(reconstruct, min(trials.values(), default=None))
