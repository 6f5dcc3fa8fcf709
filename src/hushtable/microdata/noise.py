"""The noise of a group of answers, as a fit sees it: variance, tail and quantiles.

Five laws: Laplace, Gaussian, their discrete versions, and the truncated double geometric.  Nothing here draws noise:
the laws describe answers that were released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, inf, isfinite, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from hushtable.arrays import Floats, is_whole
from hushtable.errors import WorkloadError
from hushtable.planning import LEAST_VARIANCE

NoiseLaw = Literal["laplace", "gaussian", "discrete_laplace", "discrete_gaussian", "truncated_geometric"]

WIDE = 10_000.0
"""Standard deviation beyond which a discrete Gaussian is read as a rounded one; its probabilities differ by < 1e-9."""


@dataclass(frozen=True)
class Noise:
    """Independent noise of mean zero on every answer of a group; made by the class methods.

    ``parameter`` is a scale (Laplace laws), a variance (Gaussian laws) or an epsilon (truncated geometric, which is
    clipped to ``-bound .. bound``).
    """

    law: NoiseLaw
    parameter: float
    bound: int = 0

    def __post_init__(self) -> None:
        value = self.parameter
        if isinstance(value, bool) or not isfinite(value) or value <= 0:
            raise WorkloadError(
                "microdata.noise",
                "The noise of an answer is missing, infinite or not above zero.",
                "Give Noise.laplace(scale), Noise.gaussian(variance) or another law with a finite amount above 0.",
            )
        if self.law == "truncated_geometric" and self.bound < 1:
            raise WorkloadError(
                "microdata.noise", "A truncated geometric law needs a bound of at least 1.", "Give bound=40."
            )

    @classmethod
    def laplace(cls, scale: float) -> Noise:
        """Density ``exp(-|z|/scale) / (2 scale)``."""
        return cls("laplace", _number(scale))

    @classmethod
    def gaussian(cls, variance: float) -> Noise:
        """The normal law."""
        return cls("gaussian", _number(variance))

    @classmethod
    def discrete_laplace(cls, scale: float) -> Noise:
        """Integers with probability proportional to ``exp(-|z|/scale)``."""
        return cls("discrete_laplace", _number(scale))

    @classmethod
    def discrete_gaussian(cls, variance: float) -> Noise:
        """Integers with probability proportional to ``exp(-z^2 / (2 variance))``."""
        return cls("discrete_gaussian", _number(variance))

    @classmethod
    def truncated_geometric(cls, epsilon: float, bound: int) -> Noise:
        """The discrete Laplace law of scale ``1/epsilon`` clipped to ``-bound .. bound`` (Theorem 4, item 5)."""
        return cls("truncated_geometric", _number(epsilon), int(bound) if is_whole(bound) else 0)

    @property
    def variance(self) -> float:
        """Variance of one answer's noise, of whole noise at least ``LEAST_VARIANCE``."""
        if self.law == "laplace":
            return 2.0 * self.parameter**2
        if self.law == "gaussian":
            return self.parameter
        if self.law == "discrete_laplace":
            rate = 1.0 / self.parameter
            return max(LEAST_VARIANCE, 2.0 * exp(-rate) / expm1(-rate) ** 2)
        if self.law == "discrete_gaussian" and self.parameter > WIDE**2:
            return self.parameter
        values, weights = _table(self)
        return max(LEAST_VARIANCE, float(np.sum(weights * values**2)))

    @property
    def std(self) -> float:
        """Standard deviation of one answer's noise."""
        return sqrt(self.variance)

    @property
    def whole(self) -> bool:
        """Whether the noise takes whole values only."""
        return self.law not in ("laplace", "gaussian")

    def below(self, values: ArrayLike) -> Floats:
        """``P(noise < value)``."""
        points = np.asarray(values, np.float64)
        return self.at_most(np.ceil(points) - 1.0) if self.whole else self.at_most(points)

    def at_most(self, values: ArrayLike) -> Floats:
        """``P(noise <= value)``."""
        points = np.asarray(values, np.float64)
        if self.law == "gaussian":
            return special.ndtr(points / sqrt(self.parameter))
        if self.law == "laplace":
            tail = 0.5 * np.exp(-np.abs(points) / self.parameter)
            return np.where(points < 0, tail, 1.0 - tail)
        floor = np.floor(points)
        if self.law == "discrete_gaussian":
            return self._gaussian_at_most(floor)
        return self._geometric_at_most(floor)

    def quantile(self, probability: float) -> float:
        """The smallest value that the noise exceeds with probability at most ``1 - probability``."""
        if self.law == "gaussian":
            return sqrt(self.parameter) * float(special.ndtri(probability))
        if self.law == "laplace":
            if probability < 0.5:
                return self.parameter * log(2.0 * probability)
            return -self.parameter * log(2.0 * (1.0 - probability))
        if self.law == "discrete_gaussian" and self.parameter > WIDE**2:
            return float(ceil(sqrt(self.parameter) * float(special.ndtri(probability)) - 0.5))
        if self.law == "discrete_laplace" and self.parameter > WIDE:
            tail = min(probability, 1.0 - probability)
            size = max(0.0, -self.parameter * log(2.0 * tail)) if tail > 0.0 else 42.0 * self.parameter
            return float(ceil(size - 0.5)) if probability >= 0.5 else float(ceil(-size - 0.5))
        values, weights = _table(self)
        place = int(np.searchsorted(np.cumsum(weights), probability * (1.0 - 1e-15)))
        return float(values[min(place, len(values) - 1)])

    def median_of_largest(self, count: int) -> float:
        """Median of the largest of ``count`` independent draws."""
        tail = -np.expm1(log(0.5) / count)
        if self.law == "laplace":
            return (
                -self.parameter * log(2.0 * tail) if tail < 0.5 else self.parameter * log(2.0 * (1.0 - tail))
            )
        if self.law == "gaussian":
            return -sqrt(self.parameter) * float(special.ndtri(tail))
        return self.quantile(1.0 - tail)

    def _geometric_at_most(self, floor: Floats) -> Floats:
        rate = self.parameter if self.law == "truncated_geometric" else 1.0 / self.parameter
        top = 1.0 / (1.0 + exp(-rate))
        below = top * np.exp(rate * np.minimum(floor, 0.0))
        above = 1.0 - top * np.exp(-rate * (np.maximum(floor, 0.0) + 1.0))
        found = np.where(floor < 0, below, above)
        if self.law == "truncated_geometric":
            found = np.where(floor < -self.bound, 0.0, np.where(floor >= self.bound, 1.0, found))
        return found

    def _gaussian_at_most(self, floor: Floats) -> Floats:
        if self.parameter > WIDE**2:
            return special.ndtr((floor + 0.5) / sqrt(self.parameter))
        values, weights = _table(self)
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        place = np.clip(floor - values[0] + 1.0, 0.0, len(values))
        return sums[place.astype(np.int64)]


@lru_cache(maxsize=64)
def _table(noise: Noise) -> tuple[Floats, Floats]:
    """Values and probabilities of a discrete law, where these exceed 1e-18 of the largest."""
    if noise.law == "discrete_gaussian":
        reach = ceil(9.2 * sqrt(noise.parameter)) + 2
        values = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(values**2) / (2.0 * noise.parameter))
        return values, weights / weights.sum()
    rate = noise.parameter if noise.law == "truncated_geometric" else 1.0 / noise.parameter
    reach = min(noise.bound or inf, ceil(42.0 / rate) + 2)
    values = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-rate * np.abs(values)) * (1.0 - exp(-rate)) / (1.0 + exp(-rate))
    weights[[0, -1]] = exp(-rate * reach) / (1.0 + exp(-rate))
    return values, weights


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")
