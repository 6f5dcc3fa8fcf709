"""The noise of a group of answers, as a fit sees it: variance, tail and quantiles.

Five laws, a class each: Laplace, Gaussian, their discrete versions, and the truncated double geometric.  Nothing here
draws noise: the laws describe answers that were released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from math import ceil, exp, expm1, isfinite, log, pi, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from hushtable.arrays import Floats, is_whole
from hushtable.errors import WorkloadError
from hushtable.planning import LEAST_VARIANCE
from hushtable.privacy import CountNoise, GaussianNoise, LaplaceNoise

WIDE = 10_000.0
"""Standard deviation beyond which a discrete Gaussian is read as a rounded one; its probabilities differ by < 1e-9."""

REACH = 42.0
"""Scales beyond which a Laplace law has less than exp(-42) < 1e-18 of its largest probability, and is left out."""


@dataclass(frozen=True)
class Noise(ABC):
    """Independent noise of mean zero on every answer of a group; made by the class methods.

    ``parameter`` is a scale (Laplace laws), a variance (Gaussian laws) or an epsilon (truncated geometric).
    """

    parameter: float
    whole: ClassVar[bool]
    """Whether the noise takes whole values only."""

    def __post_init__(self) -> None:
        value = self.parameter
        if isinstance(value, bool) or not isfinite(value) or value <= 0:
            raise WorkloadError(
                "microdata.noise",
                "The noise of an answer is missing, infinite or not above zero.",
                "Give Noise.laplace(scale), Noise.gaussian(variance) or another law with a finite amount above 0.",
            )

    @staticmethod
    def laplace(scale: float) -> Noise:
        """Density ``exp(-|z|/scale) / (2 scale)``."""
        return _Laplace(_number(scale))

    @staticmethod
    def gaussian(variance: float) -> Noise:
        """The normal law."""
        return _Gaussian(_number(variance))

    @staticmethod
    def discrete_laplace(scale: float) -> Noise:
        """Integers with probability proportional to ``exp(-|z|/scale)``."""
        return _DiscreteLaplace(_number(scale))

    @staticmethod
    def discrete_gaussian(variance: float) -> Noise:
        """Integers with probability proportional to ``exp(-z^2 / (2 variance))``."""
        return _DiscreteGaussian(_number(variance))

    @staticmethod
    def truncated_geometric(epsilon: float, bound: int) -> Noise:
        """The discrete Laplace law of scale ``1/epsilon`` clipped to ``-bound .. bound`` (Theorem 4, item 5)."""
        return _TruncatedGeometric(_number(epsilon), int(bound) if is_whole(bound) else 0)

    @staticmethod
    def of(mechanism: CountNoise, bound: int | None = None) -> Noise:
        """What a mechanism adds to each count, cut off at a bound if there is one."""
        return _seen(mechanism, bound)

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of one answer's noise, of whole noise at least ``LEAST_VARIANCE``."""

    @property
    def std(self) -> float:
        """Standard deviation of one answer's noise."""
        return sqrt(self.variance)

    @abstractmethod
    def below(self, values: ArrayLike) -> Floats:
        """``P(noise < value)``."""

    @abstractmethod
    def at_most(self, values: ArrayLike) -> Floats:
        """``P(noise <= value)``."""

    @abstractmethod
    def quantile(self, probability: float) -> float:
        """The smallest value that the noise exceeds with probability at most ``1 - probability``."""

    def median_of_largest(self, count: int) -> float:
        """Median of the largest of ``count`` independent draws."""
        return self.quantile(1.0 + float(np.expm1(log(0.5) / count)))

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """Bounds on E z^2 and E |z| of one draw: those of the continuous law, which discrete and cut off ones obey."""

    @abstractmethod
    def largest(self, count: int) -> tuple[float, float]:
        """Bounds on E max |z| and E max z^2 of ``count`` draws."""


class _ExponentialTails(Noise):
    """What the Laplace laws share; ``parameter`` is the scale."""

    @property
    def moments(self) -> tuple[float, float]:
        return 2.0 * self.parameter**2, self.parameter

    def largest(self, count: int) -> tuple[float, float]:
        """Lemma 1 for ``count`` Laplace variables."""
        scale, height = self.parameter, log(count)
        return scale * (height + 1.0), scale**2 * (height**2 + 2.0 * height + 2.0)


class _NormalTails(Noise):
    """What the Gaussian laws share; ``parameter`` is the variance."""

    @property
    def moments(self) -> tuple[float, float]:
        return self.parameter, sqrt(self.parameter)

    def largest(self, count: int) -> tuple[float, float]:
        """Lemma 1 for ``count`` normal variables."""
        sigma = sqrt(self.parameter)
        if count == 1:
            return sigma, sigma**2
        height = sqrt(2.0 * log(count))
        tail = 4.0 / sqrt(2.0 * pi)
        return sigma * (height + tail / height**2), sigma**2 * (height**2 + tail / height)


class _Continuous(Noise):
    """A law with a density: single values have no probability."""

    whole = False

    def below(self, values: ArrayLike) -> Floats:
        return self.at_most(values)

    def median_of_largest(self, count: int) -> float:
        return -self.quantile(-float(np.expm1(log(0.5) / count)))  # by the small tail, which keeps its digits


class _Whole(Noise):
    """A law on the integers."""

    whole = True

    @property
    def variance(self) -> float:
        values, weights = _probabilities(self)
        return max(LEAST_VARIANCE, float(np.sum(weights * values**2)))

    def below(self, values: ArrayLike) -> Floats:
        return self.at_most(np.ceil(np.asarray(values, np.float64)) - 1.0)

    def quantile(self, probability: float) -> float:
        values, weights = _probabilities(self)
        place = int(np.searchsorted(np.cumsum(weights), probability * (1.0 - 1e-15)))
        return float(values[min(place, len(values) - 1)])

    @abstractmethod
    def probabilities(self) -> tuple[Floats, Floats]:
        """Values and probabilities, where these exceed 1e-18 of the largest."""


class _Laplace(_Continuous, _ExponentialTails):
    @property
    def variance(self) -> float:
        return 2.0 * self.parameter**2

    def at_most(self, values: ArrayLike) -> Floats:
        points = np.asarray(values, np.float64)
        tail = 0.5 * np.exp(-np.abs(points) / self.parameter)
        return np.where(points < 0, tail, 1.0 - tail)

    def quantile(self, probability: float) -> float:
        if probability < 0.5:
            return self.parameter * log(2.0 * probability)
        return -self.parameter * log(2.0 * (1.0 - probability))


class _Gaussian(_Continuous, _NormalTails):
    @property
    def variance(self) -> float:
        return self.parameter

    def at_most(self, values: ArrayLike) -> Floats:
        return special.ndtr(np.asarray(values, np.float64) / sqrt(self.parameter))

    def quantile(self, probability: float) -> float:
        return sqrt(self.parameter) * float(special.ndtri(probability))


class _DiscreteLaplace(_Whole, _ExponentialTails):
    @property
    def variance(self) -> float:
        rate = 1.0 / self.parameter
        return max(LEAST_VARIANCE, 2.0 * exp(-rate) / expm1(-rate) ** 2)

    def at_most(self, values: ArrayLike) -> Floats:
        return _geometric_at_most(1.0 / self.parameter, np.floor(np.asarray(values, np.float64)))

    def quantile(self, probability: float) -> float:
        if self.parameter <= WIDE:
            return super().quantile(probability)
        tail = min(probability, 1.0 - probability)
        size = max(0.0, -self.parameter * log(2.0 * tail)) if tail > 0.0 else REACH * self.parameter
        return float(ceil(size - 0.5)) if probability >= 0.5 else float(ceil(-size - 0.5))

    def probabilities(self) -> tuple[Floats, Floats]:
        rate = 1.0 / self.parameter
        return _geometric(rate, ceil(REACH / rate) + 2)


class _DiscreteGaussian(_Whole, _NormalTails):
    @property
    def variance(self) -> float:
        return self.parameter if self._wide else super().variance

    @property
    def _wide(self) -> bool:
        return self.parameter > WIDE**2

    def at_most(self, values: ArrayLike) -> Floats:
        floor = np.floor(np.asarray(values, np.float64))
        if self._wide:
            return special.ndtr((floor + 0.5) / sqrt(self.parameter))
        support, weights = _probabilities(self)
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        place = np.clip(floor - support[0] + 1.0, 0.0, len(support))
        return sums[place.astype(np.int64)]

    def quantile(self, probability: float) -> float:
        if self._wide:
            return float(ceil(sqrt(self.parameter) * float(special.ndtri(probability)) - 0.5))
        return super().quantile(probability)

    def probabilities(self) -> tuple[Floats, Floats]:
        reach = ceil(9.2 * sqrt(self.parameter)) + 2
        values = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(values**2) / (2.0 * self.parameter))
        return values, weights / weights.sum()


@dataclass(frozen=True)
class _TruncatedGeometric(_Whole):
    """``parameter`` is the rate of the tails; what lies beyond ``bound`` is moved to it."""

    bound: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound < 1:
            raise WorkloadError(
                "microdata.noise", "A truncated geometric law needs a bound of at least 1.", "Give bound=40."
            )

    @property
    def moments(self) -> tuple[float, float]:
        scale = 1.0 / self.parameter
        return 2.0 * scale**2, scale

    def largest(self, count: int) -> tuple[float, float]:
        return float(self.bound), float(self.bound) ** 2

    def at_most(self, values: ArrayLike) -> Floats:
        floor = np.floor(np.asarray(values, np.float64))
        found = _geometric_at_most(self.parameter, floor)
        return np.where(floor < -self.bound, 0.0, np.where(floor >= self.bound, 1.0, found))

    def probabilities(self) -> tuple[Floats, Floats]:
        return _geometric(self.parameter, min(self.bound, ceil(REACH / self.parameter) + 2))


@singledispatch
def _seen(mechanism: CountNoise, bound: int | None) -> Noise:
    raise TypeError(f"No fit knows {mechanism.name} noise.")


@_seen.register
def _seen_gaussian(mechanism: GaussianNoise, bound: int | None) -> Noise:
    return Noise.discrete_gaussian(float(mechanism.variance))


@_seen.register
def _seen_laplace(mechanism: LaplaceNoise, bound: int | None) -> Noise:
    if bound is None:
        return Noise.discrete_laplace(float(mechanism.scale))
    return Noise.truncated_geometric(float(1 / mechanism.scale), bound)


def _geometric(rate: float, reach: int) -> tuple[Floats, Floats]:
    """The double geometric law, what lies beyond ``reach`` moved to it."""
    values = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-rate * np.abs(values)) * (1.0 - exp(-rate)) / (1.0 + exp(-rate))
    weights[[0, -1]] = exp(-rate * reach) / (1.0 + exp(-rate))
    return values, weights


def _geometric_at_most(rate: float, floor: Floats) -> Floats:
    top = 1.0 / (1.0 + exp(-rate))
    below = top * np.exp(rate * np.minimum(floor, 0.0))
    above = 1.0 - top * np.exp(-rate * (np.maximum(floor, 0.0) + 1.0))
    return np.where(floor < 0, below, above)


@lru_cache(maxsize=64)
def _probabilities(noise: _Whole) -> tuple[Floats, Floats]:
    return noise.probabilities()


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")
