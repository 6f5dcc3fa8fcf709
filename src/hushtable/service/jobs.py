"""Jobs: what was handed in, who works on it, and what came of it.

A job is written down before it is acknowledged, with the id under which the ledger will know its spend.  A worker takes
the job whose slot ends first, says every second that it lives, and writes the answer; a job whose worker fell silent is
taken again, and the ledger gives what was stored.  Nobody sees an answer before its slot has ended.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hushtable.errors import RefusedError, UsageError
from hushtable.privacy import Cost
from hushtable.service.slots import LONGER, SlotFacts, first_slot
from hushtable.service.storage import Record, Storage, TableRows, new_id

SILENT = 10.0
"""Seconds without a sign of life after which a worker counts as gone: ten of its signs, so that a long pause of the
machine is not taken for death.  Were it wrong, the ledger's own lock would still keep two from one request."""
MOST_WAITING = 100
"""Jobs that one person may have waiting: more than a person reads, and a minute's work of one worker."""
MOST_ALL = 20_000
"""Jobs that may wait in all: what a night's work of one worker clears."""
FREE = json.dumps(Cost.ZERO.to_dict())
WAITING = ("queued", "running")
UNSEEN = "((slot > ? AND state <> 'cancelled') OR state IN ('queued', 'running'))"
"""In words of SQL, what nobody may see yet: its slot has not ended, or it is late."""
AHEAD, REGRET = 60.0, 0.25
"""A job may be begun so many seconds before the end of its slot, or two slots where that is more, so that a worker that
was killed can catch up; and not in the first quarter of a slot's time after it was handed in.  Until then it can be
cancelled: a time that follows from public facts, so that trying to cancel does not tell how fast a worker is."""
BEGUN = (
    f"(slot - CASE WHEN 2 * seconds > {AHEAD} THEN 2 * seconds ELSE {AHEAD} END <= ? "
    f"AND submitted + {REGRET} * seconds <= ?)"
)
"""In words of SQL, of a job: that this time has come."""
LIGHT = "check"
"""The kind of job of which a worker does many at once: each is short, and takes its time to wait for the disk."""


class SlotLength(NamedTuple):
    """How much longer the slots of a kind of job have become, and how often one was overrun."""

    kind: str
    factor: float
    overruns: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, by kind."""
        return {"factor": self.factor, "overruns": self.overruns}


class JobCount(NamedTuple):
    """How many jobs are in a state."""

    state: str
    jobs: int


@dataclass(frozen=True)
class JobOrder:
    """What is handed in: who asks what of which dataset, under which key."""

    dataset: str
    person: str
    spender: str | None
    kind: str
    route: str
    key: str
    body: str
    price: str = FREE
    stands: str = "{}"
    """How the thing that is gone on with stands: a repetition after a crash sees that its step was taken."""

    @property
    def body_hash(self) -> str:
        """What tells two bodies under one key apart."""
        return hashlib.sha256(f"{self.route}\n{self.body}".encode()).hexdigest()

    @property
    def request(self) -> str:
        """The id of the spend in the ledger: of this person, dataset and route alone, so a guessed key is no use."""
        facts = json.dumps([self.person, self.dataset, self.route, self.key])
        return f"job-{hashlib.sha256(facts.encode()).hexdigest()[:40]}"


@dataclass(frozen=True)
class ServiceJob:
    """A job as it is written down."""

    id: str
    dataset: str
    person: str
    spender: str | None
    kind: str
    body: str
    stands: str
    request: str
    price: str
    state: str
    submitted: float
    slot: float
    seconds: float
    factor: float
    attempts: int
    made: str | None
    """The id of the release or choice that it made."""
    status: int | None
    result: str | None
    body_hash: str
    progress: str | None

    @classmethod
    def of(cls, row: Record) -> ServiceJob:
        """From its row."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def shown(self, now: float) -> str:
        """How it stands for those who may see it: nothing before its slot has ended."""
        if self.state == "cancelled":
            return "cancelled"
        return "waiting" if self.state in WAITING or now < self.slot else self.state

    @property
    def begins(self) -> float:
        """From when on it may be worked on, and not cancelled any more."""
        return max(self.submitted + REGRET * self.seconds, self.slot - max(AHEAD, 2 * self.seconds))

    def to_dict(self, now: float) -> dict[str, Any]:
        """Plain JSON values: public facts, and once the slot has ended what came of it."""
        state = self.shown(now)
        told = {"id": self.id, "dataset": self.dataset, "kind": self.kind, "state": state}
        told |= {"submitted": self.submitted, "begins": self.begins, "ready": self.slot}
        told |= {"price": json.loads(self.price)}
        told |= {"made": self.made} if state == "done" else {}
        return told | ({"progress": self.steps(now)} if self.steps(now) else {})

    def steps(self, now: float) -> list[Any] | None:
        """How far a curator's job is: a step, how much of it is done, and of how much; of an analyst's, nothing."""
        if self.spender is not None or self.progress is None or self.shown(now) != "waiting":
            return None
        return json.loads(self.progress)


class JobAnswer(NamedTuple):
    """What came of a job: its status and bytes, the id of what it made, and what the ledger charged and holds for it.

    ``entries`` is how many the ledger had then.
    """

    status: int
    result: str
    made: str | None = None
    charged: str = FREE
    entries: int = 0


class Jobs:
    """The table of jobs."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def submit(self, order: JobOrder, facts: SlotFacts | None) -> tuple[ServiceJob, bool]:
        """Write an order down, and whether it is new; ``facts`` are None where slots are off.

        The same key with the same body is the same job, with another body it is refused.
        """
        with self._storage.writing() as rows:
            earlier = self._earlier(rows, order)
            if earlier is not None:
                return earlier, False
            _require_room(rows, order)
            now = time.time()
            factor = _factor(rows, order.kind)
            ends, seconds = (now, 0.0) if facts is None else _slot(rows, order, facts, factor, now)
            row: dict[str, Any] = {
                "id": new_id(),
                "dataset": order.dataset,
                "person": order.person,
                "spender": order.spender,
                "kind": order.kind,
                "route": order.route,
                "key": order.key,
                "body_hash": order.body_hash,
                "body": order.body,
                "stands": order.stands,
                "request": order.request,
                "price": order.price,
                "state": "queued",
                "submitted": now,
                "slot": ends,
                "seconds": seconds,
                "factor": factor,
                "attempts": 0,
                "late": 0,
                "charged": FREE,
                "entries": 0,
            }
            written = rows.add("job", **row)
        if not written:  # another process was faster
            return self.submit(order, facts)
        return ServiceJob.of(row | {"made": None, "status": None, "result": None, "progress": None}), True

    def earlier(self, order: JobOrder) -> ServiceJob | None:
        """The job that was handed in under the same key; refused if that had another body."""
        with self._storage.reading() as rows:
            return self._earlier(rows, order)

    @staticmethod
    def _earlier(rows: TableRows, order: JobOrder) -> ServiceJob | None:
        row = rows.one(
            "SELECT * FROM job WHERE person = ? AND dataset = ? AND route = ? AND key = ?",
            order.person,
            order.dataset,
            order.route,
            order.key,
        )
        if row is not None and row["body_hash"] != order.body_hash:
            raise UsageError(
                "request.key-reused",
                "This Idempotency-Key was used for another request.",
                "Send a new key with a new request.",
            )
        return None if row is None else ServiceJob.of(row)

    def get(self, dataset: str, job: str) -> ServiceJob | None:
        """A job of a dataset."""
        with self._storage.reading() as rows:
            row = rows.one("SELECT * FROM job WHERE id = ? AND dataset = ?", job, dataset)
        return None if row is None else ServiceJob.of(row)

    def making(self, dataset: str, kind: str, made: str) -> ServiceJob | None:
        """The job that made a choice or release."""
        asked = "SELECT * FROM job WHERE dataset = ? AND kind = ? AND request = ?"
        with self._storage.reading() as rows:
            row = rows.one(asked, dataset, kind, made)
        return None if row is None else ServiceJob.of(row)

    def listed(
        self, dataset: str, person: str | None, after: str, most: int, kind: str | None = None
    ) -> list[ServiceJob]:
        """Jobs of a dataset, newest first, of one person or of all; ``after`` is the last id of the page before."""
        asked = "SELECT * FROM job WHERE dataset = ? AND id < ?"
        values: list[Any] = [dataset, after or "~"]
        for column, value in (("person", person), ("kind", kind)):
            if value is not None:
                asked += f" AND {column} = ?"
                values.append(value)
        with self._storage.reading() as rows:
            found = rows.all(f"{asked} ORDER BY id DESC LIMIT ?", *values, most)
        return [ServiceJob.of(row) for row in found]

    def unended(self, dataset: str, routes: Sequence[str]) -> bool:
        """Whether a job of one of these routes waits, or has its slot still before it."""
        marks, now = ", ".join("?" * len(routes)), time.time()
        asked = f"SELECT 1 AS one FROM job WHERE dataset = ? AND route IN ({marks}) AND {UNSEEN} LIMIT 1"
        with self._storage.reading() as rows:
            return rows.one(asked, dataset, *routes, now) is not None

    def cancel(self, job: ServiceJob) -> bool:
        """Cancel a job whose time to be begun has not come; whether it was in time.

        Where slots are off it is in time until a worker takes it.
        """
        now, fresh = time.time(), f"state = 'queued' AND attempts = 0 AND (seconds = 0 OR NOT {BEGUN})"
        with self._storage.writing() as rows:
            done = f"UPDATE job SET state = 'cancelled' WHERE id = ? AND {fresh}"
            return rows.run(done, job.id, now, now) == 1

    def take(self, worker: str, most: int = 1, *, light: bool | None = None) -> list[ServiceJob]:
        """The jobs whose slots end first among those that may be begun and nobody works on: this worker's from now on.

        ``light`` asks for those of which a worker does many at once, or for the others.
        """
        now = time.time()
        kinds = {None: "", True: f"AND kind = '{LIGHT}'", False: f"AND kind <> '{LIGHT}'"}[light]
        with self._storage.writing() as rows:
            found = rows.all(
                f"SELECT * FROM job WHERE (state = 'queued' OR (state = 'running' AND heartbeat < ?)) {kinds} "
                f"AND {BEGUN} ORDER BY slot, id LIMIT ? {rows.locking}",
                now - SILENT,
                now,
                now,
                most,
            )
            if found:
                marks = ", ".join("?" * len(found))
                rows.run(
                    "UPDATE job SET state = 'running', worker = ?, heartbeat = ?, attempts = attempts + 1 "
                    f"WHERE id IN ({marks})",
                    worker,
                    now,
                    *(row["id"] for row in found),
                )
        return [ServiceJob.of(dict(r) | {"state": "running", "attempts": r["attempts"] + 1}) for r in found]

    def forget_workers(self) -> None:
        """Hand all jobs out again: for the only worker, when it starts."""
        with self._storage.writing() as rows:
            rows.run("UPDATE job SET state = 'queued' WHERE state = 'running'")

    def live(self, worker: str, version: str) -> None:
        """A worker's sign of life, which counts for all that it works on."""
        now = time.time()
        with self._storage.writing() as rows:
            if not rows.run("UPDATE live_worker SET heartbeat = ? WHERE id = ?", now, worker):
                rows.add("live_worker", id=worker, heartbeat=now, version=version)
            rows.run("UPDATE job SET heartbeat = ? WHERE state = 'running' AND worker = ?", now, worker)

    def workers(self) -> int:
        """How many workers live."""
        asked = "SELECT count(*) AS n FROM live_worker WHERE heartbeat > ?"
        with self._storage.reading() as rows:
            found = rows.one(asked, time.time() - SILENT)
        return 0 if found is None else int(found["n"])

    def progress(self, job: ServiceJob, told: str) -> None:
        """Write how far a job is."""
        with self._storage.writing() as rows:
            rows.run("UPDATE job SET progress = ? WHERE id = ? AND state = 'running'", told, job.id)

    def finish(self, job: ServiceJob, worker: str, done: JobAnswer) -> bool:
        """Write what came of a job, if it is still this worker's.

        Past its slot's end it is late: it is shown at the end of a longer one, and slots of its kind stay longer.
        """
        state = "done" if done.status < 400 else "refused"
        with self._storage.writing() as rows:
            now, slot, late = time.time(), job.slot, 0
            if job.seconds and now > slot:
                late, longer = 1, job.seconds * LONGER
                slot = (int(now / longer) + 1) * longer
                _lengthen(rows, job)
            changed = rows.run(
                "UPDATE job SET state = ?, status = ?, result = ?, made = ?, charged = ?, entries = ?, slot = ?, "
                "late = ? WHERE id = ? AND worker = ? AND state = 'running'",
                state,
                done.status,
                done.result,
                done.made,
                done.charged,
                done.entries,
                slot,
                late,
                job.id,
                worker,
            )
            if done.made is not None:
                rows.run("UPDATE kept_release SET slot = ? WHERE job = ?", slot, job.id)
            return changed == 1

    def overruns(self) -> tuple[SlotLength, ...]:
        """Of each kind of job: how much longer its slots have become, and how often one was overrun."""
        with self._storage.reading() as rows:
            found = rows.all("SELECT kind, factor, overruns FROM slot_length ORDER BY kind")
        return tuple(SlotLength(row["kind"], row["factor"], row["overruns"]) for row in found)

    def counts(self) -> tuple[JobCount, ...]:
        """How many jobs are in each state, as everybody may know it: those whose slots have not ended wait."""
        seen = f"CASE WHEN {UNSEEN} THEN 'waiting' ELSE state END"
        with self._storage.reading() as rows:
            found = rows.all(
                f"SELECT {seen} AS seen, count(*) AS n FROM job GROUP BY 1 ORDER BY 1", time.time()
            )
        return tuple(JobCount(row["seen"], row["n"]) for row in found)


def _factor(rows: TableRows, kind: str) -> float:
    known = rows.one("SELECT factor FROM slot_length WHERE kind = ?", kind)
    return 1.0 if known is None else float(known["factor"])


def _slot(
    rows: TableRows, order: JobOrder, facts: SlotFacts, factor: float, now: float
) -> tuple[float, float]:
    asked = (
        "SELECT slot, count(*) AS n, sum(CASE WHEN person = ? THEN 1 ELSE 0 END) AS mine "
        "FROM job WHERE slot > ? AND state <> 'cancelled' GROUP BY slot"
    )
    used = {row["slot"]: (int(row["n"]), int(row["mine"])) for row in rows.all(asked, order.person, now)}
    return first_slot(now, facts, factor, lambda ends: used.get(ends, (0, 0)))


def _lengthen(rows: TableRows, job: ServiceJob) -> None:
    """Count an overrun, and make slots longer unless they are longer already than when the job was handed in."""
    rows.add("slot_length", kind=job.kind, factor=1.0, overruns=0)
    rows.run("UPDATE slot_length SET overruns = overruns + 1 WHERE kind = ?", job.kind)
    longer = "UPDATE slot_length SET factor = factor * ? WHERE kind = ? AND factor <= ?"
    rows.run(longer, LONGER, job.kind, job.factor)


def _require_room(rows: TableRows, order: JobOrder) -> None:
    """Refuse what is too much; a job counts until its slot has ended, or a refusal would tell how fast a worker is."""
    waiting, now = f"SELECT count(*) AS n FROM job WHERE {UNSEEN}", time.time()
    everybody, mine = rows.one(waiting, now), rows.one(f"{waiting} AND person = ?", now, order.person)
    if (everybody is not None and everybody["n"] >= MOST_ALL) or (
        mine is not None and mine["n"] >= MOST_WAITING
    ):
        raise RefusedError(
            "serve.too-many-jobs",
            "Too many jobs are waiting.",
            "Hand in the next one when the first of them are done.",
        )
