"""The demonstration tells its whole story, and what it says to try next works."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from pages import inside

from hushtable.cli.app import run
from hushtable.ledger import Ledger


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demonstration on a smaller town, in a folder with a space and a bracket in its name."""
    folder = tmp_path_factory.mktemp("demo")
    said = io.StringIO()
    with inside(folder), contextlib.redirect_stdout(said):
        assert run(["demo", "--out", "our [town", "--people", "12000"]) == 0
    return folder, said.getvalue()


def test_the_story_has_all_its_parts(told: tuple[Path, str]) -> None:
    folder, said = told
    town = folder / "our [town"
    assert (town / "tables" / "release.json").exists() and (town / "tables" / "report.html").exists()
    assert (town / "records.csv").exists() and (town / "education" / "release.json").exists()
    page = (town / "tables" / "report.html").read_text()
    assert "Totals and means" in page and "Official totals" in page and "Census of 2025" in page
    assert "benchmarked" in said and "mean(income)" in said
    assert "all in order" in said and "employment" in said
    kinds = [holding.reservation.kind for holding in Ledger.open(town / "town.ledger").reservations()]
    assert kinds == ["release", "choose", "check", "check", "check"]


def test_one_of_three_checks_says_no(told: tuple[Path, str]) -> None:
    """The shuffled file is thousands of records off; the coin then errs less than once in 1e9 stories."""
    verdicts = [line.split(":")[0] for line in told[1].splitlines() if line.startswith(("Yes:", "No:"))]
    assert len(verdicts) == 3 and verdicts[2] == "No"


def test_everything_to_try_next_works(told: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, said = told
    lines = said.partition("Try next:")[2].strip().splitlines()
    assert len(lines) >= 5
    with inside(folder):
        for line in lines:
            assert run(shlex.split(line)[1:]) == 0, line
    capsys.readouterr()


def test_shown_commands_are_run_as_shown(told: tuple[Path, str]) -> None:
    shown = [line for line in told[1].splitlines() if line.startswith("$ hush ")]
    assert [shlex.split(line)[2] for line in shown] == [
        *(
            "ledger",
            "preflight",
            "release",
            "table",
            "table",
            "table",
            "table",
            "table",
            "microdata",
            "choose",
            "check",
            "check",
            "check",
            "ledger",
            "ledger",
        ),
        "report",
    ]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("two years")
    assert run(["demo", "--out", str(tmp_path / "mine")]) == 2
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "two years"
    assert "demo.exists" in capsys.readouterr().err
