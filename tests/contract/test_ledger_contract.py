"""What every ledger must do, whatever store keeps it.

A ledger in another store inherits ``LedgerContract`` and overrides the ``home`` fixture with its address.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foreign_stores import known_store
from ledger_budgets import BudgetContract
from ledger_history import HistoryContract
from ledger_homes import Home, code_of
from ledger_spending import SpendingContract

from hushtable.privacy.budget import ZCDP


class LedgerContract(BudgetContract, SpendingContract, HistoryContract):
    """Tests that need nothing but ``home.create(budget, unit)`` and ``home.open(head=None)``."""


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
