"""Releases of attributes with levels: counted right on every level, adding up, in library and command line."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import QueryError, WorkloadError
from hushtable.report import public_report
from hushtable.report.sections.levels_section import HARDLY

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, state, county], outside: other,
          tree: {North: {N1: [a, b], N2: [c]}, South: {S1: [d, e, f]}, Isles: [g]}}
  age: {type: integer, bounds: [0, 29], levels: {decade: 10, year: 1}}
  sex: {type: categorical, values: [F, M]}
"""
STATE = {"a": "N1", "b": "N1", "c": "N2", "d": "S1", "e": "S1", "f": "S1", "g": "g", "z": "(other)"}
TABLES = [("county", "age"), ("state", "sex"), ("region", "decade", "sex")]


@pytest.fixture
def people() -> pl.DataFrame:
    chance, n = np.random.default_rng(3), 3000
    return pl.DataFrame(
        {
            "place": chance.choice(list("abcdefgz"), n).astype(str).tolist(),
            "age": chance.integers(-3, 33, n),
            "sex": chance.choice(["F", "M"], n).astype(str).tolist(),
        }
    )


@pytest.fixture
def session(people, tmp_path) -> ht.Session:
    return ht.Session.open(
        people, schema=ht.Schema.loads(SCHEMA), ledger=tmp_path / "l", budget=ht.ZCDP(10**6)
    )


def test_every_level_is_counted_as_its_rows_are(session, people):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP(10**5), strategy="residual-planner")
    found = {(r["state"], r["sex"]): r["estimate"] for r in release.table("state", "sex").to_dicts()}
    truth = people.with_columns(pl.col("place").replace_strict(STATE)).group_by("place", "sex").len().rows()
    assert {(place, sex): n for place, sex, n in truth} == pytest.approx(found, abs=0.05)
    decade = (
        people.with_columns(pl.col("age").clip(0, 29) // 10)
        .group_by("age")
        .len()
        .sort("age")["len"]
        .to_list()
    )
    assert release.table("decade")["estimate"].to_list() == pytest.approx(decade, abs=0.05)
    assert session.evaluate(release, confidential=True).marginals["l1_share"].max() < 0.001


def test_children_add_up_to_their_parents_exactly(session):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    fine = release.table("county", "decade")["estimate"].to_numpy().reshape(8, 3)
    coarse = release.table("region", "decade")["estimate"].to_numpy().reshape(4, 3)
    assert np.add.reduceat(fine, [0, 3, 6, 7]) == pytest.approx(coarse, abs=1e-9)
    years = release.table("county", "year")["estimate"].to_numpy().reshape(8, 3, 10).sum(axis=2)
    assert years == pytest.approx(fine, abs=1e-9)


def test_a_bundle_with_levels_is_read_back(session, tmp_path):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    release.save(tmp_path / "out")
    again = ht.Release.load(tmp_path / "out")
    for names in (("state", "sex"), ("county",), ("region", "year"), ()):
        assert again.table(*names).equals(release.table(*names))
    assert again.to_polars().equals(release.to_polars())


def test_auto_reads_the_same_measurements_without_going_below_zero(session):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.02"))
    assert release.card.plan.strategy == "auto"
    for names in TABLES:
        table = release.table(*names)
        assert (table["estimate"] >= 0).all()
        assert set(table["measured"]) == {"fully"}
    state, county = (release.table(level)["estimate"].to_numpy() for level in ("state", "county"))
    assert np.add.reduceat(county, [0, 2, 3, 6, 7]) == pytest.approx(state, rel=1e-6)


@pytest.mark.parametrize(("strategy", "least", "most"), [("residual-planner", 0.0, 1e-8), ("auto", 0.0, 2.0)])
def test_a_release_states_how_far_levels_are_from_adding_up(session, strategy, least, most, tmp_path):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.05"), strategy=strategy)
    gaps = {(r["table"], r["above"]): r["largest_difference"] for r in release.level_gaps().to_dicts()}
    assert (
        len(gaps) == 3
    )  # county to state, year to decade, state to region; region and decade have none above
    fine = release.table("county", "age")["estimate"].to_numpy().reshape(8, 30)
    counties = np.add.reduceat(fine, [0, 2, 3, 6, 7])
    states = release.table("state", "age")["estimate"].to_numpy().reshape(5, 30)
    decades = release.table("county", "decade")["estimate"].to_numpy().reshape(8, 3)
    assert gaps["county x year", "state x year"] == pytest.approx(np.abs(counties - states).max(), abs=1e-9)
    told = np.abs(fine.reshape(8, 3, 10).sum(axis=2) - decades).max()
    assert gaps["county x year", "county x decade"] == pytest.approx(told, abs=1e-9)
    assert all(least <= gap <= most for gap in gaps.values())


def test_a_release_without_levels_has_nothing_to_add_up(tmp_path):
    schema = {"attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}}}
    frame = pl.DataFrame({"sex": ["F", "M"]})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    assert session.release(ht.Workload([("sex",)]), budget=ht.ZCDP(1)).level_gaps().height == 0


@pytest.mark.long
def test_a_report_has_a_section_of_levels(session, tmp_path):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"))
    release.save(tmp_path / "out")
    page = public_report(tmp_path / "out")
    (section,) = (s for s in page.sections if s.key == "levels")
    rows = section.grids[0].data
    assert rows["level"].to_list() == ["region", "state", "county", "decade", "year"]
    assert rows["categories"].to_list() == [4, 5, 8, 3, 30]
    largest = release.level_gaps()["largest_difference"].max()
    said = "but for rounding" if largest < HARDLY else f"within {largest:,.1f} records"
    assert said in section.text[1]


def test_only_the_difference_to_a_coarser_release_is_charged(session):
    session.release(ht.Workload([("state", "sex")]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    finer = session.release(
        ht.Workload([("county", "sex")]), budget=ht.ZCDP("0.2"), reuse=True, strategy="residual-planner"
    )
    assert 0 < finer.card.charged.rho < ht.ZCDP("0.2").limit.rho
    alone = session.plan(ht.Workload([("county", "sex")]), budget=ht.ZCDP("0.2"))
    assert finer.accuracy()["std"][0] <= alone.tables()["std"][0] * (1 + 1e-9)


def test_records_are_on_the_finest_level_with_coarser_ones_on_request(session):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.5"), strategy="residual-planner")
    records = release.microdata(levels=("state", "decade"))
    assert records.columns == ["place", "age", "sex", "state", "decade"]
    placed = records.select(pl.col("place").replace(STATE) == pl.col("state"))
    assert placed["place"].all()
    counted = records.group_by("state").len().sort("state")["len"].to_list()
    told = release.table("state").sort("state")["estimate"].to_list()
    assert counted == pytest.approx(told, abs=25)
    for wrong in ("county", "sex"):
        with pytest.raises(WorkloadError, match="no coarser level"):
            release.microdata(levels=(wrong,))


def test_two_levels_in_a_table_are_refused(session):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    with pytest.raises(WorkloadError, match="Two levels"):
        release.table("state", "county")


@pytest.mark.long
def test_levels_on_the_command_line(people, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people.write_csv("people.csv")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.yaml").write_text("- [state, sex]\n- [county]\n")
    run(["ledger", "create", "l", "--budget", "rho=1"])
    asked = ["--schema", "s.yaml", "--workload", "w.yaml"]
    assert run(["plan", *asked, "--want", "state,sex=20"]) == 0
    paid = ["--ledger", "l", "--budget", "rho=0.1", "--strategy", "residual-planner", "--out", "out"]
    assert run(["release", "people.csv", *asked, *paid]) == 0
    capsys.readouterr()
    assert run(["table", "out", "state", "sex", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in told["rows"]][:3] == ["N1", "N1", "N2"]
    assert run(["table", "out", "place"]) == 0 and "county" in capsys.readouterr().out  # its finest level
    assert run(["microdata", "out", "--levels", "region", "--out", "m.csv"]) == 0
    assert pl.read_csv("m.csv").columns == ["place", "age", "sex", "region"]


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("COUNT WHERE state = 'N1'", "COUNT WHERE place IN ('a', 'b')"),
        (
            "COUNT WHERE region <> 'South' AND sex = 'F'",
            "COUNT WHERE place IN ('a', 'b', 'c', 'g') AND sex = 'F'",
        ),
        ("COUNT WHERE NOT region IN ('North', 'Isles')", "COUNT WHERE place IN ('d', 'e', 'f')"),
        ("COUNT WHERE county = 'a'", "COUNT WHERE place = 'a'"),
        ("COUNT WHERE decade = '10-19'", "COUNT WHERE age >= 10 AND age <= 19"),
        ("COUNT WHERE year >= 5", "COUNT WHERE age >= 5"),
        ("SUM(year)", "SUM(age)"),
    ],
)
def test_a_question_may_name_levels(session, people, asked, same):
    records, how = people.with_columns(pl.col("age").clip(0, 29)), {"tau": 5, "budget": ht.PureDP(1)}
    one, other = (session.plan_check(query, records, **how) for query in (asked, same))
    assert one.keys == other.keys


@pytest.mark.parametrize(
    "asked", ["COUNT WHERE state = 'nowhere'", "COUNT WHERE region > 'a'", "COUNT WHERE decade >= 10"]
)
def test_a_question_about_a_level_compares_with_its_categories(session, people, asked):
    with pytest.raises(QueryError) as refused:
        session.plan_check(asked, people, tau=5, budget=ht.PureDP(1))
    assert refused.value.code == "query.level"


@pytest.mark.slow
def test_a_report_shows_levels(session, tmp_path):
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"))
    release.save(tmp_path / "out")
    release.microdata().write_csv(tmp_path / "m.csv")
    shown = [
        "--table",
        "state,sex",
        "--microdata",
        str(tmp_path / "m.csv"),
        "--out",
        str(tmp_path / "r.html"),
    ]
    assert run(["report", str(tmp_path / "out"), *shown]) == 0
    assert "state by sex" in (tmp_path / "r.html").read_text()


def test_counts_of_all_attributes_are_refused_by_what_they_cannot_do(session):
    with pytest.raises(ht.errors.WorkloadError) as caught:
        session.plan_counts(budget=ht.ZCDP("0.1"))
    assert caught.value.code == "release.no-levels"
