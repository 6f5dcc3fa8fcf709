"""What a task may say when it fails: that it did, and nothing of the rows that it failed on.

Engines keep what a task raises, with its causes, in logs and pages that others read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from hushtable.errors import HushtableError


class TaskFailed(RuntimeError):
    """A task of ours ended early."""


@contextmanager
def told() -> Generator[None]:
    """Raises ``TaskFailed`` with a code, or with the kind of what was raised, in place of an error."""
    said: str | None = None
    try:
        yield
    except MemoryError:
        said = "source.no-memory"
    except HushtableError as error:
        said = error.code
    except Exception as error:
        said = type(error).__name__
    if said is not None:
        raise TaskFailed(said)
