"""The private draws of the deciders: exact tallies of the confidential rows, one exact draw each, and nothing else out.

A decider says which whole numbers it needs and what is drawn; here both meet: tallies are made and stay, and the
verdicts are drawn once ``spending`` has charged for them.
"""

from __future__ import annotations

from fractions import Fraction

from hushtable.deciders import (
    CandidateDecider,
    CheckPlan,
    CoinDecider,
    Decider,
    NoisyDecider,
    Tally,
)
from hushtable.errors import QueryError
from hushtable.kernel.counter import Counter
from hushtable.kernel.measure import Progress
from hushtable.kernel.spending import Draw
from hushtable.kernel.warm import warm_deciders
from hushtable.privacy import (
    BitSource,
    bernoulli,
    bernoulli_exp,
    discrete_laplace_segments,
    exponential_mechanism,
)


def prepare_check(counter: Counter, plan: CheckPlan, progress: Progress) -> Draw:
    """Make the tallies of every question of the plan; the draw decides them all, once."""
    progress("reading", 0, 3)
    tallies = counter.tally(plan.questions)
    pairs = [(question.decider, exact) for question, exact in zip(plan.questions, tallies, strict=True)]
    progress("deciding", 1, 3)
    warm_deciders()
    progress("charging", 2, 3)

    def draw() -> bytes:
        return plan.payload([verdict(decider, exact) for decider, exact in pairs])

    return draw


def verdict(decider: Decider, exact: Tally, bits: BitSource | None = None) -> bool:
    """One draw: True for "satisfied"."""
    if isinstance(decider, NoisyDecider):
        scales = decider.noise
        noise = discrete_laplace_segments(scales, [1] * len(scales), bits=bits)
        return decider.decide(exact, [int(value) for value in noise])
    if isinstance(decider, CoinDecider):
        return sigmoid_coin(decider.logit(exact), bits)
    if isinstance(decider, CandidateDecider):
        chosen = exponential_mechanism(-decider.penalties(exact), decider.rate, bits=bits)
        return chosen in range(decider.accepted.start, decider.accepted.stop)
    raise QueryError("query.no-draw", f"The decider {decider.name!r} cannot be drawn.", "Choose another one.")


def sigmoid_coin(logit: Fraction, bits: BitSource | None = None) -> bool:
    """True with probability exactly 1 / (1 + exp(-logit)): propose a side, keep the less likely one sometimes."""
    while True:
        proposed = bernoulli(Fraction(1, 2), bits=bits)
        if proposed == (logit >= 0) or bernoulli_exp(abs(logit), bits=bits):
            return proposed
