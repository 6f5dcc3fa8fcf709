"""SVT_sum: the sparse vector decider for SUM with its private bound on the largest value, dp-pqd algorithms 2 and 4.

Values are whole and in [0, bound].  One third of epsilon finds a level J such that most rows have a value of at most
2^J; two thirds run the sparse vector over the truncated sums of the levels 1..J.  Noise on the truncated sum t_j is
discrete Laplace on the grid; the shared threshold noise is a whole number R of steps of 2^-bits, in units of t_j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hushtable.arrays import Floats
from hushtable.deciders import laplace
from hushtable.deciders.decider import ErrorClaim, rho_of_parts
from hushtable.deciders.intervals import Interval
from hushtable.deciders.noise_loops import first_reached, satisfied_by_level
from hushtable.deciders.race import TruncatedSums, levels
from hushtable.deciders.tallies import Tally

THETA = Fraction(19, 20)
"""Share of the rows that the private bound should cover: dp-pqd's choice; a larger one keeps more values and noise."""
STEPS = 512
"""Steps of the threshold noise per scale, at least; then its grid is as good as continuous, and more is only slower."""

ALIKE = "the true rows are spread like the synthetic ones, which is all that is known of this decider's error"


class SumSparse(TruncatedSums):
    """Draws, in order: noise on n, the threshold of the bound, L counts, R, L sums against r, L sums against l.

    The private bound drops rows whose values may hold any share of the sum, so no error below 1 holds for every table.
    """

    name = "sum-svt"
    summary = "sparse vector over truncated sums with a private bound"
    published = True
    by_distance = False

    @property
    def bits(self) -> int:
        """Binary digits of the threshold noise: those of the largest truncation, fewer when they would not matter."""
        needed = math.ceil(math.log2(max(1.0, STEPS * float(self.epsilon) / 3)))
        return min(levels(self.bound), needed)

    @property
    def noise(self) -> tuple[Fraction, ...]:
        count, unit = 9 / self.epsilon, 3 / self.epsilon
        sums = tuple(t * unit for t in self.edges)
        return (count, count, *(count for _ in sums), 2**self.bits * unit, *sums, *sums)

    @property
    def rho(self) -> Fraction:
        """Noisy n, the search for the bound, and the search for a verdict, one after another."""
        return rho_of_parts((self.epsilon / 9, 2 * self.epsilon / 9, 2 * self.epsilon / 3))

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        size = levels(self.bound)
        counts, sums = tally.cumulative_rows(), tally.cumulative_sums()
        threshold = math.ceil(THETA * (tally.rows + noise[0])) + noise[1]
        reached = (j for j in range(size) if int(counts[j]) + noise[2 + j] >= threshold)
        used = range(next(reached, size - 1) + 1)
        step, above, inside = noise[2 + size], noise[3 + size :], noise[3 + 2 * size :]
        lift = [math.ceil(Fraction(2 ** (j + 1) * step, 2**self.bits)) for j in used]
        if any(int(sums[j]) + above[j] >= self.interval.last + 1 + lift[j] for j in used):
            return False
        return any(int(sums[j]) + inside[j] >= self.interval.first + lift[j] for j in used)

    def probability(self, tally: Tally) -> float:
        return float(np.dot(self.level_probabilities(tally), self._satisfied_by_level(tally)))

    def worst_error(self, premise: int = 0) -> float:
        return 1.0

    def supposed_error(self, tally: Tally, largest: int | None = None) -> float:
        """The larger error on the supposed rows with the synthetic answer at theirs and 2 tau away from it."""
        centre, tau = self.interval.centre, self.interval.tau
        places = (Interval(centre + distance, tau) for distance in (0, 2 * tau, -2 * tau))
        return max(self.at(within).error(tally) for within in places)

    def assumption(self, premise: int, unit: Fraction) -> str:
        return ALIKE

    def claim(self, tally: Tally, unit: Fraction = Fraction(1), largest: int | None = None) -> ErrorClaim:
        return ErrorClaim(self.supposed_error(tally), ALIKE)

    def level_probabilities(self, tally: Tally) -> Floats:
        """P[J = j] for j = 1..L, dp-pqd algorithm 4.

        Only the whole number ceil(theta (n + a)) + b matters of the noises a on n and b on the threshold.
        """
        scale = self.noise[0]
        noisy_rows = tally.rows + laplace.support(scale)
        p, q = THETA.as_integer_ratio()
        thresholds = -((-p * noisy_rows) // q)
        weights = laplace.mass(noisy_rows - tally.rows, scale)
        start = int(thresholds[0])
        weights = laplace.smooth(np.bincount(thresholds - start, weights).astype(np.float64), scale)
        reach = (len(laplace.support(scale)) - 1) // 2
        return first_reached(weights, start - reach, tally.cumulative_rows(), float(scale))

    def _satisfied_by_level(self, tally: Tally) -> Floats:
        """P[satisfied | J = j] for j = 1..L, summed over the threshold noise R."""
        scale = self.noise[2 + levels(self.bound)]
        steps = laplace.support(scale)
        sums = tally.cumulative_sums()
        above, inside = self.interval.last + 1 - sums, self.interval.first - sums
        weights = laplace.mass(steps, scale)
        return satisfied_by_level(weights, int(steps[0]), self.bits, float(scale), above, inside)
