"""Noise that is cut off: its delta against the definition, by brute force over the laws with 50 digits."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import product

import pytest

from hushtable.errors import BudgetError
from hushtable.privacy.mechanism import LaplaceNoise
from hushtable.privacy.truncation import TruncatedNoise, least_bound

getcontext().prec = 50
RATES = ["0.01", "0.1", "0.3", "0.48", "0.5", "1", "2.5", "7"]


def law(rate: Decimal, bound: int) -> dict[int, Decimal]:
    """The printed law: geometric inside, the whole tail at both ends."""
    q = (-rate).exp()
    inside = {z: (1 - q) / (1 + q) * (-rate * abs(z)).exp() for z in range(-bound + 1, bound)}
    return inside | dict.fromkeys((-bound, bound), (-rate * bound).exp() / (1 + q))


def excess(rate: Decimal, bound: int, shift: int) -> Decimal:
    """Sum over outputs of (P - e^(rate |shift|) Q)+, Q the law moved by a shift."""
    p = law(rate, bound)
    factor = (rate * abs(shift)).exp()
    return sum((max(Decimal(0), p[z] - factor * p.get(z - shift, Decimal(0))) for z in p), Decimal(0))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("bound", [1, 2, 3, 10, 60])
def test_the_delta_of_a_row_is_the_excess_of_one_law_over_the_other(rate: str, bound: int) -> None:
    true = excess(Decimal(rate), bound, 1)
    assert abs(sum(law(Decimal(rate), bound).values()) - 1) < Decimal("1e-45")
    assert abs(excess(Decimal(rate), bound, -1) - true) < Decimal("1e-45")
    found = TruncatedNoise(1 / Fraction(rate), bound).delta()
    assert found - Fraction(true) + Fraction(1, 10**40) >= 0 and found <= Fraction(true) * (
        1 + Fraction(1, 10**25)
    )


@pytest.mark.parametrize("rate", ["0.05", "0.3", "1"])
@pytest.mark.parametrize("rows", [2, 3, 5])
def test_several_rows_cost_at_least_what_any_way_to_place_them_needs(rate: str, rows: int) -> None:
    """Moves of counts compose: each count that moves by m has the excess of a shift by m, and these add up."""
    bound = 25
    single = [Decimal(0)] + [excess(Decimal(rate), bound, m) for m in range(1, rows + 1)]
    ways = [w for w in product(range(rows + 1), repeat=min(rows, 3)) if sum(map(abs, w)) == rows]
    worst = max(*(sum(single[m] for m in w) for w in ways), rows * single[1])
    assert TruncatedNoise(1 / Fraction(rate), bound).delta(rows) >= Fraction(worst) * (
        1 - Fraction(1, 10**40)
    )


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("delta", ["0.1", "1e-3", "1e-6", "1e-12"])
def test_the_least_bound_is_enough_and_one_less_is_not(rate: str, delta: str) -> None:
    bound = least_bound(1 / Fraction(rate), Fraction(delta))
    assert excess(Decimal(rate), bound, 1) <= Decimal(delta)
    assert bound == 1 or excess(Decimal(rate), bound - 1, 1) > Decimal(delta)


def test_it_costs_what_the_noise_without_a_bound_costs_and_a_delta() -> None:
    noise, whole = TruncatedNoise(Fraction(4), 30), LaplaceNoise(Fraction(4))
    assert (noise.price(2).xi, noise.price(2).rho) == (whole.price(2).xi, whole.price(2).rho)
    assert noise.price(2).delta == noise.delta(2) > 2 * noise.delta()


def test_what_cannot_be_cut_off_is_refused() -> None:
    for bound in (0, -1, True, 2.0):
        with pytest.raises(BudgetError):
            TruncatedNoise(Fraction(1), bound)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="too small"):
        least_bound(Fraction(2), Fraction(1, 10**2000))
