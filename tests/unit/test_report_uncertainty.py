"""The section on the uncertainty principle: its numbers against the bounds and the noise, and when it says nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.microdata import lower_bound
from hushtable.report.sections.uncertainty_section import LINE, RECORDS, TABLES, standing, uncertainty_section
from hushtable.report.view import View

SIZE = 4_000
SCHEMA = {"attributes": {"block": {"type": "integer", "bounds": [0, SIZE - 1]}}}


@pytest.fixture
def view(tmp_path: Path):
    rows = pl.DataFrame({"block": np.arange(3_000) % 50})

    def made(ledger: ht.privacy.Budget, **given) -> View:
        session = ht.Session.open(rows, schema=SCHEMA, ledger=tmp_path / "l", budget=ledger)
        session.release_counts(**given).save(tmp_path / "out")
        return View.open(tmp_path / "out")

    return made


def test_a_pure_release_is_measured_against_the_bound_of_its_epsilon(view) -> None:
    opened = view(ht.PureDP(1), budget=ht.PureDP(1))
    found = standing(opened)
    assert found.table.promise.sum_error == pytest.approx(8.0)
    assert found.least_point_error == pytest.approx(
        lower_bound(d=SIZE, epsilon=1.0, sum_error=8.0, whole=True)
    )
    section = uncertainty_section(opened)
    data = section.figures[0].data
    assert set(data["what"]) == {LINE, TABLES, RECORDS}
    line = data.filter(pl.col("what") == LINE)
    for total, least in line.select("error of the sum", "error of a count").rows():
        assert least**2 == pytest.approx(lower_bound(d=SIZE, epsilon=1.0, sum_error=total**2, whole=True))
    assert "4,000 counts" in section.text[0] and "at least" in section.text[1]


def test_noise_that_is_cut_off_is_measured_against_its_epsilon_and_delta(view) -> None:
    budget = ht.ApproxDP(epsilon=1, delta="0.01", truncation="0.01")
    opened = view(budget, budget=budget)
    found, answers = standing(opened), opened.release.answers
    assert answers.part.noise.bound is not None
    bound = answers.part.noise.bound
    assert found.table.promise.point_error == pytest.approx(8 + 8 * bound + 4 * bound**2)
    spent = float(opened.card.charged.delta)
    assert str(opened.card.charged) == f"epsilon=1 and delta={opened.card.to_dict()['charged']['delta']}"
    assert found.least_point_error == pytest.approx(
        lower_bound(d=SIZE, epsilon=1.0, delta=spent, sum_error=8.0, whole=True)
    )


def test_counts_that_are_too_few_for_the_price_are_said_to_be(view) -> None:
    section = uncertainty_section(view(ht.ZCDP(50), budget=ht.ZCDP(50), accurate="point"))
    assert section.figures == () and "nothing more" in section.text[1]


def test_a_bound_far_below_the_errors_is_said_to_forbid_nothing_and_not_drawn(tmp_path: Path) -> None:
    sizes = {"job": 26, "birthplace": 41, "area": 12, "age": 22}
    rows = pl.DataFrame({name: np.arange(3_000) % size for name, size in sizes.items()})
    schema = ht.Schema.from_domain(sizes)
    session = ht.Session.open(rows, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP("0.1"))
    session.release(ht.Workload.all_marginals(schema, order=2), budget=ht.ZCDP("0.1")).save(tmp_path / "out")
    opened = View.open(tmp_path / "out")
    found, section = standing(opened), uncertainty_section(opened)
    assert 0 < found.least_point_error < found.table.best.point_error / 10_000
    assert section.figures == () and "forbids nothing here" in section.text[1]


def test_a_release_that_earlier_ones_paid_for_is_not_held_against_its_own_price(tmp_path: Path) -> None:
    rows = pl.DataFrame({"block": np.arange(300) % 50})
    session = ht.Session.open(rows, schema=SCHEMA, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    workload = ht.Workload([("block",)])
    for number, rho in enumerate(("0.5", "0.6", "0.1")):
        made = session.release(workload, budget=ht.ZCDP(rho), strategy="residual-planner", reuse=number > 0)
        made.save(tmp_path / str(number))
        assert (standing(View.open(tmp_path / str(number))) is None) == (number > 0)


@pytest.mark.long
def test_the_report_of_the_command_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"block": np.arange(500) % 50}).write_csv("d.csv")
    ht.Schema.from_dict(SCHEMA).save("s.yaml")
    assert run(["ledger", "create", "l", "--budget", "epsilon=2,delta=0.01,truncation=0.01"]) == 0
    words = ["release", "d.csv", "--schema", "s.yaml", "--ledger", "l", "--out", "out"]
    budget = ["--budget", "epsilon=1,delta=0.01,truncation=0.01"]
    assert run([*words, "--counts", "block", "--accurate", "sum", *budget]) == 0
    printed = capfd.readouterr().out
    assert "delta=" in printed and "by --fit sequential err at most" in printed
    assert ht.Release.load("out").answers.part.noise.bound is not None
    assert "What records of this price must pay" in Path("out/report.html").read_text()
    assert run(["microdata", "out", "--fit", "sequential", "--out", "m.csv"]) == 0
    for wrong in (
        ["--counts", "block", "--order", "1"],
        ["--counts", ""],
        ["--accurate", "sum"],
        ["--counts", "block", "--accurate", "both"],
        ["--counts", "block", "--strategy", "aim"],
    ):
        assert run([*words[:-1], "other", *wrong, *budget]) == 2
    assert not Path("other").exists()
    assert ht.Ledger.open("l").verify().ok
