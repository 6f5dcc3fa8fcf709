"""The loop of a worker: open the data, take a job, do it, write what came of it; say every second that it lives.

Whatever goes wrong becomes the job's refusal, in our words; what passes by itself is tried again.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from hushtable.addresses import scheme_of
from hushtable.errors import HushtableError, RefusedError, unexpected
from hushtable.service.catalogue import GONE, OPEN, Dataset
from hushtable.service.config import ServeConfig, WorkerConfig
from hushtable.service.jobs import ServiceJob
from hushtable.service.problems import PASSING, problem_text, status_of
from hushtable.service.service import Service
from hushtable.service.storage import new_id
from hushtable.service.worker.doing import KINDS, Bench
from hushtable.session import Session
from hushtable.version import __version__

log = logging.getLogger("hushtable.worker")
IDLE = 0.05
"""Seconds between two looks for a job: an idle worker asks the database twenty times a second; no job waits long."""
BEAT = 1.0
"""Seconds between two signs of life, a tenth of what counts as silence."""
LOOK = 5.0
"""Seconds between two looks at datasets that are not open."""
MOST_TRIES = 200
"""How often what passes by itself is tried: for about two minutes, longer than a database takes to come back."""
PAUSE = 0.5
"""Seconds between two of these tries."""


@contextlib.contextmanager
def only_worker(config: ServeConfig) -> Generator[None]:
    """Be the only worker of a database in a file; the lock ends with the process."""
    if scheme_of(config.database, ()) is not None:
        yield
        return
    with Path(f"{config.database}.worker").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RefusedError(
                "serve.second-worker",
                "Another worker uses this database, and a database in a file serves one.",
                "Stop it, or move the service to PostgreSQL for several workers.",
            ) from None
        yield


@dataclass
class Worker:
    """One worker."""

    service: Service
    data: dict[str, str]
    id: str = field(default_factory=lambda: f"{os.getpid()}-{new_id()}")
    stopping: threading.Event = field(default_factory=threading.Event)
    _sessions: dict[str, tuple[str, Session]] = field(default_factory=dict[str, tuple[str, Session]])
    _job: str | None = None

    def run(self) -> None:
        """Work until told to stop."""
        if not self.service.storage.shared:
            self.service.jobs.forget_workers()
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        looked = 0.0
        while not self.stopping.is_set():
            try:
                if time.monotonic() - looked > LOOK:
                    self.open_data()
                    looked = time.monotonic()
                job = self.service.jobs.take(self.id)
                if job is None:
                    self.stopping.wait(IDLE)
                else:
                    self.do(job)
            except HushtableError as error:
                if error.code not in PASSING:
                    raise
                self.stopping.wait(PAUSE)

    def open_data(self) -> None:
        """Open the data of every dataset that is not open, and say what became of it."""
        for dataset in self.service.catalogue.all():
            if dataset.name not in self.data:
                continue
            known = dataset.name in self._sessions and self._sessions[dataset.name][0] == dataset.schema_yaml
            if known and dataset.condition == OPEN:
                continue
            try:
                _ = self._session(dataset, None).ledger
                condition = OPEN
            except HushtableError as error:
                if error.code in PASSING:
                    raise
                log.error("dataset %s: %s", dataset.name, error.code)
                condition = GONE
            if condition != dataset.condition:
                self.service.catalogue.set_condition(dataset.name, condition)

    def _session(self, dataset: Dataset, spender: str | None) -> Session:
        """The session of a dataset, with its data open, that spends as somebody."""
        kept = self._sessions.get(dataset.name)
        if kept is None or kept[0] != dataset.schema_yaml:
            if dataset.name not in self.data:
                raise RefusedError(
                    "serve.no-data",
                    "The worker's configuration does not say where the data of this dataset are.",
                    "Add them to [worker.data], or start the worker that knows them.",
                )
            opened = Session.open(
                self.data[dataset.name], schema=dataset.schema, ledger=dataset.ledger_address
            )
            kept = self._sessions[dataset.name] = (dataset.schema_yaml, opened)
        speaking = copy.copy(kept[1])
        speaking.spender = spender
        return speaking

    def do(self, job: ServiceJob) -> None:
        """Do a job, and write what came of it."""
        self._job = job.id
        try:
            for tried in range(MOST_TRIES):
                try:
                    status, result, made = self._done(job, last=tried == MOST_TRIES - 1)
                    self.service.jobs.finish(job, self.id, status, result, made)
                    return
                except HushtableError as error:
                    if error.code not in PASSING:
                        raise
                    self._sessions.pop(job.dataset, None)
                    self.stopping.wait(PAUSE)
        finally:
            self._job = None

    def _done(self, job: ServiceJob, *, last: bool) -> tuple[int, str, str | None]:
        """What to write: an answer or a refusal; what passes by itself is raised, but for the last time."""
        try:
            dataset = self.service.catalogue.named(job.dataset)
            if dataset is None:
                raise RefusedError("dataset.absent", "There is no such dataset.", "It was removed.")
            session = self._session(dataset, job.spender)
            outcome = KINDS[job.kind](Bench(session, dataset, self.service.shelf, job))
            return 200, json.dumps(outcome.told), outcome.made
        except HushtableError as error:
            if error.code in PASSING and not last:
                raise
            log.info("job %s: %s", job.id, error.code)
            return status_of(error), problem_text(error), None
        except Exception as error:
            refusal = unexpected(error)
            log.error("job %s: %s", job.id, refusal.message)
            return status_of(refusal), problem_text(refusal), None

    def _beat(self) -> None:
        while not self.stopping.wait(BEAT):
            with contextlib.suppress(HushtableError):
                self.service.jobs.live(self.id, __version__, self._job)


def run_worker(file: str | Path, stopping: threading.Event) -> None:
    """Run a worker by its file until told to stop."""
    config = WorkerConfig.load(file)
    serving = ServeConfig.load(config.serve)
    with only_worker(serving):
        Worker(Service.open(serving), dict(config.data), stopping=stopping).run()
