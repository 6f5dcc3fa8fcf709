"""``hush choose`` from start to finish, in process, on files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.cli.choose import _spread


@pytest.fixture
def folder(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    small_frame.write_csv("people.csv")
    small_schema.save("people.yaml")
    ht.Ledger.create("people.ledger", ht.ZCDP("1"))
    return tmp_path


def hush(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    assert run([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def start(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    known = ("--schema", "people.yaml", "--ledger", "people.ledger", "--budget", "rho=0.1")
    return hush(capsys, "choose", "people.csv", *known, *words, code=code)


def test_a_choice_is_started_by_one_process_and_finished_by_the_next(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = start(capsys, "--orders", "1", "2", "--snr", "0.5:5")
    assert begun["state"] == "open" and begun["decision"] == 1
    assert float(begun["charged_rho"]) + float(begun["held_rho"]) == pytest.approx(0.1, abs=1e-12)
    flags = ("--ledger", "people.ledger", "--choice", begun["choice"])
    taken = hush(capsys, "choose", "finish", *flags, "--option", "1", "--out", "out")
    assert taken["taken"] == 1 and taken["card"]["charged"]["rho"] == "0.1"
    assert ht.Release.load(folder / "out").marginals == (("age", "sex"), ("age", "member"), ("sex", "member"))
    spent = ht.Ledger.open("people.ledger").spent()
    again = hush(capsys, "choose", "finish", *flags, "--option", "0", "--out", "other", code=1)
    assert again["error"]["code"] == "choose.finished"
    for place in ("other", "other"):
        assert (
            hush(capsys, "choose", "finish", *flags, "--option", "1", "--out", place)["card"]["charged"][
                "rho"
            ]
            == "0.1"
        )
    assert ht.Release.load("other").table("age", "sex").equals(ht.Release.load("out").table("age", "sex"))
    assert ht.Ledger.open("people.ledger").spent() == spent
    assert hush(capsys, "choose", "abandon", *flags, code=1)["error"]["code"] == "choose.finished"
    shown = hush(capsys, "choose", "show", *flags, "--out", "copy")
    assert shown["taken"] == 1
    assert ht.Release.load("copy").table("age", "sex").equals(ht.Release.load("out").table("age", "sex"))


def test_an_open_choice_is_shown_by_the_ledger_and_can_be_abandoned(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = start(capsys, "--orders", "1", "3")
    (spend,) = hush(capsys, "ledger", "show", "people.ledger")["spends"]
    assert spend["state"] == "open" and spend["request"] == begun["choice"] and spend["kind"] == "choose"
    assert run(["ledger", "show", "people.ledger"]) == 0
    assert f"  {begun['choice']}\n" in capsys.readouterr().out
    (folder / "people.csv").unlink()
    done = hush(capsys, "choose", "abandon", "--ledger", "people.ledger", "--choice", begun["choice"])
    assert done["spent"]["rho"] == begun["charged_rho"] and done["state"] == "settled"


def test_options_come_from_files_and_a_rule_takes_and_writes_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yaml").write_text("buckets: {sex: all}\n")
    (folder / "b.yaml").write_text("buckets: {sex: all, age: [2]}\n")
    (folder / "c.yaml").write_text("- [age]\n- [sex]\n")
    (folder / "d.yaml").write_text("- [age, sex]\n")
    tables = start(capsys, "--options", "a.yaml", "b.yaml", "--snr", "0.3:2", "--out", "buckets")
    assert tables["state"] == "finished" and tables["taken"] == 1
    frame = pl.read_parquet("buckets/answers.parquet")
    assert frame.columns[:2] == ["age", "sex"] and frame.height == 6
    pairs = start(capsys, "--options", "c.yaml", "d.yaml")
    assert [o["what"] for o in pairs["options"]] == ["2 tables of 1 attribute", "the table age x sex"]


def test_a_hopeless_choice_stops_early(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = start(capsys, "--orders", "1", "2", "--snr", "0.9:1000", "--stop-early")
    assert done["state"] == "abandoned" and done["decision"] is None and done["held_rho"] == "0"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "usage.options"),
        (("--orders", "1"), "choose.one-option"),
        (("--orders", "1", "2", "--snr", "half"), "usage.snr"),
        (("--orders", "1", "2", "--out", "out"), "usage.out-without-snr"),
        (("--orders", "1", "2", "--snr", "0.5:5", "--rule", "coin"), "linear.rule"),
        (("--orders", "1", "9"), "linear.order"),
        (("--options", "a.yaml", "b.yaml"), "workload.unreadable"),
    ],
)
def test_bad_flags_are_refused_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], error: str
) -> None:
    refused = start(capsys, *words, code=2)["error"]["code"]
    assert refused == error
    assert not ht.Ledger.open("people.ledger").reservations()


def test_people_read_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = ["--schema", "people.yaml", "--ledger", "people.ledger", "--budget", "rho=0.1"]
    assert run(["choose", "people.csv", *known, "--orders", "1", "2"]) == 0
    said = capsys.readouterr().out
    assert "hush choose finish --ledger people.ledger --choice" in said and "usual way" in said


def test_flags_with_several_values_are_spread() -> None:
    assert _spread(["d.csv", "--orders", "1", "2", "--snr", "0.5:5"]) == [
        *("d.csv", "--orders", "1", "--orders", "2", "--snr", "0.5:5")
    ]
    assert _spread(["--orders", "1", "2", "d.csv"]) == ["--orders", "1", "--orders", "2", "d.csv"]
    assert _spread(["--options", "a.yaml", "b.yml", "d.csv", "--json"]) == [
        *("--options", "a.yaml", "--options", "b.yml", "d.csv", "--json")
    ]


@pytest.mark.long
def test_a_release_that_reuses_earlier_answers_says_what_it_saved(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = start(capsys, "--orders", "1", "2", "--snr", "0.1:1", "--out", "chosen")
    assert begun["taken"] == 1
    known = ("--schema", "people.yaml", "--ledger", "people.ledger", "--budget", "rho=0.1")
    more = hush(capsys, "release", "people.csv", *known, "--order", "2", "--reuse", "--out", "more")
    assert 0 < float(more["card"]["charged"]["rho"]) < 0.05 < float(more["card"]["reuse"]["saved_rho"])


def both_at_once(held: str, *words: str) -> list[dict[str, Any]]:
    """What two processes with the same command print; both wait for a request before either goes on."""
    told = [sys.executable, "-c", "from hushtable.cli import main; main()", *words, "--wait", "--json"]
    with ht.Ledger.open("people.ledger").turn(held):
        both = [subprocess.Popen(told, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        for child in both:
            wait_until_idle(child.pid)
    said = [child.communicate(timeout=120) for child in both]
    assert [child.returncode for child in both] == [0, 0], said
    return [json.loads(out) for out, _ in said]


def wait_until_idle(process: int) -> None:
    """Until a process that has started uses next to no processor time: a hundredth of a second in one."""
    used, before = 0, -1
    deadline = time.monotonic() + 60
    while (used < 50 or used > before + 1) and time.monotonic() < deadline:
        time.sleep(1.0)
        before, used = used, sum(map(int, Path(f"/proc/{process}/stat").read_text().split()[13:15]))


@pytest.mark.long
def test_a_choice_by_two_processes_at_once_is_paid_for_once(folder: Path) -> None:
    known = ("people.csv", "--schema", "people.yaml", "--ledger", "people.ledger", "--budget", "rho=0.1")
    asked = ("choose", *known, "--orders", "1", "2", "3", "--snr", "0.5:0.001", "--out", "out")
    one, two = both_at_once("spring", *asked, "--request", "spring")
    assert one == two and one["state"] == "finished" and one["taken"] == one["decision"] == 2
    ledger = ht.Ledger.open("people.ledger")
    held = ledger.holding("spring")
    assert held is not None and len(held.charges) == 3 and str(ledger.spent()) == "rho=0.1"
    assert ht.Release.load("out").card.charged == held.drawn


@pytest.mark.long
def test_a_choice_that_two_processes_finish_at_once_is_paid_for_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(capsys, "--orders", "1", "2", "--request", "spring")
    finish = ("choose", "finish", "--ledger", "people.ledger", "--choice", "spring", "--option", "1")
    one, two = both_at_once("spring", *finish, "--out", "out")
    assert one == two and one["taken"] == 1
    held = ht.Ledger.open("people.ledger").holding("spring")
    assert held is not None and len(held.charges) == 2 and str(held.drawn) == "rho=0.1"
