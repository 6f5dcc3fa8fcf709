"""What makes a day at the desk easier: defaults in a file, completion, whole summaries, words in their place."""

from __future__ import annotations

import re
from math import inf, isclose
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl
import pytest
from click.shell_completion import BashComplete

import hushtable as ht
from hushtable.cli.app import app, run
from hushtable.errors import BudgetError, HushtableError, WorkloadError
from hushtable.ledger import other_name
from hushtable.python_words import in_python

SCHEMA = "attributes: {age: {type: integer, bounds: [0, 79], width: 20}, sex: {type: categorical, values: [F, M]}}\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "office").mkdir()
    rows = pl.DataFrame({"age": list(range(80)) * 3, "sex": ["F", "M"] * 120})
    rows.write_csv(tmp_path / "office" / "people.csv")
    (tmp_path / "office" / "people.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *lines: str) -> None:
    (folder / "hush.toml").write_text("[defaults]\n" + "\n".join(lines) + "\n")


def test_flags_come_from_the_file_beside_the_data_and_are_named(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        desk / "office",
        'schema = "people.yaml"',
        'ledger = "people.ledger"',
        'budget = "rho=0.05"',
        "order = 1",
    )
    ht.Ledger.create("office/people.ledger", ht.ZCDP(1))
    assert run(["release", "office/people.csv", "--out", "out", "--no-report"]) == 0
    assert "From hush.toml: --schema, --ledger, --budget, --order." in capsys.readouterr().err
    assert ht.Release.load("out").card.budget == "rho=0.05"
    assert run(["release", "office/people.csv", "--budget", "rho=0.01", "--out", "two", "--no-report"]) == 0
    assert "--budget" not in capsys.readouterr().err
    assert ht.Release.load("two").card.budget == "rho=0.01"


def test_the_file_of_the_present_folder_serves_all_commands_but_never_a_whole_budget(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk / "office")
    write(desk / "office", 'data = "people.csv"', 'schema = "people.yaml"', 'ledger = "people.ledger"',
          'budget = "rho=0.05"')  # fmt: skip
    assert run(["ledger", "create"]) == 2 and "--budget is missing" in capsys.readouterr().err
    assert run(["ledger", "create", "--budget", "rho=1"]) == 0
    assert run(["plan", "--order", "2"]) == 0
    assert run(["release", "--order", "2", "--out", "out", "--no-report"]) == 0
    assert run(["ledger", "show"]) == 0
    assert "rho=0.95" in capsys.readouterr().out


@pytest.mark.parametrize("lines", [['shema = "x"'], ["schema = ["], ["out = 'x'"]])
def test_a_file_with_a_slip_is_refused(
    desk: Path, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write(desk, *lines)
    assert run(["plan", "--order", "2"]) == 2
    said = capsys.readouterr().err
    assert "usage.defaults" in said and ("shema" not in lines[0] or "Did you mean schema?" in said)


@pytest.mark.parametrize("text", ['[default]\nschema = "x"\n', 'schema = "x"\n', "[Defaults]\norder = 2\n"])
def test_defaults_outside_of_their_table_are_not_passed_over(
    desk: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "hush.toml").write_text(text)
    assert run(["plan", "--order", "2"]) == 2
    said = capsys.readouterr().err
    assert "usage.defaults" in said and "Write a table [defaults]" in said


def completed(*words: str) -> list[str]:
    made = BashComplete(app, {}, "hush", "_HUSH_COMPLETE")
    return [item.value for item in made.get_completions(list(words[:-1]), words[-1])]


def test_a_shell_completes_commands_flags_and_names() -> None:
    assert completed("rel") == ["release"]
    assert "--budget" in completed("release", "--")
    assert completed("export", "out", "--format", "json") == ["json-stat"]
    assert set(completed("release", "--strategy", "")) >= {"auto", "aim", "identity"}
    assert completed("choose", "ab") == ["abandon"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_for_a_shell_name_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert "_HUSH_COMPLETE" in said and "hush" in said


def groups(group: click.Group = app) -> list[click.Group]:
    inner = [group.commands[name] for name in group.list_commands(click.Context(group))]
    return [group, *(found for one in inner if isinstance(one, click.Group) for found in groups(one))]


@pytest.mark.parametrize("group", groups(), ids=lambda group: str(group.name))
def test_no_summary_is_cut(group: click.Group) -> None:
    context = click.Context(group, info_name="hush", terminal_width=80)
    text = " ".join(group.get_help(context).split())
    for name in group.list_commands(context):
        first = " ".join((group.commands[name].help or "").split("\n\n")[0].split())
        assert re.split(r"\.\s", f"{first} ")[0].removesuffix(".").strip() in text


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["releas"], "release"),
        (["release", "--bugdet", "x"], "--budget"),
        (["ledger", "shw"], "show"),
        (["choose", "finsh"], "finish"),
        (["export", "o", "--formt", "csv"], "--format"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(
    words: list[str], meant: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert f"Did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.long
def test_one_is_not_plural(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ht.Ledger.create("people.ledger", ht.ZCDP(1))
    Path("w.yaml").write_text("- [sex]\n")
    known = ["--schema", "office/people.yaml", "--ledger", "people.ledger"]
    assert (
        run(
            [
                "release",
                "office/people.csv",
                *known,
                "--workload",
                "w.yaml",
                "--budget",
                "rho=0.1",
                "--out",
                "o",
            ]
        )
        == 0
    )
    assert run(["microdata", "o", "--out", "r.csv"]) == 0
    assert run(["plan", "--schema", "office/people.yaml", "--workload", "w.yaml", "--budget", "rho=0.1"]) == 0
    told = capsys.readouterr()
    assert not re.search(
        r"\b1 (tables|marginals|cells|records|attributes|columns|entries|rounds)\b", told.out + told.err
    )
    assert "1 table" in told.out
    assert "1 marginal," in repr(ht.Release.load("o"))


def test_a_ledger_of_another_name_is_pointed_out(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ht.Ledger.create("clinic.ledger", ht.ZCDP(1))
    known = [
        "--schema",
        "office/people.yaml",
        "--ledger",
        "clinic.ledger",
        "--budget",
        "rho=0.1",
        "--order",
        "1",
    ]
    assert run(["release", "office/people.csv", *known, "--out", "o", "--no-report"]) == 0
    assert "The ledger is called 'clinic' and the data 'people.csv'" in capsys.readouterr().err
    assert other_name("people", "people.csv") is None and other_name("people", pl.DataFrame()) is None


@pytest.mark.parametrize("budget", [0.1, 1, "rho=0.1", None, {"rho": 1}])
def test_what_is_no_budget_gets_a_sentence(budget: Any, desk: Path) -> None:
    frame = pl.DataFrame({"age": [1] * 50, "sex": ["F"] * 50})
    session = ht.Session.open(frame, schema="office/people.yaml", ledger="x", budget=ht.ZCDP(1))
    workload = ht.Workload([("sex",)])
    calls = [
        lambda: session.release(workload, budget=budget),
        lambda: session.plan(workload, budget=budget),
        lambda: session.check("COUNT WHERE age >= 40", frame, tau=5, budget=budget),
        lambda: ht.Ledger.create("y", budget),
    ]
    for call in calls:
        with pytest.raises(BudgetError, match=r"ht\.ZCDP") as caught:
            call()
        written = re.findall(r"ht\.\w+\([^)]*\)", str(caught.value))
        assert [eval(text, {"ht": ht}) for text in written] == [ht.ZCDP("0.1"), ht.PureDP(1)]


def test_an_epsilon_that_cannot_pay_is_answered_with_two_that_can(desk: Path) -> None:
    frame = pl.DataFrame({"age": [1] * 50, "sex": ["F"] * 50})
    session = ht.Session.open(frame, schema="office/people.yaml", ledger="x", budget=ht.ZCDP(1))
    workload = ht.Workload([("sex",)])
    with pytest.raises(BudgetError) as refused:
        session.release(workload, budget=ht.PureDP("0.3"))
    said = str(refused.value)
    assert 'ht.ApproxDP(epsilon="0.3", delta="1e-9")' in said and 'strategy="identity"' in said
    assert "epsilon=0.3,delta=1e-9" in refused.value.fix and "--strategy identity" in refused.value.fix
    session.release(workload, budget=ht.ApproxDP(epsilon="0.3", delta="1e-9"))
    session.release(workload, budget=ht.PureDP("0.3"), strategy="identity")


@pytest.mark.parametrize(
    ("flags", "python"),
    [
        ("Give --alpha 0.05.", "Give alpha=0.05."),
        ("Give --out another folder.", "Give another folder."),
        ("Ask for at most --budget rho=0.4.", 'Ask for at most budget=ht.ZCDP("0.4").'),
        ("Add --wait (wait=True); it costs nothing.", "Add wait=True; it costs nothing."),
        ("Type `hush ledger create L --budget rho=0.5`.", "Type `hush ledger create L --budget rho=0.5`."),
        ("Leave --objective out, or ask for cells.", "Leave objective out, or ask for cells."),
        ("Lower --order, or ask for fewer.", "Lower order, or ask for fewer."),
        ("Use --fit reweighted: records follow.", 'Use fit="reweighted": records follow.'),
        ("Write `count: a - b`.", "Write `count: a - b`."),
    ],
)
def test_what_to_type_is_said_in_python_to_python(flags: str, python: str) -> None:
    assert in_python(flags) == python
    error = HushtableError("a.b", "No.", flags)
    assert error.fix == flags and str(error) == f"No. {python} [a.b]"


def test_no_error_of_the_library_speaks_in_flags(desk: Path) -> None:
    """Every fix in the sources, with its holes filled: what a traceback shows has no flag outside of a command."""
    source = Path(ht.__file__).parent
    written = [text for file in source.rglob("*.py") if "cli" not in file.parts
               for text in re.findall(r'"((?:[^"\\\n]|\\.)*--[a-z][^"\n]*)"', file.read_text("utf-8"))]  # fmt: skip
    assert len(written) > 40
    for text in written:
        shown = re.sub(r"`hush[^`]*`|hush [a-z]+[^,.;]*", "", in_python(text))
        assert not re.search(r"(?<![\w-])--[a-z]", shown), (text, shown)


def test_options_of_matrices_come_from_files(desk: Path) -> None:
    schema = ht.Schema.load("office/people.yaml")
    Path("halves.yaml").write_text("queries: [[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]]\n")
    Path("all.yaml").write_text(f"queries: {np.eye(8, dtype=int).tolist()}\n")
    Path("wrong.yaml").write_text("queries: [[1, 2]]\n")
    options = ht.release.choices.options_from(schema, orders=(), files=["halves.yaml", "all.yaml"])
    assert [option.dense().queries.shape for option in options] == [(2, 8), (8, 8)]
    with pytest.raises(WorkloadError, match=r"choose\.option-file"):
        ht.release.choices.options_from(schema, orders=(), files=["wrong.yaml", "all.yaml"])
    session = ht.Session.open("office/people.csv", schema=schema, ledger="x", budget=ht.ZCDP(5))
    choice = session.choose(options, budget=ht.ZCDP("2"), frozen=True)
    found = choice.outlook(prior_variance=400.0, datasets=50)
    assert [one.option for one in found.options] == [0, 1]
    assert found.options[1].gain == pytest.approx(choice.gain(1, prior_variance=400.0))
    assert 0 <= (found.options[1].gain_over_datasets or 0) <= 1
    with pytest.raises(WorkloadError, match=r"choose\.outlook"):
        choice.outlook()


def test_the_posterior_of_an_outlook_is_that_of_normal_variables(desk: Path) -> None:
    """By the covariance of the joint law, written out."""
    schema = ht.Schema.load("office/people.yaml")
    session = ht.Session.open("office/people.csv", schema=schema, ledger="x", budget=ht.ZCDP(5))
    choice = session.choose([ht.linear.marginals(schema, order=k) for k in (1, 2)], budget=ht.ZCDP("0.5"))
    mechanism, output = choice.evidence()
    queries, noise = mechanism.queries, np.broadcast_to(mechanism.covariance, (len(mechanism.queries),) * 2)
    noise = np.diag(mechanism.covariance) if mechanism.covariance.ndim == 1 else noise
    prior = 50.0 * np.eye(8)
    wanted = choice.options[1].dense().queries
    joint = queries @ prior @ queries.T + noise
    mean = wanted @ prior @ queries.T @ np.linalg.solve(joint, output)
    spread = wanted @ (prior - prior @ queries.T @ np.linalg.solve(joint, queries @ prior)) @ wanted.T
    told = choice.outlook(prior_variance=50.0).options[1].queries
    assert [one.mean for one in told] == pytest.approx(mean.tolist())
    assert [one.std_now for one in told] == pytest.approx(np.sqrt(np.diag(spread)).tolist())


def test_the_curve_of_bounds_is_that_of_the_theorem() -> None:
    curve = ht.release.curve_at(10_000, ht.PureDP(1))
    for point in curve.points:
        least = ht.microdata.lower_bound(d=10_000, epsilon=1.0, sum_error=point.sum_error**2, whole=True)
        most = ht.microdata.upper_bound(d=10_000, epsilon=1.0, sum_error=point.sum_error**2)
        assert isclose(point.least**2, least, rel_tol=1e-9)
        assert (
            point.promised is None if most == inf else isclose((point.promised or 0) ** 2, most, rel_tol=1e-9)
        )
        assert point.promised is None or point.promised >= point.least
    assert [p.least for p in curve.points] == sorted((p.least for p in curve.points), reverse=True)


def test_a_price_in_two_currencies_counts_as_a_whole() -> None:
    """What rho alone forbids, a mechanism that spends an epsilon beside it may do."""
    budget = ht.ApproxDP(epsilon=2, delta="1e-9", pure=1)
    rho = budget.limit.rho / ht.privacy.UNIT
    [*_, point] = ht.release.curve_at(100_000, budget).points
    allowed = point.sum_error**2
    assert point.least**2 < ht.microdata.lower_bound(d=100_000, rho=rho, sum_error=allowed, whole=True)
    assert point.least**2 <= ht.microdata.lower_bound(d=100_000, epsilon=1, sum_error=allowed, whole=True)


def test_a_release_has_its_place_on_the_curve(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = ht.Session.open("office/people.csv", schema="office/people.yaml", ledger="x", budget=ht.ZCDP(5))
    release = session.release(
        ht.Workload([("age", "sex")]), budget=ht.ZCDP("0.5"), strategy="residual-planner"
    )
    release.save("out")
    assert run(["bounds", "out"]) == 0
    assert "tables as released" in capsys.readouterr().out
    (place,) = ht.release.curve_of(release).places
    assert isclose(place.point_error, release.table("age", "sex")["std"][0])
    assert isclose(place.sum_error, release.table()["std"][0])


def test_a_wrong_default_is_told_the_names_that_are_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hush.toml").write_text('[defaults]\nspendr = "amy"\n')
    assert run(["plan"]) != 0
    said = capsys.readouterr().err
    assert " as," in said
    assert "spender" not in said
