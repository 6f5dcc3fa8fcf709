"""Made-up tables of binary attributes, 20,000 rows: three kinds of dependence that no constant was tuned on.

``chain``: each attribute is the one before it, flipped now and then.  ``classes``: attributes are independent within
twelve hidden classes.  ``parity``: a third of the attributes are the parity of two others, with errors, so that pairs
tell little and triples much; the rest follow a tree.  A name is a kind and a number: ``chain16``, ``parity40``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

Table = tuple[tuple[int, ...], list[np.ndarray]]

ROWS = 20_000
SEED = 20260
"""Of all of them: a table is the same wherever it is made."""


def chain(width: int, chance: Generator) -> np.ndarray:
    """A chain whose links forget at rates between 5% and 45%."""
    codes = np.zeros((ROWS, width), np.uint8)
    codes[:, 0] = chance.random(ROWS) < 0.4
    for k, rate in enumerate(chance.uniform(0.05, 0.45, width - 1), start=1):
        codes[:, k] = codes[:, k - 1] ^ (chance.random(ROWS) < rate)
    return codes


def classes(width: int, chance: Generator) -> np.ndarray:
    """Twelve classes of unequal size, each with chances of its own."""
    shares = chance.dirichlet(np.ones(12))
    hidden = chance.choice(12, ROWS, p=shares)
    return (chance.random((ROWS, width)) < chance.beta(0.6, 0.6, (12, width))[hidden]).astype(np.uint8)


def parity(width: int, chance: Generator) -> np.ndarray:
    """A tree, and for every two of its attributes one that is the parity of them in 85% of the rows."""
    codes = np.zeros((ROWS, width), np.uint8)
    free = width - width // 3
    codes[:, 0] = chance.random(ROWS) < 0.5
    for k in range(1, free):
        codes[:, k] = codes[:, chance.integers(0, k)] ^ (chance.random(ROWS) < chance.uniform(0.1, 0.4))
    for k in range(free, width):
        one, other = chance.choice(free, 2, replace=False)
        codes[:, k] = codes[:, one] ^ codes[:, other] ^ (chance.random(ROWS) < 0.15)
    return codes


KINDS: dict[str, Callable[[int, Generator], np.ndarray]] = {
    "chain": chain,
    "classes": classes,
    "parity": parity,
}


def made(name: str) -> Table | None:
    """The table of this name, or none where it names no kind."""
    found = re.fullmatch(rf"({'|'.join(KINDS)})(\d+)", name)
    if found is None:
        return None
    kind, width = found[1], int(found[2])
    codes = KINDS[kind](width, np.random.default_rng([SEED, list(KINDS).index(kind), width]))
    return (2,) * width, [np.ascontiguousarray(column) for column in codes.T]
