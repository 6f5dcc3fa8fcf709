"""A job: what was handed in to be paid for, and its answer once the service gives it."""

from __future__ import annotations

import time
from typing import Any

from hushtable_client.connection import Connection, new_key, waiting
from hushtable_client.errors import ServiceError

WAITING = "job.waiting"


class Job:
    """A job at its address; ``key`` finds it again."""

    def __init__(self, connection: Connection, told: dict[str, Any], key: str) -> None:
        self._connection, self.key = connection, key
        self.id, self.kind = str(told["id"]), str(told["kind"])
        self._place = f"/v1/datasets/{told['dataset']}/jobs/{self.id}"
        self.told = told

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.kind}, {self.told['state']}>"

    @property
    def state(self) -> str:
        """waiting, done, refused or cancelled, asked anew."""
        self.told = self._connection.get(self._place)
        return str(self.told["state"])

    @property
    def made(self) -> str | None:
        """The id of the release or choice that it made."""
        return self.told.get("made")

    def cancel(self) -> None:
        """Cancel it, if nobody has begun it; refused otherwise."""
        self.told = self._connection.send("DELETE", self._place).json()

    def result(self, *, timeout: float | None = None) -> dict[str, Any]:
        """What came of it, waiting as the service asks; its refusal is raised, and so is a timeout."""
        ends = None if timeout is None else time.monotonic() + timeout
        while True:
            answer = self._connection.send("GET", self._place)
            self.told = answer.json()
            if self.told["state"] != "waiting":
                return self._connection.get(f"{self._place}/result")
            pause = waiting(answer) or 1.0
            if ends is not None and time.monotonic() + pause > ends:
                raise ServiceError(
                    "client.timeout", "The job is not done yet.", f"Ask again, with key={self.key!r}."
                )
            time.sleep(pause)


def hand_in(connection: Connection, dataset: str, path: str, body: Any, key: str | None) -> Job:
    """Send something that spends; the same key again finds the same job, waiting or done."""
    key = new_key() if key is None else key
    place = f"/v1/datasets/{dataset}"
    try:
        answer = connection.post(f"{place}/{path}", body, key=key)
    except ServiceError as error:
        if error.code != WAITING or "job" not in error.problem:
            raise
        return Job(
            connection, error.problem["job"], key
        )  # sent before, perhaps by a try whose answer was lost
    if answer.status_code == 202:
        return Job(connection, answer.json(), key)
    return Job(connection, connection.get(answer.headers["location"]), key)
