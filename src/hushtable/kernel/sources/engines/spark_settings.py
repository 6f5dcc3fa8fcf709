"""Settings of a session for as long as jobs of ours run in it; afterwards it has its own again.

Several jobs may run in one session at once, each with a Python object of its own for it.  What they share is a mark in
the session itself: whoever finds none notes what the settings were, and the last one to leave puts that back.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import uuid4

_WANTED = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}
"""Workers that crash say so, with lines of code and no values.  A batch has as many rows as encoding is quickest with,
and however many bytes these have: with a bound on bytes Spark adds up the sizes of all columns after every row, which
takes as long as all else that Java does (11.7 and 6.3 seconds for 10 million rows of ten columns); with its own 10,000
rows, batches are joined in the task."""
_MARK = "hushtable.jobs"


@dataclass
class _Users:
    before: dict[str, str | None]
    jobs: int = 0


_USERS: dict[str, _Users] = {}
_LOCK = Lock()


class JobSettings:
    """What a job needs; ``settings`` is the ``conf`` of a session."""

    def __init__(self, settings: Any) -> None:
        self._settings, self._mark = settings, ""

    def __enter__(self) -> None:
        with _LOCK:
            mark = self._settings.get(_MARK, None)
            if mark is None or mark not in _USERS:
                mark = uuid4().hex
                users = _Users({name: self._settings.get(name, None) for name in _WANTED})
                for name, value in {**_WANTED, _MARK: mark}.items():
                    self._settings.set(name, value)
                _USERS[mark] = users
            self._mark = mark
            _USERS[mark].jobs += 1

    def __exit__(self, *_: object) -> None:
        """A session that has ended raises, and needs nothing back."""
        with _LOCK:
            users = _USERS[self._mark]
            users.jobs -= 1
            if users.jobs:
                return
            del _USERS[self._mark]
            for name, value in {**users.before, _MARK: None}.items():
                if value is None:
                    self._settings.unset(name)
                else:
                    self._settings.set(name, value)
