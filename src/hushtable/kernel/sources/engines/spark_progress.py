"""How far a job of Spark is, for a progress bar: tasks that are done among those that are known.

Stages become known as a job goes on, so that the bar may fall back; it says nothing of what tasks found.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from hushtable.watching import is_watched, tell_step

_EVERY = 0.3
"""Seconds between looks at a local job: often enough for a bar, and a look takes a millisecond."""


@contextmanager
def shown_progress(session: Any, step: str) -> Generator[None]:
    """Tells whoever watches how far jobs are that run meanwhile."""
    if not is_watched():
        yield
    elif hasattr(session, "registerProgressHandler") and ".connect." in type(session).__module__:
        yield from _told_by_the_server(session, step)
    else:
        yield from _looked_at(session.sparkContext.statusTracker(), step)
    tell_step(step, 1, 1)


def _told_by_the_server(session: Any, step: str) -> Generator[None]:
    def handle(stages: Iterable[Any], inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        _tell(step, [(stage.num_completed_tasks, stage.num_tasks) for stage in stages])

    session.registerProgressHandler(handle)
    try:
        yield
    finally:
        session.removeProgressHandler(handle)


def _looked_at(tracker: Any, step: str) -> Generator[None]:
    ended = Event()

    def look() -> None:
        while not ended.wait(_EVERY):
            with suppress(Exception):  # a bar is not worth a failure
                found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                _tell(step, [(stage.numCompletedTasks, stage.numTasks) for stage in found if stage])

    looking = Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()


def _tell(step: str, stages: list[tuple[int, int]]) -> None:
    total = sum(tasks for _, tasks in stages)
    if total:
        tell_step(step, min(sum(done for done, _ in stages), total - 1), total)
