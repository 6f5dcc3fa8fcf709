"""Every mechanism at worst-case neighbours, against what it is charged for; each with a mutant of 10% too little noise.

One run adds noise to the counts of an empty table, or of a table with one person.  Many runs come from one call of the
kernel: a table of many attributes, of which each group is measured at the full price and looked at alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import exp, prod

import numpy as np
import polars as pl
import pytest
from lower_bounds import (
    always_exceeds,
    discrete_curve,
    gaussian_excess,
    highest,
    lowest,
    normal_curve,
    pure_bound,
    range_bound,
)
from scipy import stats

from bit_sources import SeededBits, SeededSegments
from hushtable.kernel import open_counter
from hushtable.kernel.draw import Confidential
from hushtable.measurement import MarginalPart, Measure, ResidualPart, TablePart
from hushtable.privacy import (
    CountNoise,
    GaussianNoise,
    LaplaceNoise,
    ResidualNoise,
    Selection,
    TruncatedNoise,
    exponential_mechanism,
)
from hushtable.schema import Schema
from thresholds import AUDIT_BATCHES, AUDIT_ERROR

GROUPS = 50
RHO = Fraction(1, 2)
EPSILON = Fraction(1)
LESS = Fraction(9, 10)
"""Standard deviation or scale of the mutants, as a part of the right one."""


def residual_plan(sizes: tuple[int, ...]) -> ResidualPart:
    """Many disjoint groups of attributes; the residual of each costs RHO."""
    order = len(sizes)
    groups = tuple(tuple(range(order * k, order * (k + 1))) for k in range(GROUPS))
    precision = 2 * RHO * prod(Fraction(n, n - 1) for n in sizes)
    assert ResidualNoise(sizes, precision).price().rho == RHO
    return ResidualPart(sizes * GROUPS, groups, (precision,) * GROUPS)


def marginal_plan(noise: type[CountNoise]) -> MarginalPart:
    """Many two-cell marginals, each with Gaussian noise for RHO or Laplace noise for EPSILON."""
    sets = tuple((k,) for k in range(GROUPS))
    precision = 2 * RHO if noise is GaussianNoise else EPSILON
    return MarginalPart((2,) * GROUPS, sets, noise, (precision,) * GROUPS)


def answers(plan: TablePart, people: int, runs: int) -> np.ndarray:
    """What the kernel would release of a table with no or one person: one row per run, one column per cell."""
    names = [f"a{k}" for k in range(len(plan.sizes))]
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"type": "integer", "bounds": [0, n - 1]}
                for name, n in zip(names, plan.sizes, strict=True)
            }
        }
    )
    frame = pl.DataFrame({name: [0] * people for name in names}, schema=dict.fromkeys(names, pl.Int64))
    drawing = Confidential(open_counter(frame, schema)).measure(Measure(plan))
    calls = [drawing() for _ in range(-(-runs // GROUPS))]
    return np.stack(calls).reshape(len(calls) * GROUPS, -1)[:runs]


@contextmanager
def too_little_noise(monkeypatch: pytest.MonkeyPatch, seed: int) -> Iterator[None]:
    """The kernel draws from seeded bits with 10% less spread than its plan says."""
    bits = SeededBits(seed)
    gaussian, laplace = GaussianNoise.segments, LaplaceNoise.segments

    def less_gaussian(variances, lengths):
        return SeededSegments(gaussian([v * LESS**2 for v in variances], lengths), bits)

    def less_laplace(scales, lengths):
        return SeededSegments(laplace([s * LESS for s in scales], lengths), bits)

    with monkeypatch.context() as patch:
        patch.setattr(GaussianNoise, "segments", less_gaussian)
        patch.setattr(LaplaceNoise, "segments", less_laplace)
        yield


def column(sizes: tuple[int, ...]) -> np.ndarray:
    """What one person adds to kron(n_i I - 1 1') mu, from the definition."""
    moved = np.ones(1)
    for n in sizes:
        moved = np.kron(moved, n * np.eye(n)[:, 0] - 1)
    return moved.astype(np.int64)


def residual_batch(sizes: tuple[int, ...], runs: int) -> Callable[[], float]:
    plan = residual_plan(sizes)
    moved = column(sizes)
    charged = float((moved**2).sum()) / (
        2 * float(RHO)
    )  # the variance that RHO pays for, from the definition of zCDP
    return gaussian_batch(plan, moved, charged, runs)


def gaussian_batch(plan: TablePart, moved: np.ndarray, variance: float, runs: int) -> Callable[[], float]:
    curve, shift = discrete_curve(moved.tolist(), variance), float((moved**2).sum())

    def batch() -> float:
        absent, present = (answers(plan, people, runs) @ moved for people in (0, 1))
        deviation = (shift * variance) ** 0.5
        middle = np.floor(shift / 2) + 0.25
        return gaussian_excess(absent, present, curve, middle=middle, deviation=deviation)

    return batch


def laplace_batch(runs: int) -> Callable[[], float]:
    plan = marginal_plan(LaplaceNoise)

    def batch() -> float:
        absent, present = (answers(plan, people, runs)[:, 0] >= 1 for people in (0, 1))
        return pure_bound(absent, present) - float(EPSILON)

    return batch


def cut_off_law(epsilon: float, bound: int) -> dict[int, float]:
    """Theorem 4, item 5: geometric inside, the whole tail at both ends."""
    ratio = exp(-epsilon)
    law = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(1 - bound, bound)}
    return law | dict.fromkeys((-bound, bound), ratio**bound / (1 + ratio))


def cut_off_batch(
    epsilon: Fraction, bound: int, runs: int, *, drawn: int | None = None
) -> Callable[[], float]:
    """By how much P(S) - e^epsilon Q(S) exceeds the delta that is charged, for the S where it is most.

    ``drawn`` is the bound of a kernel that cuts elsewhere than it is charged for.
    """
    sets = tuple((k,) for k in range(GROUPS))
    plan = MarginalPart((2,) * GROUPS, sets, LaplaceNoise, (epsilon,) * GROUPS, drawn or bound)
    charged = float(TruncatedNoise(1 / epsilon, bound).delta())
    law, factor = cut_off_law(float(epsilon), drawn or bound), exp(epsilon)
    worst = [1 + z for z in law if law[z] >= factor * law.get(z + 1, 0.0) * (1 - 1e-12)]

    def batch() -> float:
        absent, present = (np.isin(answers(plan, people, runs)[:, 0], worst) for people in (0, 1))
        error = AUDIT_ERROR / 2
        low, high = lowest(int(present.sum()), runs, error), highest(int(absent.sum()), runs, error)
        return low - factor * high - charged

    return batch


BATCHES: dict[str, Callable[[int], Callable[[], float]]] = {
    "residual of two attributes": lambda runs: residual_batch((2, 2), runs),
    "residual of three categories": lambda runs: residual_batch((3,), runs),
    "Gaussian marginal": lambda runs: gaussian_batch(
        marginal_plan(GaussianNoise), np.array([1, 0]), 1.0, runs
    ),
    "Laplace marginal": laplace_batch,
    "cut off marginal": lambda runs: cut_off_batch(EPSILON, 4, runs),
}
RUNS = [pytest.param(10_000, id="quick"), pytest.param(20_000, id="full", marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("mechanism", BATCHES)
def test_a_mechanism_hides_a_person_as_well_as_its_price_says(mechanism: str, runs: int) -> None:
    assert not always_exceeds(BATCHES[mechanism](runs))


@pytest.mark.parametrize(
    ("runs", "batches"),
    [
        pytest.param(20_000, 1, id="quick"),
        pytest.param(20_000, AUDIT_BATCHES, id="full", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("mechanism", BATCHES)
def test_ten_percent_too_little_noise_is_caught(
    mechanism: str, runs: int, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with too_little_noise(monkeypatch, seed=1):
        assert always_exceeds(BATCHES[mechanism](runs), batches)


def selection_batch(epsilon: Fraction, runs: int, bits: SeededBits | None) -> Callable[[], float]:
    """Two candidates; the person moves their scores apart by the sensitivity each."""

    def chosen(scores: list[int]) -> list[bool]:
        return [exponential_mechanism(scores, epsilon / 2, bits=bits) == 0 for _ in range(runs)]

    def batch() -> float:
        absent, present = chosen([0, 0]), chosen([1, -1])
        return max(range_bound(absent, present), pure_bound(absent, present)) - float(EPSILON)

    return batch


SELECTIONS = [pytest.param(40_000, id="quick"), pytest.param(100_000, id="full", marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", SELECTIONS)
def test_selection_hides_a_person_as_well_as_its_price_says(runs: int) -> None:
    assert Selection(EPSILON).price().rho == EPSILON**2 / 8
    assert not always_exceeds(selection_batch(EPSILON, runs, None))


@pytest.mark.parametrize(
    ("runs", "batches"),
    [
        pytest.param(40_000, 1, id="quick"),
        pytest.param(100_000, AUDIT_BATCHES, id="full", marks=pytest.mark.slow),
    ],
)
def test_ten_percent_too_little_randomness_in_a_selection_is_caught(runs: int, batches: int) -> None:
    assert always_exceeds(selection_batch(EPSILON / LESS, runs, SeededBits(2)), batches)


def test_the_discrete_curve_is_the_normal_one_for_wide_noise_and_its_own_for_narrow_noise() -> None:
    """One cell, one person: variance 1 can be told apart at the middle like a shift of 1.046 standard deviations."""
    wide = discrete_curve([100], 100.0**2)
    for chance in (0.01, 0.2, 0.5, 0.9):
        assert wide(chance) == pytest.approx(normal_curve(1.0)(chance), abs=1e-4)
    weights = np.exp(-(np.arange(-40.0, 41) ** 2) / 2)
    accused = float(weights[41:].sum() / weights.sum())
    narrow = discrete_curve([1], 1.0)
    assert narrow(accused) == pytest.approx(accused, abs=1e-12)
    assert 2 * stats.norm.isf(accused) == pytest.approx(1.046, abs=1e-3)


@pytest.mark.parametrize("epsilon, bound", [(EPSILON, 3), (Fraction(3, 10), 7)])
def test_noise_that_is_cut_off_one_step_too_early_is_found(
    epsilon: Fraction, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits, laplace = SeededBits(31), LaplaceNoise.segments
    monkeypatch.setattr(LaplaceNoise, "segments", lambda s, n: SeededSegments(laplace(s, n), bits))
    assert not always_exceeds(cut_off_batch(epsilon, bound, 20_000))
    assert always_exceeds(cut_off_batch(epsilon, bound, 20_000, drawn=bound - 1))
