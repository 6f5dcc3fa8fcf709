"""The page of ``check``: what its errors say, as tables and charts.  It computes no error itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import altair as alt
import polars as pl

from hushtable.deciders import DECIDERS

HEAD = """\
# Checking numbers: errors and times of the deciders

Written by `make bench-check`. Sixty questions shaped like dp-pqd, Tables 5 and 6, on drawn tables of 1,340,703 people
and 2,177,719 taxi trips; the synthetic files are our own microdata from all two-way tables at epsilon 0.1, 1 and 10.
An error is the exact probability of the wrong verdict, averaged over questions and synthetic files; nothing is
simulated, so there is no sampling error in these figures. Income is declared up to 2,000,000, as in the paper's
examples; no income is above 500,000. Many sums are of few people, and then no decider can tell a difference of 3.2% at
this epsilon: their errors stay near one half, whatever the noise.
"""

CRITERIA = """\
Three ways to compare, because the first one alone would reward a decider that always says no:

* **as it happens**: the error at the distance that the synthetic file happens to have. With a small tau the answer is
  mostly no, and a decider that knows nothing and says no is then right. None can beat it there; it is wrong whenever
  the answer is yes.
* **two-sided**: the criterion of an effective decider (dp-pqd, def. 3.4), on the true rows: the larger of the errors
  when the synthetic answer is right and when it is 2 tau off, on either side. It needs no guess about the answer.
* **next door**, for medians: the larger of the errors on the true rows and on the nearest rows for which the other
  verdict is as clearly right. An epsilon-DP decider that is nearly always right on rows that k people could turn into
  rows with the other answer must be wrong there: P[wrong there] >= 1 - e^(k epsilon) P[wrong here].
"""

MEANS = """\
### As it happens: the mean over all questions and files, in each of the 25 cells of tau and epsilon
"""

EVERY = """\
### Two-sided: every question, file, tau, epsilon and declared bound by itself

A cell counts as worse when the error is larger by more than 1e-9.
"""

NEXT = """\
### Next door: every question about a median by itself

`median-margin` is the best of all epsilon-DP deciders by this criterion; no other can be better in any cell. Where the
published exponential mechanism wins a cell of the previous table, it does so because it counts ranks with "<", which
favours the value above half of the rows: it is right here, and wrong for the same rows with a few people more.
"""

PAIRS = (
    ("count-optimal", "count-lm"),
    ("count-optimal", "count-em"),
    ("sum-margin", "sum-lm"),
    ("sum-r2t-shared", "sum-r2t"),
    ("sum-r2t-centred", "sum-r2t"),
    ("sum-margin", "sum-r2t"),
    ("sum-margin", "sum-svt"),
    ("median-em-tight", "median-em"),
    ("median-histogram-tight", "median-histogram"),
    ("median-margin", "median-em"),
    ("median-margin", "median-histogram"),
)
KEYS = ["table", "question", "bound", "made_with", "tau", "epsilon"]
SPOT = (pl.col("epsilon") == 0.25) & (pl.col("tau") == "3.2%")
ROUNDING = 1e-9


def error_tables(every: pl.DataFrame, charts: Sequence[str]) -> Iterator[str]:
    """Mean errors over tau and over epsilon, and variants against published deciders."""
    found = every.filter(pl.col("bound") == "declared")
    taus = found["tau"].unique(maintain_order=True).to_list()
    yield "## Mean error over tau, at epsilon 1/4"
    at = found.filter(pl.col("epsilon") == 0.25).group_by("decider", "tau").agg(pl.col("error").mean())
    yield grid(at.pivot("tau", index="decider", values="error"), taus)
    yield f"![Mean chance of a wrong verdict over tau, one panel for COUNT, MEDIAN and SUM.]({charts[0]})"
    yield "## Mean error over epsilon, at tau 3.2%"
    some = found.filter(pl.col("tau") == "3.2%").with_columns(pl.col("epsilon").cast(pl.String))
    at = some.group_by("decider", "epsilon").agg(pl.col("error").mean())
    epsilons = some["epsilon"].unique(maintain_order=True).to_list()
    yield grid(at.pivot("epsilon", index="decider", values="error"), epsilons)
    yield f"![The same over epsilon.]({charts[1]})"
    yield "## Our variants against the published deciders"
    yield CRITERIA
    yield summary(found)
    yield MEANS
    yield cell_means(found)
    yield EVERY
    yield worse_cells(every, "two_sided")
    yield NEXT
    yield worse_cells(every, "next_door")
    yield "### Sums of income alone, declared up to 2,000,000 and up to 500,000, and sums of fares"
    income = every.filter(pl.col("kind") == "sum", pl.col("table") == "census")
    yield summary(income.filter(pl.col("bound") == "declared"))
    yield summary(income.filter(pl.col("bound") == "tight"))
    yield summary(found.filter(pl.col("kind") == "sum", pl.col("table") == "taxi"))


def joined(found: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each variant beside the published decider: the start of its line, and both errors in every cell."""
    for ours, theirs in PAIRS:
        both = found.filter(pl.col("decider") == ours).join(
            found.filter(pl.col("decider") == theirs), on=KEYS, suffix="_published"
        )
        if not both.is_empty():
            yield f"| {ours} | {theirs} |", both


def summary(found: pl.DataFrame) -> str:
    """Mean errors of variant and published decider, and their ratio."""
    lines = [
        "| variant | published | two-sided at 1/4, 3.2% | as it happens at 1/4, 3.2% | two-sided, all cells |"
    ]
    lines.append("|---|---|---|---|---|")
    for start, both in joined(found):
        spot = both.filter(SPOT)
        lines.append(
            f"{start} {ratio(spot, 'two_sided')} | {ratio(spot, 'error')} | {ratio(both, 'two_sided')} |"
        )
    return "\n".join(lines)


def cell_means(found: pl.DataFrame) -> str:
    """In how many cells of tau and epsilon the mean error over the questions is larger, and by how much."""
    lines = [
        "| variant | published | mean over all cells | cells worse | by at most | where |",
        "|---|---|---|---|---|---|",
    ]
    for start, both in joined(found):
        means = both.group_by("tau", "epsilon", maintain_order=True).agg(
            pl.col("error").mean(), pl.col("error_published").mean()
        )
        gaps = means.with_columns(gap=pl.col("error") - pl.col("error_published"))
        lines.append(f"{start} {ratio(both, 'error')} | {excess(gaps, 'error')}")
    return "\n".join(lines)


def worse_cells(every: pl.DataFrame, column: str) -> str:
    """In how many single cells the variant's error is larger, and by how much."""
    lines = ["| variant | published | mean | cells worse | by at most | where |", "|---|---|---|---|---|---|"]
    for start, both in joined(every.filter(pl.col(column).is_not_null())):
        gaps = both.with_columns(gap=pl.col(column) - pl.col(f"{column}_published"))
        lines.append(f"{start} {ratio(both, column)} | {excess(gaps, column)}")
    return "\n".join(lines)


def excess(gaps: pl.DataFrame, column: str) -> str:
    """The end of a row: how many gaps are positive, the largest of them, and where it is."""
    worse = gaps.filter(pl.col("gap") > ROUNDING).sort("gap")
    count = f"{len(worse)} of {len(gaps):,} |"
    if worse.is_empty():
        return f"{count} 0 | |"
    top = worse.tail(1).to_dicts()[0]
    question = f"{top['table']} {top['question']}, " if "question" in top else ""
    place = f"{question}tau {top['tau']}, epsilon {top['epsilon']:g}"
    return f"{count} {top['gap']:.4f} ({top[column]:.4f} / {top[f'{column}_published']:.4f}) | {place} |"


def ratio(both: pl.DataFrame, column: str) -> str:
    ours, published = both[column].mean(), both[f"{column}_published"].mean()
    return f"{ours:.4f} / {published:.4f} = {ours / published:.3f}"


def grid(table: pl.DataFrame, columns: Sequence[str]) -> str:
    """A Markdown table, in the order of the catalog."""
    rows = {row["decider"]: row for row in table.to_dicts()}
    lines = ["| decider | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in DECIDERS:
        if name in rows:
            cells = " | ".join("" if rows[name][c] is None else f"{rows[name][c]:.4f}" for c in columns)
            lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def draw_charts(found: pl.DataFrame, files: Sequence[Path]) -> None:
    """Mean error over epsilon and over tau, one panel per aggregate."""
    for file, (axis, fixed, value) in zip(
        files, (("tau", "epsilon", 0.25), ("epsilon", "tau", "3.2%")), strict=True
    ):
        mean = (
            found.filter(pl.col(fixed) == value).group_by("decider", "kind", axis).agg(pl.col("error").mean())
        )
        scale = alt.X("epsilon:Q", scale=alt.Scale(type="log", base=2))
        drawn = (
            alt.Chart(alt.Data(values=mean.to_dicts()), width=230, height=200)
            .mark_line(point=True)
            .encode(
                x=scale
                if axis == "epsilon"
                else alt.X("tau:O", sort=found["tau"].unique(maintain_order=True).to_list()),
                y=alt.Y("error:Q", title="chance of a wrong verdict"),
                color="decider:N",
                column="kind:N",
            )
        )
        drawn.save(str(file))
