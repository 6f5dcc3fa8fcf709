"""The same command again: nothing is spent without a word, what was stored is written, a new one is paid on request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from hushtable.cli import pending
from hushtable.cli.app import run
from hushtable.ledger import failpoints

SCHEMA = """\
attributes:
  age: {type: integer, bounds: [0, 79], width: 20}
  sex: {type: categorical, values: [F, M]}
  member: {type: boolean}
"""
ROWS = "age,sex,member\n" + "".join(
    f"{7 * k % 80},{'FM'[k % 2]},{'true' if k % 3 else 'false'}\n" for k in range(60)
)
BASE = {
    "--schema": "people.yaml",
    "--ledger": "people.ledger",
    "--order": "2",
    "--budget": "rho=0.1",
    "--strategy": "residual-planner",
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(ROWS)
    Path("people.yaml").write_text(SCHEMA)
    ht.Ledger.create("people.ledger", ht.ZCDP(1))
    return tmp_path


def release(*more: str, data: str = "people.csv", **changed: str) -> int:
    flags = {**BASE, **{f"--{name}": value for name, value in changed.items()}}
    return run(["release", data, *(part for pair in flags.items() for part in pair), "--no-report", *more])


def choose(*more: str) -> int:
    known = ("--schema", "people.yaml", "--ledger", "people.ledger", "--budget", "rho=0.1")
    return run(["choose", "people.csv", *known, "--orders", "1", "2", *more])


def spent() -> Any:
    return ht.Ledger.open("people.ledger").spent()


def table(folder: str) -> Any:
    return ht.Release.load(folder).table("age", "sex")


def test_the_same_command_with_another_folder_spends_nothing_without_a_word(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(out="first") == 0
    paid, head = spent(), ht.Ledger.open("people.ledger").head
    capsys.readouterr()
    assert release(out="second") == 1
    shown = capsys.readouterr().err
    assert "[repeat.paid-before]" in shown and "--stored" in shown and "--again" in shown
    assert spent() == paid and ht.Ledger.open("people.ledger").head == head
    assert not Path("second").exists() and not Path(".second.request").exists()


def test_the_same_command_with_its_folder_removed_spends_nothing_either(desk: Path) -> None:
    assert release(out="out") == 0
    paid = spent()
    shutil.rmtree("out")
    assert release(out="out") == 1 and spent() == paid


def test_what_was_stored_is_written_with_its_date(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release(out="first") == 0
    paid = spent()
    Path("people.csv").write_text(ROWS + "1,F,true\n" * 500)
    capsys.readouterr()
    assert release("--stored", out="second") == 0
    shown = capsys.readouterr().err
    time = ht.Release.load("first").card.ledger.time
    assert time in shown and "later rows are not in it" in shown
    assert spent() == paid and table("first").equals(table("second"))
    assert release("--stored", "--json", out="third") == 0
    assert json.loads(capsys.readouterr().out)["card"]["ledger"]["time"] == time


def test_a_new_one_is_paid_for_when_asked_and_is_then_the_one_that_is_stored(desk: Path) -> None:
    assert release(out="first") == 0
    assert release("--again", out="second") == 0
    assert spent().rho == 2 * ht.ZCDP("0.1").limit.rho
    assert release("--stored", out="third") == 0
    assert table("third").equals(table("second")) and not table("third").equals(table("first"))
    assert release(out="fourth") == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "changed",
    [{"order": "1"}, {"budget": "rho=0.05"}, {"strategy": "identity"}, {"objective": "max_variance"},
     {"reconstruct": "nonneg"}, {"as": "maria"}],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_another_question_budget_strategy_reconstruction_or_spender_is_another_release(
    changed: dict[str, str], desk: Path
) -> None:
    ht.Ledger.open("people.ledger").grant("maria", ht.ZCDP("0.5"))
    assert release(out="first") == 0
    paid = spent()
    assert release(out="second", **changed) == 0
    assert spent().rho > paid.rho


def test_other_data_and_another_schema_are_another_release(desk: Path) -> None:
    assert release(out="first") == 0
    shutil.copy("people.csv", "others.csv")
    assert release(out="second", data="others.csv") == 0
    Path("people.yaml").write_text(SCHEMA.replace("width: 20", "width: 40"))
    assert release(out="third") == 0


def test_neither_content_nor_time_nor_folder_of_the_data_makes_a_difference(desk: Path) -> None:
    assert release(out="first") == 0
    Path("moved").mkdir()
    Path("moved/people.csv").write_text("age,sex,member\n")
    assert release(out="second", data="moved/people.csv") == 1
    assert release(out="second", reconstruct="mle") == 1, "the default, written out"


def test_spends_without_the_name_of_their_data_match_by_what_they_say(desk: Path) -> None:
    session = ht.Session.open("people.csv", schema="people.yaml", ledger="people.ledger")
    pairs = ht.Workload.all_marginals(session.schema, order=2)
    made = session.release(pairs, budget=ht.ZCDP("0.1"), strategy="residual-planner", request="an old id")
    paid = spent()
    assert release(out="out") == 1 and release("--stored", out="out") == 0
    assert spent() == paid and table("out").equals(made.table("age", "sex"))


def test_the_library_pays_for_each_call_without_a_request(desk: Path) -> None:
    session = ht.Session.open("people.csv", schema="people.yaml", ledger="people.ledger")
    pairs = ht.Workload.all_marginals(session.schema, order=2)
    for _ in range(2):
        session.release(pairs, budget=ht.ZCDP("0.1"), strategy="residual-planner")
    assert spent().rho == 2 * ht.ZCDP("0.1").limit.rho


def test_on_a_terminal_it_asks(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert release(out="first") == 0
    paid = spent()

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(pending.sys, "stdin", Terminal())
    monkeypatch.setattr(pending.sys.stderr, "isatty", lambda: True, raising=False)
    for answer, code, folder in (("n", 130, None), ("s", 0, "second"), ("p", 0, "third")):
        monkeypatch.setattr(pending.click, "prompt", lambda *_, answer=answer, **__: answer)
        assert release(out=folder or "none") == code
        if answer != "p":
            assert spent() == paid
    assert not Path("none").exists() and not Path(".none.request").exists()
    assert table("second").equals(table("first")) and spent().rho > paid.rho


def test_stored_and_again_together_and_stored_without_a_store_are_refused(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release("--stored", "--again", out="out") == 2
    assert release("--stored", out="out") == 1
    assert "[repeat.nothing-stored]" in capsys.readouterr().err and spent().rho == 0


@contextmanager
def interrupted_at(point: str) -> Iterator[None]:
    """Press Ctrl-C at a failpoint, once."""

    def interrupt(name: str) -> None:
        if name == point:
            failpoints.arm(None)
            raise KeyboardInterrupt

    failpoints.arm(interrupt)
    try:
        yield
    finally:
        failpoints.arm(None)


@pytest.mark.long
@pytest.mark.parametrize("point", ["reserve.committed", "settle.committed", "bundle.filled", "bundle.moved"])
def test_a_new_one_that_was_interrupted_is_not_paid_for_again_by_its_repetition(
    point: str, desk: Path
) -> None:
    assert release(out="first") == 0
    with interrupted_at(point):
        assert release("--again", out="second") == 130
    assert release("--again", out="second") == 0
    assert spent().rho == 2 * ht.ZCDP("0.1").limit.rho and Path("second").exists()
    assert release("--again", out="third") == 0
    assert spent().rho == 3 * ht.ZCDP("0.1").limit.rho


def test_a_choice_made_again_that_was_interrupted_is_not_paid_for_once_more(desk: Path) -> None:
    flags = ("--snr", "0.5:0.1", "--again", "--out", "out")
    with interrupted_at("settle.committed"):
        assert choose(*flags) == 130
    paid = spent()
    assert choose(*flags) == 0 and spent() == paid and Path("out").exists()


def test_a_lost_draw_is_paid_for_anew_when_asked(desk: Path) -> None:
    with interrupted_at("charge.committed"):
        assert release("--again", out="out") == 130
    assert release("--again", out="out") == 0
    assert spent().rho == 2 * ht.ZCDP("0.1").limit.rho and Path("out").exists()


@pytest.mark.parametrize("flags", [("--again",), ("--request", "another")], ids=lambda flags: flags[0])
def test_nothing_is_paid_for_that_the_folder_has_no_place_for(flags: tuple[str, ...], desk: Path) -> None:
    with interrupted_at("bundle.moved"):
        assert release(out="out") == 130
    paid = spent()
    assert release(*flags, out="out") == 1 and spent() == paid
    assert release(out="out") == 0 and spent() == paid


def test_stored_never_spends(desk: Path) -> None:
    assert release("--stored", "--request", "unknown", out="out") == 1 and spent().rho == 0
    with interrupted_at("reserve.committed"):
        assert release(out="out") == 130
    for folder in ("out", "other"):
        assert release("--stored", out=folder) == 1 and spent().rho == 0
    assert release(out="out") == 0
    paid = spent()
    assert release("--stored", out="other") == 0 and spent() == paid


def test_an_open_choice_goes_on_and_a_settled_one_is_not_paid_for_again(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert choose("--json") == 0
    begun = json.loads(capsys.readouterr().out)
    paid = spent()
    assert choose("--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["choice"] == begun["choice"] and spent() == paid
    assert choose("--snr", "0.5:0.1", "--out", "out") == 0
    taken = spent()
    assert choose("--snr", "0.5:0.1", "--out", "second") == 1 and spent() == taken
    assert choose("--snr", "0.5:0.1", "--out", "second", "--stored") == 0 and spent() == taken
    assert table("second").equals(table("out"))
    assert choose("--again") == 0 and spent().rho > taken.rho


def test_a_check_that_was_asked_before_costs_nothing(desk: Path) -> None:
    Path("synthetic.csv").write_text(ROWS)
    words = ["check", "people.csv", "--schema", "people.yaml", "--ledger", "people.ledger", "--synthetic",
             "synthetic.csv", "--query", "COUNT", "--tau", "5", "--budget", "rho=0.01"]  # fmt: skip
    assert run(words) == 0
    paid = spent()
    assert run(words) == 0 and spent() == paid
