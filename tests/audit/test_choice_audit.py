"""Whole choices at worst-case neighbours: the common part, a decision that looks at it, and what completes an option.

One run is the complete transcript.  Options of one price make the log likelihood ratio of a transcript normal with
variance 2 rho whichever option is taken, so that the claim is the curve of Gaussian noise at mu = sqrt(2 rho).  Each
has a mutant with 10% too little noise; another mutant looks a second time without paying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from lower_bounds import always_exceeds, gaussian_excess, normal_curve

from bit_sources import SeededBits, SeededSegments
from hushtable import linear
from hushtable.kernel.draw import noisy
from hushtable.linear import MarginalMechanism
from hushtable.measurement import Part, ResidualPart
from hushtable.privacy import GaussianNoise
from hushtable.release.choices import ChoicePlan, plan_choice
from hushtable.release.choices.families import missing_residuals

RHO = Fraction(1, 2)
LESS = Fraction(9, 10)
RUNS = 20_000


@dataclass(frozen=True)
class Drawer:
    """One part: what a person in the first cell moves, and the noise."""

    part: Part
    moved: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, part: Part) -> Drawer:
        counts = np.zeros(part.layout.cells, np.int64)
        counts[part.layout.offsets[:-1]] = 1
        variances = np.repeat([float(v) for v in part.noise.parameters], part.noise.lengths)
        return cls(part, part.exact(counts), variances)

    def runs(self, people: int) -> np.ndarray:
        """What the kernel would release of a table with no or one person, one row per run."""
        noise = self.part.noise
        many = replace(noise, lengths=[n * RUNS for n in noise.lengths])
        pieces = np.split(self.moved * people, np.cumsum(noise.lengths)[:-1])
        values = noisy(np.concatenate([np.tile(p, RUNS) for p in pieces]), many)
        parts = np.split(values, np.cumsum(many.lengths)[:-1])
        return np.hstack([part.reshape(RUNS, -1) for part in parts])

    def evidence(self, values: np.ndarray) -> np.ndarray:
        """The part of the log likelihood ratio that depends on the values, for each run."""
        return (self.moved * values / self.variances).sum(axis=1)

    @property
    def strength(self) -> float:
        """Variance of the evidence."""
        return float((self.moved**2 / self.variances).sum())


def pair(plan: ChoicePlan) -> tuple[Drawer, list[Drawer]]:
    first = plan.step_part(0, ())
    assert first is not None
    rest = [plan.finish_part(0, k, [first]) for k in range(len(plan.options))]
    return Drawer.of(first), [Drawer.of(part) for part in rest if part is not None]


def marginal_choice() -> tuple[Drawer, list[Drawer]]:
    return pair(plan_choice((2, 2), [linear.marginals((2, 2), order=k) for k in (1, 2)], rho=RHO))


def bucket_choice() -> tuple[Drawer, list[Drawer]]:
    cuts = ((2,), (1, 2, 3))
    return pair(plan_choice((4,), [linear.bucket_table([linear.buckets(4, c)]) for c in cuts], rho=RHO))


def matrix_choice() -> tuple[Drawer, list[Drawer]]:
    options = [linear.marginals((2, 2), order=k, rho=RHO).dense() for k in (1, 2)]
    return pair(plan_choice((2, 2), options, rho=RHO))


def reuse() -> tuple[Drawer, list[Drawer]]:
    """A first release of single attributes, then all cells with the earlier answers taken off."""
    first = linear.marginals((2, 2), order=1, rho=RHO / 4)
    target = linear.marginals((2, 2), order=2, rho=RHO)
    shared = linear.common([first, target])
    assert isinstance(shared, MarginalMechanism) and linear.equivalent(shared, first)
    known = ResidualPart.of((2, 2), first.precisions)
    missing = missing_residuals(target.sizes, target.precisions, [known])
    assert missing is not None
    return Drawer.of(known), [Drawer.of(missing)]


CASES: dict[str, Callable[[], tuple[Drawer, list[Drawer]]]] = {
    "marginals": marginal_choice,
    "tables over buckets": bucket_choice,
    "matrices": matrix_choice,
    "reuse": reuse,
}


def batch(case: str, *, twice: bool = False) -> Callable[[], float]:
    """Evidence of whole transcripts; ``twice`` looks at a second, unpaid common part."""
    first, rest = CASES[case]()
    mu = float(2 * RHO) ** 0.5

    def transcripts(people: int) -> np.ndarray:
        look = first.runs(people)
        taken = (look[:, 0] > 0).astype(int) % len(rest)
        finished = np.stack([part.evidence(part.runs(people)) for part in rest])
        evidence = first.evidence(look) + finished[taken, np.arange(RUNS)]
        return evidence + (first.evidence(first.runs(people)) if twice else 0.0)

    def excess() -> float:
        absent, present = transcripts(0), transcripts(1)
        middle = mu**2 / 2 + (first.strength / 2 if twice else 0.0)
        return gaussian_excess(absent, present, normal_curve(mu), middle=middle, deviation=mu)

    return excess


@pytest.mark.parametrize("case", CASES)
def test_the_parts_of_a_choice_cost_together_what_the_option_costs(case: str) -> None:
    first, rest = CASES[case]()
    for part in rest:
        assert first.strength + part.strength == pytest.approx(float(2 * RHO), rel=3e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_choice_hides_a_person_as_well_as_its_price_says(case: str) -> None:
    assert not always_exceeds(batch(case))


@pytest.mark.parametrize("case", CASES)
def test_ten_percent_too_little_noise_is_caught(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bits = SeededBits(3)
    right = GaussianNoise.segments

    def less(variances: list[Fraction], lengths: list[int]) -> SeededSegments:
        return SeededSegments(right([v * LESS**2 for v in variances], lengths), bits)

    monkeypatch.setattr(GaussianNoise, "segments", less)
    assert always_exceeds(batch(case), 1)


@pytest.mark.parametrize("case", ["marginals", "tables over buckets"])
def test_a_look_that_is_not_paid_for_is_caught(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bits = SeededBits(4)
    right = GaussianNoise.segments
    monkeypatch.setattr(GaussianNoise, "segments", lambda v, n: SeededSegments(right(v, n), bits))
    assert always_exceeds(batch(case, twice=True), 1)
