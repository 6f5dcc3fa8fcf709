"""The processes of a service: one parent that opens no data and answers nothing, its web processes and its workers.

A child that dies is started again, also while a database does not answer; one that refuses to start ends the service
with its own sentence, and so does a database that no child has ever reached.  When the parent is told to stop, or is
gone, the children end what they have begun and follow.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from hushtable.errors import RefusedError
from hushtable.service.config import ServeConfig
from hushtable.service.started import AWAITED
from hushtable.service.web import socket_at

NEEDED = ("argon2", "authlib", "fastapi", "httpx", "uvicorn")
LOOK = 0.2
"""Seconds between two looks at the children."""
GRACE = 30.0
"""Seconds that children get to end; a web process ends its requests in less."""
REFUSED = (1, 2)
"""Exit codes of a process that said why it does not start."""
PAUSE = 1.0
"""Seconds until a child is started again that found no database: a server takes about as long to come back."""


def require_installed() -> None:
    """Refuse to serve without the packages that it needs."""
    if any(find_spec(name) is None for name in NEEDED):
        raise RefusedError(
            "serve.not-installed",
            "Serving needs packages that are not installed here.",
            "Type pip install 'hushtable[serve]'.",
        )


def command(*words: str) -> list[str]:
    """The command line of a child."""
    return [sys.executable, "-m", "hushtable.service.started", *words]


@dataclass
class Child:
    """A process with the way to start it again, and from when on that may be done."""

    begin: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]
    due: float = 0.0
    lived: bool | None = None
    """Whether its first process found its database; not known while that one runs."""

    def ended(self, code: int) -> None:
        """Start it anew after an exit, once its time has come."""
        if self.lived is None:
            self.lived = code != AWAITED
        if code == AWAITED and not self.due:
            self.due = time.monotonic() + PAUSE
        if time.monotonic() >= self.due:
            self.process, self.due = self.begin(), 0.0


@dataclass
class Children:
    """The processes that were started."""

    lifeline: int
    running: list[Child] = field(default_factory=list[Child])

    def start(self, words: Sequence[str], *descriptors: int) -> None:
        """Start one; it holds the lifeline, which breaks when this process is gone."""

        def begin() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command(*words, str(self.lifeline)),
                pass_fds=(self.lifeline, *descriptors),
                stdin=subprocess.DEVNULL,
            )

        self.running.append(Child(begin, begin()))

    def look(self) -> int | None:
        """Start again who was killed or waits for a database; the exit code that ends the service, or None."""
        for child in self.running:
            code = child.process.poll()
            if code in REFUSED:
                return code
            if code is not None:
                child.ended(code)
        if all(child.lived is False for child in self.running):
            raise RefusedError(
                "serve.never-reached",
                "The service's database, or a ledger, has never answered since the service was started.",
                "Look whether its server runs and whether the address in the configuration is right; then start again.",
            )
        return None

    def stop(self) -> None:
        """Tell all to stop, and end those that do not."""
        processes = [child.process for child in self.running]
        for process in processes:
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGTERM)
        limit = time.monotonic() + GRACE
        for process in processes:
            try:
                process.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def serve(file: str | Path, *, port: int | None = None, ready: Callable[[str], None] | None = None) -> int:
    """Serve by a configuration file until told to stop; the exit code."""
    require_installed()
    config = ServeConfig.load(file)
    listening = socket_at(config.host, config.port if port is None else port)
    host, at = listening.getsockname()[:2]
    scheme = "http" if config.certificate is None else "https"
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{at}"
    reading, writing = os.pipe()
    with stop_signals() as stopping:
        children = Children(reading)
        try:
            for number in range(config.processes):
                words = ("web", str(file), str(listening.fileno()), str(number))
                children.start(words, listening.fileno())
            for _ in range(config.workers if config.worker is not None else 0):
                children.start(("worker", str(config.worker)))
            if ready is not None:
                ready(url)
            while not stopping.wait(LOOK):
                code = children.look()
                if code is not None:
                    return code
            return 0
        finally:
            children.stop()
            listening.close()
            os.close(reading)
            os.close(writing)


def work(file: str | Path) -> None:
    """Run a worker by its file until told to stop."""
    from hushtable.service.worker import run_worker

    with stop_signals() as stopping:
        run_worker(file, stopping)


@contextlib.contextmanager
def stop_signals() -> Generator[threading.Event]:
    """An event that is set by what tells a process to stop."""
    stopping = threading.Event()
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}

    def heard(number: int, frame: object) -> None:
        stopping.set()

    for one in before:
        signal.signal(one, heard)
    try:
        yield stopping
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
