"""Several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


def in_threads(number: int, work: Callable[[], None]) -> None:
    """Do the same work in so many threads, and wait for all of them."""
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
