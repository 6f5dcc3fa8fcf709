"""No published count has a lower end below zero, in frames, files, the command line and the report."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import hushtable as ht
from hushtable.cli.app import run
from hushtable.reconstruct.bounds import LEAST_UPPER, OWN
from hushtable.release.query_release import QueryRelease
from hushtable.report.public import write_report

SPARSE = {
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 99], "width": 5},
        "sex": {"type": "categorical", "values": ["F", "M", "X"]},
        "member": {"type": "boolean"},
    }
}
WAYS = [
    ("residual-planner", "mle"),
    ("residual-planner", "maxent"),
    ("residual-planner", "nonneg"),
    ("identity", "mle"),
    ("aim", "mle"),
    ("aim", "maxent"),
    ("auto", "maxent"),
    ("auto", "nonneg"),
]


def people(rows: int = 200) -> pl.DataFrame:
    """Most cells are empty: noise carries many estimates below zero."""
    each = range(rows)
    return pl.DataFrame(
        {
            "age": [(3 * r) % 20 for r in each],
            "sex": ["F" if r % 9 else "M" for r in each],
            "member": [r % 2 == 0 for r in each],
        }
    )


@pytest.fixture
def session(tmp_path: Path) -> ht.Session:
    return ht.Session.open(people(), schema=SPARSE, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(10))


@pytest.mark.long
@pytest.mark.parametrize(("strategy", "reconstruct"), WAYS)
def test_no_lower_end_is_negative_and_the_unbiased_interval_is_kept(
    session: ht.Session, strategy: str, reconstruct: str, tmp_path: Path
) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.05"), strategy=strategy, reconstruct=reconstruct)
    frame = release.to_polars()
    below = 0
    for alpha, numbers in ((0.05, frame), *((0.2, table) for _, table in release.tables(alpha=0.2))):
        assert (numbers["lower"] >= 0).all() and (numbers["upper"] >= numbers["lower"]).all()
        held = numbers.filter(pl.col("estimate") >= 0)
        assert (held["lower"] <= held["estimate"]).all() and (held["estimate"] <= held["upper"]).all()
        fully = numbers.filter(pl.col("measured") == "fully")
        middle = (fully["unbiased_lower"] + fully["unbiased_upper"]) / 2
        assert np.allclose(middle, fully["unbiased"])
        for end, sign in (("unbiased_lower", -1), ("unbiased_upper", 1)):
            assert (sign * (fully[end] - fully["unbiased"]) > fully["std"]).all()
        # An end that is published is the unbiased one, a little wider or cut by tables below, moved outwards to the
        # estimate, cut at zero, or, above, what is possible however low the noise drew.
        wider = norm.isf(OWN * alpha / 2) / norm.isf(alpha / 2)
        reach = wider * (fully["unbiased_upper"] - fully["unbiased"])
        low = np.minimum(fully["unbiased"] - reach, fully["estimate"])
        high = np.maximum(np.maximum(fully["unbiased"] + reach, LEAST_UPPER * reach), fully["estimate"])
        assert (fully["lower"] >= np.maximum(low, 0) - 1e-9).all()
        assert (fully["upper"] <= np.maximum(high, 0) + 1e-9).all()
        below += int((fully["unbiased_lower"] < 0).sum())
        assert (numbers["upper"] > 0).all()  # 0 to 0 would read as certainty, and nothing is certain
        others = numbers.filter(pl.col("measured") != "fully")
        assert others.select("unbiased", "unbiased_lower", "unbiased_upper").null_count().row(0) == (
            (others.height,) * 3
        )
    assert below > 0 or not (frame["measured"] == "fully").any()
    release.save(tmp_path / "out")
    stored = pl.read_parquet(tmp_path / "out" / "tables" / "order-2.parquet")
    for name in ("estimate", "lower", "upper", "unbiased", "unbiased_lower", "unbiased_upper"):
        ours, theirs = frame[name].to_numpy(), stored[name].to_numpy()
        assert np.allclose(ours, theirs, equal_nan=True, rtol=1e-12), name


def test_an_end_below_zero_leaves_about_a_standard_error(session: ht.Session, tmp_path: Path) -> None:
    """Whatever is drawn, an empty cell of a table that was measured by itself is not said to be empty for certain."""
    release = session.release(
        ht.Workload([("age", "sex", "member")]),
        budget=ht.ZCDP("0.01"),
        strategy="identity",
        reconstruct="mle",
    )
    table = release.table("age", "sex", "member")
    drawn_low = table.filter(pl.col("unbiased_upper") < pl.col("std"))
    # At least 104 cells are empty, and each is drawn 0.96 deviations low with probability 0.17: 4e-9 of runs have none.
    assert drawn_low.height > 0
    assert np.allclose(drawn_low["upper"], LEAST_UPPER * norm.isf(0.025) * drawn_low["std"], rtol=0.05)
    release.save(tmp_path / "out")
    made = release.export(tmp_path / "csv", format="csv")
    exported = pl.read_csv(next(iter(sorted(Path(tmp_path / "csv").rglob("*age*.csv")))))
    assert made and (exported["upper"] > 0).all()
    assert (release.range("age", 60, 99)["upper"] > 0).all()


@pytest.mark.long
def test_the_command_line_and_the_report_show_no_negative_lower_end(
    session: ht.Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.02"), strategy="residual-planner")
    release.save(tmp_path / "out")
    assert run(["table", str(tmp_path / "out"), "age", "sex"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if re.match(r"\d+-\d+ ", line)]
    assert len(rows) == 60 and all(float(row[4].replace(",", "")) >= 0 for row in rows)
    assert any(float(row[2].replace(",", "")) < 0 for row in rows)  # the estimates themselves are unbiased
    write_report(tmp_path / "out", tables=[("age", "sex")])
    found = 0
    for path in (tmp_path / "out" / "report-data").glob("counts-*.csv"):
        chart = pl.read_csv(path)
        found += chart.height
        assert (chart["lower"] >= 0).all() and (chart["upper"] >= chart["lower"]).all()
    assert found > 0


def test_an_attribute_may_bear_the_name_of_a_column_that_then_gives_way(tmp_path: Path) -> None:
    schema = {"attributes": {"unbiased": {"type": "boolean"}, "unbiased_lower": {"type": "boolean"}}}
    data = pl.DataFrame({"unbiased": [True, False] * 20, "unbiased_lower": [True] * 40})
    session = ht.Session.open(data, schema=schema, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1))
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.5"), strategy="residual-planner")
    for frame in (release.table("unbiased", "unbiased_lower"), release.to_polars()):
        assert frame.columns.count("unbiased") == 1 and frame.columns[-1] == "unbiased_upper"
    release.save(tmp_path / "out")
    assert ht.Release.load(tmp_path / "out").table("unbiased").height == 2


def test_buckets_are_counts_and_other_queries_are_not(tmp_path: Path) -> None:
    labels = pl.DataFrame({"age": ["0 to 9", "10 to 19"]})
    session = ht.Session.open(people(), schema=SPARSE, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1))
    workload = ht.Workload([("sex",)])
    card = session.release(workload, budget=ht.ZCDP("0.1"), strategy="residual-planner").card
    for counts, least in ((True, 0.0), (False, -21.96)):
        found = QueryRelease(labels, np.array([-20.0, 30.0]), np.array([1.0, 4.0]), card, counts)
        found.save(tmp_path / str(counts))
        for release in (found, QueryRelease.load(tmp_path / str(counts))):
            table = release.table()
            assert table["lower"].to_list() == pytest.approx([least, 26.08], abs=0.01)
            assert table["upper"].to_list() == pytest.approx([0.98 if counts else -18.04, 33.92], abs=0.01)
            assert table["unbiased_lower"].to_list() == pytest.approx([-21.96, 26.08], abs=0.01)
            assert table["unbiased"].to_list() == table["estimate"].to_list() == [-20.0, 30.0]


def test_a_release_says_how_many_tables_drown_without_a_model(tmp_path: Path) -> None:
    attributes = {name: {"type": "integer", "bounds": [0, 19]} for name in "abc"}
    rows = pl.DataFrame({name: np.random.default_rng(k).integers(0, 20, 300) for k, name in enumerate("abc")})
    session = ht.Session.open(
        rows, schema={"attributes": attributes}, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(3)
    )
    workload = ht.Workload.all_marginals(session.schema, order=3)
    read = session.release(
        workload, budget=ht.ZCDP("0.1"), strategy="residual-planner", reconstruct="mle", request="r"
    )
    (table,) = read.accuracy().to_dicts()
    assert table["expected_l1"] > read.table()["estimate"][0] and read.drowned == 1
    spread = read.table("a", "b", "c")["estimate"].to_numpy() - 300 / 8000
    assert np.abs(spread).sum() > 300
    assert session.release(workload, budget=ht.ZCDP("0.1"), reconstruct="maxent").drowned == 0
    folder = tmp_path / "out"
    read.save(folder)
    assert ht.Release.load(folder).drowned == 1 and not read.reads_roughly
