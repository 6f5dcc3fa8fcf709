"""Every command with odd files, folders and paths in every place: an error of our own, and no charge for nothing.

A place is an argument or option that takes a path.  What stands there may be missing, a folder, a device, a loop of
links, a name that no file can have, text of another kind, or nothing at all.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.cli import app

SCHEMA = """\
attributes:
  age: {type: integer, bounds: [0, 79], width: 20}
  sex: {type: categorical, values: [F, M], outside: other}
"""
DATA = "age,sex\n" + "33,F\n71,M\n" * 20
KNOWN = "--schema people.yaml --ledger people.ledger"
BATCH = "--strategy residual-planner --no-report"
COMMANDS = [
    "init *people.csv* --out >new.yaml>",
    "plan --schema *people.yaml* --workload *pairs.yaml* --budget rho=0.1",
    f"release *people.csv* --schema *people.yaml* --ledger *people.ledger* --workload *pairs.yaml* --budget rho=0.01 "
    f"{BATCH} --out >out>",
    f"release people.csv {KNOWN} --order 1 --budget rho=0.01 {BATCH} --resume >out>",
    f"release people.csv {KNOWN} --order 1 --budget rho=0.01 --strategy residual-planner --out >out>",
    "table *bundle* age",
    "microdata *bundle* --out >new.csv> --explain",
    "microdata *bundle* --out >new.parquet>",
    "report *bundle* --out >new.html> --ledger *people.ledger* --microdata *records.csv*",
    "report *bundle* --against *people.csv* --confidential --out >new.html>",
    "check *people.csv* --schema *people.yaml* --ledger *people.ledger* --synthetic *records.csv* "
    "--queries *queries.txt* --tau 5% --budget rho=0.001",
    "check people.csv --schema people.yaml --ledger people.ledger --synthetic *records.parquet* "
    "--query COUNT --tau 5% --budget rho=0.001 --plan",
    "choose *people.csv* --schema *people.yaml* --ledger *people.ledger* --options *coarse.yaml* *pairs.yaml* "
    "--budget rho=0.01 --snr 0.5:5 --out >out>",
    "choose show --ledger *people.ledger* --choice waiting --out >out>",
    "choose finish --ledger *people.ledger* --choice waiting --option 0 --out >out> --data *people.csv*",
    "choose abandon --ledger *people.ledger* --choice waiting",
    "ledger create >new.ledger> --budget rho=1",
    "ledger show *people.ledger*",
    "ledger grant *people.ledger* maria --budget rho=0.1",
    "ledger raise *people.ledger* --budget rho=2",
    "ledger verify *people.ledger*",
    "ledger export *people.ledger*",
    "demo --out >new-demo> --people 1000 --json",
]
DEVICES = ("null device", "full device", "zero device")
"""Never written to, not even in vain: these tests may run as root."""
ENDLESS = ("pipe", "pipe.csv")
"""Never read from: nobody writes to them."""
UNFORESEEN = ("internal.unexpected", "system.refused")
TEXTS: dict[str, bytes] = {
    "empty": b"",
    "bom": b"\xef\xbb\xbf",
    "nul": b"\0" * 100,
    "utf16": SCHEMA.encode("utf-16"),
    "latin": b"caf\xe9: [\xff\xfe]\n",
    "deep": b"[" * 100_000,
    "deeper": b"{a: " * 5_000,
    "list": b"- [age, age]\n- 3\n",
    "date": b"buckets: {age: 2020-99-99}\n",
    "clock": b"2020-01-01 99:99:99: 1\n",
    "digits": b"buckets: {age: [" + b"9" * 5_000 + b"]}\n",
    "digits key": b"{" + b"9" * 5_000 + b": 1}\n",
    "cuts": b"buckets: {age: [3, 1], sex: all}\n",
    "cuts far": b"buckets: {age: [1, 99999999999999999999]}\n",
    "cuts key": b"buckets: {1: all, [a]: all, null: [1]}\n",
    "cuts map": b"buckets: {? {a: b} : all}\n",
    "bomb": b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\nbuckets: *c\n",
    "tag": b"!!python/object/apply:os.system [id]\n",
    "set": b"buckets: !!set {age}\n",
    "binary": b"buckets: !!binary gIGC\n",
    "json": b'{"format": "hushtable-release-1", "files": {"/dev/zero": 1}}',
    "surrogate": b'attributes: {"\\ud800": {type: boolean}}\n',
    "parquet": b"PAR1" + b"\xff" * 50 + b"PAR1",
    "gzip": gzip.compress(b"x" * 100)[:-9],
    "zip": b"PK\x03\x04" + zlib.compress(b"x"),
    "sqlite": b"SQLite format 3\0" + b"\x10\x00" + b"\0" * 80,
    "csv": b'age,sex\n"1,F\n\n,,,\n\0\n',
    "line": b"COUNT WHERE " + b"age = 1 OR " * 20_000 + b"age = 1\n",
    "nest": b"COUNT WHERE " + b"(" * 50_000 + b"age = 1\n",
}


def odd_places(folder: Path) -> dict[str, str]:
    """Odd paths, some of them made for the purpose inside ``folder``."""
    odd = folder / "odd"
    odd.mkdir()
    for name, content in TEXTS.items():
        (odd / name).write_bytes(content)
        for ending in (".csv", ".parquet", ".csv.gz", ".yaml", ".ledger"):
            (odd / f"{name}{ending}").write_bytes(content)
    (odd / "folder").mkdir()
    (odd / "folder.parquet").mkdir()
    (odd / "loop").symlink_to(odd / "loop")
    (odd / "loop.csv").symlink_to(odd / "loop.csv")
    (odd / "dangling").symlink_to(odd / "nothing" / "there")
    (odd / "dangling.csv").symlink_to(odd / "nothing.csv")
    os.mkfifo(odd / "pipe")
    os.mkfifo(odd / "pipe.csv")
    (odd / "locked").mkdir(mode=0o000)
    (odd / "shut.csv").touch(mode=0o000)
    made = {path.name: str(path) for path in odd.iterdir()}
    through = {
        f"through {ending}": f"people.csv/x{ending}" for ending in ("", ".csv", ".html", ".parquet", ".yaml")
    }
    named = {
        "nothing": "",
        "here": ".",
        "above": "..",
        "root": "/",
        "missing": "no/such/place",
        "missing.csv": "no/such/place.csv",
        "missing.html": "no/such/place.html",
        "proc": "/proc/x",
        "proc.csv": "/proc/x.csv",
        "proc.yaml": "/proc/x.yaml",
        "proc.html": "/proc/x.html",
        "proc.parquet": "/proc/x.parquet",
        "proc deeper": "/proc/self/x",
        "sys": "/sys/x",
        "mem": "/proc/self/mem",
        "null device": "/dev/null",
        "full device": "/dev/full",
        "zero device": "/dev/zero",
        "inside a device": "/dev/null/x.csv",
        "long": "x" * 300,
        "long.csv": "x" * 300 + ".csv",
        "longer": "/".join(["y" * 200] * 30),
        "zero byte": "a\0b",
        "zero byte.csv": "a\0b.csv",
        "bytes": os.fsdecode(b"caf\xe9\xff"),
        "bytes.csv": os.fsdecode(b"caf\xe9\xff.csv"),
        "bytes.html": os.fsdecode(b"caf\xe9\xff.html"),
        "surrogate": "\ud800",
        "surrogate.csv": "\ud800.csv",
        "escape": "\x1b[31m\u202e",
        "newline.csv": "a\nb.csv",
        "home": "~",
        "nobody": "~nobody-such/x",
        "glob": "*",
        "bracket": "[",
        "braces": "{a,b}",
        "question": "peo?le.csv",
        "scheme": "postgresql://nobody@localhost:1/x?table=t",
        "url": "http://127.0.0.1:1/x.csv",
        "file url": "file:///etc/hostname",
        "s3": "s3://bucket/x.parquet",
        "existing": "bundle/release.json",
        "a release": "bundle",
        "a ledger": "people.ledger",
        "payloads": "people.ledger.payloads",
        "percent": "%s%n{0}",
        "colon": ":memory:",
        "sqlite uri": "file:x?mode=memory",
    }
    return {**made, **through, **named}


def with_one(command: str, number: int, place: str) -> list[str]:
    """A command line with one of its marked places taken by another path."""
    words = command.split()
    marked = [k for k, word in enumerate(words) if word[0] in "*>"]
    return [place if k == marked[number] else word.strip("*>") for k, word in enumerate(words)]


class Desk:
    """A folder that is put back in order after every command that changed it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.template, self.folder = folder / "template", folder / "desk"
        self.template.mkdir()
        files = {
            "people.csv": DATA,
            "people.yaml": SCHEMA,
            "pairs.yaml": "- [age, sex]\n",
            "coarse.yaml": "- [sex]\n",
            "queries.txt": "COUNT\nCOUNT WHERE sex = 'F'\n",
        }
        for name, text in files.items():
            (self.template / name).write_text(text)
        patch.chdir(self.template)
        session = ht.Session.open(
            "people.csv", schema="people.yaml", ledger="people.ledger", budget=ht.ZCDP(1)
        )
        schema = session.schema
        pairs = ht.Workload.all_marginals(schema, order=2)
        session.release(pairs, budget=ht.ZCDP(0.1), strategy="residual-planner").save("bundle")
        options = [ht.linear.marginals(schema, order=k) for k in (1, 2)]
        session.choose(options, budget=ht.ZCDP(0.01), request="waiting")
        records = ht.Release.load("bundle").microdata(rows=50)
        records.write_csv("records.csv")
        records.write_parquet("records.parquet")
        self.places = odd_places(folder)
        self.reset()
        self.before = self.spent()
        patch.chdir(self.folder)

    def reset(self) -> None:
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(self.template, self.folder, dirs_exist_ok=True)

    def spent(self) -> object:
        account = ht.Ledger.open(self.folder / "people.ledger")
        return account.spent(), account.held()

    def run(self, arguments: list[str]) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = app.run(arguments)
        return code, out.getvalue()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("odd-paths")
    with pytest.MonkeyPatch.context() as patch:
        yield Desk(folder, patch)
    (folder / "odd" / "locked").chmod(0o700)


def cases(desk: Desk) -> list[tuple[str, int, str]]:
    """Every place of every command with every odd path."""
    found: list[tuple[str, int, str]] = []
    for command in COMMANDS:
        marks = [word[0] for word in command.split() if word[0] in "*>"]
        for number, mark in enumerate(marks):
            shunned = ENDLESS if mark == "*" else DEVICES
            found += [(command, number, name) for name in desk.places if name not in shunned]
    return found


def problem(desk: Desk, command: str, number: int, name: str) -> str:
    """Run one case and say what is wrong with it, or nothing."""
    desk.reset()
    arguments = with_one(command, number, desk.places[name])
    code, printed = desk.run(arguments)
    wrong: list[str] = []
    if code not in (0, 1, 2):
        wrong.append(f"exit code {code}")
    if "Traceback" in printed or any(code in printed for code in UNFORESEEN):
        wrong.append("an error that nobody foresaw")
    if code and "\n  [" not in printed and '"error"' not in printed and "NOT in order" not in printed:
        wrong.append("no error code")
    if code and (desk.folder / "people.ledger").exists() and desk.spent() != desk.before:
        wrong.append("charged for nothing")
    if any(path.name.startswith(".hush-") for path in desk.folder.rglob("*")):
        wrong.append("an unfinished file was left")
    return f"{wrong}\n{arguments}\n{printed[:1500]}" if wrong else ""


@pytest.mark.parametrize("share", [150, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"])
def test_odd_paths_end_with_an_error_of_our_own_and_charge_nothing(desk: Desk, share: int | None) -> None:
    chosen = cases(desk)
    random.Random(7).shuffle(chosen)
    for command, number, name in chosen[:share]:
        assert not (wrong := problem(desk, command, number, name)), wrong


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.startswith("demo")])
def test_the_commands_are_in_order_without_odd_paths(desk: Desk, command: str) -> None:
    desk.reset()
    words = [word.strip("*>") for word in command.split()]
    code, printed = desk.run(words)
    assert code == (1 if "--resume" in words else 0), printed


@pytest.mark.parametrize("place", ["proc", "sys", "bytes", "zero byte", "long"])
@pytest.mark.parametrize("command", [c for c in COMMANDS if ">out>" in c])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_charged(
    desk: Desk, command: str, place: str
) -> None:
    number = [word for word in command.split() if word[0] in "*>"].index(">out>")
    assert not (wrong := problem(desk, command, number, place)), wrong
    assert desk.run(with_one(command, number, desk.places[place]))[0] in (1, 2)


@pytest.mark.parametrize(
    "text", [name for name in TEXTS if name.startswith(("cuts", "date", "digits", "set", "deep"))]
)
def test_an_option_file_of_any_kind_is_refused_in_our_own_words(desk: Desk, text: str) -> None:
    desk.reset()
    command = next(c for c in COMMANDS if "--options" in c)
    code, printed = desk.run(with_one(command, 3, desk.places[f"{text}.yaml"]))
    assert code == 2 and ("[workload." in printed or "[choose." in printed or "[linear." in printed), printed
