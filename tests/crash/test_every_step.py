"""Ctrl-C at any step of a spend: whatever was drawn was charged before, also what was thrown away.

A KeyboardInterrupt is raised before an instruction of the modules that charge, draw and store; then the request is
repeated until it is done.  The prices of all draws that were made, kept or not, are compared with the charges.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.kernel import draw, run, spending
from hushtable.kernel.draw import Confidential
from hushtable.privacy import UNIT

SCHEMA = {"attributes": {"a": {"type": "boolean"}, "b": {"type": "boolean"}, "c": {"type": "boolean"}}}
FRAME = pl.DataFrame({n: [(r * k) % 3 == 0 for r in range(40)] for k, n in ((1, "a"), (2, "b"), (5, "c"))})
TRACED = {m.__file__ for m in (draw, run, spending)}
Place = tuple[CodeType, int]


class Interruptions:
    """Raises before the given instruction, when it is about to run for the time after ``skip``."""

    def __init__(self, place: Place | None = None, skip: int = 0) -> None:
        self.place, self.left = place, skip
        self.seen: dict[Place, int] = {}

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in TRACED:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            here = (frame.f_code, frame.f_lasti)
            self.seen[here] = self.seen.get(here, 0) + 1
            if here == self.place:
                self.left -= 1
                if self.left < 0:
                    self.place = None
                    raise KeyboardInterrupt
        return self._step

    @contextmanager
    def armed(self) -> Iterator[None]:
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)


class Drawn:
    """What was drawn for a request, kept or not: exact prices of requests, and the number of verdicts."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rho, self.draws = Fraction(0), 0
        prepare = Confidential.prepare

        def prepared(handle: Confidential, request: Any) -> Any:
            draw = prepare(handle, request)

            def drawing() -> Any:
                self.rho += request.rho
                return draw()

            return drawing

        patch.setattr(Confidential, "prepare", prepared)
        patch.setattr(draw, "verdict", self._counted(draw.verdict))

    def _counted(self, real: Any) -> Any:
        def drawing(*args: Any, **kwargs: Any) -> Any:
            self.draws += 1
            return real(*args, **kwargs)

        return drawing


def ask(session: ht.Session, way: str, number: int) -> None:
    """One spend; the same number is the same request."""
    request = f"{way}-{number}"
    if way == "check":
        session.check("COUNT WHERE a = true", FRAME, tau=Fraction(number + 1, 7), budget=ht.PureDP("0.1"))
    elif way == "choose":
        options = [ht.linear.marginals(session.schema, order=k) for k in (0, 1)]
        choice = session.choose(options, budget=ht.ZCDP("0.1"), request=request)
        if choice.state == "open":
            choice.finish(1)
    else:
        workload = ht.Workload.all_marginals(session.schema, order=2)
        session.release(workload, budget=ht.ZCDP("0.1"), strategy=way, request=request)


def repeat(session: ht.Session, way: str, number: int) -> None:
    """Ask again until it is done, or known to be lost."""
    for _ in range(3):
        try:
            ask(session, way, number)
        except HushtableError as error:
            assert error.code in ("ledger.draw-lost", "choose.draw-lost"), error
        return


def campaign(folder: Path, way: str, share: float, seed: int) -> int:
    """Interrupt a spend at a share of all places that it passes; how many."""
    session = ht.Session.open(FRAME, schema=SCHEMA, ledger=folder / "a.ledger", budget=ht.ZCDP(1000))
    ask(session, way, 0)
    whole = Interruptions()
    with whole.armed():
        ask(session, way, 1)
    chance = random.Random(seed)
    places = sorted(whole.seen, key=lambda p: (p[0].co_filename, p[0].co_firstlineno, p[1]))
    taken = [place for place in places if chance.random() < share]
    for number, place in enumerate(taken, start=2):
        with pytest.MonkeyPatch.context() as patch:
            drawn = Drawn(patch)
            before = session.ledger.spent().rho, len(charges(session))
            stop = Interruptions(place, skip=chance.randrange(whole.seen[place]))
            try:
                with stop.armed():
                    ask(session, way, number)
            except (KeyboardInterrupt, HushtableError):
                pass
            repeat(session, way, number)
            spent = session.ledger.spent().rho - before[0]
            where = (way, place[0].co_qualname, place[1])
            assert drawn.rho * UNIT <= spent, (where, float(drawn.rho), spent / UNIT)
            assert drawn.draws <= len(charges(session)) - before[1], where
    assert session.ledger.verify().ok
    assert not list(Path(session.ledger.path + ".payloads").glob(".*.lock"))
    return len(taken)


def charges(session: ht.Session) -> list[Any]:
    return [entry for entry in session.ledger.history() if entry.type == "charge"]


WAYS = ("residual-planner", "aim", "auto", "choose", "check")


@pytest.mark.parametrize("way", WAYS)
def test_nothing_uncharged_is_drawn_wherever_it_is_interrupted(way: str, memory_path: Path) -> None:
    assert campaign(memory_path, way, share=0.02, seed=5) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_nothing_uncharged_is_drawn_at_any_instruction(way: str, memory_path: Path) -> None:
    assert campaign(memory_path, way, share=1.0, seed=6) > 100


def thrown_away(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt again and again between a draw and its keeping: the draws stay within the charges, and it ends."""
    session = ht.Session.open(FRAME, schema=SCHEMA, ledger=memory_path / "a.ledger", budget=ht.ZCDP(10))
    drawn, keep = Drawn(monkeypatch), run._Credit.keep
    for stop in (0, 0, 1, 0, 3, 2, 6, 1):
        left = [stop]

        def interrupted(self: Any, request: Any, values: Any, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            keep(self, request, values)

        with monkeypatch.context() as patch:
            patch.setattr(run._Credit, "keep", interrupted)
            with suppress(KeyboardInterrupt):
                ask(session, "aim", 0)
        assert drawn.rho * UNIT <= session.ledger.spent().rho <= UNIT // 10
    repeat(session, "aim", 0)
    found = session.ledger.find("aim-0")
    assert found is not None and found.state == "settled"
    assert drawn.rho * UNIT <= found.drawn.rho <= UNIT // 10


def test_a_draw_that_is_thrown_away_is_used_up(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thrown_away(memory_path, monkeypatch)


def test_a_loop_that_forgets_what_it_threw_away_is_caught(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant that version 0.1 was: a draw counts as used only once its reply is kept."""
    monkeypatch.setattr(run.Line, "lost", lambda request: run.Line("lost", Fraction(0)))
    with pytest.raises(AssertionError):
        thrown_away(memory_path, monkeypatch)
