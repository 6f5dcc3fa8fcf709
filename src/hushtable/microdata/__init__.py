"""Nonnegative records from released answers, and what they cost: fits, bounds, rounding and generation."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.microdata.fitting import METHODS, Fit, fit
    from hushtable.microdata.honesty import Explanation, TableGap
    from hushtable.microdata.measurement import Measurement
    from hushtable.microdata.noise import Noise
    from hushtable.microdata.point_sum import counts_to_buy
    from hushtable.microdata.rounding import Rounded, round_table
    from hushtable.microdata.uncertainty import TradeOff, hard_table, lower_bound, trade_off, upper_bound
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "METHODS",
    "Explanation",
    "Fit",
    "Measurement",
    "Noise",
    "Rounded",
    "TableGap",
    "TradeOff",
    "counts_to_buy",
    "fit",
    "hard_table",
    "lower_bound",
    "round_table",
    "trade_off",
    "upper_bound",
]
