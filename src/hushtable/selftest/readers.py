"""Neighbouring tables in every kind of source that this installation can read."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hushtable.selftest import neighbours
from hushtable.selftest.outcomes import Unsound
from hushtable.watching import Progress

PAIRS = 200
"""Pairs of tables, at least; shared by the kinds of source."""


def check_neighbours(progress: Progress) -> str:
    """Tables of all kinds, the same in every run; raises Unsound with the pair that went wrong."""
    pairs = seed = 0
    with TemporaryDirectory(prefix="hushtable-") as folder:
        while pairs < PAIRS:
            for done, kind in enumerate(neighbours.KINDS):
                progress("reading neighbouring tables", done, len(neighbours.KINDS))
                for finding in neighbours.campaign(kind, seed, Path(folder)):
                    if finding is not None:
                        raise Unsound(str(finding))
                    pairs += 1
            seed += 1
    return f"{pairs} pairs of tables in {len(neighbours.KINDS)} kinds of source differ by one person alone"
