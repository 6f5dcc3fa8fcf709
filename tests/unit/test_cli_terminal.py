"""What a newcomer sees in a terminal: the next step, and tables whose bars show their intervals."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from rich.progress import Progress

from hushtable.cli.app import run
from hushtable.cli.newcomer import next_step
from hushtable.cli.output import StepBar
from hushtable.cli.table import bar, print_table
from hushtable.release import ReleasedTable


def test_hush_alone_leads_from_an_empty_folder_to_a_report(tmp_path: Path) -> None:
    assert next_step(tmp_path) == "hush demo"
    (tmp_path / "town people.csv").write_text("age\n1\n")
    assert next_step(tmp_path) == "hush init 'town people.csv' --out 'town people'.yaml"
    (tmp_path / "town.yaml").write_text("")
    assert next_step(tmp_path) == "hush ledger create 'town people'.ledger --budget rho=0.5"
    (tmp_path / "town.ledger").write_text("")
    assert next_step(tmp_path).startswith(
        "hush release 'town people.csv' --schema town.yaml --ledger town.ledger"
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.json").write_text("{}")
    assert next_step(tmp_path) == "hush report out"


def test_every_command_that_hush_alone_names_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  hush ")]
    assert len(lines) > 6
    for words in lines:
        assert run([words[1], "--help"]) == 0


def test_a_bar_is_solid_to_the_lower_end_and_shaded_to_the_upper() -> None:
    assert bar(5, 10, 10) == "█" * 10 + "▒" * 10
    assert bar(-3, 5, 10) == "▒" * 10
    assert bar(-3, -1, 10) == ""
    assert bar(0, 0.01, 10) == "▏"


def test_tables_without_standard_errors_are_printed_with_their_bounds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = pl.DataFrame(
        {
            "sex": ["F", None],
            "estimate": [10.0, 2.0],
            "std": [None, None],
            "lower": [4.0, 0.0],
            "upper": [20.0, 5.0],
            "measured": ["partly", "partly"],
        },
        schema_overrides={"std": pl.Float64},
    )
    print_table(ReleasedTable(("sex",), frame, 0.05, "What it promises."), rows=10)
    shown = capsys.readouterr().out
    assert "–" in shown and "partly" in shown and "(null)" in shown and "model's guess" in shown
    assert "What it promises." in shown


@pytest.mark.long
def test_hush_bench_lists_the_programs_of_a_checkout_and_runs_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["bench"]) == 0
    assert "hush bench sampler" in capfd.readouterr().out
    assert run(["bench", "sampler", "--", "--help"]) == 0
    assert "usage: sampler.py" in capfd.readouterr().out


def test_hush_bench_refuses_an_unknown_name_and_names_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["bench", "samplre"]) == 2
    assert "sampler" in capsys.readouterr().err


def test_hush_bench_says_where_the_programs_are_when_they_are_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hushtable.cli.bench.__file__", str(tmp_path / "a" / "b" / "c" / "bench.py"))
    assert run(["bench", "sampler"]) == 2
    assert "bench.no-checkout" in capsys.readouterr().err


def test_the_bar_says_that_loops_are_compiled_and_then_shows_the_step_again() -> None:
    bar = Progress()
    steps = StepBar(bar)
    steps("counting", 1, 4)
    steps.compiling(True)
    assert bar.tasks[0].description == "compiling, once"
    steps.compiling(False)
    assert (bar.tasks[0].description, bar.tasks[0].completed, bar.tasks[0].total) == ("counting", 1, 4)
