"""Intervals of released tables hold the truth as often as they say, over whole runs: count, noise, reconstruct, table.

The statistic is the share of cells whose unbiased interval holds the true count, averaged over independent runs; it
may differ from 95% by Z standard errors (false-alarm rate 1e-9) and by what discreteness and the Laplace approximation
allow.  The published interval leaves out negative numbers, is wider near zero, and holds whatever that one holds.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.kernel import open_counter
from hushtable.kernel.draw import Confidential
from hushtable.measurement import Answers, Measure
from hushtable.planning import PlanOptions
from hushtable.release import Card, LedgerStamp
from hushtable.release.card import PlanFacts
from hushtable.release.plan_maker import Way, plan_release
from thresholds import Z

ALPHA = 0.05
ROOM = 0.005
"""Sums of a few discrete Laplace noises are approximated, and integer counts have integer intervals; with standard
deviations of ten and more both move the coverage by less than this."""
TABLES = [("age", "sex"), ("sex", "member"), ("member",), ()]
CASES = {
    "residual-planner for the sum of variances": ("residual-planner", "sum_variance", ht.ZCDP("0.005")),
    "residual-planner for the largest variance": ("residual-planner", "max_variance", ht.ZCDP("0.005")),
    "identity Gaussian": ("identity", "sum_variance", ht.ZCDP("0.005")),
    "identity Laplace": ("identity", "sum_variance", ht.PureDP("0.1")),
}


def true_counts(frame: pl.DataFrame, release: ht.Release, names: tuple[str, ...]) -> np.ndarray:
    """Counts in the order of the released table, by looking at every record."""
    band = pl.col("age").map_elements(lambda a: f"{a // 20 * 20}-{a // 20 * 20 + 19}", return_dtype=pl.String)
    sex = pl.when(pl.col("sex") == "unknown").then(pl.lit("(other)")).otherwise(pl.col("sex"))
    labelled = frame.with_columns(band.alias("age"), sex.alias("sex"))
    if not names:
        return np.array([frame.height])
    rows = labelled.select(names).rows()
    return np.array([rows.count(cell) for cell in release.table(*names).select(names).rows()])


def covered(
    schema: ht.Schema, frame: pl.DataFrame, case: str, runs: int, shrink: float = 1.0
) -> tuple[float, float]:
    """Mean share of cells inside their interval, and its standard error; ``shrink`` makes the intervals wrong."""
    strategy, objective, budget = CASES[case]
    workload = ht.Workload.all_marginals(schema, order=2)
    plan = plan_release(schema, workload, budget, Way(strategy, options=PlanOptions(objective)))
    part = plan.noise.part
    stamp = LedgerStamp(name="made up", entry=1, request=None, time="2026-01-01", head="0" * 64)
    card = Card.of(schema, plan.cost, PlanFacts(strategy=strategy), stamp)
    drawing = Confidential(open_counter(frame, schema)).measure(Measure(part))

    def make() -> ht.Release:
        return ht.Release(schema, plan.workload.sets, Answers(part, drawing()), card)

    truth = [true_counts(frame, make(), names) for names in TABLES]
    shares = np.empty(runs)
    for run in range(runs):
        release = make()
        inside = []
        for names, counts in zip(TABLES, truth, strict=True):
            table = release.table(*names, alpha=ALPHA)
            estimate, upper = table["estimate"].to_numpy(), table["unbiased_upper"].to_numpy()
            inside.append(np.abs(counts - estimate) <= shrink * (upper - estimate) + 1e-9)
            published = (table["lower"].to_numpy() <= counts) & (counts <= table["upper"].to_numpy())
            assert np.all(published[inside[-1]])  # what is cut off are no counts
        shares[run] = np.concatenate(inside).mean()
    return float(shares.mean()), float(shares.std() / runs**0.5)


RUNS = [pytest.param(300, id="quick"), pytest.param(2000, id="full", marks=pytest.mark.slow)]
MUTANTS = [
    pytest.param(case, 1500 if k == 0 else 2000, id=case, marks=[] if k == 0 else pytest.mark.slow)
    for k, case in enumerate(CASES)
]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(
    small_schema: ht.Schema, small_frame: pl.DataFrame, case: str, runs: int
) -> None:
    share, error = covered(small_schema, small_frame, case, runs)
    assert abs(share - (1 - ALPHA)) <= Z * error + ROOM


@pytest.mark.parametrize(("case", "runs"), MUTANTS)
def test_standard_errors_ten_percent_too_small_are_noticed(
    small_schema: ht.Schema, small_frame: pl.DataFrame, case: str, runs: int
) -> None:
    """A right share lies above the threshold with a chance of 1e-9, this one below it with less than 1e-9."""
    share, error = covered(small_schema, small_frame, case, runs, shrink=0.9)
    assert abs(share - (1 - ALPHA)) > Z * error + ROOM
