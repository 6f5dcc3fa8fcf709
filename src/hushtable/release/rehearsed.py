"""What a rehearsal showed: the errors of a whole release on data that are not confidential, over several runs.

A rehearsal is no release: nothing was charged, nothing is protected, and its numbers say how wrong a release for the
same budget would be on data like these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from hushtable.arrays import is_whole
from hushtable.axes import Axes
from hushtable.errors import UsageError
from hushtable.ledger import Unit
from hushtable.notebook import html_card
from hushtable.reconstruct import Evaluation
from hushtable.release.plan import Plan
from hushtable.texts import counted

REHEARSED = "REHEARSAL on data that are not confidential: no release, and nothing in it is protected"
MOST_RUNS = 10_000
"""Runs that are made at most: they say nothing new long before."""


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal:
    """Means over all runs: mean absolute error, bias and coverage of all cells, by table, level, group and size."""

    data: str
    plan: Plan
    runs: int
    alpha: float
    overall: pl.DataFrame
    marginals: pl.DataFrame
    levels: pl.DataFrame
    groups: pl.DataFrame
    sizes: pl.DataFrame

    @classmethod
    def of(cls, data: str, plan: Plan, found: Sequence[Evaluation], alpha: float = 0.05) -> Rehearsal:
        """What some runs say together."""
        tables = pl.concat([one.marginals.with_columns(_levels(plan)) for one in found])
        groups = pl.concat([one.groups for one in found])
        sizes = pl.concat([one.sizes for one in found])
        runs = len(found)
        by_table = _means(tables, "marginal", runs).with_columns(_kept(tables, "l1_share", "marginal"))
        group = groups.group_by("attribute", "value", maintain_order=True).agg(
            pl.col("records").first(), pl.col("error_share", "mean_l1", "bias").mean()
        )
        return cls(
            data,
            plan,
            runs,
            alpha,
            _overall(tables, found),
            by_table,
            _means(tables, "level", runs),
            group,
            _means(sizes, "true_count", runs),
        )

    @property
    def unit(self) -> Unit:
        """Who a release for this budget would protect."""
        return self.plan.unit

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        told = {"stamp": REHEARSED, "data": self.data, "runs": self.runs, "alpha": self.alpha}
        how = {"budget": str(self.plan.budget), "strategy": self.plan.strategy, "unit": str(self.unit)}
        frames = (part.name for part in fields(self) if part.type == "pl.DataFrame")
        return {**told, **how, **{name: getattr(self, name).to_dicts() for name in frames}}

    def __repr__(self) -> str:
        return f"<Rehearsal of {counted(self.marginals.height, 'table')} in {counted(self.runs, 'run')}>"

    def _repr_html_(self) -> str:
        shown = self.sizes
        facts = {"what it is": REHEARSED, "budget": self.plan.budget, **self.overall.to_dicts()[0]}
        return html_card(repr(self).strip("<>"), facts, shown.columns, shown.rows())


def checked_runs(runs: int) -> int:
    """A number of runs that can be made."""
    if not is_whole(runs) or not 1 <= runs <= MOST_RUNS:
        raise UsageError(
            "rehearse.runs", f"The runs must be a whole number from 1 to {MOST_RUNS:,}.", "Use --runs 20."
        )
    return runs


def _levels(plan: Plan) -> pl.Series:
    """For each marginal of the plan the levels of its attributes that have several."""
    names, axes = plan.workload.names, Axes.of(plan.workload.sizes)
    deep = {a for leaf in axes.finest if len(axes.chains[leaf]) > 1 for a in axes.chains[leaf]}
    told = [", ".join(names[a] for a in s if a in deep) or "(no level)" for s in plan.workload.sets]
    return pl.Series("level", told)


def _means(rows: pl.DataFrame, key: str, runs: int) -> pl.DataFrame:
    """Mean absolute error, bias and coverage over cells of all runs; cells are those of one."""
    weight = pl.col("cells")
    return rows.group_by(key, maintain_order=True).agg(
        weight.sum() // runs,
        *((pl.col(name) * weight).sum() / weight.sum() for name in ("mean_error", "bias", "coverage")),
    )


def _kept(rows: pl.DataFrame, name: str, key: str) -> pl.Series:
    return rows.group_by(key, maintain_order=True).agg(pl.col(name).mean())[name]


def _overall(tables: pl.DataFrame, found: Sequence[Evaluation]) -> pl.DataFrame:
    every = pl.concat([one.overall for one in found])
    weight = pl.col("cells")
    means = tables.select(
        *((pl.col(name) * weight).sum() / weight.sum() for name in ("mean_error", "bias", "coverage"))
    )
    shared = every.select(pl.col("records", "marginals").first(), pl.col("l1_share", "sample_share").mean())
    return pl.concat([shared, means], how="horizontal")
