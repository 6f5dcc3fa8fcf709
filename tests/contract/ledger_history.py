"""What every ledger must do with its history, with threads that write at once, and with its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from ledger_homes import Home, code_of, reserve, rho, spend

from hushtable.errors import BudgetExhausted, LedgerError
from hushtable.ledger import Ledger, entries, failpoints, verify_ledger
from hushtable.ledger.together import Intent
from hushtable.privacy.budget import ZCDP, Cost
from hushtable.schema import Schema


class HistoryContract:
    """What was written stays, whoever reads or writes beside it."""

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
