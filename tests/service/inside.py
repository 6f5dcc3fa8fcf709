"""A service inside the test's own process: its application, people by role, and a worker that is called by hand."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
from sites import Site
from starlette.testclient import TestClient

from hushtable.service.web.application import application
from hushtable.service.worker import Worker


class Inside:
    """A site whose requests are answered here."""

    def __init__(self, site: Site, **settings: Any) -> None:
        self.site, self.service = site, site.service
        self.app = application(site.service)
        names = site.tables
        data = {name: str(site.folder / "data" / f"{name}.csv") for name in names}
        self.worker = Worker(site.service, data)
        self.worker.open_data()

    def client(self, **settings: Any) -> TestClient:
        """A browser."""
        return TestClient(self.app, base_url="http://testserver", **settings)

    def ask(self, name: str | None, method: str, path: str, **more: Any) -> httpx.Response:
        """A request of a program with somebody's token."""
        headers = dict(more.pop("headers", {}))
        if name is not None:
            headers["authorization"] = f"Bearer {self.site.tokens[name]}"
        return self.client().request(method, path, headers=headers, **more)

    def spend(self, name: str, path: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
        """Hand a job in."""
        headers = {"idempotency-key": key or uuid.uuid4().hex}
        return self.ask(name, "POST", path, json=body, headers=headers)

    def work(self) -> int:
        """Do all jobs that wait, and tell how many."""
        done = 0
        while found := self.service.jobs.take(self.worker.id):
            for job in found:
                self.worker.do(job)
            done += len(found)
        return done

    def made(self, name: str, path: str, body: dict[str, Any]) -> str:
        """The id of what a job made."""
        handed = self.spend(name, path, body)
        assert handed.status_code == 202, handed.text
        self.work()
        told = self.ask(name, "GET", handed.headers["location"]).json()
        assert told["state"] == "done", self.ask(name, "GET", f"{handed.headers['location']}/result").text
        return told["made"]
