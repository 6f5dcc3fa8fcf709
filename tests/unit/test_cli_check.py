"""``hush check`` as a curator types it: plans that spend nothing, verdicts, batches, JSON and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hushtable.cli.app import run
from hushtable.ledger import Ledger

SCHEMA = """\
attributes:
  sex: {type: categorical, values: [F, M]}
  age: {type: integer, bounds: [0, 115], width: 5}
  income: {type: integer, bounds: [0, 500000], bins: 50}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("people.csv", "synthetic.csv")):
        rng = np.random.default_rng(seed)
        pl.DataFrame(
            {
                "sex": rng.choice(["F", "M"], 800),
                "age": rng.integers(0, 100, 800),
                "income": rng.integers(0, 90_000, 800),
            }
        ).write_csv(name)
    Path("people.yaml").write_text(SCHEMA, encoding="utf-8")
    Path("batch.txt").write_text(
        "# questions\nCOUNT WHERE sex = 'F'\n\nMEDIAN(age) WHERE sex = 'M';\n", encoding="utf-8"
    )
    assert run(["ledger", "create", "people.ledger", "--budget", "epsilon=2"]) == 0
    return tmp_path


def hush(*more: str, data: str = "people.csv") -> int:
    common = ["--schema", "people.yaml", "--ledger", "people.ledger", "--synthetic", "synthetic.csv"]
    return run(["check", data, *common, *more])


ASK = ("--query", "COUNT WHERE age >= 30 AND sex = 'F'", "--tau", "5%", "--budget", "epsilon=0.25")


def test_a_plan_reads_no_row_and_changes_no_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = Ledger.open("people.ledger").head
    Path("people.csv").unlink()
    assert hush(*ASK, "--plan", "--distance", "12") == 0
    shown = capsys.readouterr().out
    assert "Nothing is spent" in shown and "count-optimal" in shown and "epsilon needed" in shown
    assert hush(*ASK, "--plan", "--json", "--distance", "12") == 0
    plan = json.loads(capsys.readouterr().out)
    question = plan["questions"][0]
    assert plan["charged"] == {"xi": "0.25", "rho": "0"}
    assert question["at"][0]["distance"] == 12
    assert [place["distance"] for place in question["profile"]] == sorted(
        place["distance"] for place in question["profile"]
    )
    assert Ledger.open("people.ledger").head == head


def test_a_verdict_is_a_sentence_and_asking_again_is_free(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert hush(*ASK) == 0
    first = capsys.readouterr().out
    assert first.startswith(("Yes: the true COUNT", "No: the true COUNT"))
    assert "It cost epsilon=0.25 per person." in first and "epsilon=1.75" in first
    assert hush(*ASK, "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["verdicts"][0]["repeated"] is True
    assert again["verdicts"][0]["satisfied"] is first.startswith("Yes")
    assert again["remaining"] == {"xi": "1.75", "rho": "0"}


def test_what_a_bound_assumes_is_in_plan_sentence_and_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("--query", "AVG(age) WHERE sex = 'F'", "--tau", "20", "--budget", "epsilon=0.5")
    capsys.readouterr()
    assert hush(*ASK, "--plan", "--json") == 0
    assert json.loads(capsys.readouterr().out)["questions"][0]["assumes"] == ""
    assert hush(*ask, "--plan") == 0
    shown = capsys.readouterr().out
    assert "provided that      at least" in shown and "both suppose that  at least" in shown
    assert hush(*ask, "--plan", "--json") == 0
    planned = json.loads(capsys.readouterr().out)["questions"][0]
    assumed, half = planned["assumes"], pl.read_csv("synthetic.csv").filter(pl.col("sex") == "F").height // 2
    assert planned["supposes"] == f"at least {half:,} true rows match"
    assert assumed.startswith("at least") and assumed.endswith("true rows match")
    assert hush(*ask) == 0
    assert f"away from it, provided that {assumed}; in between" in capsys.readouterr().out
    assert hush(*ask, "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdicts"][0]["assumes"] == assumed


def test_a_file_of_questions_is_one_spend(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert hush("--queries", "batch.txt", "--tau", "5%", "--budget", "epsilon=0.5", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["epsilon"] for one in found["verdicts"]] == ["0.25", "0.25"]
    assert found["remaining"] == {"xi": "1.5", "rho": "0"}
    assert len(Ledger.open("people.ledger").reservations()) == 1


@pytest.mark.parametrize(
    ("more", "code", "exit_code"),
    [
        (("--tau", "5%", "--budget", "epsilon=0.25"), "usage.query", 2),
        (("--query", "COUNT WHERE age > 3", "--budget", "epsilon=0.25"), "usage.flags", 2),
        (
            ("--query", "COUNT WHERE salary > 3", "--tau", "5", "--budget", "epsilon=1"),
            "query.unknown-column",
            2,
        ),
        (("--query", "COUNT", "--tau", "0", "--budget", "epsilon=1"), "query.tau-not-positive", 2),
        (("--queries", "absent.txt", "--tau", "5", "--budget", "epsilon=1"), "query.unreadable-file", 2),
        (("--query", "COUNT", "--tau", "5", "--budget", "rho=1"), "budget.not-pure", 2),
        (("--query", "COUNT", "--tau", "5", "--budget", "epsilon=9"), "ledger.exhausted", 1),
    ],
)
def test_bad_questions_have_a_code_and_spend_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: str, exit_code: int
) -> None:
    capsys.readouterr()
    assert hush(*more, "--json") == exit_code
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code
    assert Ledger.open("people.ledger").spent().xi == 0
