"""A disk that fails: an error at every call to the system, one after another, leaves as an error of the ledger."""

from __future__ import annotations

import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hushtable.errors import HushtableError
from hushtable.ledger import Ledger, Unit, verify_ledger
from hushtable.privacy.budget import ZCDP, Cost


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder in memory where there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="hushtable-") as folder:
        yield Path(folder)


TENTH = Cost(0, 10**11)
CALLS = (
    *("open", "close", "fsync", "link", "unlink", "rename", "replace", "mkdir", "stat", "lstat"),
    *("listdir", "scandir", "readlink", "fdopen"),
)
TROUBLES = (errno.EIO, errno.ENOSPC, errno.EACCES)


class Disk:
    """Counts calls to the system and lets one of them fail."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails_at: int | None = None
        self.trouble = errno.EIO

    def reach(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) - 1 == self.fails_at:
            raise OSError(self.trouble, os.strerror(self.trouble), "a name that an error must not show")

    def watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if name == "close":
                real(*given)  # a descriptor is gone even if closing it reports an error
                return self.reach(name)
            self.reach(name)
            made = real(*given, **named)
            return WatchedFile(self, made) if name in ("fdopen", "io.open") else made

        return call


class WatchedFile:
    """An open file whose reads, writes and flushes may fail too."""

    def __init__(self, disk: Disk, file: Any) -> None:
        self._disk, self._file = disk, file

    def __enter__(self) -> WatchedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._disk.reach("file.close")

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._file, name)
        return self._disk.watched(f"file.{name}", real) if name in ("read", "write", "flush") else real


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, disk.watched(name, getattr(os, name)))
        patch.setattr(io, "open", disk.watched("io.open", io.open))
        yield disk


def life(path: Path) -> None:
    """Everything that a ledger does with files."""
    ledger = Ledger.create(path, ZCDP(1), Unit(1))
    spend(ledger)
    again = Ledger.open(path)
    found = again.find("r")
    assert found is not None and found.payloads == (b"noisy",)
    assert again.payload(found.charges[0].number) == b"noisy"
    again.export()
    spend(again, request="s")
    report = verify_ledger(path)
    if not report.ok:
        raise HushtableError("found", report.findings[0])


def spend(ledger: Ledger, request: str = "r") -> None:
    reservation = ledger.reserve(cost=TENTH, kind="release", request=request, detail={})
    ledger.store(ledger.charge(reservation, TENTH), b"noisy")
    ledger.settle(reservation)


@pytest.mark.long
@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.slow), 10], ids=["every call", "some calls"]
)
def test_only_errors_of_the_ledger_leave_a_failing_disk(
    quick: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    with watched(monkeypatch) as disk:
        life(quick / "whole.ledger")
    calls = disk.calls
    assert {"open", "fsync", "link", "mkdir", "stat", "listdir", "replace", "fdopen", "file.write"} <= set(
        calls
    )
    refused = 0
    troubled = [(n, trouble) for n, name in enumerate(calls) for trouble in TROUBLES if name != "stat"]
    troubled += [(n, TROUBLES[n % 3]) for n, name in enumerate(calls) if name == "stat"]
    for n, trouble in troubled[::step]:
        path = quick / str(n) / "a.ledger"
        path.parent.mkdir()
        with watched(monkeypatch) as disk:
            disk.fails_at, disk.trouble = n, trouble
            try:
                life(path)
            except HushtableError as error:
                refused += 1
                assert "a name that an error must not show" not in str(error)
                assert error.__cause__ is None
        usable_after_all(path)
        shutil.rmtree(path.parent)
    assert refused > len(troubled) / step / 2


def usable_after_all(path: Path) -> None:
    """Whatever the failed run left opens, is true to what it charged, and can be spent from."""
    if not path.exists():
        Ledger.create(path, ZCDP(1), Unit(1))
    ledger = Ledger.open(path)
    assert ledger.verify().ok
    charges = [c for holding in ledger.reservations() for c in holding.charges]
    assert ledger.spent() == sum((c.cost for c in charges), Cost.ZERO)
    spend(ledger, request="after")
    assert ledger.verify().ok


def test_a_failing_disk_behind_an_existing_second_name_is_an_error_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.ledger"
    Ledger.create(path, ZCDP(1), Unit(1))
    os.link(path, path.with_name(f".a.ledger.{'0' * 16}.tmp"))
    for n in range(40):
        with watched(monkeypatch) as disk:
            disk.fails_at = n
            try:
                Ledger.open(path)
            except HushtableError as error:
                assert error.code == "ledger.unreadable"
