"""A reconstruction from a file of its own, known by registration alone, goes through session, bundle and command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import BundleError, WorkloadError
from hushtable.marginals import AttributeSet, Layout
from hushtable.reconstruct import RECONSTRUCTIONS, Fitted, Reconstruction, ResidualEstimates, register

NAME = "cut"


@dataclass(frozen=True)
class Cut:
    """Unbiased tables without what lies below zero."""

    estimates: ResidualEstimates

    def estimate_all(self, layout: Layout) -> np.ndarray:
        return np.maximum(self.estimates.estimate_all(layout), 0.0)


def cut(estimates: ResidualEstimates, sets: Sequence[AttributeSet], zeros: object) -> Fitted:
    return Cut(estimates)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(Reconstruction(NAME, "noisy count without what lies below zero", cut))
    yield
    RECONSTRUCTIONS.pop(NAME, None)


@pytest.fixture
def files(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> Path:
    small_frame.write_csv(tmp_path / "people.csv")
    small_schema.save(tmp_path / "people.yaml")
    return tmp_path


def cut_by_hand(table: pl.DataFrame) -> bool:
    return table["estimate"].to_list() == np.maximum(table["unbiased"], 0).to_list()


def test_a_session_reads_tables_by_it_and_a_bundle_keeps_them(files: Path) -> None:
    session = ht.Session.open(
        files / "people.csv", schema=files / "people.yaml", ledger=files / "l", budget=ht.ZCDP(1)
    )
    workload = ht.Workload.all_marginals(session.schema, order=2)
    for attempt in range(
        60
    ):  # noise of a hundred hides all counts: each time half of the cells, or so, are negative
        release = session.release(
            workload,
            budget=ht.ZCDP("0.0001"),
            strategy="residual-planner",
            reconstruct=NAME,
            request=f"release {attempt}",
        )
        table = release.table("age", "sex")
        assert cut_by_hand(table)
        if table["unbiased"].min() < 0:
            break
    else:
        pytest.fail("sixty tables without a cell to cut")
    assert release.card.reconstruct == NAME
    release.save(files / "out")
    assert ht.Release.load(files / "out").table("age", "sex").equals(table)
    del RECONSTRUCTIONS[NAME]
    with pytest.raises(BundleError) as caught:
        ht.Release.load(files / "out")
    assert caught.value.code == "bundle.reconstruction" and NAME in caught.value.message


def test_the_command_offers_it_lists_it_and_uses_it(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "--help"]) == 0
    assert NAME in capsys.readouterr().out.split("--reconstruct")[1].split("--")[0]
    known = f"{files}/people.csv --schema {files}/people.yaml --ledger {files}/l --order 2 --budget rho=0.01".split()
    assert run(["ledger", "create", f"{files}/l", "--budget", "rho=1"]) == 0
    asked = ["release", *known, "--strategy", "residual-planner", "--out", f"{files}/out", "--json"]
    assert run([*asked, "--reconstruct", "cat"]) == 2
    assert NAME in capsys.readouterr().out
    assert run([*asked, "--reconstruct", NAME]) == 0
    assert json.loads(capsys.readouterr().out)["card"]["reconstruct"] == NAME
    assert cut_by_hand(ht.Release.load(files / "out").table("age", "sex"))


def test_without_it_the_name_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del RECONSTRUCTIONS[NAME]
    assert run(["release", "--help"]) == 0
    assert NAME not in capsys.readouterr().out.split("--reconstruct")[1].split("--")[0]
    session = ht.Session.open(
        files / "people.csv", schema=files / "people.yaml", ledger=files / "l", budget=ht.ZCDP(1)
    )
    with pytest.raises(WorkloadError) as caught:
        session.release(
            ht.Workload.all_marginals(session.schema, order=1), budget=ht.ZCDP("0.1"), reconstruct=NAME
        )
    assert caught.value.code == "release.reconstruct" and session.remaining.rho == 1.0
