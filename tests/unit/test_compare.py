"""Two releases side by side: differences and their errors, significance, and what cannot be compared."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import UsageError, WorkloadError
from thresholds import Z

SCHEMA = {
    "attributes": {
        "place": {
            "type": "categorical",
            "levels": ["region", "district"],
            "tree": {"N": ["a", "b"], "S": ["c", "d", "e"]},
        },
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }
}
TABLES = [("district", "sex"), ("region",)]


def people(shares, seed: int = 0) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    place = np.repeat(list("abcde"), shares).astype(str)
    return pl.DataFrame(
        {"place": place.tolist(), "sex": chance.choice(["F", "M"], len(place)).astype(str).tolist()}
    )


def released(folder, shares, schema=SCHEMA, seed=0, **more) -> ht.Release:
    session = ht.Session.open(people(shares, seed), schema=schema, ledger=folder, budget=ht.ZCDP(100))
    return session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), strategy="residual-planner", **more)


@pytest.fixture(scope="module")
def years(tmp_path_factory) -> tuple[ht.Release, ht.Release]:
    folder = tmp_path_factory.mktemp("years")
    new = released(folder / "new", [500, 300, 900, 200, 100])
    return new, released(folder / "old", [500, 300, 400, 200, 100])


def test_a_difference_has_the_error_of_both(years):
    found = ht.compare(*years)
    assert found.marginals == (("district", "sex"), ("region",))
    table, (new, old) = found.table("district", "sex"), (r.table("district", "sex") for r in years)
    assert table["difference"].to_list() == pytest.approx((new["unbiased"] - old["unbiased"]).to_list())
    assert table["std"].to_list() == pytest.approx(((new["std"] ** 2 + old["std"] ** 2) ** 0.5).to_list())
    expected = 2 * stats.norm.sf(np.abs(table["difference"].to_numpy()) / table["std"].to_numpy())
    assert table["p_value"].to_list() == pytest.approx(expected.tolist())
    changed = table.filter(district="c")
    assert changed["significant_among_all"].all()
    assert found.summary().filter(marginal="district x sex")["by_chance"].item() == pytest.approx(0.5)


@pytest.mark.long
def test_what_did_not_change_is_called_so_as_often_as_said(tmp_path):
    base = [400, 300, 200, 100, 50]
    session = ht.Session.open(people(base), schema=SCHEMA, ledger=tmp_path / "l", budget=ht.ZCDP(10**4))
    made = [
        session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.01"), strategy="residual-planner")
        for _ in range(24)
    ]
    flags = [
        ht.compare(made[k], made[k + 1]).table("district", "sex")["significant"].to_numpy()
        for k in range(0, 24, 2)
    ]
    assert np.mean(flags) < 0.05 + Z * (0.05 * 0.95 / 12) ** 0.5  # cells of a table are dependent at worst


def test_one_release_twice_and_shared_answers_are_refused(tmp_path):
    session = ht.Session.open(
        people([9, 9, 9, 9, 9]), schema=SCHEMA, ledger=tmp_path / "l", budget=ht.ZCDP(1)
    )
    ways = {"strategy": "residual-planner"}
    first = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), **ways)
    more = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.2"), reuse=True, **ways)
    for pair in ((first, first), (first, more)):
        with pytest.raises(WorkloadError) as refused:
            ht.compare(*pair)
        assert refused.value.code == "compare.shared"


def test_releases_with_different_trees_are_refused_by_name(years, tmp_path):
    other = {
        "attributes": {
            **SCHEMA["attributes"],
            "place": {
                **SCHEMA["attributes"]["place"],
                "tree": {"N": ["a"], "S": ["b", "c", "d", "e"], "W": ["f"]},
            },
        }
    }
    moved = released(tmp_path / "l", [9, 9, 9, 9, 9], other)
    with pytest.raises(WorkloadError, match="region") as refused:
        ht.compare(years[0], moved).table("region")
    assert refused.value.code == "compare.different"


def test_a_level_whose_categories_hold_others_now_is_refused(years, tmp_path):
    """Regions have the same names, and one district lies in another of them: they are different areas."""
    place = {**SCHEMA["attributes"]["place"], "tree": {"N": ["a", "b", "c"], "S": ["d", "e"]}}
    moved = released(tmp_path / "m", [9] * 5, {"attributes": {**SCHEMA["attributes"], "place": place}})
    with pytest.raises(WorkloadError, match="'c' lies in another 'region'") as refused:
        ht.compare(years[0], moved).table("region")
    assert refused.value.code == "compare.different"
    assert ht.compare(years[0], moved).table("district", "sex").height == 10


def test_districts_are_compared_by_name_where_one_moved_to_another_region(years, tmp_path):
    place = {**SCHEMA["attributes"]["place"], "tree": {"N": ["e", "b"], "S": ["c", "d", "a"]}}
    moved = released(
        tmp_path / "m", [9, 99, 999, 9, 9], {"attributes": {**SCHEMA["attributes"], "place": place}}
    )
    found = ht.compare(years[0], moved).table("district")
    new, old = (
        {row["district"]: row["unbiased"] for row in release.table("district").to_dicts()}
        for release in (years[0], moved)
    )
    assert found["district"].to_list() == years[0].table("district")["district"].to_list()
    for row in found.to_dicts():
        assert (row["this"], row["last"]) == (new[row["district"]], old[row["district"]])


def test_a_level_stays_comparable_where_a_district_was_split(years, tmp_path):
    place = {**SCHEMA["attributes"]["place"], "tree": {"N": ["a", "b"], "S": ["c", "d", "e", "f"]}}
    split = released(tmp_path / "s", [9] * 5, {"attributes": {**SCHEMA["attributes"], "place": place}})
    assert ht.compare(years[0], split).table("region").height == 2
    with pytest.raises(WorkloadError, match="'district'"):
        ht.compare(years[0], split).table("district")


@pytest.mark.parametrize("format", ["csv", "parquet", "json-stat", "px", "sdmx-csv"])
def test_changes_are_exported_with_their_errors_and_notes(years, tmp_path, format):
    done = ht.compare(*years).export(tmp_path / format, format)
    assert done.tables == 2
    readme = (tmp_path / format / "README.txt").read_text()
    assert "difference_std" in readme and "noise alone would give as much" in readme
    if format == "parquet":
        written = pl.read_parquet(tmp_path / format / "tables" / "district-sex.parquet")
        found = ht.compare(*years).table("district", "sex")
        assert written["difference"].to_list() == pytest.approx(found["difference"].to_list())
        assert [word == "yes" for word in written["significant"]] == found["significant"].to_list()
        assert written["last"].to_list() == pytest.approx(found["last"].to_list())


def test_a_page_lists_every_table_and_says_what_is_significant(years, tmp_path):
    for name, release in zip(("new", "old"), years, strict=True):
        release.save(tmp_path / name)
    folders = [str(tmp_path / "new"), str(tmp_path / "old")]
    assert run(["compare", *folders, "--out", str(tmp_path / "changes.html")]) == 0
    page = (tmp_path / "changes.html").read_text()
    assert "district by sex" in page and "Expected by chance" in page
    assert (tmp_path / "changes-data").is_dir()
    assert run(["compare", *folders, "--format", "csv", "--out", str(tmp_path / "c")]) == 0
    assert (tmp_path / "c" / "tables" / "region.csv").is_file()


def test_an_attribute_called_like_a_column_of_changes_is_refused_before_writing(tmp_path):
    schema = {"attributes": {"last": {"type": "boolean"}}}
    made = []
    for name in ("a", "b"):
        frame = pl.DataFrame({"last": [True, False]})
        session = ht.Session.open(frame, schema=schema, ledger=tmp_path / name, budget=ht.ZCDP(1))
        made.append(session.release(ht.Workload([("last",)]), budget=ht.ZCDP(1)))
    with pytest.raises(UsageError) as refused:
        ht.compare(*made).export(tmp_path / "x")
    assert refused.value.code == "export.name-taken" and not (tmp_path / "x").exists()


def test_a_comparison_on_the_command_line(years, tmp_path, capsys):
    for name, release in zip(("new", "old"), years, strict=True):
        release.save(tmp_path / name)
    folders = [str(tmp_path / "new"), str(tmp_path / "old")]
    assert run(["compare", *folders]) == 0
    assert run(["compare", *folders, "district", "sex"]) == 0
    assert "yes" in capsys.readouterr().out
    assert run(["compare", *folders, "region", "--csv"]) == 0
    capsys.readouterr()
    assert run(["compare", *folders, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(ht.compare(*years).to_dict()))
    assert run(["compare", folders[0], folders[0]]) != 0
