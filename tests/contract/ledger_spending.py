"""What every ledger must do with reservations, charges, payloads, turns and requests."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from ledger_homes import ONE, Home, code_of, reserve, rho, spend

from hushtable.errors import BudgetExhausted
from hushtable.ledger import Ledger, rules
from hushtable.privacy.budget import ZCDP, Cost


class SpendingContract:
    """A spend from its reservation to its end, and again."""

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
