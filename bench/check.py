"""Errors and times of every decider on sixty questions shaped like dp-pqd, Tables 5 and 6.

    python bench/check.py [--out docs/benchmarks-check.md] [--charts bench/out] [--parts errors times]

The confidential tables are drawn (``check_tables``), the synthetic files are our own microdata at three budgets, made
once and kept in the system's temporary directory.  Errors are exact probabilities of the wrong verdict, computed from
the true rows, which no user could do; nothing is simulated.  Times are of the kernel on decoded rows, and of whole
checks with their ledger.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

import check_tables
import hushtable as ht
from hushtable.deciders import (
    CATALOG,
    Supposed,
    Synthetic,
    Tally,
    build,
    columns_of,
    grid_values,
    matching,
    parse,
    resolve,
)
from hushtable.deciders.interval import Interval, interval
from hushtable.deciders.question import AGGREGATES
from hushtable.errors import QueryError
from hushtable.kernel.decide import exact_tally, verdict
from hushtable.schema import Schema

TAUS = ("0.2%", "0.8%", "3.2%", "12.8%", "51.2%")
EPSILONS = (Fraction(1, 16), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1))
MADE_WITH = ("0.1", "1", "10")
NAMES = {kind: [n for n in CATALOG if CATALOG[n].aggregate == kind] for kind in ("count", "sum", "median")}
TIGHT = range(500_001)  # incomes as they are in the table; a curator who knows that would declare it
SLOW = (
    "sum-svt"  # its exact error takes a twentieth of a second, so it is computed for the printed cells alone
)
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


@dataclass(frozen=True)
class Case:
    """One confidential table with its questions and its synthetic files."""

    name: str
    schema: Schema
    queries: list[str]
    draw: Callable[[], pl.DataFrame]

    def folder(self) -> Path:
        return Path(tempfile.gettempdir()) / f"hushtable-check-{os.getuid()}" / self.name

    def private(self) -> Path:
        """The confidential table as a Parquet file."""
        path = self.folder() / "private.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.draw().write_parquet(path)
        return path

    def synthetic(self, epsilon: str) -> Path:
        """Our own microdata from all two-way tables at this epsilon, delta 1e-9."""
        path = self.folder() / f"synthetic-{epsilon}.parquet"
        if not path.exists():
            with tempfile.TemporaryDirectory() as folder:
                budget = ht.ApproxDP(epsilon=epsilon, delta="1e-9")
                ledger = Path(folder) / "bench.ledger"
                session = ht.Session.open(self.private(), schema=self.schema, ledger=ledger, budget=budget)
                pairs = ht.Workload.all_marginals(self.schema, order=2)
                session.release(pairs, budget=budget, strategy="residual-planner").microdata().write_parquet(
                    path
                )
        return path


CASES = (
    Case("census", check_tables.census_schema(), check_tables.census_queries(), check_tables.census),
    Case("taxi", check_tables.taxi_schema(), check_tables.taxi_queries(), check_tables.taxi),
)


@dataclass(frozen=True)
class Truth:
    """Matching values and how often each occurs; for COUNT, the rows alone."""

    values: np.ndarray
    counts: np.ndarray

    def tally(self, edges: object) -> Tally:
        places = np.searchsorted(np.asarray(edges, np.int64), self.values)
        size = len(edges) + 1
        sums = np.zeros(size, np.int64)
        np.add.at(sums, places, self.values * self.counts)
        counts = np.zeros(size, np.int64)
        np.add.at(counts, places, self.counts)
        return Tally(counts, sums)

    def answer(self, kind: str) -> int:
        """The true answer, in grid steps; the lower median."""
        if kind == "count":
            return int(self.counts.sum())
        if kind == "sum":
            return int((self.values * self.counts).sum())
        return int(self.values[np.searchsorted(np.cumsum(self.counts), -(-int(self.counts.sum()) // 2))])


def two_sided(
    name: str, truth: Truth, kind: str, tau: Fraction, epsilon: Fraction, domain: range | None
) -> float:
    """The larger error when the synthetic answer is right and when it is 2 tau off, on the true rows."""
    centres = (truth.answer(kind) + shift for shift in (0, 2 * tau, -2 * tau))
    made = [build(name, within=Interval(Fraction(c), tau), epsilon=epsilon, domain=domain) for c in centres]
    return max(one.error(truth.tally(one.edges)) for one in made)


def intervals(supposed: Supposed, kind: str) -> dict[str, Interval]:
    """What is close enough, for each tau; nothing when the synthetic file has no answer, or the answer 0."""
    try:
        answer = supposed.answer(kind)
        return {tau: interval(answer, tau) for tau in TAUS}
    except QueryError:
        return {}


def errors(case: Case) -> Iterator[dict[str, object]]:
    """The error of every decider for every question, synthetic file, tau and epsilon."""
    columns = columns_of(case.schema)
    private = pl.read_parquet(case.private())
    asked = [resolve(parse(text), columns) for text in case.queries]
    truths = []
    for query in asked:
        if query.column is None:
            truths.append(Truth(np.zeros(1, np.int64), np.array([matching(query, private, columns).height])))
        else:
            truths.append(Truth(*np.unique(grid_values(query, private, columns), return_counts=True)))
    for made_with in MADE_WITH:
        table = Synthetic.of(case.synthetic(made_with), columns)
        for number, (query, truth) in enumerate(zip(asked, truths, strict=True), 1):
            kind = AGGREGATES[query.function]
            declared = None if query.column is None else columns[query.column].grid()
            domains = {"declared": declared, **({"tight": TIGHT} if query.column == "inctot" else {})}
            spans = intervals(table.suppose(query), kind)
            for tau, (name, epsilon) in itertools.product(spans, itertools.product(NAMES[kind], EPSILONS)):
                if name == SLOW and tau != "3.2%" and epsilon != Fraction(1, 4):
                    continue
                for bound, domain in domains.items():
                    made = build(name, within=spans[tau], epsilon=epsilon, domain=domain)
                    shown = tau == "3.2%" and epsilon == Fraction(1, 4)
                    span = spans[tau].tau
                    worst = two_sided(name, truth, kind, span, epsilon, domain) if shown else None
                    yield {
                        "table": case.name,
                        "question": number,
                        "kind": kind,
                        "bound": bound,
                        "made_with": made_with,
                        "tau": tau,
                        "epsilon": float(epsilon),
                        "decider": name,
                        "error": made.error(truth.tally(made.edges)),
                        "two_sided": worst,
                    }


def error_tables(every: pl.DataFrame) -> Iterator[str]:
    """Mean errors over tau and over epsilon, and variants against published deciders."""
    found = every.filter(pl.col("bound") == "declared")
    yield "## Mean error over tau, at epsilon 1/4"
    at = found.filter(pl.col("epsilon") == 0.25).group_by("decider", "tau").agg(pl.col("error").mean())
    yield grid(at.pivot("tau", index="decider", values="error"), TAUS)
    yield "## Mean error over epsilon, at tau 3.2%"
    some = found.filter(pl.col("tau") == "3.2%").with_columns(pl.col("epsilon").cast(pl.String))
    at = some.group_by("decider", "epsilon").agg(pl.col("error").mean())
    yield grid(at.pivot("epsilon", index="decider", values="error"), [str(float(e)) for e in EPSILONS])
    yield "## Our variants against the published deciders"
    yield BIAS
    yield pairs(found)
    yield "## The same for sums of income alone, declared up to 2,000,000 and up to 500,000"
    income = every.filter(pl.col("kind") == "sum", pl.col("table") == "census")
    yield pairs(income.filter(pl.col("bound") == "declared"))
    yield pairs(income.filter(pl.col("bound") == "tight"))
    yield "## And for sums of fares alone"
    yield pairs(found.filter(pl.col("kind") == "sum", pl.col("table") == "taxi"))


def pairs(found: pl.DataFrame) -> str:
    """Each variant beside the published decider: mean errors, their ratio, and the question where it is worst."""
    keys = ["table", "question", "made_with", "tau", "epsilon"]
    lines = [
        "| variant | published | two-sided | mean errors at 1/4, 3.2% | over all cells | worse by at most | where |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for ours, theirs in PAIRS:
        both = found.filter(pl.col("decider") == ours).join(
            found.filter(pl.col("decider") == theirs), on=keys, suffix="_published"
        )
        if both.is_empty():
            continue
        spot = both.filter(pl.col("epsilon") == 0.25, pl.col("tau") == "3.2%")
        gap = (
            both.with_columns((pl.col("error") - pl.col("error_published")).alias("gap")).sort("gap").tail(1)
        )
        worst = gap.to_dicts()[0]
        place = f"{worst['table']} {worst['question']}, tau {worst['tau']}, epsilon {worst['epsilon']:g}"
        means = f"{ratio(spot, 'two_sided')} | {ratio(spot)} | {ratio(both)}"
        lines.append(f"| {ours} | {theirs} | {means} | {max(0.0, worst['gap']):.4f} | {place} |")
    return "\n".join(lines)


def ratio(both: pl.DataFrame, column: str = "error") -> str:
    ours, published = both[column].mean(), both[f"{column}_published"].mean()
    return f"{ours:.4f} / {published:.4f} = {ours / published:.3f}"


def grid(table: pl.DataFrame, columns: object) -> str:
    """A Markdown table, in the order of the catalog."""
    rows = {row["decider"]: row for row in table.to_dicts()}
    lines = ["| decider | " + " | ".join(columns) + " |", "|---" * (len(list(columns)) + 1) + "|"]
    for name in CATALOG:
        if name in rows:
            cells = " | ".join("" if rows[name][c] is None else f"{rows[name][c]:.4f}" for c in columns)
            lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def times() -> Iterator[str]:
    """Time of a decision on 1.34 million rows, alone and with its ledger, and of a batch of sixty."""
    case = CASES[0]
    columns = columns_of(case.schema)
    table = Synthetic.of(case.synthetic("1"), columns)
    with tempfile.TemporaryDirectory() as folder:
        session = ht.Session.open(
            case.private(), schema=case.schema, ledger=Path(folder) / "bench.ledger", budget=ht.PureDP(900)
        )
        start = time.perf_counter()
        rows = session._records.frame
        opened = time.perf_counter() - start
        yield (
            f"Decoding {rows.height:,} rows of {rows.width} attributes, once: {opened:.2f} s, "
            f"{rows.estimated_size() / 1e6:.0f} MB kept."
        )
        lines = [
            "| decider | tally and draw, ms (median / worst) | processor, ms | with plan and ledger, ms |"
        ]
        lines.append("|---|---|---|---|")
        for name in CATALOG:
            kind = CATALOG[name].aggregate
            asked = [q for q in case.queries if AGGREGATES[parse(q).function] == kind] or [
                "AVG(age) WHERE sex = 'Male'"
            ]
            plans = [
                session.plan_check(q, table, tau="12.8%", budget=ht.PureDP("0.25"), decider=name).questions[0]
                for q in asked
            ]
            inside, busy, whole = [], [], []
            for plan in (plans[0], *plans):
                start, work = time.perf_counter(), time.process_time()
                made = plan.build()
                verdict(made, exact_tally(plan, made, rows, columns))
                inside.append(1e3 * (time.perf_counter() - start))
                busy.append(1e3 * (time.process_time() - work))
            for text in asked[:5]:
                start = time.perf_counter()
                session.check(text, table, tau="12.8%", budget=ht.PureDP("0.25"), decider=name)
                whole.append(1e3 * (time.perf_counter() - start))
            inside, busy = inside[1:], busy[1:]
            lines.append(
                f"| {name} | {statistics.median(inside):.1f} / {max(inside):.1f} | {statistics.median(busy):.1f} "
                f"| {statistics.median(whole):.0f} |"
            )
        yield "\n".join(lines)
        batch = [
            *case.queries,
            *(q.replace("SUM(inctot)", "AVG(inctot)") for q in case.queries if "SUM" in q),
        ]
        batch += [q.replace("MEDIAN(age)", "QUANTILE(age, 0.25)") for q in case.queries if "MEDIAN" in q]
        batch += [q.replace("COUNT", "MEDIAN(age)") for q in case.queries if "COUNT" in q]
        start, work = time.perf_counter(), time.process_time()
        session.check(batch[:60], table, tau="6.4%", budget=ht.PureDP(6))
        passed, busy = time.perf_counter() - start, time.process_time() - work
        yield f"60 questions in one batch, with plan and ledger: {passed:.2f} s, {busy:.2f} s of processor time."
    yield f"Load while measuring: {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors."
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    yield f"Peak memory of the process, with the synthetic file: {peak:,.0f} MB."


def chart(found: pl.DataFrame, folder: Path) -> None:
    """Mean error over epsilon and over tau, one panel per aggregate."""
    folder.mkdir(parents=True, exist_ok=True)
    for axis, fixed, value in (("epsilon", "tau", "3.2%"), ("tau", "epsilon", 0.25)):
        mean = (
            found.filter(pl.col(fixed) == value).group_by("decider", "kind", axis).agg(pl.col("error").mean())
        )
        scale = alt.X("epsilon:Q", scale=alt.Scale(type="log", base=2))
        drawn = (
            alt.Chart(alt.Data(values=mean.to_dicts()), width=230, height=200)
            .mark_line(point=True)
            .encode(
                x=scale if axis == "epsilon" else alt.X("tau:O", sort=list(TAUS)),
                y=alt.Y("error:Q", title="chance of a wrong verdict"),
                color="decider:N",
                column="kind:N",
            )
        )
        drawn.save(str(folder / f"check-by-{axis}.svg"))


HEAD = """\
# Checking numbers: errors and times of the deciders

Written by `make bench-check`. Sixty questions shaped like dp-pqd, Tables 5 and 6, on drawn tables of 1,340,703 people
and 2,177,719 taxi trips; the synthetic files are our own microdata from all two-way tables at epsilon 0.1, 1 and 10.
An error is the exact probability of the wrong verdict, averaged over questions and synthetic files. Income is
declared up to 2,000,000, as in the paper's examples; no income is above 500,000. Many sums are of few people, and then
no decider can tell a difference of 3.2% at this epsilon: their errors stay near one half, whatever the noise.
"""


BIAS = """\
*Two-sided* is the criterion of an effective decider (dp-pqd, def. 3.4), at epsilon 1/4 and tau 3.2%: the larger error
when the synthetic answer is right and when it is 2 tau off, on the true rows. The other columns are errors at the
distances that the synthetic files happen to have. They favour a decider that says no when it knows nothing, because
with a small tau no is mostly right; such a decider is then wrong whenever the answer is yes. The last columns show the
single question where the variant loses most.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks-check.md"))
    parser.add_argument("--charts", type=Path, default=Path("bench/out"))
    parser.add_argument("--parts", nargs="+", choices=("errors", "times"), default=("errors", "times"))
    options = parser.parse_args()
    sections = [HEAD]
    if "errors" in options.parts:
        found = pl.DataFrame([row for case in CASES for row in errors(case)])
        sections += error_tables(found)
        chart(found.filter(pl.col("bound") == "declared"), options.charts)
    if "times" in options.parts:
        sections += ["## Time of a decision", *times()]
    page = "\n\n".join(section.strip() for section in sections) + "\n"
    options.out.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
