"""Chosen tables in bars: those that a report opens with, and counts of records beside the intervals of tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import polars as pl

from hushtable.release import ALPHA
from hushtable.report.bar_table import BarTable, count_text
from hushtable.report.labelled import NULL
from hushtable.report.pieces import Section
from hushtable.report.view import View
from hushtable.texts import counted

HEADLINES = 2
"""A report opens with two tables: more hide the numbers above them."""
MOST_CHARTS = 30
MOST_RECORD_CHARTS = 6
"""Charts of records unless somebody asks for others: more are not looked at, and fill sheets of paper."""
MOST_SCORED = 300
"""Tables that a score is made of: the mean moves little beyond, and each costs a pass over the records."""
MOST_CELLS = 60
MOST_RECORD_CELLS = 36
"""Rows of a chart of records: they stand in pairs, and a long one leaves a hole beside its neighbour."""
MOST_HEADLINE_CELLS = 24
"""Rows that a reader takes in at a glance, and that fit a page of paper with their text."""
Names = tuple[str, ...]


def headline_section(view: View, chosen: Sequence[Names] = ()) -> Section | None:
    """The tables that a report opens with; by default two single attributes of few categories."""
    tables = tuple(chosen) or _headlines(view)
    if not tables:
        return None
    bars = tuple(_bars(view, names, None, MOST_HEADLINE_CELLS) for names in tables)
    text = ["The bar is the estimate, the whisker its interval."]
    if any(row.flag.mark for table in bars for row in table.rows):
        text[0] += " Grey bars have a mark: noise is large beside the number."
    return Section("headline", "At a glance", (*text, view.promise), bars=bars)


def records_section(view: View, records: pl.DataFrame | None, chosen: Sequence[Names] = ()) -> Section | None:
    """Counts of a file of records beside tables; by default of every single attribute, the small ones first."""
    tables = tuple(chosen) or default_tables(view)
    if not tables or records is None:
        return None
    found = {names: _outside(view, names, records) for names in tables}
    outside, cells = (sum(one[k] for one in found.values()) for k in (0, 1))
    shown = tables if chosen else sorted(tables, key=lambda names: -found[names][0])[:MOST_RECORD_CHARTS]
    text = [
        "The dot is the same count in the records. It is red where it lies outside the interval: read that count "
        "from the table.",
        f"Of {counted(cells, 'count')} in {counted(len(tables), 'table')}, {_lying(outside)} outside.",
    ]
    if view.explanation is None:
        text += _score_sentence(view, records)
    if len(shown) < len(tables):
        text.append(f"The {len(shown)} tables with the most of them:")
    bars = tuple(_bars(view, names, records, MOST_RECORD_CELLS) for names in shown)
    return Section("records", "Records beside the tables", tuple(text), bars=bars)


def overlap_score(l1_shares: Sequence[float]) -> float | None:
    """1,000 times the mean overlap of tables, from their L1 distances over the number of records."""
    distances = [min(2.0, share) for share in l1_shares]
    return 1000.0 * (1.0 - sum(distances) / len(distances) / 2.0) if distances else None


def _score_sentence(view: View, records: pl.DataFrame) -> list[str]:
    """The k-marginal score of the records against the smaller released tables."""
    sizes, asked = view.schema.sizes, view.release.workload
    small = sorted((s for s in asked if s), key=lambda s: prod(sizes[a] for a in s))[:MOST_SCORED]
    found = [table_data(view, tuple(view.schema.names[a] for a in s), records) for s in small]
    gaps = [float((t["estimate"] - t["microdata"]).abs().sum()) / max(1, records.height) for t in found]
    score = overlap_score(gaps)
    if score is None:
        return []
    of = (
        counted(len(small), "released table")
        if len(small) == len(asked)
        else f"{len(small)} of {len(asked):,} tables"
    )
    return [
        f"Over {of} the records have a k-marginal score of {score:,.0f} of 1,000: how far records and tables "
        "overlap, on average."
    ]


def _outside(view: View, names: Names, records: pl.DataFrame) -> tuple[int, int]:
    """Counts of the records outside their intervals, and all counts of a table, drawn or not."""
    data = table_data(view, names, records)
    return data.filter(pl.col("microdata_is") == "outside").height, data.height


def _lying(outside: int) -> str:
    return "none lies" if not outside else f"{outside:,} {'lies' if outside == 1 else 'lie'}"


def default_tables(view: View) -> tuple[Names, ...]:
    """Single attributes of up to 60 categories inside the release, at most 30 of them."""
    return _singles(view, MOST_CELLS)[:MOST_CHARTS]


def _headlines(view: View) -> tuple[Names, ...]:
    few = _singles(view, MOST_HEADLINE_CELLS) or _singles(view, MOST_CELLS)
    return few[:HEADLINES]


def _singles(view: View, most: int) -> tuple[Names, ...]:
    sets = [s for s in view.small_sets if len(s) == 1 and view.schema.sizes[s[0]] <= most]
    return tuple((view.schema.names[s[0]],) for s in sets)


def table_data(view: View, names: Names, records: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per cell: label, estimate, bounds, what was measured, the microdata's value and where it lies."""
    table = view.release.table(*names, alpha=ALPHA)
    labels = pl.concat_str([pl.col(n).cast(pl.String).fill_null(NULL) for n in names], separator=" / ")
    data = table.select(labels.alias("cell"), "estimate", "std", "lower", "upper", "measured")
    if records is None:
        return data
    keys = [pl.col(n).cast(pl.String).fill_null(NULL) for n in names]
    found_rows = records.select(keys).group_by(names).agg(pl.len().cast(pl.Int64).alias("microdata"))
    found = table.select(keys).join(found_rows, on=list(names), how="left", maintain_order="left")
    data = data.with_columns(microdata=found["microdata"].fill_null(0))
    inside = pl.col("microdata").is_between("lower", "upper")
    return data.with_columns(microdata_is=pl.when(inside).then(pl.lit("inside")).otherwise(pl.lit("outside")))


def _bars(view: View, names: Names, records: pl.DataFrame | None, most: int) -> BarTable:
    data = table_data(view, names, records)
    cells = prod(view.schema.sizes[a] for a in view.schema.axes(names))
    if data.height > most:
        data = data.top_k(most, by="estimate")
    labels = [view.schema.levels[name].label or name for name in names]
    title = " by ".join(labels)
    part = f", the {most} largest of {cells:,} cells" if cells > most else ""
    key = ("counts-" if records is None else "records-") + "-".join(str(a) for a in view.schema.axes(names))
    return BarTable(key, title + part, " · ".join(labels), bars_sentence(data), data, ALPHA)


def bars_sentence(data: pl.DataFrame) -> str:
    """What a table says in short: its largest count with its interval."""
    largest = data.sort("estimate", descending=True).to_dicts()[0]
    return (
        f"The largest is {largest['cell']} with about {count_text(largest['estimate'])}, between "
        f"{count_text(largest['lower'])} and {count_text(largest['upper'])}."
    )
