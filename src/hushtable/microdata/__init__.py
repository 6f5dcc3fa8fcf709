"""Nonnegative records from released answers, and what they cost: fits, bounds, rounding and generation."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.microdata import seeded
    from hushtable.microdata.answer_groups import Measurement as Measurement
    from hushtable.microdata.decoding import codes_from_counts, frame_from_codes
    from hushtable.microdata.dependent_values import settle
    from hushtable.microdata.fitting import Fit as Fit
    from hushtable.microdata.fitting import fit as fit
    from hushtable.microdata.fitting import require_foreseen
    from hushtable.microdata.generator import Targets, affordable, count_records, generate
    from hushtable.microdata.honesty import FAR, Totals, compare, small_cells
    from hushtable.microdata.honesty import Explanation as Explanation
    from hushtable.microdata.honesty import TableGap as TableGap
    from hushtable.microdata.joint_cells import JointCells
    from hushtable.microdata.likelihood import likeliest
    from hushtable.microdata.noise import Noise as Noise
    from hushtable.microdata.point_sum import counts_to_buy as counts_to_buy
    from hushtable.microdata.rounding import Rounded as Rounded
    from hushtable.microdata.rounding import round_table as round_table
    from hushtable.microdata.rounding import walkable
    from hushtable.microdata.uncertainty import Promise, promise
    from hushtable.microdata.uncertainty import lower_bound as lower_bound
    from hushtable.microdata.uncertainty import upper_bound as upper_bound
    from hushtable.microdata.wanted import METHODS as METHODS
    from hushtable.microdata.wanted import Method as Method
    from hushtable.microdata.wanted import checked_method, keeps_points, whole_rows
    from hushtable.microdata.whole_tables import (
        MOST_JOINT,
        WantedTables,
        WholeTables,
        joint_table,
        whole_from_cells,
        whole_from_records,
    )
else:
    __getattr__, __dir__ = lazily(__name__)
