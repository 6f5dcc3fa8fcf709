"""Several whole numbers in one 64-bit word, so that one addition adds them all.

Each number has a field that is wide enough for its sum over as many records as ``rows``, with a sign; a word is the sum
of the fields, each shifted to its place, and sums of words are words of sums.  Widths follow from declared limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit

WORD_BITS = 63
"""Of a signed word, whose last bit is the sign of its last field."""
FEWEST_ROWS_BITS = 16
"""Numbers share a word only if it holds sums of 2^16 records: what was added is then unpacked so seldom that this takes
a small part of the time of adding it."""


@dataclass(frozen=True)
class NumberWords:
    """Which numbers share a word: ``groups`` of their positions, and the width of each number's field."""

    limits: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    widths: tuple[int, ...]
    rows: int
    """Records whose words may be added before they are unpacked."""

    @classmethod
    def of(cls, limits: Sequence[int]) -> NumberWords:
        """Numbers of at most these sizes, in order, as many to a word as it holds."""
        bits = [limit.bit_length() + 1 for limit in limits]
        groups: list[list[int]] = []
        room = 0
        for position, own in enumerate(bits):
            needed = own + FEWEST_ROWS_BITS
            if not groups or needed > room:
                groups.append([])
                room = WORD_BITS
            groups[-1].append(position)
            room -= needed
        shared = [
            (WORD_BITS - sum(bits[k] for k in group)) // len(group) for group in groups if len(group) > 1
        ]
        rows = min(shared, default=WORD_BITS)
        return cls(tuple(limits), tuple(map(tuple, groups)), tuple(own + rows for own in bits), 1 << rows)

    @property
    def shares(self) -> bool:
        """Whether any word holds several numbers."""
        return len(self.groups) < len(self.limits)

    def words(self, values: Sequence[Ints]) -> NDArray[np.int64]:
        """A row for each group.  Where several share a word, one beyond its limit counts as the limit: it never reaches
        another field."""
        made = np.empty((len(self.groups), len(values[0])), np.int64)
        for row, group in zip(made, self.groups, strict=True):
            if len(group) == 1:
                row[:] = values[group[0]]
                continue
            row[:] = 0
            for position in reversed(group):
                limit = self.limits[position]
                row <<= self.widths[position]
                row += np.clip(values[position], -limit, limit)
        return made

    def unpacked(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the words hold: a row for each number."""
        out = np.empty((len(self.limits), words.shape[1]), np.int64)
        for row, group in zip(words, self.groups, strict=True):
            widths = np.array([self.widths[position] for position in group], np.int64)
            take_fields(row, np.array(group, np.int64), widths, out)
        return out


@njit(cache=True, nogil=True)
def take_fields(words: Any, rows: Any, widths: Any, out: Any) -> None:
    """The lowest field is what a word is modulo 2^width, with its sign; the rest is what is above it."""
    last = len(rows) - 1
    for cell in range(len(words)):
        rest = words[cell]
        for k in range(last):
            away = 64 - widths[k]
            low = (rest << away) >> away
            out[rows[k], cell] = low
            rest = (rest - low) >> widths[k]
        out[rows[last], cell] = rest
