"""Coins for COUNT as published: the exponential mechanism on the margin, and the naive baseline.

The noisy count is in ``noisy_answer``, the optimal test in ``on_margin``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hushtable.deciders.aggregates import COUNT
from hushtable.deciders.decider import AdditiveDecider, CoinDecider
from hushtable.deciders.tallies import Tally


class CountExponential(AdditiveDecider, CoinDecider):
    """EM_count: log odds of epsilon * clip(tau - |distance|, -tau, tau), dp-pqd sec. 4.2.2."""

    name = "count-em"
    aggregate = COUNT
    summary = "coin with log odds epsilon times the clipped margin"
    published = True

    def logit(self, tally: Tally) -> Fraction:
        tau = self.interval.tau
        return self.epsilon * max(-tau, tau - abs(tally.rows - self.interval.centre))

    def threshold(self, accepted: float, premise: int = 0) -> float | None:
        """ln((1 - delta) / delta) / epsilon: the log odds follow tau itself, which need not be whole."""
        found = max(0.0, math.log((1 - accepted) / accepted) / float(self.epsilon))
        while found and self.around(found).worst_error() > accepted:
            found = math.nextafter(found, math.inf)
        return found


class CountNaive(AdditiveDecider, CoinDecider):
    """The exponential mechanism on the truth itself, dp-pqd sec. 4.2.1: a baseline that no tau helps."""

    name = "count-naive"
    aggregate = COUNT
    summary = "coin on the truth itself, a baseline"
    published = True
    by_distance = False

    def logit(self, tally: Tally) -> Fraction:
        return self.epsilon / 2 if self.truth(tally) else -self.epsilon / 2
