"""The loop of a worker: open the data, take a job, do it, write what came of it; say every second that it lives.

Whatever goes wrong becomes the job's refusal, in our words; what passes by itself is tried again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from hushtable.addresses import scheme_of
from hushtable.errors import HushtableError, RefusedError, SourceError, unexpected
from hushtable.ledger import Ledger
from hushtable.privacy import Cost
from hushtable.service.catalogue import GONE, OPEN, Dataset
from hushtable.service.config import ServeConfig, WorkerConfig
from hushtable.service.jobs import JobAnswer, ServiceJob
from hushtable.service.problems import PASSING, problem_text, status_of
from hushtable.service.service import Service
from hushtable.service.storage import new_id
from hushtable.service.worker.doing import KINDS, JobTools
from hushtable.service.worker.lent_session import LentSession
from hushtable.version import __version__
from hushtable.watching import Progress, silent

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
AT_ONCE = 8
"""Checks that a worker does at once: while one waits for the disk others count, and their entries share a commit.  With
more of them a worker needs more connections to PostgreSQL, two each, and gains little."""
TELL = 0.5
"""Seconds between two words on how far a curator's job is."""


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
class Lane:
    """Jobs that are done side by side, and the threads that do them."""

    pool: ThreadPoolExecutor
    most: int
    light: bool
    running: list[Future[None]] = field(default_factory=list[Future[None]])

    def room(self) -> int:
        """How many more can be begun; a fault of one that has ended is raised."""
        for ended in [one for one in self.running if one.done()]:
            self.running.remove(ended)
            ended.result()
        return self.most - len(self.running)


@dataclass
class Worker:
    """One worker."""

    service: Service
    data: dict[str, str]
    id: str = field(default_factory=lambda: f"{os.getpid()}-{new_id()}")
    stopping: threading.Event = field(default_factory=threading.Event)
    _sessions: dict[str, tuple[str, LentSession]] = field(default_factory=dict[str, tuple[str, LentSession]])
    _opening: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Work until told to stop; what has begun is ended."""
        if not self.service.storage.shared:
            self.service.jobs.forget_workers()
        threading.Thread(target=self._beat, daemon=True).start()
        with ThreadPoolExecutor(1) as heavy, ThreadPoolExecutor(AT_ONCE) as light:
            lanes = Lane(heavy, 1, light=False), Lane(light, AT_ONCE, light=True)
            looked = 0.0
            while not self.stopping.is_set():
                try:
                    if time.monotonic() - looked > LOOK:
                        self.open_data()
                        looked = time.monotonic()
                    begun = [self._begin(lane) for lane in lanes]
                    if not any(begun):
                        self.stopping.wait(IDLE)
                except HushtableError as error:
                    if error.code not in PASSING:
                        raise
                    self.stopping.wait(PAUSE)

    def _begin(self, lane: Lane) -> bool:
        """Begin as many jobs as a lane has room for; whether there was one."""
        room = lane.room()
        found = self.service.jobs.take(self.id, room, light=lane.light) if room else []
        for job in found:
            lane.running.append(lane.pool.submit(self.do, job))
        return bool(found)

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

    def _session(self, dataset: Dataset, spender: str | None) -> LentSession:
        """The session of a dataset, with its data open, that spends as somebody."""
        with self._opening:
            kept = self._sessions.get(dataset.name)
            if kept is None or kept[0] != dataset.schema_yaml:
                kept = self._sessions[dataset.name] = (dataset.schema_yaml, self._opened(dataset))
        return kept[1].lent_to(spender)

    def _lose(self, name: str) -> None:
        """Data that cannot be read any more: the next look tries to open them anew, and until then nothing is asked."""
        with self._opening:
            self._sessions.pop(name, None)
        self.service.catalogue.set_condition(name, GONE)

    def _opened(self, dataset: Dataset) -> LentSession:
        if dataset.name not in self.data:
            raise RefusedError(
                "serve.no-data",
                "The worker's configuration does not say where the data of this dataset are.",
                "Add them to [worker.data], or start the worker that knows them.",
            )
        address = self.data[dataset.name]
        opened = LentSession.open(address, schema=dataset.schema, ledger=dataset.ledger_address)
        opened.read_ahead()
        return opened

    def do(self, job: ServiceJob) -> None:
        """Do a job, and write what came of it.

        However long the service's own database is away, its answer is written when it is back: until then nobody else
        takes the job, because this worker lives.
        """
        answer: JobAnswer | None = None
        tried = 0
        while True:
            tried += 1
            try:
                answer = answer or self._done(job, last=tried >= MOST_TRIES)
                self.service.jobs.finish(job, self.id, answer)
                return
            except HushtableError as error:
                if error.code not in PASSING:
                    raise
                if self.stopping.wait(PAUSE):
                    return  # the next worker takes it, and finds in the ledger what was stored

    def _done(self, job: ServiceJob, *, last: bool) -> JobAnswer:
        """What to write: an answer or a refusal; what passes by itself is raised, but for the last time."""
        session = None
        try:
            dataset = self.service.catalogue.named(job.dataset)
            if dataset is None:
                raise RefusedError("dataset.absent", "There is no such dataset.", "It was removed.")
            session = self._session(dataset, job.spender)
            outcome = KINDS[job.kind](JobTools(session, dataset, self.service.shelf, job, self._telling(job)))
            answer = JobAnswer(200, json.dumps(outcome.shown), outcome.made)
        except SourceError as error:  # its text may name the place of the data
            log.error("job %s: %s", job.id, error.code)
            self._lose(job.dataset)
            refusal = RefusedError(
                "serve.data-unreadable",
                "The data of this dataset cannot be read at the moment.",
                "Ask its curator to look at the worker.",
            )
            answer = JobAnswer(status_of(refusal), problem_text(refusal))
        except HushtableError as error:
            if error.code in PASSING and not last:
                raise
            log.info("job %s: %s", job.id, error.code)
            answer = JobAnswer(status_of(error), problem_text(error))
        except Exception as error:
            refusal = unexpected(error)
            log.error("job %s: %s", job.id, refusal.message)
            answer = JobAnswer(status_of(refusal), problem_text(refusal))
        return answer if session is None else _charged(answer, session.ledger, job.request)

    def _telling(self, job: ServiceJob) -> Progress:
        """Writes how far a curator's job is, now and then; of an analyst's nothing is told."""
        if job.spender is not None:
            return silent
        told = [0.0]

        def tell(stage: str, done: int, total: int) -> None:
            if time.monotonic() - told[0] > TELL:
                told[0] = time.monotonic()
                with contextlib.suppress(HushtableError):
                    self.service.jobs.progress(job, json.dumps([stage, done, total]))

        return tell

    def _beat(self) -> None:
        while not self.stopping.wait(BEAT):
            with contextlib.suppress(HushtableError):
                self.service.jobs.live(self.id, __version__)


def _charged(answer: JobAnswer, ledger: Ledger, request: str) -> JobAnswer:
    """With what the ledger charged and holds for the request."""
    with ledger.still() as entries:
        found = ledger.holding(request)
    cost = Cost.ZERO if found is None else found.drawn + found.held
    return answer._replace(charged=json.dumps(cost.to_dict()), entries=entries)


def run_worker(file: str | Path, stopping: threading.Event) -> None:
    """Run a worker by its file until told to stop."""
    config = WorkerConfig.load(file)
    serving = ServeConfig.load(config.serve)
    with only_worker(serving):
        Worker(Service.open(serving), dict(config.data), stopping=stopping).run()
