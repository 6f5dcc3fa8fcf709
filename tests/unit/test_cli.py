"""The command line: help, JSON, and one sentence with a code and no charge for every kind of bad input."""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from hushtable.cli.app import app, run
from hushtable.kernel.draw import Confidential

SCHEMA = """\
attributes:
  age: {type: integer, bounds: [0, 79], width: 20}
  sex: {type: categorical, values: [F, M], outside: other}
  member: {type: boolean}
"""
WIDE = "attributes:\n" + "".join(f"  a{k}: {{type: integer, bounds: [0, 99]}}\n" for k in range(12))
DATA = "age,sex,member\n33,F,true\n71,M,false\n"
RELEASE = {
    "--schema": "people.yaml",
    "--ledger": "people.ledger",
    "--order": "2",
    "--budget": "rho=0.1",
    "--strategy": "residual-planner",
    "--out": "out",
}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(app))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, schema, a ledger that has released once, and the release."""
    folder = tmp_path_factory.mktemp("template")
    files = {
        "people.csv": DATA,
        "people.yaml": SCHEMA,
        "wide.yaml": WIDE,
        "wide.csv": ",".join(f"a{k}" for k in range(12)) + "\n",
        "renamed.csv": "age,gender,member\n",
        "foreign.ledger": "not a ledger",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["ledger", "create", "people.ledger", "--budget", "rho=1"]) == 0
        assert run(GOOD["preflight"]) == 0
        assert run(release(out="first", budget="rho=0.11")) == 0
    return folder


@pytest.fixture
def desk(template: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Path:
    """A copy of the template, as the working folder."""
    shutil.copytree(template, memory_path, dirs_exist_ok=True)
    monkeypatch.chdir(memory_path)
    capfd.readouterr()
    return memory_path


def release(data: str = "people.csv", **changed: str | None) -> list[str]:
    """A good command line with some flags changed, or left out."""
    flags = RELEASE | {f"--{name}": value for name, value in changed.items()}
    return [
        "release",
        data,
        *(part for flag, value in flags.items() if value is not None for part in (flag, value)),
    ]


def test_every_command_explains_itself_with_an_example(capfd: Any) -> None:
    for path, command in COMMANDS.items():
        assert run([*path, "--help"]) == 0
        shown = " ".join(capfd.readouterr().out.split())
        assert f"Example: hush {' '.join(path[:1])}" in shown or f"Examples: hush {path[0]}" in shown, path
        assert "--json" in shown, path
        assert command.help and command.help.split("\n")[0].rstrip().endswith((".", "?")), path


def test_the_flags_of_every_example_exist() -> None:
    for path, command in COMMANDS.items():
        known = {flag for parameter in command.params for flag in parameter.opts}
        for example in command.epilog.split(": ", 1)[1].split("; "):
            words = shlex.split(example.split(" > ")[0])
            assert words[: 1 + len(path)] == ["hush", *path] or path[-1] == "start", example
            assert {word for word in words if word.startswith("--")} <= known, example


def test_hush_alone_shows_where_to_begin(capfd: Any) -> None:
    assert run([]) == 0
    shown = capfd.readouterr().out
    assert "hush demo" in shown and "hush release" in shown
    assert run(["ledger"]) == 0
    assert "create" in capfd.readouterr().out
    assert run(["--version"]) == 0
    assert capfd.readouterr().out == f"hushtable {ht.__version__}\n"


@pytest.mark.long
def test_the_commands_that_a_newcomer_is_shown_work_as_typed(desk: Path, capfd: Any) -> None:
    assert run([]) == 0
    lines = [line.strip() for line in capfd.readouterr().out.splitlines() if line.startswith("  hush ")]
    typed = [shlex.split(line.split("  ")[0])[1:] for line in lines]
    for name in ("people.ledger", "people.yaml"):
        Path(name).unlink()
    shutil.rmtree("people.ledger.payloads", ignore_errors=True)
    for words in typed:
        if words[0] not in ("demo", "report", "check", "choose", "microdata"):
            assert run(words) == 0, words
        if words[0] == "init":
            Path("people.yaml").write_text(SCHEMA)
        capfd.readouterr()


GOOD = {
    "init": ["init", "people.csv"],
    "preflight": ["preflight", "people.csv", "--schema", "people.yaml", "--ledger", "people.ledger"],
    "plan": ["plan", "--schema", "people.yaml", "--order", "2", "--budget", "epsilon=1,delta=1e-9"],
    "plan backwards": ["plan", "--schema", "people.yaml", "--order", "2", "--want", "age,sex=50"],
    "release": release(),
    "table": ["table", "first", "age", "sex"],
    "total": ["table", "first"],
    "ledger create": ["ledger", "create", "new.ledger", "--budget", "epsilon=1"],
    "ledger show": ["ledger", "show", "people.ledger"],
    "ledger grant": ["ledger", "grant", "people.ledger", "maria", "--budget", "rho=0.05"],
    "ledger raise": ["ledger", "raise", "people.ledger", "--budget", "rho=2"],
    "ledger verify": ["ledger", "verify", "people.ledger"],
    "ledger export": ["ledger", "export", "people.ledger"],
}


@pytest.mark.long
@pytest.mark.parametrize("name", GOOD)
def test_json_is_one_object_on_standard_output(name: str, desk: Path, capfd: Any) -> None:
    assert run([*GOOD[name], "--json"]) == 0
    printed = capfd.readouterr()
    assert isinstance(json.loads(printed.out), dict) and printed.err == ""


@pytest.mark.long
@pytest.mark.parametrize("name", GOOD)
def test_without_json_something_readable_is_printed(name: str, desk: Path, capfd: Any) -> None:
    assert run(GOOD[name]) == 0
    printed = capfd.readouterr()
    assert printed.out.strip() and printed.err == ""


BAD: dict[str, tuple[list[str], str, int]] = {
    "unknown column in the file": (release("renamed.csv"), "source.unknown-column", 2),
    "unknown attribute in a table": (["table", "first", "height"], "schema.unknown-attribute", 2),
    "missing data": (release("nothing.csv"), "source.missing-file", 1),
    "missing schema": (release(schema="nothing.yaml"), "schema.missing-file", 2),
    "missing ledger": (release(ledger="nothing.ledger"), "ledger.missing", 1),
    "missing bundle": (["table", "nothing", "age"], "bundle.missing", 1),
    "a folder as data": (release("folder"), "source.missing-file", 1),
    "a folder as schema": (release(schema="folder"), "schema.missing-file", 2),
    "a folder as ledger": (release(ledger="folder"), "ledger.is-folder", 1),
    "a foreign ledger": (release(ledger="foreign.ledger"), "ledger.foreign", 1),
    "a ledger as data": (release("people.ledger"), "source.unknown-kind", 1),
    "zero budget": (release(budget="rho=0"), "budget.not-positive", 2),
    "negative budget": (release(budget="rho=-0.1"), "budget.not-positive", 2),
    "budget that is no number": (release(budget="rho=much"), "budget.unreadable", 2),
    "budget without a unit": (release(budget="0.1"), "budget.unreadable", 2),
    "budget beyond the ledger": (release(budget="rho=3"), "ledger.exhausted", 1),
    "pure budget for Gaussian noise": (release(budget="epsilon=1"), "budget.not-pure", 2),
    "order that is no number": (release(order="two"), "usage.flags", 2),
    "order beyond the schema": (release(order="4"), "workload.order", 2),
    "negative order": (release(order="-1"), "workload.order", 2),
    "no order": (release(order=None), "usage.workload", 2),
    "unknown strategy": (release(strategy="magic"), "release.strategy", 2),
    "unknown flag": (release(colour="red"), "usage.flags", 2),
    "no schema": (release(schema=None), "usage.flags", 2),
    "unknown spender": (release(**{"as": "nobody"}), "ledger.unknown-spender", 1),
    "a head that the ledger lacks": (release(head="0" * 64), "ledger.older-than-head", 1),
    "a head that is none": (release(head="abc"), "ledger.bad-head", 1),
    "an out that exists": (release(out="first"), "bundle.exists", 1),
    "an out without a parent": (release(out="no/where/out"), "bundle.no-parent", 1),
    "alpha of two": (["table", "first", "age", "--alpha", "2"], "usage.flags", 2),
    "unknown command": (["releese"], "usage.flags", 2),
    "a ledger that exists": (["ledger", "create", "people.ledger", "--budget", "rho=1"], "ledger.exists", 1),
    "a lower budget": (["ledger", "raise", "people.ledger", "--budget", "rho=0.5"], "ledger.not-a-raise", 1),
    "a grant in another currency": (
        ["ledger", "grant", "people.ledger", "maria", "--budget", "epsilon=1"],
        "ledger.other-currency",
        1,
    ),
    "plan without budget": (["plan", "--schema", "people.yaml", "--order", "1"], "usage.budget", 2),
    "a schema to write that exists": (["init", "people.csv", "--out", "people.yaml"], "init.exists", 2),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_a_fix_and_a_code_and_spends_nothing(
    name: str, desk: Path, capfd: Any
) -> None:
    arguments, code, status = BAD[name]
    head = ht.Ledger.open("people.ledger").head
    before = sorted(p.name for p in desk.iterdir())
    assert run(arguments) == status
    printed = capfd.readouterr()
    lines = printed.err.rstrip("\n").split("\n")
    assert printed.out == "" and lines[0].startswith("hush: ") and lines[0].endswith((".", "?"))
    assert lines[-1] == f"  [{code}]" and len(lines) == 3 and lines[1].strip()
    assert ht.Ledger.open("people.ledger").head == head, "something was spent"
    assert sorted(p.name for p in desk.iterdir()) == before, "something was left behind"
    assert run([*arguments, "--json"]) == status
    error = json.loads(capfd.readouterr().out)["error"]
    assert error["code"] == code and error["message"] and error["fix"]


def test_a_workload_too_large_for_memory_says_how_large_and_what_to_do(desk: Path, capfd: Any) -> None:
    head = ht.Ledger.open("people.ledger").head
    assert run(release("wide.csv", schema="wide.yaml", order="3", memory="1GB")) == 2
    shown = capfd.readouterr().err
    assert "17.2 GiB" in shown and "--order" in shown
    entries = ht.Ledger.open("people.ledger").export()
    assert [e["entry"]["type"] for e in entries[[e["hash"] for e in entries].index(head) + 1 :]] in (
        [],
        ["schema"],
    )


@pytest.mark.long
def test_a_locked_ledger_is_named_and_nothing_is_spent(
    desk: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ht.Ledger.open("people.ledger").head
    monkeypatch.setitem(ht.Ledger.open.__func__.__kwdefaults__, "wait", 0.2)
    other = sqlite3.connect("people.ledger", isolation_level=None)
    other.execute("begin exclusive")
    assert run(release()) == 1
    other.execute("rollback")
    other.close()
    shown = capfd.readouterr().err
    assert "[ledger.locked]" in shown and "people.ledger" in shown
    assert ht.Ledger.open("people.ledger").head == head
    assert run(release()) == 0


def test_an_empty_table_is_released_like_any_other(desk: Path, capfd: Any) -> None:
    Path("people.csv").write_text("age,sex,member\n")
    assert run(release()) == 0
    assert run(["table", "out", "age"]) == 0


@pytest.mark.long
def test_a_refused_release_leaves_no_note_and_an_interrupted_one_is_found_again(
    desk: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(release(budget="rho=3")) == 1
    assert not Path(".out.request").exists()
    with monkeypatch.context() as patch:
        patch.setattr(ht.Release, "save", interrupted)
        assert run(release()) == 130
    spent = ht.Ledger.open("people.ledger").spent()
    assert Path(".out.request").exists() and not Path("out").exists()
    assert run(release(order="1")) == 1
    assert "[bundle.other-settings]" in capfd.readouterr().err
    assert run(["ledger", "create", "other.ledger", "--budget", "rho=0.01"]) == 0
    assert run(release(ledger="other.ledger")) == 1
    assert Path(".out.request").exists(), "another ledger does not know what was paid here"
    assert run(release()) == 0
    assert ht.Ledger.open("people.ledger").spent() == spent
    assert not Path(".out.request").exists()


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.long
@pytest.mark.parametrize("changed", [{}, {"strategy": "aim"}, {"strategy": "aim", "reconstruct": "maxent"}])
def test_an_interrupted_loop_says_how_to_resume_it_and_is_resumed_so(
    changed: dict[str, str], desk: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, asked = Confidential.prepare, []

    def stopping(self: Confidential, request: Any) -> Any:
        asked.append(request)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return prepare(self, request)

    changed = {"strategy": "auto", **changed}
    with monkeypatch.context() as patch:
        patch.setattr(Confidential, "prepare", stopping)
        assert run(release(**changed)) == 130
    shown = capfd.readouterr().err
    assert "--resume out" in shown and not Path("out").exists()
    before = ht.Ledger.open("people.ledger").spent().rho
    assert before > 0
    assert run(release(out=None, resume="out", **changed)) == 0
    assert Path("out/release.json").exists()
    ledger = ht.Ledger.open("people.ledger")
    assert ledger.held().rho == 0 and ledger.spent().rho >= before and ledger.verify().ok


def test_a_misspelt_command_or_flag_is_answered_with_the_nearest(capfd: Any) -> None:
    for words, meant in (
        (["relase"], "release"),
        (["ledger", "shwo"], "show"),
        (["table", "--jsn"], "--json"),
    ):
        assert run(words) == 2
        assert f"Did you mean {meant}?" in capfd.readouterr().err


def test_an_unforeseen_error_shows_its_place_and_not_its_text(
    desk: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("row 7: Xq7Secret")

    monkeypatch.setattr(ht.Release, "save", fail)
    assert run(release()) == 1
    shown = capfd.readouterr()
    assert "[internal.unexpected]" in shown.err and "Xq7Secret" not in shown.err + shown.out


def test_init_says_when_the_first_line_is_no_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("17,red\n18,blue\n" * 20)
    assert run(["init", "d.csv", "--out", "d.yaml"]) == 0
    assert "header: false" in capsys.readouterr().out
    assert "header: false" in Path("d.yaml").read_text()
    assert run(["init", "d.csv", "--header", "--out", "e.yaml"]) == 0
    assert "header: false" not in capsys.readouterr().out
    assert ht.Schema.load("e.yaml").names == ("17", "red")
