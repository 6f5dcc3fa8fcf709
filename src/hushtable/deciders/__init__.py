"""What a verdict means: the query language, the deciders, their exact errors, thresholds and prices.

Pure functions of public facts and supposed data; nothing here draws noise or reads a confidential row.
"""

from hushtable.deciders.catalog import (
    CATALOG,
    Entry,
    build,
    error_probability,
    possible_values,
    probability_satisfied,
    suppose,
)
from hushtable.deciders.choice import Choice, choose_decider, epsilon_for
from hushtable.deciders.columns import Column, Columns, columns_of
from hushtable.deciders.decider import CandidateDecider, Claim, CoinDecider, Decider, NoisyDecider
from hushtable.deciders.evaluate import answer, check_header, grid_values, matching
from hushtable.deciders.interval import Interval, distance_bound, interval, require_open_question
from hushtable.deciders.parser import load_batch, parse, parse_batch
from hushtable.deciders.plan import CheckPlan, PlannedQuestion, plan_check
from hushtable.deciders.profile import Supposed, claim, error_bound, errors_at, gap_to_optimal, satisfied_at
from hushtable.deciders.queries import Query
from hushtable.deciders.question import Question, Share, pose
from hushtable.deciders.resolve import resolve
from hushtable.deciders.synthetic import Synthetic
from hushtable.deciders.tally import Tally, rows_only, tally
from hushtable.deciders.thresholds import effectiveness_threshold, epsilon_needed, least_tau
from hushtable.deciders.verdict import Verdict

__all__ = [
    "CATALOG",
    "CandidateDecider",
    "CheckPlan",
    "Choice",
    "Claim",
    "CoinDecider",
    "Column",
    "Columns",
    "Decider",
    "Entry",
    "Interval",
    "NoisyDecider",
    "PlannedQuestion",
    "Query",
    "Question",
    "Share",
    "Supposed",
    "Synthetic",
    "Tally",
    "Verdict",
    "answer",
    "build",
    "check_header",
    "choose_decider",
    "claim",
    "columns_of",
    "distance_bound",
    "effectiveness_threshold",
    "epsilon_for",
    "epsilon_needed",
    "error_bound",
    "error_probability",
    "errors_at",
    "gap_to_optimal",
    "grid_values",
    "interval",
    "least_tau",
    "load_batch",
    "matching",
    "parse",
    "parse_batch",
    "plan_check",
    "pose",
    "possible_values",
    "probability_satisfied",
    "require_open_question",
    "resolve",
    "rows_only",
    "satisfied_at",
    "suppose",
    "tally",
]
