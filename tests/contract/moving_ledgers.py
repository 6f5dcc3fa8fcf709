"""What holds when a ledger moves from any store to any other; ``places`` are two addresses where nothing is."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from ledger_homes import ONE, code_of, reserve, rho, spend

from hushtable.errors import HushtableError, LedgerError
from hushtable.ledger import Ledger, failpoints, verify_ledger
from hushtable.privacy import ZCDP, Cost

Places = tuple[str, str]


def begun(place: str) -> Ledger:
    """A ledger with something of everything: settled, open, stored and lost."""
    ledger = Ledger.create(place, ZCDP(1), ONE, name="people")
    ledger.grant("ann", ZCDP("0.5"))
    spend(ledger, rho("0.1"))
    reservation = reserve(ledger, rho("0.3"), "open")
    ledger.store(ledger.charge(reservation, rho("0.1")), b"")
    ledger.store(ledger.charge(reservation, rho("0.05")), bytes(range(256)) * 1000)
    ledger.charge(reservation, rho("0.01"))
    return ledger


def live(place: str) -> bool:
    """Whether a ledger is there that can be spent from."""
    with suppress(HushtableError):
        Ledger.open(place).require_room(Cost.ZERO)
        return True
    return False


def kill_at(name: str, old: str, new: str) -> None:
    """In a process of its own: copy, and die at a failpoint."""

    def hook(reached: str) -> None:
        if reached == name:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoints.arm(hook)
    Ledger.copy(old, new)


class MovingContract:
    """Tests that need nothing but two places."""

    @pytest.fixture
    def places(self) -> Iterator[Places]:
        raise NotImplementedError

    def test_both_end_in_one_entry_and_only_the_new_place_goes_on(self, places: Places) -> None:
        old, new = places
        ledger = begun(old)
        before, state = ledger.export(), ledger.find("open")
        moved = Ledger.copy(old, new)
        assert state is not None and moved.find("open") == state
        assert moved.export()[:-1] == before and moved.head == Ledger.open(old).head == ledger.head
        assert moved.export()[-1]["entry"] == {"type": "moved", "to": moved.path}
        assert (moved.spent(), moved.held(), moved.grants) == (ledger.spent(), ledger.held(), ledger.grants)
        for spends in (
            lambda: reserve(ledger, rho("0.1")),
            lambda: ledger.charge(state.reservation, rho("0.01")),
            lambda: ledger.settle(state.reservation),
            lambda: ledger.grant("bob", ZCDP("0.1")),
            lambda: ledger.raise_budget(ZCDP(2)),
            lambda: Ledger.open(old).require_room(rho("0.1")),
        ):
            assert code_of(spends) == "ledger.moved"
        spend(moved, rho("0.1"))
        moved.settle(state.reservation)
        assert verify_ledger(old).ok and verify_ledger(new, head=ledger.head).ok
        assert Ledger.open(old).find("open") == state
        assert Ledger.open(old).to_dict()["moved_to"] == moved.path and moved.moved_to is None
        assert Ledger.open(new).remaining() == rho("0.64") and not live(old)

    @pytest.mark.parametrize("point", failpoints.COPY)
    def test_a_kill_at_any_step_leaves_one_at_most_to_spend_from(self, places: Places, point: str) -> None:
        old, new = places
        entries = len(begun(old).history())
        child = multiprocessing.get_context("fork").Process(target=kill_at, args=(point, old, new))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        assert (live(old), live(new)) == {
            "copy.written": (True, False),
            "copy.closed": (False, False),
            "copy.done": (False, True),
        }[point]
        if point != "copy.done":
            moved = Ledger.copy(old, new)
        else:
            moved = Ledger.open(new)
            spend(moved, rho("0.1"))
            assert Ledger.copy(old, new).head == moved.head  # a repetition finds it done
        assert live(new) and not live(old)
        assert verify_ledger(new, head=Ledger.open(old).head).ok and verify_ledger(old).ok
        assert [entry.type for entry in moved.history()].count("moved") == 1
        assert len(Ledger.open(old).history()) == entries + 1

    def test_an_interrupted_move_goes_to_no_other_place(self, places: Places) -> None:
        old, new = places
        begun(old)

        def interrupt(name: str) -> None:
            if name == "copy.closed":
                raise KeyboardInterrupt

        failpoints.arm(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                Ledger.copy(old, new)
        finally:
            failpoints.arm(None)
        assert not live(old) and not live(new)
        with pytest.raises(LedgerError, match="has moved to"):
            Ledger.copy(old, f"{new}-elsewhere")
        Ledger.copy(old, new)
        assert live(new)

    def test_a_ledger_moves_on_and_never_onto_another(self, places: Places) -> None:
        old, new = places
        begun(old)
        assert code_of(lambda: Ledger.copy(old, old)) == "ledger.exists"
        Ledger.create(new, ZCDP(1))
        assert code_of(lambda: Ledger.copy(old, new)) == "ledger.exists" and live(old)
        Ledger.copy(old, f"{new}-2")
        third = Ledger.copy(f"{new}-2", f"{new}-3")
        assert [live(place) for place in (old, f"{new}-2", f"{new}-3")] == [False, False, True]
        assert third.verify().ok and [e.type for e in third.history()][-2:] == ["moved", "moved"]
        assert code_of(lambda: Ledger.copy(old, f"{new}-4")) == "ledger.moved"

    def test_a_request_in_progress_is_waited_for(self, places: Places) -> None:
        old, new = places
        with begun(old).turn("open"):
            assert code_of(lambda: Ledger.copy(old, new)) == "ledger.in-progress"
        assert live(old) and not live(new)
