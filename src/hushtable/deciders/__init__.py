"""What a verdict means: the query language, the deciders, their exact errors, thresholds and prices.

Pure functions of public facts and supposed data; nothing here draws noise or reads a confidential row.
"""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.deciders.aggregates import AGGREGATES as AGGREGATES
    from hushtable.deciders.aggregates import AVG as AVG
    from hushtable.deciders.aggregates import COUNT as COUNT
    from hushtable.deciders.aggregates import MEDIAN as MEDIAN
    from hushtable.deciders.aggregates import SUM as SUM
    from hushtable.deciders.aggregates import Aggregate as Aggregate
    from hushtable.deciders.aggregates import Facts as Facts
    from hushtable.deciders.asking import Currency as Currency
    from hushtable.deciders.asking import plan_check as plan_check
    from hushtable.deciders.canonical import resolve as resolve
    from hushtable.deciders.check_plan import CheckPlan as CheckPlan
    from hushtable.deciders.check_plan import PlannedQuestion as PlannedQuestion
    from hushtable.deciders.check_plan import price_of
    from hushtable.deciders.columns import Column as Column
    from hushtable.deciders.columns import Columns as Columns
    from hushtable.deciders.columns import columns_of as columns_of
    from hushtable.deciders.decide import Decide as Decide
    from hushtable.deciders.decider import AdditiveDecider as AdditiveDecider
    from hushtable.deciders.decider import CandidateDecider as CandidateDecider
    from hushtable.deciders.decider import CoinDecider as CoinDecider
    from hushtable.deciders.decider import Decider as Decider
    from hushtable.deciders.decider import ErrorClaim as ErrorClaim
    from hushtable.deciders.decider import NoisyDecider as NoisyDecider
    from hushtable.deciders.intervals import Interval as Interval
    from hushtable.deciders.intervals import interval as interval
    from hushtable.deciders.intervals import number_text as number_text
    from hushtable.deciders.parser import load_batch as load_batch
    from hushtable.deciders.parser import parse as parse
    from hushtable.deciders.parser import parse_batch as parse_batch
    from hushtable.deciders.queries import Query as Query
    from hushtable.deciders.question import Question as Question
    from hushtable.deciders.question import Share, pose
    from hushtable.deciders.question import choose_decider as choose_decider
    from hushtable.deciders.registry import DECIDERS as DECIDERS
    from hushtable.deciders.registry import build as build
    from hushtable.deciders.registry import lookup as lookup
    from hushtable.deciders.registry import register as register
    from hushtable.deciders.registry import unregister as unregister
    from hushtable.deciders.selecting import check_header as check_header
    from hushtable.deciders.selecting import grid_values as grid_values
    from hushtable.deciders.selecting import matching as matching
    from hushtable.deciders.supposed import Supposed as Supposed
    from hushtable.deciders.supposed import error_probability as error_probability
    from hushtable.deciders.supposed import probability_satisfied as probability_satisfied
    from hushtable.deciders.supposed import suppose as suppose
    from hushtable.deciders.synthetic import Synthetic as Synthetic
    from hushtable.deciders.tallies import Tally as Tally
    from hushtable.deciders.tallies import rows_only as rows_only
    from hushtable.deciders.tallies import tally as tally
    from hushtable.deciders.thresholds import effectiveness_threshold as effectiveness_threshold
    from hushtable.deciders.thresholds import epsilon_needed as epsilon_needed
    from hushtable.deciders.verdict import Verdict as Verdict
    from hushtable.deciders.verdict import chance_text as chance_text
    from hushtable.deciders.verdict import read_verdicts as read_verdicts
    from hushtable.deciders.verdict import verdicts_of as verdicts_of
else:
    __getattr__, __dir__ = lazily(__name__)
