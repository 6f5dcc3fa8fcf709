"""What can be measured, each with its price beside its noise.

Prices are per person: a person holds at most `rows` rows, so an epsilon counts `rows` times and a rho `rows` squared
times (group privacy).  The proofs are in `proofs/`.  Nothing here draws noise or knows ledgers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import TYPE_CHECKING, ClassVar, Literal

from hushtable import privacy
from hushtable.errors import BudgetError
from hushtable.privacy.amounts import exact_number
from hushtable.privacy.budget import Kind, price_in

if TYPE_CHECKING:  # a price loads no sampler
    from hushtable.privacy.sampler import Segments

Ratio = tuple[int, int]
"""Numerator and denominator, not necessarily in lowest terms."""

_WIDE = 4096
"""Bits of a common denominator beyond which sums are formed in pairs."""


@dataclass(frozen=True)
class Price:
    """Pure epsilon `xi` (None: not pure at any epsilon) and zCDP `rho` of one mechanism or of several together, each
    but for a part `delta`.
    """

    xi: Fraction | None
    rho: Fraction
    delta: Fraction | int = 0

    def __add__(self, other: Price) -> Price:
        xi = None if self.xi is None or other.xi is None else self.xi + other.xi
        return Price(xi, self.rho + other.rho, self.delta + other.delta)

    def in_currency(
        self, kind: Kind, *, prefer: Literal["rho", "pure"] = "rho"
    ) -> tuple[Fraction, Fraction, Fraction | int]:
        """The exact (xi, rho, delta) that a ledger of `kind` charges."""
        return price_in(kind, self.xi, self.rho, self.delta, prefer=prefer)


class Mechanism(ABC):
    """What is released at a price; `total_price` adds them up."""

    __slots__ = ()

    @abstractmethod
    def ratios(self, rows: int = 1) -> tuple[Ratio | None, Ratio]:
        """The price's (xi, rho) as plain integers, for long sums."""

    def price(self, rows: int = 1) -> Price:
        """Cost for a person with at most `rows` rows."""
        xi, rho = self.ratios(rows)
        return Price(None if xi is None else Fraction(*xi), Fraction(*rho))


@dataclass(frozen=True)
class ResidualNoise(Mechanism):
    """A residual of attributes with `sizes` categories: kron(n_i I - 11') mu + DiscreteGaussian(prod(n)^2 / precision).

    The integers released have squared L2 sensitivity prod n_i (n_i - 1), hence rho = precision prod((n_i - 1)/n_i) / 2
    for one row.  After division by prod(n) the noise variance is 1 / precision.  `sizes` is empty for the total.
    """

    sizes: tuple[int, ...]
    precision: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.precision, "precision")
        if any(n < 1 for n in self.sizes):
            raise BudgetError(
                "noise.sizes", "A residual needs at least one category per attribute.", "Check sizes."
            )

    @property
    def noise_variance(self) -> Fraction:
        """Parameter of the discrete Gaussian added to the integers."""
        return prod(self.sizes) ** 2 / self.precision

    def ratios(self, rows: int = 1) -> tuple[Ratio | None, Ratio]:
        """xi None; rho = rows^2 precision prod((n - 1) / n) / 2."""
        top = rows * rows * prod(n - 1 for n in self.sizes) * self.precision.numerator
        return None, (top, 2 * prod(self.sizes) * self.precision.denominator)


class CountNoise(Mechanism):
    """Independent discrete noise on the cells of a marginal.

    An object is the noise of one size, its class the law: what runs of it are drawn by stands beside its price.
    """

    name: ClassVar[str]
    """Its name in stored answers."""
    normal: ClassVar[bool]
    """Whether answers are combined as normal ones, by their variances alone; only then do marginals tell residuals,
    and may what was measured before be charged by difference."""
    cut: ClassVar[bool]
    """Whether it may be cut off, for a delta."""

    @abstractmethod
    def __init__(self, parameter: Fraction) -> None: ...

    @property
    @abstractmethod
    def true_variance(self) -> float:
        """Variance of one integer, for error bars."""

    @property
    @abstractmethod
    def kurtosis(self) -> float:
        """Excess kurtosis that an error bar reckons with."""

    @staticmethod
    @abstractmethod
    def segments(parameters: Sequence[Fraction], lengths: Sequence[int]) -> Segments:
        """Runs of the law, ready to be drawn."""


@dataclass(frozen=True)
class GaussianNoise(CountNoise):
    """The cells of a marginal + DiscreteGaussian(variance): a row moves one cell by 1, rho = 1 / (2 variance)."""

    variance: Fraction
    name = "gaussian"
    normal = True
    cut = False

    def __post_init__(self) -> None:
        _check_positive(self.variance, "variance")

    def ratios(self, rows: int = 1) -> tuple[Ratio | None, Ratio]:
        """xi None; rho = rows^2 / (2 variance)."""
        return None, (rows * rows * self.variance.denominator, 2 * self.variance.numerator)

    @property
    def true_variance(self) -> float:
        return privacy.discrete_gaussian_variance(self.variance)

    @property
    def kurtosis(self) -> float:
        return 0.0

    @staticmethod
    def segments(parameters: Sequence[Fraction], lengths: Sequence[int]) -> Segments:
        return privacy.gaussian_segments(parameters, lengths)


@dataclass(frozen=True)
class LaplaceNoise(CountNoise):
    """The cells of a marginal + DiscreteLaplace(scale): epsilon = 1 / scale for one row.

    An epsilon-DP mechanism is epsilon tanh(epsilon/2)-zCDP, and this one no better; the price is a rational just above.
    """

    scale: Fraction
    name = "laplace"
    normal = False
    cut = True

    def __post_init__(self) -> None:
        _check_positive(self.scale, "scale")

    def ratios(self, rows: int = 1) -> tuple[Ratio | None, Ratio]:
        """xi = rows / scale; rho = xi tanh(xi / 2), rounded up to a rational."""
        xi = (rows * self.scale.denominator, self.scale.numerator)
        return xi, pure_rho(xi)

    @property
    def true_variance(self) -> float:
        return privacy.discrete_laplace_variance(self.scale)

    @property
    def kurtosis(self) -> float:
        return privacy.discrete_laplace_kurtosis(self.scale)

    @staticmethod
    def segments(parameters: Sequence[Fraction], lengths: Sequence[int]) -> Segments:
        return privacy.laplace_segments(parameters, lengths)


LAWS: Mapping[str, type[CountNoise]] = {law.name: law for law in (GaussianNoise, LaplaceNoise)}
"""Every law of noise on counts by its name, for those who read what was stored."""


@dataclass(frozen=True)
class Selection(Mechanism):
    """The exponential mechanism, P(i) ~ exp(epsilon score_i / (2 sensitivity)): epsilon-DP with bounded range epsilon,
    hence rho = epsilon^2 / 8 for one row.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.epsilon, "epsilon")

    def ratios(self, rows: int = 1) -> tuple[Ratio | None, Ratio]:
        """xi = rows epsilon; rho = xi^2 / 8."""
        top, bottom = rows * self.epsilon.numerator, self.epsilon.denominator
        return (top, bottom), (top * top, 8 * bottom * bottom)


@dataclass(frozen=True)
class DistanceNoise(Mechanism):
    """L1 distances of `tables` marginals from public tables on a grid of 1/`grid` + DiscreteGaussian(variance).

    A row moves one cell of each marginal by `grid` units, hence each distance by at most that much: the squared L2
    sensitivity is tables grid^2 and rho = tables grid^2 / (2 variance).
    """

    tables: int
    grid: int
    variance: Fraction

    def __post_init__(self) -> None:
        _check_positive(self.variance, "variance")

    def ratios(self, rows: int = 1) -> tuple[Ratio | None, Ratio]:
        """xi None; rho = rows^2 tables grid^2 / (2 variance)."""
        top = (rows * self.grid) ** 2 * self.tables * self.variance.denominator
        return None, (top, 2 * self.variance.numerator)


def pure_rho(xi: Ratio) -> Ratio:
    """A rational zCDP price of any xi-DP mechanism: at least xi tanh(xi/2), at most xi^2/2 and at most xi.

    With y = xi/2, tanh y <= y (15 + y^2) / (15 + 6 y^2), a convergent of its continued fraction.
    """
    top, bottom = xi
    square, unit = top * top, bottom * bottom
    if 2 * square >= 43 * unit:  # from about here on the convergent exceeds 1
        return xi
    return square * (60 * unit + square), unit * (120 * unit + 12 * square)  # the convergent at y = xi/2


def total_price(mechanisms: Iterable[Mechanism], rows: int = 1) -> Price:
    """Exact sum of the prices; quick for tens of thousands of mechanisms.

    Numerators over equal denominators are added as integers first, then over a common denominator.
    """
    pure: dict[int, int] | None = {}
    rhos: dict[int, int] = {}
    for mechanism in mechanisms:
        xi, (top, bottom) = mechanism.ratios(rows)
        rhos[bottom] = rhos.get(bottom, 0) + top
        if xi is None:
            pure = None
        elif pure is not None:
            pure[xi[1]] = pure.get(xi[1], 0) + xi[0]
    return Price(None if pure is None else _sum(pure), _sum(rhos))


def _sum(tops: dict[int, int]) -> Fraction:
    common = 1
    for bottom in tops:
        common = lcm(common, bottom)
        if common.bit_length() > _WIDE:
            return _sum_in_pairs([Fraction(top, bottom) for bottom, top in sorted(tops.items())])
    return Fraction(sum(top * (common // bottom) for bottom, top in tops.items()), common)


def _sum_in_pairs(terms: list[Fraction]) -> Fraction:
    """The sum with few long operands: neighbours first, then their sums."""
    while len(terms) > 1:
        odd = terms[len(terms) & ~1 :]
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + odd
    return terms[0]


def _check_positive(value: Fraction, name: str) -> None:
    if exact_number(value, name) <= 0:
        raise BudgetError(
            "noise.not-positive", f"{name} must be above zero.", f"Give {name} as an exact Fraction."
        )
