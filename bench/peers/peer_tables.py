"""The tables that synthesizers are compared on: Adult, and three that are made up so that nobody was tuned on them.

Each has a binary target in its last column and is split once: the synthesizers see the larger part, and a classifier
that was trained on their records is tested on the rest.  A table is codes, one column an attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from bench.shared.standins import load

ROWS = 20_000
TESTED = 0.2
"""Share of the rows that no synthesizer sees: enough that an AUC is known to about half a per cent."""


@dataclass(frozen=True)
class SplitTable:
    """Codes that the synthesizers see, codes that a classifier is tested on, and the sizes of the attributes."""

    name: str
    sizes: tuple[int, ...]
    seen: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, name: str) -> SplitTable:
        """The table of this name, always cut in the same way."""
        sizes, codes = MAKERS[name](np.random.default_rng(7))
        order = np.random.default_rng(11).permutation(len(codes))
        cut = round(len(codes) * TESTED)
        return cls(name, sizes, codes[order[cut:]], codes[order[:cut]])


def adult(chance: Generator) -> tuple[tuple[int, ...], np.ndarray]:
    """The usual one, with its income in the last column."""
    sizes, columns = load("adult")
    return sizes, np.column_stack(columns).astype(np.int64)


def long_range(chance: Generator) -> tuple[tuple[int, ...], np.ndarray]:
    """Sixteen binary attributes: a chain that forgets slowly, and each attribute of its first half copied, with
    errors, by one of the second half, far from it in the chain."""
    width = 16
    codes = np.zeros((ROWS, width), np.int64)
    codes[:, 0] = chance.random(ROWS) < 0.5
    for k in range(1, width):
        flips = chance.random(ROWS) < 0.15 + 0.02 * k
        codes[:, k] = codes[:, k - 1] ^ flips
    for k in range(width // 2):
        copied = chance.random(ROWS) < 0.4
        codes[copied, width - 1 - k] = codes[copied, k]
    return (2,) * width, codes


def sparse(chance: Generator) -> tuple[tuple[int, ...], np.ndarray]:
    """Eight attributes with up to 300 values each, most of them rare, that depend on a hidden class; and a target."""
    sizes = (300, 200, 150, 100, 80, 60, 40, 20, 2)
    hidden = chance.integers(0, 30, ROWS)
    columns = [_zipf_of(hidden, n, chance) for n in sizes[:-1]]
    columns.append(((hidden % 3 == 0) ^ (chance.random(ROWS) < 0.1)).astype(np.int64))
    return sizes, np.column_stack(columns)


def _zipf_of(hidden: np.ndarray, values: int, chance: Generator) -> np.ndarray:
    """Values with Zipf's frequencies, in an order that each hidden class has of its own."""
    weights = 1.0 / np.arange(1, values + 1)
    ranks = chance.choice(values, len(hidden), p=weights / weights.sum())
    orders = np.array([chance.permutation(values) for _ in range(int(hidden.max()) + 1)])
    return orders[hidden, ranks]


def functional(chance: Generator) -> tuple[tuple[int, ...], np.ndarray]:
    """Ten attributes of which five are functions of one or two of the others, with one error in a hundred."""
    free = (30, 12, 8, 6, 4)
    columns = [chance.integers(0, n, ROWS) for n in free]
    a, b, c, d, e = columns
    made = [
        (a // 3, 10),
        (b // 2, 6),
        ((a + b) % 9, 9),
        ((c * 2 + d) % 5, 5),
        ((a // 15 + c // 4 + e) % 2, 2),
    ]
    for column, n in made:
        wrong = chance.random(ROWS) < 0.01
        columns.append(np.where(wrong, chance.integers(0, n, ROWS), column))
    return (*free, *(n for _, n in made)), np.column_stack(columns)


MAKERS: dict[str, Callable[[Generator], tuple[tuple[int, ...], np.ndarray]]] = {
    "adult": adult,
    "long-range": long_range,
    "sparse": sparse,
    "functional": functional,
}
