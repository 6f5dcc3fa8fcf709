"""A service that runs, for tests: real processes on loopback, and somebody who talks to them over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

HUSH = [sys.executable, "-c", "from hushtable.cli import main; main()"]


@dataclass
class Running:
    """A started service: where it listens, its process, and who may sign in."""

    url: str
    process: subprocess.Popen[str]
    password: str
    log: Path

    def signed_in(self, name: str, password: str | None = None) -> Visitor:
        """Somebody in a browser."""
        visitor = Visitor(self.url)
        visitor.sign_in(name, password or self.password)
        return visitor

    def programs(self, *names: str) -> dict[str, Visitor]:
        """Programs with a token of each of some people."""
        return {name: self.signed_in(name).program() for name in names}


class Visitor:
    """One client: a browser with a cookie, or a program with a token."""

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)

    def sign_in(self, name: str, password: str) -> None:
        answer = self.http.post("/v1/sign-in", json={"name": name, "password": password})
        assert answer.status_code == 200, answer.text
        self.http.headers["x-csrf-token"] = self.http.get("/v1/me").json()["csrf"]

    def program(self, scopes: Sequence[str] = ("read", "spend", "manage")) -> Visitor:
        """A program that speaks for this person."""
        made = self.http.post("/v1/tokens", json={"label": "test", "scopes": list(scopes)})
        assert made.status_code == 201, made.text
        return Visitor(str(self.http.base_url), made.json()["token"])

    def spend(self, path: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
        """Hand a job in."""
        return self.http.post(path, json=body, headers={"idempotency-key": key or uuid.uuid4().hex})

    def done(self, handed_in: httpx.Response, patience: float = 90.0) -> httpx.Response:
        """The result of a job, once it is there."""
        assert handed_in.status_code == 202, handed_in.text
        place, limit = handed_in.headers["location"], time.time() + patience
        while True:
            told = self.http.get(place).json()
            if told["state"] != "waiting":
                return self.http.get(f"{place}/result")
            assert time.time() < limit, told
            time.sleep(min(0.2, max(0.02, told["ready"] - time.time())))


@contextmanager
def started(
    words: Sequence[str],
    log: Path,
    verify: ssl.SSLContext | bool = True,
    ready: str = "/readyz",
    **environment: str,
) -> Generator[Running]:
    """`hush serve` with some flags, until the block ends; ``verify`` says which certificate is trusted."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*HUSH, "serve", *words, "--json"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | {"HUSH_LOG": "INFO"} | environment,
        )
        try:
            said = ""
            while not said.endswith("}\n"):
                line = process.stdout.readline() if process.stdout else ""
                assert line, log.read_text()
                said += line
            told = json.loads(said)
            running = Running(told["url"], process, told.get("password", ""), log)
            place = f"{running.url}{ready}"
            wait_for(lambda: httpx.get(place, verify=verify, trust_env=False).status_code == 200)
            yield running
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def wait_for(condition: Any, patience: float = 60.0) -> None:
    """Wait until something holds."""
    limit = time.time() + patience
    while True:
        try:
            if condition():
                return
        except httpx.HTTPError:
            pass
        assert time.time() < limit, "it never came"
        time.sleep(0.05)


def released_in(visitor: Visitor, dataset: str = "town") -> str:
    """The id of the first release of tables that a visitor sees, once there is one."""
    found: list[str] = []

    def look() -> bool:
        listed = visitor.http.get(f"/v1/datasets/{dataset}/releases").json()["items"]
        found[:] = [one["id"] for one in listed if one["kind"] == "tables"]
        return bool(found)

    wait_for(look)
    return found[-1]


def children_of(process: int) -> list[int]:
    """Processes that a process started."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in re.findall(r"\d+", found)]
