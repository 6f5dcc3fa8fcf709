"""What a verdict means: the query language, the deciders, their exact errors, thresholds and prices.

Pure functions of public facts and supposed data; nothing here draws noise or reads a confidential row.  What reads
queries, tables and schemas is loaded when it is first used: a price or an error needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hushtable.deciders.aggregates import AGGREGATES, AVG, COUNT, MEDIAN, SUM, Aggregate, Facts
from hushtable.deciders.automatic import choose_decider
from hushtable.deciders.decider import (
    AdditiveDecider,
    CandidateDecider,
    CoinDecider,
    Decider,
    ErrorClaim,
    NoisyDecider,
)
from hushtable.deciders.interval import Interval, interval, number_text
from hushtable.deciders.queries import Query
from hushtable.deciders.question import Question
from hushtable.deciders.registry import DECIDERS, build, lookup, register
from hushtable.deciders.supposed import (
    Supposed,
    claim,
    error_probability,
    errors_at,
    gap_to_optimal,
    probability_satisfied,
    satisfied_at,
    suppose,
)
from hushtable.deciders.tally import Tally, rows_only, tally
from hushtable.deciders.thresholds import effectiveness_threshold, epsilon_needed
from hushtable.deciders.verdict import Verdict, chance_text, read_verdicts, write_verdicts

if TYPE_CHECKING:
    from hushtable.deciders.canonical import resolve
    from hushtable.deciders.check_plan import CheckPlan, Currency, PlannedQuestion, plan_check
    from hushtable.deciders.columns import Column, Columns, columns_of
    from hushtable.deciders.parser import load_batch, parse, parse_batch
    from hushtable.deciders.selecting import answer, check_header, grid_values, matching
    from hushtable.deciders.synthetic import Synthetic

_HOMES = {
    "canonical": ("resolve",),
    "check_plan": ("CheckPlan", "Currency", "PlannedQuestion", "plan_check"),
    "columns": ("Column", "Columns", "columns_of"),
    "parser": ("load_batch", "parse", "parse_batch"),
    "selecting": ("answer", "check_header", "grid_values", "matching"),
    "synthetic": ("Synthetic",),
}

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
    "answer",
    "build",
    "chance_text",
    "check_header",
    "choose_decider",
    "claim",
    "columns_of",
    "effectiveness_threshold",
    "epsilon_needed",
    "error_probability",
    "errors_at",
    "gap_to_optimal",
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
    "satisfied_at",
    "suppose",
    "tally",
    "write_verdicts",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"hushtable.deciders.{module}"), name)
    raise AttributeError(f"module 'hushtable.deciders' has no attribute {name!r}")
