"""A family of options from a file of its own, known by registration alone, goes through session, ledger and command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable import linear
from hushtable.cli.app import run
from hushtable.errors import WorkloadError
from hushtable.release.choices import FAMILIES, BucketTables, plan_choice, register

NAME = "thresholds"


class Thresholds(linear.BucketTable):
    """One attribute, below and from each of some values."""

    kinds = (NAME,)


def thresholds(schema: ht.Schema, name: str, cuts: Sequence[int]) -> Thresholds:
    axis = schema.names.index(name)
    every = [linear.buckets(n, cuts if i == axis else ()) for i, n in enumerate(schema.sizes)]
    plain = linear.bucket_table(every)
    return Thresholds(plain.partitions, plain.variances, fixed=False)


class ThresholdTables(BucketTables):
    """Bucket tables that have a text, a file and a class of their own."""

    name = NAME
    mechanism = Thresholds
    example = "thresholds: [age, 1, 3]"

    def text(self, option: Thresholds, names: Sequence[str]) -> str:
        return f"{option.variances.size - 1} thresholds"

    def from_file(self, schema: ht.Schema, wanted: Any) -> Thresholds | None:
        return thresholds(schema, wanted[0], wanted[1:]) if isinstance(wanted, list) else None


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(ThresholdTables())
    yield
    FAMILIES.pop(NAME, None)


@pytest.fixture
def files(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    small_frame.write_csv("people.csv")
    small_schema.save("people.yaml")
    Path("few.yaml").write_text("thresholds: [age, 2]\n", encoding="utf-8")
    Path("more.yaml").write_text("thresholds: [age, 1, 2, 3]\n", encoding="utf-8")
    return tmp_path


def test_a_session_plans_charges_stores_and_reads_it(files: Path, small_frame: pl.DataFrame) -> None:
    session = ht.Session.open("people.csv", schema="people.yaml", ledger="l", budget=ht.ZCDP(200))
    options = [thresholds(session.schema, "age", cuts) for cuts in ((2,), (1, 2, 3))]
    choice = session.choose(options, budget=ht.ZCDP(100), frozen=True)
    assert choice.plan.family.name == NAME and session.ledger.held() + session.ledger.spent() == choice.cost(
        1
    )
    begun = session.choice(choice.id)
    assert [type(option) for option in begun.options] == [Thresholds, Thresholds]
    below = int((small_frame["age"] < 40).sum())
    assert np.abs(begun.common.table()["estimate"].to_numpy() - [below, small_frame.height - below]).max() < 2
    table = begun.finish(1).table()
    counts = [int(small_frame["age"].is_between(a, a + 19).sum()) for a in range(0, 80, 20)]
    assert np.abs(table["estimate"].to_numpy() - counts).max() < 2  # the noise has a deviation of 0.07
    assert session.ledger.spent() == choice.cost(1)


def test_beside_another_family_its_options_become_matrices(small_schema: ht.Schema) -> None:
    mixed = [linear.marginals(small_schema, order=0), thresholds(small_schema, "age", (2,))]
    plan = plan_choice(small_schema.sizes, mixed, rho=1)
    assert plan.family.name == "matrices" and plan.dearest <= 1


def test_the_command_reads_its_files_and_shows_what_was_taken(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ledger", "create", "l", "--budget", "rho=1"]) == 0
    words = "choose people.csv --schema people.yaml --ledger l --budget rho=0.1 --json --options"
    known = words.split()
    capsys.readouterr()
    assert run([*known, "few.yaml", "more.yaml", "--request", "spring"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [option["what"] for option in told["options"]] == ["1 thresholds", "3 thresholds"]
    read = ht.Session.open("people.csv", schema="people.yaml", ledger="l").choice("spring")
    assert told == json.loads(json.dumps(read.to_dict()))
    flags = ["--ledger", "l", "--choice", "spring", "--option", "1", "--out", "out", "--json"]
    assert run(["choose", "finish", *flags]) == 0
    assert json.loads(capsys.readouterr().out)["taken"] == 1
    assert pl.read_parquet("out/answers.parquet").height == 4
    Path("few.yaml").write_text("thresholds: age\n", encoding="utf-8")
    assert run([*known, "few.yaml", "more.yaml"]) == 2
    assert ThresholdTables.example in json.loads(capsys.readouterr().out)["error"]["fix"]


def test_without_it_the_option_is_refused(small_schema: ht.Schema) -> None:
    options = [thresholds(small_schema, "age", cuts) for cuts in ((2,), (1, 2))]
    del FAMILIES[NAME]
    with pytest.raises(WorkloadError) as caught:
        plan_choice(small_schema.sizes, options, rho=1)
    assert caught.value.code == "linear.kind"
