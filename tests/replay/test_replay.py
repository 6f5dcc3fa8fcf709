"""Replay on neighbouring tables: whatever is not noisy is the same, byte for byte.

The noise source is replaced by a seeded one, here only, so that two runs draw the same noise: then even the noisy
integers may differ by one person's contribution and by nothing else.  ``COMMANDS`` lists what is replayed.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from neighbouring_tables import HOSTILE, KINDS, SECRET, TYPES, declared, neighbours, table, written

import hushtable as ht
from bit_sources import FixedBits
from hushtable.cli.app import run
from hushtable.kernel.sources.row_counter import RowCounter
from hushtable.privacy import sampler
from hushtable.release.tables import UNBIASED

PLAIN_NAMES = {key: key for key in TYPES}
NOISY_FILES = ("measurements.parquet", "tables/")
RANDOM = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Command:
    """Something that reads confidential rows: its flags on the command line, and the same call in the library."""

    flags: tuple[str, ...]
    call: Callable[[ht.Session], ht.Release]
    ledger: str = "rho=9"


def release(budget: str, strategy: str, objective: str = "sum_variance", ledger: str = "rho=9") -> Command:
    """A release of all pairs."""
    flags = ("--order", "2", "--budget", budget, "--strategy", strategy, "--objective", objective)

    def call(session: ht.Session) -> ht.Release:
        workload = ht.Workload.all_marginals(session.schema, order=2)
        spent = ht.privacy.Budget.parse(budget)
        return session.release(workload, budget=spent, strategy=strategy, objective=objective)

    return Command(flags, call, ledger)


COMMANDS = {
    "residual-planner": release("rho=0.1", "residual-planner"),
    "residual-planner for the largest variance": release("rho=0.1", "residual-planner", "max_variance"),
    "identity Gaussian": release("epsilon=1,delta=1e-9", "identity"),
    "identity Laplace": release("epsilon=1", "identity", ledger="epsilon=9"),
    "a release beyond the budget": release("rho=10", "residual-planner"),
    "a release that pure privacy cannot pay for": release(
        "epsilon=1", "residual-planner", ledger="epsilon=9"
    ),
}


@dataclass(frozen=True)
class Observed:
    """Everything that somebody other than the curator could see, apart from noisy numbers."""

    outcome: tuple[Any, ...]
    printed: str
    logged: tuple[str, ...]
    files: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    card: str
    tables: str
    entries: str
    temporary: tuple[str, ...]
    bits: int


@dataclass(frozen=True)
class Replay:
    """One run: what could be seen, and the noisy integers."""

    seen: Observed
    noisy: np.ndarray


def scrubbed(text: str) -> str:
    """A text without what is random in every run: heads, request ids, hashes and the time."""
    return RANDOM.sub(lambda found: "#" * len(found[0]), text)


def replay(
    command: Command,
    kind: str,
    rows: list[Any],
    names: dict[str, str],
    folder: Path,
    patch: pytest.MonkeyPatch,
    capfd: Any,
    caplog: Any,
) -> Replay:
    """Run a command on a table in a folder of its own."""
    folder.mkdir()
    (folder / "tmp").mkdir()
    data = written(kind, rows, names, folder)
    schema = ht.Schema.from_dict(declared(names))
    schema.save(folder / "schema.yaml")
    ht.Ledger.create(folder / "a.ledger", ht.privacy.Budget.parse(command.ledger), name="a")
    bits = FixedBits(seed=5)
    capfd.readouterr()
    caplog.clear()
    with patch.context() as here, caplog.at_level(logging.DEBUG):
        here.chdir(folder)
        here.setenv("TMPDIR", str(folder / "tmp"))
        here.setattr(tempfile, "tempdir", str(folder / "tmp"))
        here.setattr(sampler, "system_bits", lambda: bits)
        if isinstance(data, Path):
            arguments = [
                "release",
                data.name,
                "--schema",
                "schema.yaml",
                "--ledger",
                "a.ledger",
                "--out",
                "out",
                "--no-report",
            ]
            outcome: tuple[Any, ...] = (run([*arguments, *command.flags]),)
        else:
            outcome = called(command, data, schema)
    printed = capfd.readouterr()
    logged = tuple(record.getMessage() for record in caplog.records)
    return Replay(
        observed(folder, outcome, scrubbed(printed.out + printed.err), logged, len(bits.given)),
        noise_of(folder),
    )


def called(command: Command, data: Any, schema: ht.Schema) -> tuple[Any, ...]:
    try:
        session = ht.Session.open(data, schema=schema, ledger="a.ledger")
        command.call(session).save("out")
    except ht.errors.HushtableError as error:
        return (type(error).__name__, str(error))
    return ("released", str(session.remaining))


def observed(
    folder: Path, outcome: tuple[Any, ...], printed: str, logged: tuple[str, ...], bits: int
) -> Observed:
    out = folder / "out"
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("data."))
    names = tuple(str(p.relative_to(folder)) for p in paths)
    quiet = [
        p for p, name in zip(paths, names, strict=True) if not any(noisy in name for noisy in NOISY_FILES)
    ]
    return Observed(
        outcome=outcome,
        printed=printed,
        logged=logged,
        files=names,
        sizes=tuple((str(p.relative_to(folder)), p.stat().st_size) for p in quiet),
        card=scrubbed((out / "release.json").read_text()) if out.exists() else "",
        tables=released_labels(out),
        entries=entries(folder / "a.ledger"),
        temporary=tuple(f"{p.name} {p.stat().st_size}" for p in (folder / "tmp").rglob("*")),
        bits=bits,
    )


def released_labels(out: Path) -> str:
    """Columns, labels, deviations and number of rows of every released table: all but estimates and intervals."""
    shown = []
    for path in sorted(out.glob("tables/*.parquet")):
        frame = pl.read_parquet(path)
        quiet = frame.drop("estimate", "lower", "upper", *UNBIASED, strict=False)
        shown.append(f"{path.name}\n{frame.schema}\n{quiet.write_csv()}")
    return "\n".join(shown)


def entries(path: Path) -> str:
    """The ledger's rows as they lie in the file, without what is random."""
    with sqlite3.connect(path) as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        rows = {name: database.execute(f'select * from "{name}"').fetchall() for name in tables}
    database.close()
    return scrubbed(json.dumps(rows, default=repr))


def noise_of(folder: Path) -> np.ndarray:
    out = folder / "out"
    return ht.Release.load(out).answers.values if out.exists() else np.zeros(0, np.int64)


def assert_same(base: Replay, other: Replay, contribution: int, name: str = "") -> None:
    """Equal in everything seen; noisy integers differ by what one person adds."""
    for field in fields(Observed):
        assert getattr(base.seen, field.name) == getattr(other.seen, field.name), (name, field.name)
    assert SECRET not in repr(other.seen)
    assert base.noisy.shape == other.noisy.shape
    assert base.noisy.size == 0 or np.abs(base.noisy - other.noisy).max() <= contribution


def largest_contribution(names: dict[str, str]) -> int:
    """A person moves a lifted cell by at most prod (n_i - 1) <= the product of the two largest sizes."""
    sizes = sorted(ht.Schema.from_dict(declared(names)).sizes)
    return (sizes[-1] - 1) * (sizes[-2] - 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_neighbouring_table_changes_nothing_but_noisy_numbers(
    command: str, kind: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, caplog: Any
) -> None:
    def made(name: str, rows: list[Any]) -> Replay:
        place = memory_path / name
        return replay(COMMANDS[command], kind, rows, PLAIN_NAMES, place, monkeypatch, capfd, caplog)

    base = made("base", table())
    assert ("released" in base.seen.outcome or base.seen.outcome == (0,)) == (not command.startswith("a "))
    for number, (name, rows) in enumerate(neighbours(kind).items()):
        assert_same(base, made(f"{number:04}", rows), largest_contribution(PLAIN_NAMES), name)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_runs_like_any_other(
    kind: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, caplog: Any
) -> None:
    for number, (name, command) in enumerate(COMMANDS.items()):
        base, empty, one = (
            replay(command, kind, rows, PLAIN_NAMES, memory_path / f"{number}{k}", monkeypatch, capfd, caplog)
            for k, rows in enumerate((table(), [], table()[:1]))
        )
        assert_same(base, empty, 10**6, name)
        assert_same(empty, one, largest_contribution(PLAIN_NAMES), name)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_column_names_are_names(
    kind: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, caplog: Any
) -> None:
    command = COMMANDS["residual-planner"]
    base, other = (
        replay(command, kind, rows, HOSTILE, memory_path / f"{k}", monkeypatch, capfd, caplog)
        for k, rows in enumerate((table(), [*table(), dict.fromkeys(TYPES)]))
    )
    assert base.seen.outcome in ((0,), ("released", "rho=8.9"))
    assert_same(base, other, largest_contribution(HOSTILE))
    assert all(name.startswith(("a.ledger", "out/", "schema.yaml")) for name in base.seen.files)


def test_a_leak_in_a_file_name_a_size_or_a_message_would_be_noticed(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, caplog: Any
) -> None:
    """Mutants: the number of rows in a log line, or as the size of a temporary file."""
    command, original = COMMANDS["identity Gaussian"], RowCounter.tabulate

    def pair(kind: str, name: str) -> tuple[Replay, Replay]:
        first, second = (
            replay(
                command,
                kind,
                rows,
                PLAIN_NAMES,
                memory_path / f"{name}{len(rows)}",
                monkeypatch,
                capfd,
                caplog,
            )
            for rows in (table(), table()[1:])
        )
        return first, second

    def telling(counter: Any, layout: Any) -> Any:
        counts = original(counter, layout)
        logging.getLogger("hushtable").debug("%d rows", counts[:4].sum())
        return counts

    def leaving(counter: Any, layout: Any) -> Any:
        counts = original(counter, layout)
        Path("tmp", "rows").write_text("x" * int(counts[:4].sum()))
        return counts

    for name, mutant in (("tell", telling), ("leave", leaving)):
        monkeypatch.setattr(RowCounter, "tabulate", mutant)
        with pytest.raises(AssertionError):
            assert_same(*pair("csv", name), 10**6)
    monkeypatch.setattr(RowCounter, "tabulate", original)
    assert_same(*pair("csv", "honest"), 10**6)
