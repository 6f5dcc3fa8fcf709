"""The page of counting on Spark, with its charts and the plan on paper, from the lines that ``spark`` has left.

    hush bench spark_page -- [--lines bench/out/spark.jsonl] [--out docs/benchmarks-spark.md]

The plan is arithmetic with constants that were measured: what one more row costs, what is shuffled of it, what a part
costs.  The ratios to Parquet are kept in the history.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt

from bench.shared.history import keep
from bench.shared.places import OUT, ROOT

Line = dict[str, Any]
CAPS = {"no": "without a cap", "yes": "with a cap"}
LIMITS = {"no": 4.0, "yes": 6.0}
"""Of processor time over that of Parquet at 10 million rows."""
WARM_ROWS = 10_000_000
PAPER_ROWS, PAPER_ATTRIBUTES = 10**10, 66
PROCESSORS = (10, 30, 100, 300, 1000, 3000)
PROCESSORS_OF_PLAN = 1000
PART_BYTES = 128 * 2**20
"""Of Parquet in a part, as Spark cuts it."""
NETWORK = 10e9 / 8 / 16
"""Bytes a second for each processor: 10 Gbit a second for a machine of 16.  Assumed, as is the price."""
PRICE = 0.05
"""US dollars for a processor and hour."""
SHUFFLES = (200, 1000, 2000, 8000, 32000)

HEAD = """\
# Counting on Spark

Written by `hush bench spark_page` from what `bench/counting/spark.py` measured: all pairs of attributes in Parquet
(six in ten categorical, three whole numbers, one real), one row of each person, Spark 4.3 on OpenJDK 17 with a heap
of 1 GB, `-XX:+UseParallelGC` and two tasks at once. Processor seconds are those of all processes together, the best
of the passes after those that compile; of 10^8 rows there was one pass, the first, in which compiling is included.
Nothing else ran on the two cores for the rows of 10^7 and the table of parts. Memory is the largest of all processes
together; what processes share is counted once.
"""


@dataclass(frozen=True)
class Lines:
    """What was measured; of a case that was measured twice, the last."""

    lines: Sequence[Line]

    def all(self, **wanted: Any) -> list[Line]:
        """Those with these facts, fewest rows and parts first."""
        found = [line for line in self.lines if all(line[key] == value for key, value in wanted.items())]
        last = {tuple(line[key] for key in KEYS): line for line in found}
        return [last[key] for key in sorted(last)]

    def by_rows(self, cap: str, by: str, attributes: int = 10) -> dict[int, Line]:
        """In as few parts as there were."""
        found: dict[int, Line] = {}
        for line in self.all(cap=cap, by=by, attributes=attributes, shuffle=200):
            found.setdefault(line["rows"], line)
        return found


KEYS = ("rows", "attributes", "parts", "shuffle", "cap", "by")


def row_table(lines: Lines) -> Iterator[str]:
    """Cost and memory against rows."""
    spent = "Parquet | Spark | ratio"
    yield f"| rows | {spent} | with a cap: {spent} | memory on Spark | driver | with a cap | driver |"
    yield "|---" * 11 + "|"
    for rows in lines.by_rows("no", "spark"):
        cells = [f"10^{len(str(rows)) - 1}"]
        memory: list[str] = []
        for cap in CAPS:
            parquet, spark = (lines.by_rows(cap, by).get(rows) for by in ("parquet", "spark"))
            cells += ["" if line is None else seconds(line["processor"]) for line in (parquet, spark)]
            cells.append("" if parquet is None or spark is None else ratio(spark, parquet))
            memory += (
                ["", ""] if spark is None else [gigabytes(spark["all MB"]), gigabytes(spark["driver MB"])]
            )
        yield "| " + " | ".join([*cells, *memory]) + " |"


def seconds(processor: float) -> str:
    """Clocks of processes count hundredths."""
    return f"{processor:.3g}" if processor >= 0.01 else "< 0.01"


def ratio(spark: Line, parquet: Line) -> str:
    """Of a job of seconds; below, a job's own cost is all of it."""
    return f"{spark['processor'] / parquet['processor']:.1f}" if spark["rows"] >= 10**6 else ""


def gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:.2f} GB"


def part_table(lines: Lines) -> Iterator[str]:
    """Cost against parts."""
    yield "| files, a part each | without a cap | with a cap | memory with a cap |"
    yield "|---|---|---|---|"
    some = {cap: {line["parts"]: line for line in part_lines(lines, cap)} for cap in CAPS}
    for parts in some["no"]:
        plain, capped = some["no"][parts], some["yes"].get(parts)
        rest = ["", ""] if capped is None else [f"{capped['processor']:.3g}", gigabytes(capped["all MB"])]
        yield f"| {parts:,} | {plain['processor']:.3g} | " + " | ".join(rest) + " |"


def part_lines(lines: Lines, cap: str) -> list[Line]:
    return lines.all(cap=cap, by="spark", rows=10**6, attributes=10, shuffle=200)


def shuffle_table(lines: Lines) -> Iterator[str]:
    """Cost and memory against shuffle partitions, with a cap."""
    yield (
        "| `spark.sql.shuffle.partitions` | buckets | passes before | processor seconds | shuffled "
        "| memory | of it Java | workers |"
    )
    yield "|---" * 8 + "|"
    for line in lines.all(cap="yes", by="spark", rows=WARM_ROWS, attributes=10):
        buckets = max(512, min(1 << 15, 4 * line["shuffle"]))
        memory = " | ".join(gigabytes(line[f"{kind} MB"]) for kind in ("all", "java", "workers"))
        yield (
            f"| {line['shuffle']:,} | {buckets:,} | {line['warm']} | {line['processor']:.3g} | "
            f"{line['shuffled'] / 1e9:.2f} GB | {memory} |"
        )


@dataclass(frozen=True)
class Plan:
    """What so many rows take, with constants that were measured on fewer."""

    cap: str
    row_seconds: float
    part_seconds: float
    row_bytes: float
    shuffled: float
    cells: int

    @staticmethod
    def of(lines: Lines, cap: str) -> Plan:
        """By differences: of two tables of so many attributes, and of one in the parts that cost least and in many."""
        few, many = list(lines.by_rows(cap, "spark", PAPER_ATTRIBUTES).values())[:2]
        rows = many["rows"] - few["rows"]
        *_, most = in_parts = part_lines(lines, cap)
        least = min(in_parts, key=lambda line: line["processor"])
        parts = (most["processor"] - least["processor"]) / max(1, most["partitions"] - least["partitions"])
        return Plan(
            cap,
            (many["processor"] - few["processor"]) / rows,
            parts,
            many["bytes"] / many["rows"],
            (many["shuffled"] - few["shuffled"]) / rows,
            many["cells"],
        )

    @property
    def parts(self) -> int:
        """Of Parquet files."""
        return round(PAPER_ROWS * self.row_bytes / PART_BYTES)

    @property
    def hours(self) -> float:
        """Of processors."""
        return (PAPER_ROWS * self.row_seconds + self.parts * self.part_seconds) / 3600

    @property
    def moved(self) -> float:
        """Bytes that are shuffled."""
        return PAPER_ROWS * self.shuffled

    def seconds(self, processors: int) -> float:
        """If nothing waits: processor time and moving."""
        return self.hours * 3600 / processors + self.moved / (NETWORK * processors)


def plan_table(plans: Sequence[Plan]) -> Iterator[str]:
    """The plan on paper."""
    plain, capped = plans
    at = PROCESSORS_OF_PLAN
    sums = f"{8 * plain.cells / 1e6:.1f} MB"
    rows = {
        f"parts of {PART_BYTES // 2**20} MB of Parquet": [f"{plan.parts:,}" for plan in plans],
        "processor, microseconds a row": [f"{1e6 * plan.row_seconds:.1f}" for plan in plans],
        "processor, milliseconds a part": [f"{1e3 * plan.part_seconds:.0f}" for plan in plans],
        "shuffles of rows": ["none", f"one, {capped.shuffled:.0f} bytes a row, {capped.moved / 1e12:.2f} TB"],
        "rows in a task's memory": [
            "a batch of 65,536",
            f"those of its shuffle partition: {capped.moved / 2000 / 1e9:.2f} GB with 2,000, "
            f"{capped.moved / 8000 / 1e9:.2f} GB with 8,000",
        ],
        f"partial sums of {at:,} tasks, of {sums} each": [
            f"{8 * at * plain.cells / 1e9:.1f} GB, shuffled once"
        ]
        * 2,
        "to the driver": [sums, f"{sums}, and 32 bytes for each bucket"],
        "processor hours": [f"{plan.hours:.0f}" for plan in plans],
        f"on {at:,} processors": [f"{plan.seconds(at):.0f} s" for plan in plans],
        f"cost at {PRICE:.2f} USD an hour": [f"{PRICE * plan.hours:.2f} USD" for plan in plans],
    }
    yield "| | " + " | ".join(CAPS[plan.cap] for plan in plans) + " |"
    yield "|---|---|---|"
    for what, cells in rows.items():
        yield f"| {what} | " + " | ".join(cells) + " |"


def draw_rows(lines: Lines, path: Path) -> None:
    """Processor seconds against rows."""
    values = [
        {"rows": rows, "seconds": line["processor"], "what": f"{name}, {CAPS[cap]}"}
        for cap in CAPS
        for by, name in (("parquet", "Parquet"), ("spark", "Spark"))
        for rows, line in lines.by_rows(cap, by).items()
    ]
    _log_log(values, "rows", "seconds", "processor seconds").save(str(path))


def draw_parts(lines: Lines, path: Path) -> None:
    """Processor seconds against parts."""
    values = [
        {"parts": line["partitions"], "seconds": line["processor"], "what": CAPS[cap]}
        for cap in CAPS
        for line in part_lines(lines, cap)
    ]
    _log_log(values, "parts", "seconds", "processor seconds, 10^6 rows").save(str(path))


def draw_plan(plans: Sequence[Plan], path: Path) -> None:
    """Seconds against processors, and bytes of a task against shuffle partitions."""
    seconds = [
        {"processors": n, "seconds": plan.seconds(n), "what": CAPS[plan.cap]}
        for plan in plans
        for n in PROCESSORS
    ]
    held = [
        {"shuffle partitions": n, "gigabytes": plans[1].moved / n / 1e9, "what": CAPS["yes"]}
        for n in SHUFFLES
    ]
    left = _log_log(seconds, "processors", "seconds", "seconds, 10^10 rows x 66 attributes")
    right = _log_log(held, "shuffle partitions", "gigabytes", "GB of rows in a task, with a cap")
    alt.hconcat(left, right).save(str(path))


def _log_log(values: list[Line], x: str, y: str, title: str) -> Any:
    scale = alt.Scale(type="log")
    return (
        alt.Chart(alt.Data(values=values), width=330, height=240)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", scale=scale, axis=alt.Axis(format="~s")),
            y=alt.Y(f"{y}:Q", scale=scale, title=title),
            color=alt.Color("what:N", title=None),
        )
    )


def page(lines: Lines, images: Path) -> str:
    """The whole page; its charts are drawn."""
    plans = [Plan.of(lines, cap) for cap in CAPS]
    draw_rows(lines, images / "spark-rows.svg")
    draw_parts(lines, images / "spark-parts.svg")
    draw_plan(plans, images / "spark-plan.svg")
    return "\n".join(
        [
            HEAD,
            "## Against rows",
            "",
            *row_table(lines),
            "",
            "![Processor seconds against rows, Parquet and Spark, with and without a cap.](images/spark-rows.svg)",
            "",
            ROWS_SAY,
            "## Against parts",
            "",
            "10^6 rows, in so many files:",
            "",
            *part_table(lines),
            "",
            "![Processor seconds against parts of the table, with and without a cap.](images/spark-parts.svg)",
            "",
            PARTS_SAY,
            "## Against shuffle partitions",
            "",
            "10^7 rows with a cap. 200 are Spark's own:",
            "",
            *shuffle_table(lines),
            "",
            SHUFFLE_SAYS,
            "## On paper: 10^10 rows x 66 attributes",
            "",
            PLAN_SAYS,
            *plan_table(plans),
            "",
            "![Seconds against processors, and bytes of a task against shuffle partitions.](images/spark-plan.svg)",
            "",
        ]
    )


ROWS_SAY = """\
Without a cap memory does not grow with the rows; with one it is the same for 10^7 and 10^8, because a task then holds
what one shuffle partition holds. Here, without Spark, a cap takes memory for every person. The ratio at 10^7 rows
without a cap is just below its limit of 4: reading and handing batches over in Java takes 5.3 of Spark's 7.5 seconds,
none of it code of ours. Where others use the same processors up to 4.3 was seen.
"""
PARTS_SAY = """\
As many tasks send rows to buckets as there are processors, whatever the number of files, so that a cap costs about the
same for 16 files and for 1,000.
"""
SHUFFLE_SAYS = """\
Spark itself joins partitions up to 64 MB (`spark.sql.adaptive.advisoryPartitionSizeInBytes`), so that more of them
change little until each holds more than that. Where no pass came before, compiling is included.
"""
PLAN_SAYS = f"""\
Constants are differences between two tables that were measured here on two cores (rows of 66 attributes, 2,145 pairs;
parts of 10^6 rows), with {NETWORK / 1e6:.0f} MB a second of network for each processor and {PRICE:.2f} USD for a
processor and hour, which are assumed. Seconds are those of processors that never wait.
"""


def ratios(lines: Lines) -> dict[str, float]:
    """Processor time over that of Parquet, as it is kept."""
    found: dict[str, float] = {}
    for cap, words in CAPS.items():
        spark, parquet = (lines.by_rows(cap, by)[WARM_ROWS]["processor"] for by in ("spark", "parquet"))
        found[f"{words}: processor time, Spark over Parquet"] = spark / parquet
    return found


def main() -> int:
    """Write the page and keep the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=Path, default=OUT / "spark.jsonl")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks-spark.md")
    given = parser.parse_args()
    lines = Lines([json.loads(line) for line in given.lines.read_text(encoding="utf-8").splitlines()])
    given.out.write_text(page(lines, given.out.parent / "images"), encoding="utf-8")
    found = ratios(lines)
    keep("spark", found, rows=str(WARM_ROWS))
    for name, value in found.items():
        print(f"{name}: {value:.2f}")
    return int(any(value > limit for value, limit in zip(found.values(), LIMITS.values(), strict=True)))


if __name__ == "__main__":
    raise SystemExit(main())
