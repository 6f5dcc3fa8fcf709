"""What the variants gain: no decider for a median beats the margin both on some rows and next door to them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hushtable.deciders import DECIDERS, MEDIAN, Facts, Interval, build, tally
from hushtable.deciders.on_margin import MedianThreshold

DOMAIN = range(24)
MEDIANS = [name for name, known in DECIDERS.items() if known.aggregate is MEDIAN]


def neighbourhoods(count: int) -> list[tuple[Interval, list[int], list[int], int]]:
    """Rows whose median is inside an interval, the same with k rows added whose median is as far outside, and k."""
    rng = np.random.default_rng(11)
    found = []
    while len(found) < count:
        here = sorted(rng.choice([*rng.integers(4, 20, 3), 9, 9], rng.integers(1, 40)).tolist())
        within = Interval(Fraction(here[(len(here) - 1) // 2]), Fraction(int(rng.integers(1, 4))))
        decider = MedianThreshold(Fraction(1), Facts(within))
        reach = decider.margin(tally(here, decider.edges))
        for value in (DOMAIN[0], DOMAIN[-1]):
            there = [*here, *[value] * (2 * reach - 1)]
            if decider.margin(tally(there, decider.edges)) == 1 - reach:
                found.append((within, here, there, 2 * reach - 1))
    return found


@pytest.mark.parametrize("name", MEDIANS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 16), Fraction(1, 2), Fraction(2)])
def test_no_decider_beats_the_margin_on_rows_and_next_door_to_them(name: str, epsilon: Fraction) -> None:
    for within, here, there, _ in neighbourhoods(40):
        made, best = (
            build(which, within=within, epsilon=epsilon, domain=DOMAIN) for which in (name, "median-margin")
        )
        own = max(made.error(tally(rows, made.edges)) for rows in (here, there))
        least = max(best.error(tally(rows, best.edges)) for rows in (here, there))
        assert own >= least - 1e-12


@pytest.mark.parametrize("name", MEDIANS)
def test_a_decider_that_is_right_here_is_wrong_next_door(name: str) -> None:
    epsilon = Fraction(1, 4)
    for within, here, there, apart in neighbourhoods(40):
        made = build(name, within=within, epsilon=epsilon, domain=DOMAIN)
        assert made.truth(tally(here, made.edges)) and not made.truth(tally(there, made.edges))
        wrong_here, wrong_there = (made.error(tally(rows, made.edges)) for rows in (here, there))
        assert wrong_there >= 1 - math.exp(apart * epsilon) * wrong_here - 1e-12


def test_the_published_exponential_mechanism_is_right_here_and_wrong_with_a_few_people_more() -> None:
    here = [8] * 48 + [9] * 53
    there = [*here, *[8] * 9]
    within = Interval(Fraction(9), Fraction(1))
    published, tight = (
        build(name, within=within, epsilon=Fraction(1, 2), domain=DOMAIN)
        for name in ("median-em", "median-em-tight")
    )
    assert published.error(tally(here, published.edges)) < 0.01 < tight.error(tally(here, tight.edges))
    assert published.error(tally(there, published.edges)) > 0.5 > tight.error(tally(there, tight.edges))
