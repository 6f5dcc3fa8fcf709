"""Rehearsals: a release on data that are not confidential, with its true errors, and never on those that are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import LedgerError, RefusedError, SchemaError, UsageError

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, district], tree: {North: [a, b, c], South: [d, e]}}
  sex: {type: categorical, values: [F, M]}
"""
TABLES = [("district", "sex"), ("region",)]


@pytest.fixture
def old(tmp_path, monkeypatch) -> pl.DataFrame:
    monkeypatch.chdir(tmp_path)
    chance, n = np.random.default_rng(1), 2000
    frame = pl.DataFrame(
        {
            "place": chance.choice(list("abcde"), n, p=[0.6, 0.2, 0.1, 0.09, 0.01]).tolist(),
            "sex": chance.choice(["F", "M"], n).tolist(),
        }
    )
    frame.write_csv("town-2015.csv")
    (tmp_path / "town.yaml").write_text(SCHEMA)
    (tmp_path / "w.yaml").write_text("- [district, sex]\n- [region]\n")
    return frame


def rehearsed(old: pl.DataFrame, **more):
    way = ht.release.Way("residual-planner")
    return ht.rehearse(
        old, schema="town.yaml", workload=ht.Workload(TABLES), budget=ht.ZCDP("0.5"), way=way, **more
    )


@pytest.mark.long
def test_errors_are_those_that_the_plan_foresees(old):
    found = rehearsed(old, runs=60)
    session = ht.Session.open(old, schema="town.yaml", ledger="other", budget=ht.ZCDP(1))
    planned = session.plan(ht.Workload(TABLES), budget=ht.ZCDP("0.5")).tables()
    for row in planned.to_dicts():
        told = found.marginals.filter(pl.col("marginal") == row["marginal"]).to_dicts()[0]
        assert told["cells"] == row["cells"]
        assert told["mean_error"] * told["cells"] == pytest.approx(row["expected_l1"], rel=0.3)
        assert told["coverage"] == pytest.approx(0.955, abs=0.06)
        assert abs(told["bias"]) < 1.5
    assert found.overall["records"].item() == 2000
    assert found.levels["level"].to_list() == ["district", "region"]
    assert found.levels["cells"].to_list() == [10, 2]
    assert found.sizes["cells"].sum() == 12


@pytest.mark.long
def test_a_page_and_json_say_what_they_are(old, capsys):
    command = ["rehearse", "town-2015.csv", "--schema", "town.yaml", "--workload", "w.yaml"]
    command += ["--budget", "rho=0.5", "--runs", "2"]
    assert run([*command, "--out", "shown.html"]) == 0
    assert "REHEARSAL" in capsys.readouterr().out
    page = Path("shown.html").read_text()
    assert "REHEARSAL" in page and "By level" in page
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stamp"].startswith("REHEARSAL") and told["runs"] == 2 and len(told["marginals"]) == 2


@pytest.mark.parametrize("beside", ["town-2015.ledger", "town-2015.csv.ledger"])
def test_data_with_a_ledger_of_their_name_are_refused(old, beside):
    Path(beside).touch()
    with pytest.raises(RefusedError) as refused:
        ht.rehearse(
            "town-2015.csv", schema="town.yaml", workload=ht.Workload(TABLES), budget=ht.ZCDP("0.5"), runs=1
        )
    assert refused.value.code == "rehearse.confidential"


def test_data_that_a_preflight_has_shown_are_refused(old):
    assert run(["ledger", "create", "l", "--budget", "rho=1"]) == 0
    assert run(["preflight", "town-2015.csv", "--schema", "town.yaml", "--ledger", "l"]) == 0
    asked = {"schema": "town.yaml", "workload": ht.Workload(TABLES), "runs": 1, "ledger": "l"}
    with pytest.raises(RefusedError):
        ht.rehearse("town-2015.csv", **asked, budget=ht.ZCDP("0.5"))


def may_rehearse(data, ledger: str | None = "l") -> bool:
    try:
        ht.rehearse(
            data,
            schema="town.yaml",
            workload=ht.Workload([("region",)]),
            budget=ht.ZCDP("0.5"),
            way=ht.release.Way("residual-planner"),
            runs=1,
            ledger=ledger,
        )
    except RefusedError as refused:
        assert refused.code == "rehearse.confidential"
        return False
    return True


def test_data_that_were_only_released_from_are_refused_however_they_are_named(old, tmp_path):
    """By their place: a link, a way round, and a path from the root lead there; other years of the name do not."""
    session = ht.Session.open("town-2015.csv", schema="town.yaml", ledger="l", budget=ht.ZCDP(1))
    session.release(ht.Workload([("region",)]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    (tmp_path / "2005").mkdir()
    Path("link.csv").symlink_to("town-2015.csv")
    for name in ("town-2015.csv", tmp_path / "town-2015.csv", "2005/../town-2015.csv", "link.csv"):
        assert not may_rehearse(name)
    Path("hard.csv").hardlink_to("town-2015.csv")
    assert not may_rehearse("hard.csv")
    old.write_csv("2005/town-2015.csv")
    ht.Ledger.create("another", ht.ZCDP(1))
    assert may_rehearse("2005/town-2015.csv") and may_rehearse("town-2015.csv", "another")
    assert Path("l.data").stat().st_mode & 0o077 == 0


def test_files_of_a_pattern_and_of_a_list_are_refused(old, tmp_path):
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        old.write_csv(f"{folder}/part.csv")
    ht.Session.open("a/*.csv", schema="town.yaml", ledger="l", budget=ht.ZCDP(1))
    ht.Session.open(["b/part.csv"], schema="town.yaml", ledger="l")
    assert not may_rehearse("a/part.csv") and not may_rehearse("a/*.csv") and not may_rehearse("b/part.csv")
    assert may_rehearse("c/part.csv") and not may_rehearse("b/*.csv") and not may_rehearse("*/part.csv")


def test_a_folder_of_a_lake_is_refused_by_any_address_and_from_anywhere(old, tmp_path, monkeypatch):
    for year in (2014, 2015):
        (tmp_path / f"lake/year={year}").mkdir(parents=True)
        old.write_parquet(f"lake/year={year}/part.parquet")
    session = ht.Session.open("parquet:lake", schema="town.yaml", ledger="l", budget=ht.ZCDP(1))
    session.release(ht.Workload([("region",)]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    for name in ("lake", "lake?partitions=year", "./lake/", f"{tmp_path}/lake/year=2015"):
        assert not may_rehearse(f"parquet:{name}")
    assert not may_rehearse("lake/year=2014/part.parquet")
    (tmp_path / "other").mkdir()
    schema, ledger = (tmp_path / "town.yaml").read_text(), str(tmp_path / "l")
    (tmp_path / "other" / "town.yaml").write_text(schema)
    monkeypatch.chdir(tmp_path / "other")
    assert not may_rehearse("parquet:../lake", ledger) and not may_rehearse(
        f"parquet:{tmp_path}/lake", ledger
    )


@pytest.mark.parametrize(
    ("opened", "asked"),
    [
        ("delta:/lake/people", "delta:/lake/people?version=0"),
        ("spark:delta:/lake/people?version=3", "delta:/lake/people/"),
        ("delta:/lake/people", "delta:file:///lake/people"),
        ("spark:parquet.`/lake/people`", "parquet:/lake/people?partitions=year"),
        ("delta:s3://lake/people", "spark:delta:s3://lake/people?version=1"),
        ("s3://lake/people", "s3://lake/people?partitions=year"),
        ("iceberg:register.people?catalog=office", "spark:iceberg:register.people?snapshot=1"),
        ("iceberg:/lake/people/metadata/v1.metadata.json", "iceberg:/lake/people/metadata/v2.metadata.json"),
        ("spark:register.people", "SPARK:register.people"),
    ],
)
def test_a_table_with_versions_is_known_by_its_place(opened, asked, tmp_path, monkeypatch):
    known = ht.ledger.KnownData(tmp_path / "l")
    known.remember(opened)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert known.knows(asked) and known.knows(opened)
    assert not any(map(known.knows, ("delta:/lake/pupils", "iceberg:register.pupils", "spark:pupils")))


@pytest.mark.parametrize(
    ("ledger", "code"), [("misspelt", "ledger.missing"), ("town.yaml", "ledger.foreign")]
)
def test_a_ledger_that_is_not_there_is_refused_because_it_knows_nothing(old, ledger, code):
    with pytest.raises(LedgerError) as refused:
        rehearsed(old, runs=1, ledger=ledger)
    assert refused.value.code == code


def test_a_folder_without_a_name_is_refused_in_words(old, capsys):
    command = ["rehearse", ".", "--schema", "town.yaml", "--workload", "w.yaml", "--budget", "rho=0.5"]
    assert run(command) == 1
    assert "internal" not in capsys.readouterr().err


def test_data_of_a_ledger_that_moved_are_refused_with_it(old):
    ht.Session.open("town-2015.csv", schema="town.yaml", ledger="l", budget=ht.ZCDP(1))
    ht.Ledger.copy("l", "elsewhere")
    assert not may_rehearse("town-2015.csv", "elsewhere")
    assert Path("elsewhere.data").stat().st_mode & 0o077 == 0


def test_what_a_preflight_saw_declared_moves_with_the_ledger(old):
    """Else bounds that were read off the data would pass as public after a move."""
    assert run(["ledger", "create", "l", "--budget", "rho=1"]) == 0
    assert run(["preflight", "town-2015.csv", "--schema", "town.yaml", "--ledger", "l"]) == 0
    ht.Ledger.copy("l", "elsewhere")
    learnt = SCHEMA.replace("[d, e]", "[d, e, f]")
    with pytest.raises(SchemaError) as refused:
        ht.Session.open("town-2015.csv", schema=ht.Schema.loads(learnt), ledger="elsewhere")
    assert refused.value.code == "schema.changed-after-preflight"


@pytest.mark.parametrize("place", ["folder", "unreadable"])
def test_a_note_that_cannot_be_kept_does_not_stop_a_release(old, place):
    if place == "folder":
        Path("l.data").mkdir()
    else:
        Path("l.data").write_bytes(b"\xff\xfe not json\n")
    session = ht.Session.open("town-2015.csv", schema="town.yaml", ledger="l", budget=ht.ZCDP(1))
    assert session.remaining.cost.rho > 0
    assert may_rehearse("town-2015.csv") == (place == "folder")


@pytest.mark.parametrize("runs", [0, -1, 10**6, 2.5])
def test_a_number_of_runs_that_makes_no_sense_is_refused(old, runs):
    with pytest.raises(UsageError) as refused:
        rehearsed(old, runs=runs)
    assert refused.value.code == "rehearse.runs"


@pytest.fixture
def confidential(old, tmp_path) -> Path:
    """A table that was released from, in a folder of its own, with a ledger that is called like it."""
    (tmp_path / "own").mkdir()
    old.write_csv("own/acct.csv")
    session = ht.Session.open("own/acct.csv", schema="town.yaml", ledger="own/acct.ledger", budget=ht.ZCDP(1))
    session.release(ht.Workload([("region",)]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    return Path("own/acct.csv")


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize(
    "name", ["soft.csv", "own/soft.csv", "own/hard.csv", "own/*.csv", "own/[ab]cct.csv", "s*.csv"]
)
def test_without_a_ledger_other_names_of_a_table_are_refused(confidential, name, noted):
    Path("soft.csv").symlink_to(confidential)
    Path("own/soft.csv").symlink_to("acct.csv")
    Path("own/hard.csv").hardlink_to(confidential)
    if not noted:
        Path("own/acct.ledger.data").unlink()
    assert not may_rehearse(name, None)


def test_without_a_ledger_packed_files_and_parts_are_refused_by_the_name_that_a_ledger_has(old, tmp_path):
    (tmp_path / "parts" / "year=2015").mkdir(parents=True)
    for name in ("parts/one.csv", "parts/year=2015/two.csv", "other.csv"):
        old.write_csv(name)
    Path("acct.csv.gz").write_bytes(gzip.compress(Path("other.csv").read_bytes()))
    for name in ("acct", "parts"):
        ht.Ledger.create(f"{name}.ledger", ht.ZCDP(1))
    for name in (
        "acct.csv.gz",
        "parts/one.csv",
        "parts/*.csv",
        "parts/year=2015/two.csv",
        ["other.csv", "parts/one.csv"],
    ):
        with pytest.raises(RefusedError) as refused:
            ht.rehearse(name, schema="town.yaml", workload=ht.Workload(TABLES), budget=ht.ZCDP("0.5"), runs=1)
        assert refused.value.code == "rehearse.confidential"
    assert may_rehearse("other.csv", None)


def test_without_a_ledger_notes_beside_the_data_tell_whatever_the_ledger_is_called(old, tmp_path):
    """Those of where data lie, and those of preflights; other years in folders below stay free."""
    ht.Session.open("town-2015.csv", schema="town.yaml", ledger="account", budget=ht.ZCDP(1))
    assert not may_rehearse("town-2015.csv", None)
    Path("account.data").unlink()
    assert may_rehearse("town-2015.csv", None)
    assert run(["preflight", "town-2015.csv", "--schema", "town.yaml", "--ledger", "account"]) == 0
    Path("account.data").unlink(missing_ok=True)
    assert not may_rehearse("town-2015.csv", None)
    (tmp_path / "2005").mkdir()
    old.write_csv("2005/town-2015.csv")
    assert may_rehearse("2005/town-2015.csv", None)


def test_a_ledger_that_was_moved_without_its_note_is_refused_until_it_knows_its_data(
    confidential, old, tmp_path
):
    (tmp_path / "safe").mkdir()
    Path("own/acct.ledger").rename("safe/acct.ledger")
    asked = {"schema": "town.yaml", "workload": ht.Workload([("region",)]), "runs": 1}
    with pytest.raises(RefusedError) as refused:
        ht.rehearse("town-2015.csv", **asked, budget=ht.ZCDP("0.5"), ledger="safe/acct.ledger")
    assert refused.value.code == "rehearse.no-note"
    Path("own/acct.ledger.data").rename("safe/acct.ledger.data")
    assert not may_rehearse(confidential, "safe/acct.ledger")
    assert may_rehearse("town-2015.csv", "safe/acct.ledger")


def test_a_ledger_of_tables_in_memory_lets_files_be_rehearsed(old):
    session = ht.Session.open(old, schema="town.yaml", ledger="l", budget=ht.ZCDP(1))
    session.release(ht.Workload([("region",)]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    assert may_rehearse("town-2015.csv", "l")
