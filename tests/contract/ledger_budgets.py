"""What every ledger must do with budgets, units, schemas, grants and raises."""

from __future__ import annotations

import pytest
from ledger_homes import ONE, Home, code_of, reserve, rho, spend

from hushtable.errors import BudgetExhausted
from hushtable.ledger import Unit
from hushtable.privacy.budget import ZCDP, ApproxDP, Budget, Cost, PureDP


class BudgetContract:
    """Who may spend how much, of whose records."""

    # Budgets

    @pytest.mark.parametrize(
        "budget", [ZCDP("0.5"), PureDP(2), ApproxDP(epsilon=1, delta="1e-9", pure="0.25")], ids=str
    )
    def test_a_new_ledger_has_its_whole_budget_and_says_so_after_reopening(
        self, home: Home, budget: Budget
    ) -> None:
        home.create(budget)
        ledger = home.open()
        assert (ledger.budget, ledger.kind, ledger.unit, ledger.name) == (budget, budget.kind, ONE, "people")
        assert ledger.remaining() == budget.limit and ledger.spent() == Cost.ZERO == ledger.held()

    def test_ten_tenths_fit_into_one_and_not_a_grain_more(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        for _ in range(10):
            spend(ledger, rho("0.1"))
        assert ledger.remaining() == Cost.ZERO and ledger.spent() == rho("1")
        assert code_of(lambda: reserve(ledger, Cost(0, 1))) == "ledger.exhausted"

    def test_the_refusal_says_what_may_still_be_asked_for(self, home: Home) -> None:
        ledger = home.create(ZCDP("0.5"))
        spend(ledger, rho("0.38"))
        with pytest.raises(BudgetExhausted) as caught:
            reserve(ledger, rho("0.2"))
        assert "remaining rho of the ledger is 0.12" in caught.value.message
        assert "--budget rho=0.12" in caught.value.fix
        spend(ledger, Budget.parse("rho=0.12").limit)

    def test_a_refused_spend_writes_nothing(self, home: Home) -> None:
        ledger = home.create(ZCDP("0.5"))
        head = ledger.head
        code_of(lambda: reserve(ledger, rho("0.6"), "r"))
        assert ledger.head == head and ledger.find("r") is None

    def test_both_currencies_of_an_approximate_ledger_are_limited_apart(self, home: Home) -> None:
        budget = ApproxDP(epsilon=1, delta="1e-9", pure="0.25")
        ledger = home.create(budget)
        spend(ledger, Cost(budget.limit.xi, 0))
        assert code_of(lambda: reserve(ledger, Cost(1, 0))) == "ledger.exhausted"
        spend(ledger, Cost(0, budget.limit.rho))
        assert ledger.remaining() == Cost.ZERO

    @pytest.mark.parametrize(("budget", "cost"), [(PureDP(1), Cost(0, 1)), (ZCDP(1), Cost(1, 0))], ids=str)
    def test_the_wrong_currency_is_refused_by_name(self, home: Home, budget: Budget, cost: Cost) -> None:
        ledger = home.create(budget)
        assert code_of(lambda: reserve(ledger, cost)) == "ledger.other-currency"

    # The unit

    def test_a_ledger_without_a_unit_spends_nothing_until_one_is_bound(self, home: Home) -> None:
        ledger = home.create(ZCDP(1), None)
        assert ledger.unit is None
        assert code_of(lambda: reserve(ledger, rho("0.1"))) == "ledger.no-unit"
        ledger.bind_unit(Unit(2, "patient"))
        spend(ledger, rho("0.1"))
        assert home.open().unit == Unit(2, "patient")

    def test_the_same_unit_again_is_nothing_new_and_another_is_refused(self, home: Home) -> None:
        ledger = home.create(ZCDP(1), Unit(2, "patient"))
        head = ledger.head
        ledger.bind_unit(Unit(2, "patient"))
        assert ledger.head == head
        for other in (Unit(1, "patient"), Unit(2), Unit(2, "doctor")):
            assert code_of(lambda other=other: ledger.bind_unit(other)) == "ledger.unit-changed"
        assert ledger.head == head

    # Schemas

    def test_schemas_are_numbered_by_content_and_keep_their_number(self, home: Home) -> None:
        ledger = home.create(ZCDP(1), None)
        first = '{"max_rows_per_person": 1, "attributes": {"a": 1}}'
        second = '{"max_rows_per_person": 1, "attributes": {"a": 2}}'
        respaced = '{"attributes":{"a":1},"max_rows_per_person":1}'
        assert [ledger.schema_version(s) for s in (first, second, respaced, second)] == [1, 2, 1, 2]
        assert home.open().schema_version(second) == 2
        assert ledger.unit == Unit(1)

    def test_a_schema_with_another_unit_is_refused(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        assert code_of(lambda: ledger.schema_version('{"max_rows_per_person": 2}')) == "ledger.unit-changed"
        assert code_of(lambda: ledger.schema_version('{"person": "id"}')) == "ledger.unit-changed"
        assert code_of(lambda: ledger.schema_version("[]")) == "ledger.bad-schema"
        assert code_of(lambda: ledger.schema_version("{")) == "ledger.bad-schema"

    # Grants

    def test_a_spender_is_held_to_the_grant_and_to_the_dataset(self, home: Home) -> None:
        ledger = home.create(ZCDP("0.5"))
        ledger.grant("ann", ZCDP("0.2"))
        ledger.grant("bob", ZCDP("0.4"))
        spend(ledger, rho("0.15"), "ann")
        assert code_of(lambda: reserve(ledger, rho("0.1"), spender="ann")) == "ledger.grant-exhausted"
        spend(ledger, rho("0.3"), "bob")
        assert ledger.spent() == rho("0.45") and ledger.spent("ann") == rho("0.15")
        assert ledger.remaining("ann") == rho("0.05") and ledger.remaining("bob") == rho("0.05")
        assert code_of(lambda: reserve(ledger, rho("0.06"), spender="bob")) == "ledger.exhausted"
        spend(ledger, rho("0.05"))
        assert ledger.remaining("ann") == Cost.ZERO and ledger.spent("bob") == rho("0.3")

    def test_nobody_spends_without_a_grant_under_a_name(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        assert code_of(lambda: reserve(ledger, rho("0.1"), spender="eve")) == "ledger.unknown-spender"
        assert code_of(lambda: ledger.remaining("eve")) == "ledger.unknown-spender"

    def test_a_second_grant_replaces_the_total_but_not_below_what_is_used(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        ledger.grant("ann", ZCDP("0.2"))
        spend(ledger, rho("0.1"), "ann")
        reserve(ledger, rho("0.05"), spender="ann")
        assert code_of(lambda: ledger.grant("ann", ZCDP("0.1"))) == "ledger.below-spent"
        ledger.grant("ann", ZCDP("0.15"))
        assert ledger.remaining("ann") == Cost.ZERO
        ledger.grant("ann", ZCDP("0.4"))
        assert ledger.remaining("ann") == rho("0.25") and ledger.grants == {"ann": ZCDP("0.4")}

    def test_a_grant_must_be_in_a_currency_of_the_ledger(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        assert code_of(lambda: ledger.grant("ann", PureDP(1))) == "ledger.other-currency"
        ledger.grant("ann", ApproxDP(epsilon=1, delta="1e-9"))

    # Raising

    def test_a_raise_is_a_larger_total_of_the_same_kind_and_delta(self, home: Home) -> None:
        ledger = home.create(ApproxDP(epsilon=1, delta="1e-9", pure="0.25"))
        ledger.raise_budget(ApproxDP(epsilon=2, delta="1e-9", pure="0.25"))
        assert home.open().budget == ApproxDP(epsilon=2, delta="1e-9", pure="0.25")
        refused = {
            ApproxDP(epsilon=2, delta="1e-9", pure="0.25"): "ledger.not-a-raise",
            ApproxDP(epsilon=1, delta="1e-9", pure="0.25"): "ledger.not-a-raise",
            ApproxDP(epsilon=2, delta="1e-9", pure="0.75"): "ledger.not-a-raise",
            ApproxDP(epsilon=3, delta="1e-8", pure="0.25"): "ledger.delta-changed",
            ZCDP(9): "ledger.other-currency",
        }
        for budget, code in refused.items():
            assert code_of(lambda budget=budget: ledger.raise_budget(budget)) == code

    def test_a_raise_makes_room(self, home: Home) -> None:
        ledger = home.create(ZCDP("0.1"))
        spend(ledger, rho("0.1"))
        ledger.raise_budget(ZCDP("0.3"))
        assert ledger.remaining() == rho("0.2") and ledger.spent() == rho("0.1")
