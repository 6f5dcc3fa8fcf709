"""All that Spark's own pages and its web service say of an application."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

ALWAYS = ("jobs", "stages", "storage", "environment", "executors", "SQL", "connect")
LINKED = re.compile(rb'href="(/connect/session/[^"]*)"')


@dataclass(frozen=True)
class Since:
    """The first numbers of jobs, stages and queries that are looked at."""

    jobs: int = 0
    stages: int = 0
    sql: int = 0


@dataclass(frozen=True)
class SparkPages:
    """The pages of one application; `url` is its root."""

    url: str
    application: str

    def now(self) -> Since:
        """What comes after all that there is."""
        counts = {
            "jobs": [job["jobId"] for job in self._told("jobs")],
            "stages": [stage["stageId"] for stage in self._told("stages")],
            "sql": [query["id"] for query in self._told("sql?length=100000")],
        }
        return Since(**{name: max(found, default=-1) + 1 for name, found in counts.items()})

    def read(self, since: Since | None = None) -> bytes:
        """Lists of everything, and a page for each job, stage and query; with ``since``, those of later ones alone."""
        first = since or Since()
        return b"\n".join(chain(self._always() if since is None else (), self._each(first)))

    def _always(self) -> Iterator[bytes]:
        for name in ALWAYS:
            page = self.get(f"/{name}/")
            yield page
            for link in sorted(set(LINKED.findall(page))):
                yield self.get(html.unescape(link.decode()))
        for name in ("environment", "allexecutors", "storage/rdd"):
            yield self.get(self._api(name))

    def _each(self, since: Since) -> Iterator[bytes]:
        for job in self._told("jobs"):
            if job["jobId"] >= since.jobs:
                yield json.dumps(job, ensure_ascii=False).encode()
                yield self.get(f"/jobs/job/?id={job['jobId']}")
        for stage in self._told("stages?details=true"):
            if stage["stageId"] >= since.stages:
                yield json.dumps(stage, ensure_ascii=False).encode()
                yield self.get(f"/stages/stage/?id={stage['stageId']}&attempt={stage['attemptId']}")
        for query in self._told("sql?details=true&planDescription=true&length=100000"):
            if query["id"] >= since.sql:
                yield json.dumps(query, ensure_ascii=False).encode()
                yield self.get(f"/SQL/execution/?id={query['id']}")

    def _api(self, name: str) -> str:
        return f"/api/v1/applications/{self.application}/{name}"

    def _told(self, name: str) -> Any:
        return json.loads(self.get(self._api(name)))

    def get(self, path: str) -> bytes:
        """One page; a job or stage that is forgotten meanwhile has none."""
        try:
            with urlopen(self.url + path, timeout=60) as answer:
                return html.unescape(answer.read().decode()).encode()
        except HTTPError as error:
            if error.code == 404:
                return b""
            raise
