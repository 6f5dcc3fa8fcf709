"""Draws from the system's bits against the exact probabilities of what they should be.

Chi-square statistics over cells that hold many draws.  The chance that a sound machine fails any of them is at most
FALSE_ALARM, shared equally by all; noise with a standard deviation two per cent off fails nearly always.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hushtable.arrays import Floats
from hushtable.privacy import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    system_bits,
    uniform_below,
)
from hushtable.selftest.outcomes import Unsound
from hushtable.watching import Progress

FALSE_ALARM = 1e-6
"""Chance that the whole part fails although all is well."""

DRAWS = 400_000
"""Per statistic: with thirty cells a standard deviation two per cent off adds 300 to a statistic of mean 30 (a Laplace
scale: 150), where the threshold is about 105."""

SELECTIONS = 20_000
"""Draws of the exponential mechanism, each of which is a call of its own."""

SCALES = (Fraction(1, 2), Fraction(1), Fraction(3), Fraction(40), Fraction(1000), Fraction(10**6))
_LEAST_EXPECTED = 200.0  # so that the chi-square law is close enough this far out
_CELLS = 30

Counts = NDArray[Any]


@dataclass(frozen=True)
class Statistic:
    """What was drawn, how often each cell occurred, and how probable it is."""

    name: str
    seen: Counts
    chances: Floats

    @property
    def value(self) -> float:
        """Chi-square."""
        expected = self.chances * self.seen.sum()
        return float(((self.seen - expected) ** 2 / expected).sum())

    def threshold(self, false_alarm: float) -> float:
        """Exceeded with this probability when all is well."""
        return float(special.chdtri(len(self.chances) - 1, false_alarm))


def check_noise(progress: Progress) -> str:
    """All statistics; raises Unsound with the name of the first that is too large."""
    tests = list(_tests())
    for done, test in enumerate(tests):
        progress("drawing noise", done, len(tests))
        found = test()
        if not found.value <= found.threshold(FALSE_ALARM / len(tests)):
            raise Unsound(f"{found.name} does not have its exact probabilities")
    _check_streams()
    return f"{len(tests)} statistics of drawn noise fit; a sound machine fails once in {1 / FALSE_ALARM:,.0f} runs"


def _tests() -> Iterator[Callable[[], Statistic]]:
    for scale in SCALES:
        yield lambda s=scale: _against(
            f"the discrete Gaussian of scale {s}", discrete_gaussian(s * s, DRAWS), gaussian_below, float(s)
        )
        yield lambda s=scale: _against(
            f"the discrete Laplace of scale {s}", discrete_laplace(s, DRAWS), laplace_below, float(s)
        )
    for modulus in (2, 64, 1000):
        yield lambda m=modulus: _uniform(f"wide noise modulo {m}", discrete_gaussian(10**16, DRAWS) % m, m)
    for bound in (7, 1000):
        yield lambda b=bound: _uniform(f"a uniform integer below {b}", uniform_below(b, DRAWS), b)
    yield lambda: _coin("a coin of chance 1/3", bernoulli(Fraction(1, 3), DRAWS), 1 / 3)
    yield lambda: _coin("a coin of chance exp(-1)", bernoulli_exp(1, DRAWS), math.exp(-1))
    yield _selection
    yield lambda: _uniform("a byte of the bit source", system_bits().words(DRAWS // 8).view(np.uint8), 256)


def gaussian_below(edges: Floats, scale: float) -> Floats:
    """P(x < edge) of the discrete Gaussian: summed, or Phi at half-integers (off by 1/(24 scale^2)) when wide."""
    if scale >= 1000:
        return special.ndtr((edges - 0.5) / scale)
    reach = int(12 * scale) + 3
    mass = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
    below = np.concatenate(([0.0], np.cumsum(mass / math.fsum(mass))))
    return below[np.clip(edges + reach, 0, below.size - 1).astype(int)]


def laplace_below(edges: Floats, scale: float) -> Floats:
    """P(x < edge) = q^(1-edge) / (1+q) for edge <= 0 and 1 - q^edge / (1+q) above, with q = exp(-1/scale)."""
    bottom = 1 + math.exp(-1 / scale)
    low = np.exp(-(1 - np.minimum(edges, 0)) / scale) / bottom
    return np.where(edges <= 0, low, 1 - np.exp(-np.maximum(edges, 0) / scale) / bottom)


def _against(name: str, drawn: Counts, below: Callable[[Floats, float], Floats], scale: float) -> Statistic:
    """Integers against a law, over about thirty cells of similar probability, chosen by the law alone."""
    spread = 1.5 * scale * special.ndtri(np.arange(1, _CELLS) / _CELLS)
    edges: Floats = np.unique(np.round(np.concatenate((spread, np.arange(-3.0, 5.0)))))
    chances = np.diff(np.concatenate(([0.0], below(edges, scale), [1.0])))
    while chances.min() * drawn.size < _LEAST_EXPECTED:
        edges = np.delete(edges, min(int(chances.argmin()), edges.size - 1))
        chances = np.diff(np.concatenate(([0.0], below(edges, scale), [1.0])))
    seen = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=chances.size)
    return Statistic(name, seen, chances)


def _uniform(name: str, drawn: Counts, bound: int) -> Statistic:
    return Statistic(name, np.bincount(drawn, minlength=bound), np.full(bound, 1 / bound))


def _coin(name: str, drawn: Counts, chance: float) -> Statistic:
    heads = int(drawn.sum())
    return Statistic(name, np.array([heads, drawn.size - heads]), np.array([chance, 1 - chance]))


def _selection() -> Statistic:
    scores = [0, 1, 2, 3, -40]
    drawn = [exponential_mechanism(scores, Fraction(1, 2)) for _ in range(SELECTIONS)]
    weights = np.exp(np.array(scores[:4]) / 2)
    seen = np.bincount(drawn, minlength=5)[:4]  # the last has a chance below 1e-9
    return Statistic("the exponential mechanism", seen, weights / weights.sum())


def _check_streams() -> None:
    """Two threads never see the same words; 4,000 words repeat by chance once in 10^12 runs."""
    taken: list[NDArray[np.uint64]] = []
    threads = [threading.Thread(target=lambda: taken.append(system_bits().words(1000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(np.unique(np.concatenate(taken))) < 4000:
        raise Unsound("two threads were given the same random words")
