"""A ledger moves from one place to another, and is spent from at one of them at most."""

from __future__ import annotations

from pathlib import Path

import pytest
from foreign_stores import known_store
from moving_ledgers import MovingContract, Places, begun, live

from hushtable.cli.app import run


class TestFileToFile(MovingContract):
    @pytest.fixture
    def places(self, tmp_path: Path) -> Places:
        return str(tmp_path / "old.ledger"), str(tmp_path / "new.ledger")


def test_a_move_into_another_store_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, back = str(tmp_path / "old.ledger"), str(tmp_path / "back.ledger")
    with known_store():
        begun(old)
        assert run(["ledger", "copy", old, "memory:people"]) == 0
        assert "goes on at memory:people" in capsys.readouterr().out
        assert live("memory:people") and not live(old)
        assert run(["ledger", "copy", "memory:people", back]) == 0
        assert live(back) and not live("memory:people")
        assert run(["ledger", "grant", old, "bob", "--budget", "rho=0.1"]) == 1
        assert "has moved to memory:people" in capsys.readouterr().err
        assert run(["ledger", "show", old]) == 0 and run(["ledger", "show", back]) == 0
        assert capsys.readouterr().out.count("MOVED to memory:people") == 1
        assert run(["ledger", "verify", back]) == 0
