"""Nonnegative records from released answers, and what they cost: fits, bounds, rounding and generation."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.microdata.fitting import METHODS, Fit, fit
    from hushtable.microdata.honesty import Explanation, TableGap
    from hushtable.microdata.measurement import Measurement
    from hushtable.microdata.noise import Noise
    from hushtable.microdata.point_sum import counts_to_buy
    from hushtable.microdata.rounding import Rounded, round_table
    from hushtable.microdata.uncertainty import lower_bound, upper_bound
else:
    __getattr__, __dir__ = lazily(__name__)
