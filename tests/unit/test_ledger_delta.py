"""Ledgers with a delta set aside: entries carry three amounts, all add, and ledgers without one stay as they were."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from hushtable.cli.app import run
from hushtable.errors import BudgetExhausted, HushtableError
from hushtable.ledger import Ledger, Unit
from hushtable.privacy.budget import ZCDP, ApproxDP, Budget, Cost, PureDP

WHOLE = ApproxDP(epsilon=2, delta="1e-6", pure=1, truncation="5e-7")


def cost(xi: str, rho: str, delta: str | int) -> Cost:
    return Cost(int(Fraction(xi) * 10**12), int(Fraction(rho) * 10**12), Fraction(delta) or 0)


def spend(ledger: Ledger, amount: Cost, **given: str | None) -> None:
    reservation = ledger.reserve(cost=amount, kind="release", detail={}, **given)  # type: ignore[arg-type]
    ledger.store(ledger.charge(reservation, amount), b"noisy")
    ledger.settle(reservation)


def code_of(action: object) -> str:
    with pytest.raises(HushtableError) as caught:
        action()  # type: ignore[operator]
    assert caught.value.fix
    return caught.value.code


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "town.ledger", WHOLE, Unit(1))


def test_all_three_amounts_add_and_each_has_its_limit(ledger: Ledger) -> None:
    spend(ledger, cost("0.25", "0.001", "1e-7"))
    spend(ledger, cost("0.25", "0", "3e-7"))
    assert ledger.spent() == cost("0.5", "0.001", "4e-7")
    assert ledger.remaining().delta == Fraction(1, 10**7)
    assert code_of(lambda: spend(ledger, cost("0.1", "0", "1.1e-7"))) == "ledger.exhausted"
    assert code_of(lambda: spend(ledger, cost("0.6", "0", "1e-8"))) == "ledger.exhausted"
    spend(ledger, cost("0.5", "0", "1e-7"))
    assert ledger.remaining().delta == 0 and ledger.remaining().xi == 0
    assert Ledger.open(ledger.path).verify(ledger.head).ok


def test_a_settled_reservation_frees_its_delta(ledger: Ledger) -> None:
    reservation = ledger.reserve(cost=cost("0.5", "0", "4e-7"), kind="release", detail={})
    ledger.charge(reservation, cost("0.25", "0", "1e-7"))
    assert ledger.held() == cost("0.25", "0", "3e-7")
    ledger.settle(reservation)
    assert ledger.spent() == cost("0.25", "0", "1e-7") and ledger.held() == Cost.ZERO


def test_a_grant_has_a_delta_of_its_own(ledger: Ledger) -> None:
    ledger.grant("ann", ApproxDP(epsilon="0.5", delta="1e-7", truncation="1e-7"))
    spend(ledger, cost("0.25", "0", "6e-8"), spender="ann")
    assert ledger.remaining("ann") == cost("0.25", "0", "4e-8")
    assert code_of(lambda: spend(ledger, cost("0", "0", "5e-8"), spender="ann")) == "ledger.grant-exhausted"


@pytest.mark.parametrize("spender", [None, "ann"])
def test_where_only_delta_is_short_the_advice_is_a_budget_that_fits(
    ledger: Ledger, spender: str | None
) -> None:
    ledger.grant("ann", WHOLE)
    spend(ledger, cost("0.25", "0", "2e-7"), spender=spender)
    with pytest.raises(BudgetExhausted) as caught:
        spend(ledger, cost("0.25", "0", "4e-7"), spender=spender)
    advised = re.search(r"--budget ([^ ]+)\.$", caught.value.fix)
    assert advised is not None
    assert Budget.parse(advised[1]).limit == cost("0.25", "0", "3e-7")
    spend(ledger, Budget.parse(advised[1]).limit, spender=spender)
    with pytest.raises(BudgetExhausted) as caught:
        spend(ledger, cost("0.25", "0", "1e-7"), spender=spender)
    assert "curator" in caught.value.fix


def test_a_raise_may_set_more_aside_when_nothing_becomes_less(ledger: Ledger) -> None:
    more = ApproxDP(epsilon=3, delta="1e-6", pure=1, truncation="6e-7")
    ledger.raise_budget(more)
    assert ledger.limit().delta == Fraction(6, 10**7)
    less = ApproxDP(epsilon=4, delta="1e-6", pure=1, truncation="1e-7")
    assert code_of(lambda: ledger.raise_budget(less)) == "ledger.not-a-raise"


@pytest.mark.parametrize("budget", [ZCDP(1), PureDP(1), ApproxDP(epsilon=1, delta="1e-9")])
def test_a_ledger_without_one_charges_no_delta_and_writes_none(
    tmp_path: Path, budget: ZCDP | PureDP | ApproxDP
) -> None:
    ledger = Ledger.create(tmp_path / "plain.ledger", budget, Unit(1))
    assert code_of(lambda: spend(ledger, Cost(0, 0, Fraction(1, 10**12)))) in {
        "ledger.other-currency",
        "ledger.exhausted",
    }
    small = Cost(1, 0) if budget.kind == "pure" else Cost(0, 1)
    spend(ledger, small)
    amounts = [e["entry"][key] for e in ledger.export() for key in ("limit", "cost") if key in e["entry"]]
    assert amounts and all(set(amount) == {"xi", "rho"} for amount in amounts)


def test_a_delta_is_an_exact_text_in_the_chain(ledger: Ledger) -> None:
    spend(ledger, cost("0", "0", "1.25e-9"))
    entries = [e["entry"] for e in ledger.export()]
    assert entries[0]["limit"]["delta"] == "5e-7"
    assert [e["cost"] for e in entries if "cost" in e] == [{"xi": 0, "rho": 0, "delta": "125e-11"}] * 2


def test_the_command_line_creates_and_shows_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = "epsilon=1,delta=1e-6,truncation=5e-7"
    assert run(["ledger", "create", "a.ledger", "--budget", written, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["budget"] == written
    assert run(["ledger", "show", "a.ledger", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert shown["remaining"]["delta"] == "5e-7" and "delta" not in shown["spent"]
    assert run(["ledger", "show", "a.ledger"]) == 0
    assert "delta=5e-7" in capfd.readouterr().out
    assert run(["ledger", "create", "b.ledger", "--budget", "epsilon=1,delta=1e-6,truncation=2e-6"]) == 2
