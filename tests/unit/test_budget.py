"""Budgets and costs: exact amounts, rounded against the spender."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import BudgetError
from hushtable.privacy import UNIT, ZCDP, ApproxDP, Budget, Cost, PureDP, charge, price_in, rho_from
from hushtable.privacy.amounts import exact_number, text

BAD = [
    0, -1, -0.0, "0", float("nan"), float("inf"), -float("inf"), "nan", "inf", "many", "", "1/0", "-1/2", True, False,
    None, [1], 1j, Decimal("NaN"), Decimal("Infinity"), Fraction(-1, 3), "1e9999999999", "1/2/3", np.float64("nan"),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_amounts_that_are_not_budgets_are_refused_with_a_fix(bad: object) -> None:
    for make in (
        ZCDP,
        PureDP,
        lambda x: ApproxDP(epsilon=x, delta=1e-9),
        lambda x: ApproxDP(epsilon=1, delta=x),
    ):
        with pytest.raises(BudgetError) as caught:
            make(bad)
        assert caught.value.fix
        assert caught.value.code.startswith("budget.")


@pytest.mark.parametrize("delta", [1, 1.5, "1", Fraction(3, 2)])
def test_delta_of_one_or_more_is_refused(delta: object) -> None:
    with pytest.raises(BudgetError, match=r"budget\.delta"):
        ApproxDP(epsilon=1, delta=delta)  # type: ignore[arg-type]


def test_amounts_off_the_ledgers_range_are_refused() -> None:
    for make in (ZCDP, PureDP):
        with pytest.raises(BudgetError, match=r"budget\.too-small"):
            make("9.99e-13")
        with pytest.raises(BudgetError, match=r"budget\.too-large"):
            make(1_000_001)
        assert make("1e-12").limit in (Cost(0, 1), Cost(1, 0))
        assert make(10**6).limit in (Cost(0, 10**18), Cost(10**18, 0))
    with pytest.raises(BudgetError, match=r"budget\.too-small"):
        ApproxDP(epsilon=1e-6, delta=1e-300)


@pytest.mark.parametrize(
    ("given_as", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        ("0.3", Fraction(3, 10)),
        (" 2/3 ", Fraction(2, 3)),
        (Decimal("0.70"), Fraction(7, 10)),
        (3, Fraction(3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(4), Fraction(4)),
        (1e22, Fraction(10**22)),
    ],
)
def test_numbers_are_read_as_people_write_them(given_as: object, meant: Fraction) -> None:
    assert exact_number(given_as, "rho") == meant


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6))
def test_text_of_an_amount_reads_back_exactly(amount: Fraction) -> None:
    assert exact_number(text(amount), "rho") == amount


def test_a_tenth_and_two_tenths_fit_three_tenths() -> None:
    spent = charge(Fraction(0), exact_number(0.1, "rho")) + charge(Fraction(0), exact_number(0.2, "rho"))
    assert spent == ZCDP(0.3).limit


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=1000))
def test_charges_round_up_and_limits_round_down_by_less_than_a_unit(amount: Fraction) -> None:
    charged, allowed = charge(amount, amount), ZCDP(amount).limit
    assert 0 <= Fraction(charged.rho, UNIT) - amount < Fraction(1, UNIT)
    assert 0 <= amount - Fraction(allowed.rho, UNIT) < Fraction(1, UNIT)
    assert charged.xi == charged.rho and PureDP(amount).limit == Cost(allowed.rho, 0)


def test_costs_compare_part_by_part() -> None:
    small, wide, tall = Cost(1, 1), Cost(5, 1), Cost(1, 5)
    assert small <= wide and small <= tall and wide >= small
    assert not wide <= tall and not tall <= wide
    assert wide - small == Cost(4, 0) and Cost.ZERO + tall == tall
    assert tall.to_dict() == {"xi": "0.000000000001", "rho": "0.000000000005"}
    assert Cost.from_dict(tall.to_dict()) == Cost.from_dict({"xi": 1, "rho": 5}) == tall
    with pytest.raises(BudgetError, match="negative"):
        small - wide
    with pytest.raises(BudgetError):
        Cost(1.0, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "kind", "again"),
    [
        ("rho=0.1", "zcdp", "rho=0.1"),
        ("rho = 0.10", "zcdp", "rho=0.1"),
        ("epsilon=1", "pure", "epsilon=1"),
        ("epsilon=2/3", "pure", "epsilon=2/3"),
        ("epsilon=1,delta=1e-9", "approx", "epsilon=1,delta=1e-9"),
        ("delta=1e-9, epsilon=1, pure=0.2", "approx", "epsilon=1,delta=1e-9,pure=0.2"),
        ("epsilon=1,delta=1e-6,truncation=5e-7", "approx", "epsilon=1,delta=1e-6,truncation=5e-7"),
        ("epsilon=1,delta=1e-6,truncation=1e-6", "approx", "epsilon=1,delta=1e-6,pure=1,truncation=1e-6"),
    ],
)
def test_budgets_read_back_from_text_and_dict(written: str, kind: str, again: str) -> None:
    budget = Budget.parse(written)
    assert (budget.kind, str(budget)) == (kind, again)
    assert Budget.parse(str(budget)) == budget == Budget.from_dict(budget.to_dict())
    assert set(map(type, budget.to_dict().values())) == {str}
    assert hash(budget) == hash(Budget.parse(again))


@pytest.mark.parametrize(
    "written", ["", "0.1", "rho", "rho=", "rho=x", "delta=1e-9", "rho=1,epsilon=1", "rho=1,rho=1", "sigma=1"]
)
def test_text_that_is_no_budget_is_refused_with_examples(written: str) -> None:
    with pytest.raises(BudgetError) as caught:
        Budget.parse(written)
    assert "=" in caught.value.fix


def test_a_dict_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(BudgetError, match="kind"):
        Budget.from_dict({"kind": "pure", "rho": "1"})


def test_an_approximate_budget_sets_its_pure_part_aside() -> None:
    budget = ApproxDP(epsilon=1, delta="1e-9", pure=0.25)
    assert budget.limit.xi == UNIT // 4
    assert budget.limit.rho == int(Fraction(rho_from(epsilon=0.75, delta=1e-9)) * UNIT)
    assert budget.delta == Fraction(1, 10**9)
    assert ApproxDP(epsilon=1, delta=1e-9).limit.xi == 0
    for pure in (1, 1.5, -0.1):
        with pytest.raises(BudgetError, match="pure"):
            ApproxDP(epsilon=1, delta=1e-9, pure=pure)


def test_a_truncation_is_set_aside_from_delta_before_the_conversion() -> None:
    budget = ApproxDP(epsilon=1, delta="1e-6", pure="0.25", truncation="4e-7")
    assert budget.limit.delta == Fraction(4, 10**7)
    assert budget.limit.rho == int(Fraction(rho_from(epsilon=0.75, delta="6e-7")) * UNIT)
    assert budget.limit.rho < ApproxDP(epsilon=1, delta="1e-6", pure="0.25").limit.rho
    assert "truncation" not in ApproxDP(epsilon=1, delta="1e-6").to_dict()


def test_with_all_of_delta_set_aside_epsilon_is_pure() -> None:
    budget = ApproxDP(epsilon="0.5", delta="1e-6", truncation="1e-6")
    assert budget.limit == Cost(UNIT // 2, 0, Fraction(1, 10**6))
    assert budget.pure == Fraction(1, 2)


@pytest.mark.parametrize(
    "parts",
    [
        {"truncation": "2e-6"},
        {"truncation": "-1e-9"},
        {"truncation": "1e-6", "pure": "0.5"},
        {"truncation": "5e-7", "pure": 1},
        {"truncation": "many"},
    ],
)
def test_a_truncation_that_leaves_something_unusable_is_refused(parts: dict[str, str]) -> None:
    with pytest.raises(BudgetError) as caught:
        ApproxDP(epsilon=1, delta="1e-6", **parts)  # type: ignore[arg-type]
    assert caught.value.fix


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(99, 100)))
def test_a_charged_delta_is_a_short_decimal_just_above(amount: Fraction) -> None:
    charged = Fraction(charge(Fraction(0), Fraction(0), amount).delta)
    assert amount <= charged <= amount * (1 + Fraction(1, 10**10))
    digits = text(charged)
    assert "/" not in digits and len(digits.partition("e")[0].replace("0.", "").lstrip("0")) <= 13


def test_each_kind_of_ledger_charges_its_own_currency() -> None:
    xi, rho, none = Fraction(1, 2), Fraction(1, 8), Fraction(0)
    assert price_in("pure", xi, rho) == (xi, none, 0)
    assert price_in("zcdp", xi, rho) == (none, rho, 0)
    assert price_in("approx", xi, rho) == (none, rho, 0)
    assert price_in("approx", xi, rho, prefer="pure") == (xi, none, 0)
    assert price_in("zcdp", None, rho) == (none, rho, 0)
    tail = Fraction(1, 10**7)
    assert price_in("approx", xi, rho, tail, prefer="pure") == (xi, none, tail)
    assert price_in("approx", xi, rho, tail) == (none, rho, tail)
    for kind in ("pure", "zcdp"):
        with pytest.raises(BudgetError, match=r"budget\.no-delta"):
            price_in(kind, xi, rho, tail)  # type: ignore[arg-type]
    for kind, prefer in (("pure", "rho"), ("approx", "pure")):
        with pytest.raises(BudgetError, match=r"budget\.not-pure"):
            price_in(kind, None, rho, prefer=prefer)  # type: ignore[arg-type]


def test_the_ledger_that_noise_with_a_delta_is_sent_to_can_pay_for_it() -> None:
    with pytest.raises(BudgetError) as refused:
        price_in("zcdp", Fraction(1, 10), Fraction(1, 200), Fraction(1, 10**8))
    advised = Budget.parse(refused.value.fix.split('"')[1])
    for prefer in ("pure", "rho"):
        price = price_in(advised.kind, Fraction(1, 10), Fraction(1, 200), Fraction(1, 10**8), prefer=prefer)
        assert charge(*price) <= advised.limit


def test_budgets_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ZCDP(1).rho = Fraction(2)  # type: ignore[misc]
