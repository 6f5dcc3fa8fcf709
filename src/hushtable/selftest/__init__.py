"""The self-test of an installed copy: does what this project claims hold on this machine?

Four things that a processor, a compiler, a file system or a version of a dependency could break: exact noise, its
replay from known bits, the ledger under races and kills, and readers that never let one person change another.  All
data here are made up.  ``run()`` does everything and raises nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from hushtable.selftest.accounts import check_kills, check_race
from hushtable.selftest.noise_check import check_noise
from hushtable.selftest.outcomes import Outcome, SelftestReport, Unsound
from hushtable.selftest.readers import check_neighbours
from hushtable.selftest.replays import check_replays
from hushtable.watching import Progress, silent

__all__ = ["PARTS", "Outcome", "SelftestReport", "Unsound", "run"]

PARTS: dict[str, Callable[[Progress], str]] = {
    "exact noise": check_noise,
    "known bits": check_replays,
    "ledger, raced": check_race,
    "ledger, killed": check_kills,
    "neighbours": check_neighbours,
}


def run(progress: Progress | None = None) -> SelftestReport:
    """Every part, each in a second or a few.

    It starts processes: a script that calls it does so under ``if __name__ == "__main__":``.
    """
    return SelftestReport(tuple(_outcome(name, part, progress or silent) for name, part in PARTS.items()))


def _outcome(name: str, part: Callable[[Progress], str], progress: Progress) -> Outcome:
    begin = time.monotonic()
    try:
        passed, said = True, part(progress)
    except Unsound as found:
        passed, said = False, str(found)
    except Exception as error:
        passed, said = False, f"stopped by an unexpected {type(error).__name__}"
    return Outcome(name, passed, said, time.monotonic() - begin)
