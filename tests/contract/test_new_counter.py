"""A counter from a file of its own, known by registration alone, goes through session and command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from foreign_counters import Cluster, as_sqlite, known_openers

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import SourceError

SURE = ht.ZCDP(10_000)
"""Noise of a variance below 1/1000: a count is off with a probability below exp(-500)."""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with known_openers():
        yield


@pytest.fixture
def url(tmp_path: Path, small_frame: pl.DataFrame) -> str:
    return as_sqlite(small_frame.to_arrow(), tmp_path / "people.db")


def truth(frame: pl.DataFrame) -> dict[tuple[str, bool], int]:
    known = frame.filter(
        pl.col("sex").is_not_null(), pl.col("member").is_not_null(), pl.col("age").is_not_null()
    )
    found = known.with_columns(pl.col("sex").replace_strict({"F": "F", "M": "M"}, default="(other)"))
    return {(sex, member): n for sex, member, n in found.group_by("sex", "member").len().iter_rows()}


def released(release: ht.Release) -> dict[tuple[str, bool], int]:
    table = release.table("sex", "member")
    rows = table.select("sex", "member", pl.col("estimate").round().cast(pl.Int64)).iter_rows()
    return {(sex, member): n for sex, member, n in rows if n}


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["residual-planner", "identity", "aim", "auto"])
def test_a_session_releases_from_it(
    strategy: str, url: str, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    for name, data in (("a", url), ("b", Cluster(small_frame.to_arrow()))):
        session = ht.Session.open(data, schema=small_schema, ledger=tmp_path / name, budget=SURE)
        workload = ht.Workload.all_marginals(small_schema, order=2)
        release = session.release(workload, budget=SURE, strategy=strategy, reconstruct="mle")
        assert released(release) == truth(small_frame)


@pytest.mark.long
def test_a_session_checks_chooses_and_evaluates_with_it(
    url: str, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    exact = sum(truth(small_frame).values())
    for name, data in (("a", url), ("b", Cluster(small_frame.to_arrow()))):
        session = ht.Session.open(data, schema=small_schema, ledger=tmp_path / name, budget=ht.ZCDP(30_000))
        public = small_frame.head(exact // 2)
        for tau, expected in ((exact, True), (5, False)):
            verdict = session.check("COUNT", public, tau=tau, budget=ht.ZCDP(1000))
            assert verdict.satisfied is expected
        choice = session.choose(
            [ht.linear.marginals(small_schema, order=1), ht.linear.marginals(small_schema, order=2)],
            budget=SURE,
        )
        assert released(choice.finish(1)) == truth(small_frame)
        release = session.release(
            ht.Workload.all_marginals(small_schema, order=1), budget=SURE, strategy="identity"
        )
        overall = session.evaluate(release, confidential=True).overall
        assert overall["records"].to_list() == [exact] and overall["l1_share"].to_list() == [0.0]


def test_all_passes_of_a_session_read_one_snapshot(
    url: str, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(url, schema=small_schema, ledger=tmp_path / "l", budget=ht.ZCDP(30_000))
    with sqlite3.connect(tmp_path / "people.db") as link:
        link.execute("DELETE FROM people")
    link.close()
    workload = ht.Workload.all_marginals(small_schema, order=2)
    assert released(session.release(workload, budget=SURE, strategy="identity")) == truth(small_frame)
    assert not session.check("COUNT", small_frame.clear(), tau=5, budget=ht.ZCDP(1000)).satisfied


@pytest.mark.long
def test_the_command_line_takes_its_url_and_keeps_none_of_it_in_the_ledger(
    url: str,
    tmp_path: Path,
    small_schema: ht.Schema,
    small_frame: pl.DataFrame,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small_schema.save(tmp_path / "s.yaml")
    small_frame.write_csv(tmp_path / "public.csv")
    ledger = str(tmp_path / "l")
    known = ["--schema", str(tmp_path / "s.yaml"), "--ledger", ledger]
    assert run(["ledger", "create", ledger, "--budget", "rho=40000"]) == 0
    order = ["--order", "2", "--budget", "rho=10000", "--strategy", "identity"]
    assert run(["release", url, *known, *order, "--out", str(tmp_path / "out")]) == 0
    assert released(ht.Release.load(tmp_path / "out")) == truth(small_frame)
    asked = [
        "--synthetic",
        str(tmp_path / "public.csv"),
        "--query",
        "COUNT",
        "--tau",
        "20",
        "--budget",
        "rho=1000",
    ]
    capsys.readouterr()
    assert run(["check", url, *known, *asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"][0]["satisfied"]
    assert run(["choose", url, *known, "--orders", "1", "2", "--budget", "rho=1"]) == 0
    assert b"people.db" not in (tmp_path / "l").read_bytes()
    assert run(["init", url, "--out", str(tmp_path / "draft.yaml")]) == 0
    assert "sex:" in (tmp_path / "draft.yaml").read_text(encoding="utf-8")


def test_a_command_knows_data_at_a_url_by_their_table(
    url: str, tmp_path: Path, small_schema: ht.Schema, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else the URL says, and with a folder at its end: another table was not released before."""
    with sqlite3.connect(tmp_path / "people.db") as link:
        [(made,)] = link.execute("SELECT sql FROM sqlite_master").fetchall()
        link.execute(made.replace("people", "others"))
    link.close()
    small_schema.save(tmp_path / "s.yaml")
    known = f"--schema {tmp_path}/s.yaml --ledger {tmp_path}/l --order 1 --budget rho=1 --strategy identity --no-report"
    assert run(["ledger", "create", f"{tmp_path}/l", "--budget", "rho=9"]) == 0
    others = url.replace("=people", "=others")

    def release(data: str, out: str) -> int:
        return run(["release", data, *known.split(), "--out", f"{tmp_path}/{out}"])

    assert release(f"{url}&host=/run/s", "a") == 0 and release(f"{others}&host=/run/s", "b") == 0
    assert release(url, "c") == 1 and "[repeat.paid-before]" in capsys.readouterr().err


def test_what_a_kind_cannot_do_is_refused_and_refusals_list_the_kinds(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SourceError) as caught:
        ht.session.draft(Cluster(small_frame.to_arrow()))
    assert caught.value.code == "source.no-draft"
    small_schema.save(tmp_path / "s.yaml")
    known = f"--schema {tmp_path}/s.yaml --ledger {tmp_path}/l --order 1 --budget rho=1 --out {tmp_path}/out"
    assert run(["ledger", "create", f"{tmp_path}/l", "--budget", "rho=1"]) == 0
    assert run(["release", "oracle://me:word@host/db?table=t", *known.split()]) in (1, 2)
    said = capsys.readouterr().err
    assert "oracle" in said and "sqlite:///FILE?table=NAME" in said and "a path" in said
    assert "word" not in said and not list(tmp_path.glob("out*"))
