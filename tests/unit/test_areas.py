"""Several trees over the same leaves: public files of areas, summed exactly after a release."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import WorkloadError

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, county], tree: {North: [a, b, c], South: [d, e]}}
  sex: {type: categorical, values: [F, M]}
"""
CARE = {"a": "East", "d": "East", "b": "West", "e": "West"}


@pytest.fixture
def release(tmp_path, monkeypatch) -> ht.Release:
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(2)
    people = pl.DataFrame(
        {"place": chance.choice(list("abcde"), 900).tolist(), "sex": chance.choice(["F", "M"], 900).tolist()}
    )
    session = ht.Session.open(people, schema=ht.Schema.loads(SCHEMA), ledger="l", budget=ht.ZCDP(1))
    return session.release(
        ht.Workload([("county", "sex"), ("region",)]), budget=ht.ZCDP("0.2"), strategy="residual-planner"
    )


def test_every_area_is_that_area_by_itself(release):
    found = release.areas(CARE, by=("sex",))
    assert found.columns[:2] == ["area", "sex"] and found.height == 4
    for name, leaves in (("East", ["a", "d"]), ("West", ["b", "e"])):
        alone = release.area(leaves, by=("sex",))
        mine = found.filter(pl.col("area") == name)
        for column in ("estimate", "std", "lower", "upper"):
            assert mine[column].to_list() == pytest.approx(alone[column].to_list(), rel=1e-12)


def test_a_file_is_read_with_its_columns_in_either_order(release, tmp_path, capsys):
    (tmp_path / "one.csv").write_text("county,hospital\n" + "".join(f"{k},{v}\n" for k, v in CARE.items()))
    (tmp_path / "two.csv").write_text("hospital,county\n" + "".join(f"{v},{k}\n" for k, v in CARE.items()))
    assert release.areas("one.csv").equals(release.areas("two.csv"))
    assert release.areas("one.csv").columns[0] == "hospital"
    release.save("out")
    assert run(["table", "out", "sex", "--areas", "one.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["hospital"] for row in told["rows"]] == ["East", "East", "West", "West"]
    assert run(["table", "out", "sex", "--areas", "one.csv", "--area", "a"]) == 2


def test_an_unknown_category_is_named_with_its_row(release, tmp_path):
    (tmp_path / "bad.csv").write_text("county,h\n\na,East\nnowhere,East\n")
    with pytest.raises(WorkloadError, match="'nowhere' in row 4 of the file"):
        release.areas("bad.csv")
    with pytest.raises(WorkloadError, match="'nowhere', number 2 of the area"):
        release.area(["a", "nowhere"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("county,h\na,East\na,West\n", "area.map"),
        ("county,h\nnowhere,East\n", "area.unknown"),
        ("county\na\n", "area.map"),
        ("county,h\n", "area.map"),
        ("", "area.map"),
    ],
)
def test_files_that_make_no_areas_are_refused_by_name(release, tmp_path, text, code):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(WorkloadError) as refused:
        release.areas("bad.csv")
    assert refused.value.code == code
    with pytest.raises(WorkloadError) as refused:
        release.areas("missing.csv")
    assert refused.value.code == "area.map"


def test_two_trees_may_read_one_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "care.csv").write_text("hospital,served\nEast,a\nEast,d\nWest,b\nWest,e\nWest,c\n")
    text = SCHEMA + "  care: {type: categorical, column: place, levels: [hospital, served], tree: care.csv}\n"
    (tmp_path / "s.yaml").write_text(text)
    people = pl.DataFrame({"place": list("aabcdde"), "sex": ["F"] * 7})
    session = ht.Session.open(people, schema="s.yaml", ledger="m", budget=ht.ZCDP(10**6))
    wanted = ht.Workload([("county", "sex"), ("hospital", "sex"), ("region", "hospital")])
    release = session.release(wanted, budget=ht.ZCDP(10**5), strategy="residual-planner")
    assert release.table("hospital")["estimate"].to_list() == pytest.approx([4, 3], abs=0.05)
    assert release.table("region", "hospital")["estimate"].to_list() == pytest.approx([2, 2, 2, 1], abs=0.1)
    records = release.microdata()
    assert records.height > 3 and records["place"].to_list() == records["care"].to_list()


def test_an_area_names_its_attribute_where_there_are_two_trees(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = SCHEMA + (
        "  care: {type: categorical, column: place, levels: [hospital, served], tree: {E: [d, a], W: [b, c, e]}}\n"
    )
    people = pl.DataFrame({"place": list("abcde") * 60, "sex": ["F", "M"] * 150})
    session = ht.Session.open(people, schema=ht.Schema.loads(text), ledger="l", budget=ht.ZCDP(1))
    made = session.release(
        ht.Workload([("county", "sex"), ("served",)]), budget=ht.ZCDP("0.2"), strategy="residual-planner"
    )
    made.save("out")
    (tmp_path / "new.csv").write_text("served,new\na,one\nd,two\n")
    assert run(["table", "out", "--area", "a,d"]) == 2
    assert "--attribute place" in capsys.readouterr().err
    for name in ("care", "served", "place", "county"):
        assert run(["table", "out", "--area", "a,d", "--attribute", name, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["rows"][0]["estimate"] == made.area(["a", "d"], name)["estimate"].item()
    assert made.area(["a", "d"], "care")["std"].item() != made.area(["a", "d"], "place")["std"].item()
    assert run(["table", "out", "--areas", "new.csv", "--attribute", "care", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("new,")
    assert run(["table", "out", "--area", "a,zz", "--attribute", "care"]) == 2
    assert run(["table", "out", "sex", "--attribute", "care"]) == 2
    assert "--area" in capsys.readouterr().err
