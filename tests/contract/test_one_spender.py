"""Only ``kernel/spending.py`` writes spends: no other module calls the ledger's four steps."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hushtable as ht
from hushtable.ledger import Ledger

PACKAGE = Path(ht.__file__).parent
STEPS = ("reserve", "charge", "store", "settle")
BY_NAME = ("getattr", "methodcaller", "attrgetter")
HOME = "hushtable.kernel.spending"
OTHERS = {
    "kernel/tabulate.py": {"self._jobs"},
    "kernel/bitplanes.py": {"builder"},
    "service/backup_copies.py": {"ledger"},
}
"""What else has a method of such a name, and where: compiled loops; and the place where a ledger is stored."""


def calls_of_steps(source: str) -> set[str]:
    """Receivers of which a step is taken, to call it or to hand it on, also by its name as a text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in STEPS and isinstance(node.ctx, ast.Load):
            found.add(ast.unparse(node.value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in BY_NAME:
            found |= {ast.unparse(node) for part in node.args if ast.unparse(part).strip("'") in STEPS}
    return found


@pytest.mark.long
def test_no_other_module_names_a_step_of_the_ledger() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("ledger/") or name in ("kernel/spending.py", "selftest/accounts.py"):
            continue  # the self-test spends from a ledger of its own that has no data
        assert calls_of_steps(path.read_text()) == OTHERS.get(name, set()), name
    assert "self.ledger" in calls_of_steps((PACKAGE / "kernel" / "spending.py").read_text())
    assert calls_of_steps("session.ledger.charge(1)") == {"session.ledger"}
    assert calls_of_steps("spend = book.charge\nspend(1)") == {"book"}
    assert calls_of_steps("getattr(book, 'settle')(1)") == {"getattr(book, 'settle')"}


@pytest.mark.long
def test_every_spend_of_every_verb_is_made_there(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers: list[tuple[str, str]] = []

    def watched(step: str) -> None:
        real = getattr(Ledger, step)

        def call(self: Ledger, *args: Any, **kwargs: Any) -> Any:
            callers.append((step, sys._getframe(1).f_globals["__name__"]))
            return real(self, *args, **kwargs)

        monkeypatch.setattr(Ledger, step, call)

    for step in STEPS:
        watched(step)
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(10)
    )
    pairs = ht.Workload.all_marginals(small_schema, order=2)
    for strategy in ("residual-planner", "identity", "aim", "auto"):
        session.release(pairs, budget=ht.ZCDP("0.1"), strategy=strategy)
    session.release(pairs, budget=ht.ZCDP("0.01"), strategy="residual-planner", reuse=True)
    session.check("COUNT WHERE age >= 40", small_frame, tau=20, budget=ht.PureDP("0.1"))
    options = [ht.linear.marginals(small_schema, order=k) for k in (0, 1, 2)]
    choice = session.choose(options, budget=ht.ZCDP("0.1"))
    choice.refine(rho="0.01")
    choice.advance()
    choice.finish(2)
    session.choose(options, budget=ht.ZCDP("0.1")).abandon()
    assert {step for step, _ in callers} == set(STEPS)
    assert {module for _, module in callers} == {HOME}
