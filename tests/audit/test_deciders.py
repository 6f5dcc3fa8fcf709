"""Every decider at worst-case neighbours: a certified lower bound on epsilon from its verdicts, against its price.

Of all small tables with a row added or removed, the pair is taken on which the exact probabilities of the verdict lie
furthest apart; then verdicts are drawn.  Mutants have at least 10% too little noise; where a decider uses less than it
is charged for, just so much less that the runs suffice to certify it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from lower_bounds import always_exceeds, pure_bound

from bit_sources import SeededBits
from hushtable.deciders import (
    COUNT,
    DECIDERS,
    CandidateDecider,
    CoinDecider,
    Decider,
    Interval,
    NoisyDecider,
    Tally,
    build,
    rows_only,
    tally,
)
from hushtable.kernel.draw import sigmoid_coin, verdict
from hushtable.privacy import BitSource, bernoulli, bernoulli_exp, exponential_mechanism, laplace_segments
from thresholds import AUDIT_BATCHES, Z

EPSILON = Fraction(1)
VALUES = range(6)
RUNS = 20_000
SURE = 6.0
"""Standard deviations by which a mutant lies above its charge: the bound takes 2.5, the rest makes a miss rare."""

CENTRES = {"count": (0, 2), "sum": (3, 7), "median": (1, 3), "avg": (Fraction(3, 2), Fraction(3))}


@dataclass(frozen=True)
class Pair:
    """A decider on two neighbouring tables, and the exact chance of "satisfied" on each."""

    name: str
    within: Interval
    absent: tuple[int, ...]
    present: tuple[int, ...]

    def decider(self, epsilon: Fraction) -> Decider:
        return build(self.name, within=self.within, epsilon=epsilon, domain=VALUES)

    def loss(self, epsilon: Fraction) -> float:
        """Largest log ratio of the two chances of a verdict."""
        made = self.decider(epsilon)
        p, q = (made.probability(tally_of(made, data)) for data in (self.absent, self.present))
        return max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))

    def certified(self, runs: int, epsilon: Fraction = EPSILON, deviations: float = 2.5) -> float:
        """About the bound that so many runs would certify; with more ``deviations``, one that they rarely miss."""
        made = self.decider(epsilon)
        p, q = (made.probability(tally_of(made, data)) for data in (self.absent, self.present))
        cases = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
        return max(math.log(a / b) - deviations * math.sqrt(2 / (runs * min(a, b))) for a, b in cases)


def tally_of(decider: Decider, data: tuple[int, ...]) -> Tally:
    return rows_only(len(data)) if decider.aggregate is COUNT else tally(data, decider.edges)


@cache
def worst_pair(name: str, epsilon: Fraction = EPSILON) -> Pair:
    """The pair that tells most, over all tables of up to two rows and every row that can be added."""
    within = [
        Interval(Fraction(centre), tau)
        for centre in CENTRES[DECIDERS[name].aggregate.name]
        for tau in (Fraction(1), Fraction(5, 2))
    ]
    tables = [data for size in range(3) for data in itertools.combinations_with_replacement(VALUES, size)]
    pairs = (
        Pair(name, interval, data, (*data, added))
        for interval, data, added in itertools.product(within, tables, VALUES)
    )
    return max(pairs, key=lambda pair: pair.certified(RUNS, epsilon))


def mutant_of(name: str) -> tuple[Pair, Fraction]:
    """The pair and the least excess of epsilon, from 10% too little noise on, that the runs can hardly miss."""
    thinner = [EPSILON / Fraction(9, 10) * Fraction(step, 20) for step in range(20, 120)]
    for supposed in (EPSILON, 3 * EPSILON):
        pair = worst_pair(name, supposed)
        for epsilon in thinner:
            if pair.certified(RUNS, epsilon, SURE) > float(EPSILON):
                return pair, epsilon
    raise AssertionError(f"no mutant of {name} is thin enough")


def draws(decider: Decider, exact: Tally, runs: int, bits: BitSource | None) -> np.ndarray:
    """Many verdicts, with the draws of the kernel made all at once where they can be."""
    if isinstance(decider, NoisyDecider):
        scales = decider.noise
        noise = laplace_segments(scales, [runs] * len(scales)).draw(bits).reshape(len(scales), runs)
        return np.array([decider.decide(exact, row) for row in noise.T.tolist()])
    if isinstance(decider, CoinDecider):
        return coins(decider.logit(exact), runs, bits)
    assert isinstance(decider, CandidateDecider)
    penalties, accepted = -decider.penalties(exact), range(decider.accepted.start, decider.accepted.stop)
    return np.array(
        [exponential_mechanism(penalties, decider.rate, bits=bits) in accepted for _ in range(runs)]
    )


def coins(logit: Fraction, runs: int, bits: BitSource | None) -> np.ndarray:
    """``sigmoid_coin`` for an array: rejected proposals are left out."""
    proposed = bernoulli(Fraction(1, 2), 3 * runs, bits=bits)
    kept = (proposed == (logit >= 0)) | bernoulli_exp(abs(logit), 3 * runs, bits=bits)
    assert kept.sum() >= runs
    return proposed[kept][:runs]


def batch(pair: Pair, epsilon: Fraction, bits: BitSource | None = None) -> Callable[[], float]:
    made = pair.decider(epsilon)
    tables = [tally_of(made, data) for data in (pair.absent, pair.present)]

    def excess() -> float:
        absent, present = (draws(made, exact, RUNS, bits) for exact in tables)
        return max(pure_bound(absent, present), pure_bound(present, absent)) - float(EPSILON)

    return excess


@pytest.mark.parametrize("name", DECIDERS)
def test_a_verdict_hides_a_row_as_well_as_its_price_says(name: str) -> None:
    pair = worst_pair(name)
    assert pair.loss(EPSILON) <= float(EPSILON) + 1e-9
    assert not always_exceeds(batch(pair, EPSILON))


@pytest.mark.parametrize(
    "batches", [pytest.param(1, id="quick"), pytest.param(AUDIT_BATCHES, id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", DECIDERS)
def test_too_little_noise_is_caught(name: str, batches: int) -> None:
    pair, thin = mutant_of(name)
    assert always_exceeds(batch(pair, thin, SeededBits(3)), batches)


@pytest.mark.parametrize(
    "runs", [pytest.param(1_000, id="quick"), pytest.param(100_000, id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", DECIDERS)
def test_the_kernel_draws_verdicts_with_the_stated_probability(name: str, runs: int) -> None:
    """False alarms: 1e-9 each."""
    pair = worst_pair(name)
    made = pair.decider(EPSILON)
    exact = tally_of(made, pair.present)
    chance = made.probability(exact)
    hits = sum(verdict(made, exact) for _ in range(runs))
    assert abs(hits - runs * chance) <= Z * math.sqrt(runs * chance * (1 - chance)) + 8


def test_the_coin_is_exact_for_large_and_small_odds() -> None:
    """A coin with log odds 800 never shows the other side; one with log odds 0 is fair."""
    assert all(sigmoid_coin(Fraction(800)) and not sigmoid_coin(Fraction(-800)) for _ in range(200))
    hits = sum(sigmoid_coin(Fraction(0)) for _ in range(2_000))
    assert abs(hits - 1_000) < Z * math.sqrt(500)
