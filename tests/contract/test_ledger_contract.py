"""What every ledger must do, whatever store keeps it.

A ledger in another store inherits ``LedgerContract`` and overrides the ``home`` fixture with its address.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from foreign_stores import known_store

from hushtable.errors import BudgetExhausted, HushtableError, LedgerError
from hushtable.ledger import Ledger, Reservation, Unit, entries, failpoints, rules, verify_ledger
from hushtable.ledger.together import Intent
from hushtable.privacy.budget import ZCDP, ApproxDP, Budget, Cost, PureDP
from hushtable.schema import Schema

ONE = Unit(rows=1)


def rho(text: str) -> Cost:
    return ZCDP(text).limit


def epsilon(text: str) -> Cost:
    return PureDP(text).limit


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(HushtableError) as caught:
        action()
    assert caught.value.message.endswith(".") and caught.value.fix
    return caught.value.code


def reserve(ledger: Ledger, cost: Cost, request: str | None = None, **more: object) -> Reservation:
    options: dict[str, object] = {"kind": "release", "spender": None, "detail": {}}
    return ledger.reserve(cost=cost, request=request, **(options | more))  # type: ignore[arg-type]


def spend(ledger: Ledger, cost: Cost, spender: str | None = None) -> Reservation:
    reservation = reserve(ledger, cost, spender=spender)
    ledger.store(ledger.charge(reservation, cost), b"noisy")
    ledger.settle(reservation)
    return reservation


@dataclass
class Home:
    """Where the ledger of a test is, and where another may be."""

    address: str
    other: str

    def create(self, budget: Budget, unit: Unit | None = ONE) -> Ledger:
        return Ledger.create(self.address, budget, unit, name="people")

    def open(self, head: str | None = None) -> Ledger:
        return Ledger.open(self.address, head=head)


class LedgerContract:
    """Tests that need nothing but ``home.create(budget, unit)`` and ``home.open(head=None)``."""

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

    # Reserve, charge, store, settle

    def test_an_open_reservation_counts_until_it_is_settled(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.7"))
        ledger.charge(reservation, rho("0.2"))
        assert (ledger.spent(), ledger.held(), ledger.remaining()) == (rho("0.2"), rho("0.5"), rho("0.3"))
        assert code_of(lambda: reserve(ledger, rho("0.4"))) == "ledger.exhausted"
        [holding] = ledger.open_reservations()
        assert (holding.state, holding.drawn, holding.held) == ("open", rho("0.2"), rho("0.5"))
        ledger.settle(reservation)
        assert (ledger.spent(), ledger.held(), ledger.remaining()) == (rho("0.2"), Cost.ZERO, rho("0.8"))
        assert ledger.open_reservations() == () and ledger.reservations()[0].state == "settled"

    def test_settling_twice_frees_once(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.7"))
        ledger.settle(reservation)
        head = ledger.head
        ledger.settle(reservation)
        assert ledger.remaining() == rho("1") and ledger.head == head

    def test_charges_never_exceed_their_reservation(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.3"))
        ledger.charge(reservation, rho("0.2"))
        assert code_of(lambda: ledger.charge(reservation, rho("0.2"))) == "ledger.over-reservation"
        ledger.charge(reservation, rho("0.1"))
        assert code_of(lambda: ledger.charge(reservation, Cost(0, 1))) == "ledger.over-reservation"
        ledger.settle(reservation)
        assert code_of(lambda: ledger.charge(reservation, Cost.ZERO)) == "ledger.settled"

    def test_two_processes_cannot_both_make_the_next_charge(self, home: Home) -> None:
        first = home.create(ZCDP(1))
        second = home.open()
        reservation = reserve(first, rho("0.3"), "r")
        again = reserve(second, rho("0.3"), "r")
        first.charge(reservation, rho("0.1"), ordinal=0)
        assert code_of(lambda: second.charge(again, rho("0.1"), ordinal=0)) == "ledger.charge-raced"
        assert second.charge(again, rho("0.1"), ordinal=1).ordinal == 1

    def test_a_charge_has_one_payload(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.3"), "r")
        charge = ledger.charge(reservation, rho("0.1"))
        ledger.store(charge, b"first")
        assert code_of(lambda: ledger.store(charge, b"second")) == "ledger.already-stored"
        assert ledger.payload(charge.number) == b"first"
        assert code_of(lambda: ledger.payload(reservation.number)) == "ledger.no-payload"

    def test_a_charge_of_a_process_that_is_gone_is_lost_and_stays_spent(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        charge = ledger.charge(reserve(ledger, rho("0.3"), "r"), rho("0.1"))
        later = home.open()
        assert code_of(lambda: later.store(charge, b"drawn again")) == "ledger.charge-lost"
        found = later.find("r")
        assert found is not None and found.payloads == (None,) and not found.charges[0].stored
        later.settle(found.reservation)
        assert later.spent() == rho("0.1") and later.remaining() == rho("0.9")

    def test_a_payload_that_was_overtaken_is_refused(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.3"))
        first = ledger.charge(reservation, rho("0.1"))
        second = ledger.charge(reservation, rho("0.1"))
        assert code_of(lambda: ledger.store(first, b"late")) == "ledger.too-late"
        home.open().settle(reservation)
        assert code_of(lambda: ledger.store(second, b"late")) == "ledger.too-late"
        assert ledger.spent() == rho("0.2") and ledger.verify().ok
        assert [entry.type for entry in ledger.history()].count("store") == 0

    def test_a_payload_that_version_0_1_stored_late_still_verifies(self, home: Home) -> None:
        """Two processes of version 0.1 could overtake each other; such a ledger stays readable."""
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.3"), "r")
        charge = ledger.charge(reservation, rho("0.3"))
        ledger.settle(reservation)
        with pytest.MonkeyPatch.context() as old:
            old.setattr(rules, "check_in_time", lambda book, body: None)
            ledger.store(charge, b"late")
        assert home.open().payload(charge.number) == b"late" and home.open().verify().ok

    # Turns

    def test_a_request_in_progress_belongs_to_one_caller(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        with ledger.turn("r") as turn:
            assert turn.held
            for other in (ledger, home.open()):
                assert code_of(lambda other=other: other.turn("r").__enter__()) == "ledger.in-progress"
            with ledger.turn("s"):
                pass
        assert not turn.held
        with home.open().turn("r"):
            pass

    def test_a_caller_may_wait_for_the_turn_of_another(self, home: Home) -> None:
        ledger, order = home.create(ZCDP(1)), list[str]()

        def second() -> None:
            with home.open().turn("r", wait=True):
                order.append("second")

        waiting = threading.Thread(target=second)
        with ledger.turn("r"):
            waiting.start()
            waiting.join(0.2)
            order.append("first")
        waiting.join()
        assert order == ["first", "second"]

    @pytest.mark.long
    def test_writers_at_once_spend_what_there_is_and_no_more(self, home: Home) -> None:
        home.create(ZCDP(1))
        ledgers = [home.open() for _ in range(4)]

        def work(ledger: Ledger) -> None:
            with suppress(BudgetExhausted):
                while True:
                    spend(ledger, rho("0.05"))

        threads = [threading.Thread(target=work, args=(ledger,)) for ledger in ledgers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kinds = [entry.type for entry in ledgers[0].history()]
        assert kinds.count("charge") == kinds.count("store") == kinds.count("settle") == 20
        assert ledgers[0].remaining() == Cost.ZERO and ledgers[0].verify().ok

    def test_a_reservation_of_another_ledger_is_unknown(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reserve(ledger, rho("0.3"))
        other = Ledger.create(home.other, ZCDP(1), ONE, name="people")
        stranger = reserve(other, rho("0.3"))
        assert code_of(lambda: ledger.charge(stranger, rho("0.1"))) == "ledger.unknown-reservation"
        assert code_of(lambda: ledger.settle(stranger)) == "ledger.unknown-reservation"

    # Requests

    def test_a_retry_finds_its_bytes_in_order(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reservation = reserve(ledger, rho("0.3"), "r", detail={"strategy": "aim", "rounds": 3})
        for part in (b"one", b"", bytes(range(256))):
            ledger.store(ledger.charge(reservation, rho("0.1")), part)
        found = home.open().find("r", kind="release", detail={"rounds": 3, "strategy": "aim"})
        assert found is not None and found.payloads == (b"one", b"", bytes(range(256)))
        assert found.reservation == reservation and found.state == "open"
        assert home.open().find("s") is None

    def test_the_same_request_reserves_once(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        first = reserve(ledger, rho("0.3"), "r", detail={"a": 1})
        second = reserve(home.open(), rho("0.3"), "r", detail={"a": 1})
        assert (first.fresh, second.fresh) == (True, False) and first == second
        assert ledger.remaining() == rho("0.7")

    def test_a_request_id_is_not_reused_for_something_else(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        ledger.grant("ann", ZCDP(1))
        reserve(ledger, rho("0.3"), "r", detail={"a": 1})
        differing = ({"detail": {"a": 2}}, {"detail": {"a": 1.0}}, {"kind": "check"}, {"spender": "ann"})
        for more in differing:
            changed = {"detail": {"a": 1}} | more
            again = lambda changed=changed: reserve(ledger, rho("0.3"), "r", **changed)  # noqa: E731
            assert code_of(again) == "ledger.request-differs"
        assert code_of(lambda: ledger.find("r", detail={"a": 2})) == "ledger.request-differs"
        assert code_of(lambda: ledger.find("r", kind="check")) == "ledger.request-differs"
        assert ledger.remaining() == rho("0.7")

    def test_without_a_request_id_every_reservation_is_new(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        assert reserve(ledger, rho("0.3")).number != reserve(ledger, rho("0.3")).number
        assert ledger.remaining() == rho("0.4")

    @pytest.mark.parametrize(
        "bad", ["", " a", "a ", "a\nb", "a\0b", "x" * 201, "e\u0301", "\ud800", 7], ids=ascii
    )
    def test_names_and_request_ids_are_short_printable_text(self, home: Home, bad: str) -> None:
        ledger = home.create(ZCDP(1))
        assert code_of(lambda: reserve(ledger, rho("0.1"), bad)) == "ledger.bad-request"
        assert code_of(lambda: ledger.find(bad)) == "ledger.bad-request"
        assert code_of(lambda: ledger.grant(bad, ZCDP(1))) == "ledger.bad-spender"
        assert code_of(lambda: reserve(ledger, rho("0.1"), kind=bad)) == "ledger.bad-kind"

    @pytest.mark.parametrize(
        "bad",
        [{"a": float("nan")}, {"a": object()}, {"a": b"x"}, {"a": "\ud800"}, [1], None, {"a": {1, 2}}],
        ids=["nan", "object", "bytes", "surrogate", "list", "none", "set"],
    )
    def test_a_detail_is_plain_json(self, home: Home, bad: object) -> None:
        ledger = home.create(ZCDP(1))
        assert code_of(lambda: reserve(ledger, rho("0.1"), detail=bad)) == "ledger.bad-detail"

    def test_a_detail_is_short(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        reserve(ledger, rho("0.1"), detail={"a": "x" * 65_000})
        assert (
            code_of(lambda: reserve(ledger, rho("0.1"), detail={"a": "x" * 66_000}))
            == "ledger.detail-too-long"
        )

    # History

    def test_history_has_one_time_per_reservation_and_none_elsewhere(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        ledger.grant("ann", ZCDP(1))
        ledger.schema_version("{}")
        ledger.raise_budget(ZCDP(2))
        spend(ledger, rho("0.3"), "ann")
        kinds = [entry.type for entry in ledger.history()]
        assert kinds == ["create", "bind", "grant", "schema", "raise", "reserve", "charge", "store", "settle"]
        timed = [e["entry"]["type"] for e in ledger.export() if "time" in e["entry"]]
        assert timed == ["reserve"]
        keys = {key for e in ledger.export() for key in e["entry"]}
        assert not keys & {"rows_read", "duration", "seconds", "size", "ended"}

    def test_a_good_ledger_verifies_against_every_head_it_ever_had(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        heads = [ledger.head]
        for _ in range(3):
            spend(ledger, rho("0.1"))
            heads.append(ledger.head)
        for head in heads:
            assert ledger.verify(head).ok and home.open(head).head == heads[-1]
        assert ledger.verify().entries == len(ledger.history()) == len(ledger.export())

    def test_a_head_from_elsewhere_is_refused(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        assert not ledger.verify("ab" * 32).ok
        assert code_of(lambda: home.open("ab" * 32)) == "ledger.older-than-head"
        assert code_of(lambda: home.open("abc")) == "ledger.bad-head"

    def test_open_ledgers_see_each_other(self, home: Home) -> None:
        first = home.create(ZCDP(1))
        second = home.open()
        spend(first, rho("0.6"))
        assert second.remaining() == rho("0.4") and second.head == first.head
        with pytest.raises(BudgetExhausted):
            reserve(second, rho("0.5"))
        spend(second, rho("0.4"))
        assert first.remaining() == Cost.ZERO and first.verify().ok

    # Threads of one process

    def test_threads_that_write_at_one_time_share_a_commit_and_stay_within_the_budget(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = home.create(ZCDP(1))
        begun, turn = threading.Barrier(21), threading.Event()
        outcomes, sizes = list[str](), list[int]()
        written = Ledger._write

        def slowly(self: Ledger, group: list[object]) -> None:
            assert turn.wait(60)
            sizes.append(len(group))
            written(self, group)

        def work(number: int) -> None:
            begun.wait(60)
            try:
                made = reserve(ledger, rho("0.1"), f"r{number}")
                ledger.store(ledger.charge(made, rho("0.1")), b"noisy %d" % number)
                ledger.settle(made)
                outcomes.append("spent")
            except BudgetExhausted as error:
                outcomes.append(error.code)

        monkeypatch.setattr(ledger._gathering, "_write", slowly.__get__(ledger))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        begun.wait(60)
        while len(ledger._gathering._waiting) < 19:
            time.sleep(0.001)
        turn.set()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["ledger.exhausted"] * 10 + ["spent"] * 10
        assert max(sizes) >= 19, "whoever waits is written together"
        assert ledger.remaining() == Cost.ZERO and ledger.spent() == rho("1") and ledger.verify().ok
        again = home.open()
        assert again.head == ledger.head and again.to_dict() == ledger.to_dict()
        for holding in again.reservations():
            number = (holding.reservation.request or "").removeprefix("r")
            assert again.payload(holding.charges[0].number) == f"noisy {number}".encode()

    def test_a_commit_that_fails_is_nobodys_and_the_next_one_goes_on(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = home.create(ZCDP(1))
        reserve(ledger, rho("0.1"), "before")
        fails = [True]

        def hook(name: str) -> None:
            if name == "reserve.inserted" and fails[0]:
                raise LedgerError("ledger.locked", "A test.", "None.")

        group = [Intent("reserve", self._wants(f"r{number}")) for number in range(3)]
        failpoints.arm(hook)
        try:
            assert code_of(lambda: ledger._write(group)) == "ledger.locked"
        finally:
            failpoints.arm(None)
        assert ledger.held() == rho("0.1") and ledger.find("r0") is None
        group = [Intent("reserve", self._wants(f"r{number}")) for number in range(3)]
        ledger._write(group)
        assert ledger.held() == rho("0.4") == home.open().held()
        reserve(ledger, rho("0.1"), "after")
        assert ledger.held() == rho("0.5") and home.open().head == ledger.head and ledger.verify().ok

    @staticmethod
    def _wants(request: str) -> Callable[[object], entries.Reserve]:
        made = entries.Reserve(
            kind="release",
            request=request,
            spender=None,
            cost=entries.Amount.of(rho("0.1")),
            detail={},
            time="2026-01-01T00:00:00Z",
        )
        return lambda book: made

    def test_readers_see_nothing_that_is_not_committed(self, home: Home) -> None:
        ledger, seen = home.create(ZCDP(1)), list[Cost]()

        def hook(name: str) -> None:
            if name == "reserve.committed":
                reading = threading.Thread(target=lambda: seen.append(ledger.held()))
                reading.start()
                reading.join(60)

        failpoints.arm(hook)
        try:
            reserve(ledger, rho("0.1"), "r")
        finally:
            failpoints.arm(None)
        assert seen == [Cost.ZERO] and ledger.held() == rho("0.1")

    def test_reservations_are_found_by_the_words_that_their_details_list(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        for number, words in enumerate((["a", "b"], ["b"], [], ["c", "c", 7])):
            reserve(ledger, rho("0.1"), f"r{number}", detail={"questions": words, "schema": "a"})

        def found(words: list[str]) -> list[str | None]:
            return [one.reservation.request for one in ledger.mentioning(words)]

        assert found(["b"]) == ["r0", "r1"] and found(["c", "a", "b"]) == ["r0", "r1", "r3"]
        assert found(["d"]) == found([]) == []
        assert [one.reservation.request for one in home.open().mentioning(["b"])] == ["r0", "r1"]

    def test_an_account_stands_still_while_somebody_adds_up(self, home: Home) -> None:
        ledger, other = home.create(ZCDP(1)), home.open()
        with ledger.still() as entries_then:
            reserve(other, rho("0.4"), "other")
            assert ledger.held() == Cost.ZERO and ledger.holding("other") is None
        assert ledger.held() == rho("0.4")
        with ledger.still() as now:
            assert now == entries_then + 1

    def test_several_turns_are_held_together_and_given_back_together(self, home: Home) -> None:
        ledger, other = home.create(ZCDP(1)), home.open()
        with ledger.turns(["b", "a", "a"]):
            for name in "ab":
                with pytest.raises(LedgerError), other.turn(name):
                    pass
            with other.turn("c"):
                pass
        for _ in range(2):
            with other.turns(["a", "b"]), ledger.turn("c") as turn:
                assert turn.held
            assert not turn.held

    # Places

    def test_creating_replaces_nothing(self, home: Home) -> None:
        before = home.create(ZCDP(1)).head
        assert code_of(lambda: home.create(ZCDP(2))) == "ledger.exists"
        assert home.open().head == before

    def test_a_missing_ledger_is_not_created_by_opening(self, home: Home) -> None:
        for look in (home.open, lambda: verify_ledger(home.address)):
            with pytest.raises(LedgerError, match="hush ledger create") as caught:
                look()
            assert caught.value.code == "ledger.missing"
        home.create(ZCDP(1))

    def test_a_ledger_is_created_where_there_is_none_and_a_budget(self, home: Home) -> None:
        known = Schema.from_dict({"attributes": {"member": {"type": "boolean"}}})
        assert code_of(lambda: Ledger.at(home.address, known, None, None, None)) == "ledger.missing"
        first = Ledger.at(home.address, known, ZCDP(1), None, None)
        assert Ledger.at(home.address, known, ZCDP(2), None, first.head).head == first.head
        assert (
            code_of(lambda: Ledger.at(home.address, known, None, "nobody", None)) == "ledger.unknown-spender"
        )


class TestSQLiteLedger(LedgerContract):
    @pytest.fixture
    def home(self, tmp_path: Path) -> Home:
        return Home(str(tmp_path / "people.ledger"), str(tmp_path / "other.ledger"))

    def test_creating_refuses_whatever_is_there(self, home: Home) -> None:
        Path(home.address).write_bytes(b"precious")
        assert code_of(lambda: home.create(ZCDP(1))) == "ledger.exists"
        assert Path(home.address).read_bytes() == b"precious"

    def test_a_turn_leaves_no_file(self, home: Home) -> None:
        ledger = home.create(ZCDP(1))
        with ledger.turn("r"):
            assert len(list(Path(ledger.path + ".payloads").iterdir())) == 1
        assert list(Path(ledger.path + ".payloads").iterdir()) == []


class TestMemoryLedger(LedgerContract):
    @pytest.fixture
    def home(self) -> Iterator[Home]:
        with known_store():
            yield Home("memory:people", "memory:other")
