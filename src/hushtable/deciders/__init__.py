"""What a verdict means: the query language, the deciders, their exact errors, thresholds and prices.

Pure functions of public facts and supposed data; nothing here draws noise or reads a confidential row.
"""

from hushtable.deciders.interval import Interval, interval, number_text  # a function of its own name
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.deciders.aggregates import AGGREGATES, AVG, COUNT, MEDIAN, SUM, Aggregate, Facts
    from hushtable.deciders.automatic import choose_decider
    from hushtable.deciders.canonical import resolve
    from hushtable.deciders.check_plan import CheckPlan, Currency, PlannedQuestion, plan_check
    from hushtable.deciders.columns import Column, Columns, columns_of
    from hushtable.deciders.decider import (
        AdditiveDecider,
        CandidateDecider,
        CoinDecider,
        Decider,
        ErrorClaim,
        NoisyDecider,
    )
    from hushtable.deciders.parser import load_batch, parse, parse_batch
    from hushtable.deciders.queries import Query
    from hushtable.deciders.question import Question
    from hushtable.deciders.registry import DECIDERS, build, lookup, register
    from hushtable.deciders.request import Decide
    from hushtable.deciders.selecting import check_header, grid_values, matching
    from hushtable.deciders.supposed import (
        Supposed,
        error_probability,
        probability_satisfied,
        suppose,
    )
    from hushtable.deciders.synthetic import Synthetic
    from hushtable.deciders.tallies import Tally, rows_only, tally
    from hushtable.deciders.thresholds import effectiveness_threshold, epsilon_needed
    from hushtable.deciders.verdict import Verdict, chance_text, read_verdicts, verdicts_of
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "AGGREGATES",
    "AVG",
    "COUNT",
    "DECIDERS",
    "MEDIAN",
    "SUM",
    "AdditiveDecider",
    "Aggregate",
    "CandidateDecider",
    "CheckPlan",
    "CoinDecider",
    "Column",
    "Columns",
    "Currency",
    "Decide",
    "Decider",
    "ErrorClaim",
    "Facts",
    "Interval",
    "NoisyDecider",
    "PlannedQuestion",
    "Query",
    "Question",
    "Supposed",
    "Synthetic",
    "Tally",
    "Verdict",
    "build",
    "chance_text",
    "check_header",
    "choose_decider",
    "columns_of",
    "effectiveness_threshold",
    "epsilon_needed",
    "error_probability",
    "grid_values",
    "interval",
    "load_batch",
    "lookup",
    "matching",
    "number_text",
    "parse",
    "parse_batch",
    "plan_check",
    "probability_satisfied",
    "read_verdicts",
    "register",
    "resolve",
    "rows_only",
    "suppose",
    "tally",
    "verdicts_of",
]
