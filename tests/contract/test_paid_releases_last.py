"""A paid release outlives the version and the processor that made it.

What is finished is read from what was stored, without policy, fit or data.  What is unfinished is resumed from the
stored lines, whose last bits may differ from what this version would ask; where its questions differ it can be ended
and read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import LedgerError
from hushtable.kernel.draw import Confidential
from hushtable.measurement import (
    Claim,
    Compare,
    Label,
    Line,
    Measure,
    ResidualPart,
    Round,
    Select,
    Transcript,
    lines_from_bytes,
    lines_to_bytes,
)
from hushtable.planning import aim, auto, exact_plans
from hushtable.planning.adaptive import AdaptivePlan, AimPlan, AutoPlan
from hushtable.session import end

WAYS: dict[str, dict[str, Any]] = {
    "aim": {"strategy": "aim"},
    "aim scored against tables": {"strategy": "aim", "reconstruct": "maxent"},
    "auto": {"strategy": "auto"},
}


class Stop(Exception):
    """An interruption."""


Opened = Callable[..., ht.Session]


@pytest.fixture
def opened(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> Opened:
    """Opens this test's ledger, again and again, with the same records or with others."""

    def session(frame: pl.DataFrame = small_frame) -> ht.Session:
        return ht.Session.open(frame, schema=small_schema, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(20))

    return session


def released(session: ht.Session, way: str, **more: Any) -> ht.Release:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    options: dict[str, Any] = {"budget": ht.ZCDP("0.3"), "request": "paid", **WAYS[way], **more}
    return session.release(workload, **options)


def interrupted(session: ht.Session, way: str, draws: int) -> None:
    """Begin, and stop before the draw after so many."""
    with pytest.MonkeyPatch.context() as patch:
        prepare, left = Confidential.prepare, [draws]

        def failing(self: Confidential, request: Any) -> Any:
            if left[0] == 0:
                raise Stop
            left[0] -= 1
            return prepare(self, request)

        patch.setattr(Confidential, "prepare", failing)
        with pytest.raises(Stop):
            released(session, way)


def described(release: ht.Release) -> dict[str, Any]:
    """What a reader sees of a release."""
    assert release.history is not None
    return {
        "values": release.answers.values.tolist(),
        "noise": [str(p) for p in release.answers.part.precisions],
        "sets": release.answers.layout.sets,
        "history": release.history.to_dicts(),
        "bounds": release.card.to_dict().get("l1_bounds"),
        "charged": release.card.charged.to_dict(),
        "table": release.table("age", "sex").to_dicts(),
    }


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("a finished release is only read")


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_finished_release_is_read_without_policy_fit_or_data(
    way: str, opened: Opened, small_frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened()
    made = described(released(session, way))
    assert made["history"] and (made["bounds"] is not None or way == "auto")
    head = session.ledger.head
    for place, name in (
        (AimPlan, "policy"),
        (AutoPlan, "policy"),
        (AdaptivePlan, "keeping"),
        (Confidential, "__init__"),
        (Confidential, "prepare"),
    ):
        monkeypatch.setattr(place, name, refuse)
    monkeypatch.setattr("hushtable.kernel.releasing.fit_for", refuse)
    again = opened(small_frame.clear())
    assert described(released(again, way)) == made
    assert described(released(again, way, memory="1MB")) == made, (
        "memory decided how it was made, not how it is read"
    )
    assert again.ledger.head == head


def other_bits(amount: Fraction) -> Callable[[float], Fraction]:
    """A rounding that keeps a little less than this version's own."""
    real = exact_plans.round_down
    return lambda value: real(value) * amount


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "draws"),
    [(way, draws) for way in sorted(WAYS) for draws in (1, 2, 3, 5) if way != "auto" or draws <= 2],
)  # auto may need no more draws than two
def test_an_unfinished_release_is_resumed_where_only_the_last_bits_differ(
    way: str, draws: int, opened: Opened, small_schema: ht.Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored precisions count: those that this processor would have asked for are off by some thousand ulps."""
    session = opened()
    interrupted(session, way, draws)
    before = session.ledger.find("paid")
    assert before is not None
    kept = Transcript.of(before.payloads)
    slightly = other_bits(1 - Fraction(1, 2**42))
    for module in (aim, auto):
        monkeypatch.setattr(module, "round_down", slightly)
    again = opened()
    release = released(again, way)
    after = again.ledger.find("paid")
    assert after is not None and after.state == "settled"
    whole = Transcript.of(after.payloads)
    assert [str(p) for line in whole.lines for p in line.parameters][: len(kept.lines)] == [
        str(p) for line in kept.lines for p in line.parameters
    ][: len(kept.lines)]
    known = kept.answers(small_schema.sizes)
    assert release.answers.part.precisions[: len(known.part.precisions)] == known.part.precisions
    units = sum((line.price for line in whole.lines), Fraction(0)) * 10**12
    assert -(-units.numerator // units.denominator) == after.drawn.rho <= 3 * 10**11
    assert described(release) == described(released(again, way)) and again.ledger.verify().ok


def change_policy(patch: pytest.MonkeyPatch) -> None:
    """Another version: its first measurement leaves one set out."""
    real = {kind: kind.policy for kind in (AimPlan, AutoPlan)}

    def policy(self: AdaptivePlan, *args: Any) -> Any:
        first = next(real[type(self)](self, *args))
        assert isinstance(first, Measure)
        part = first.part
        yield Measure(ResidualPart(part.sizes, part.sets[:-1], part.precisions[:-1]))
        raise AssertionError("its questions were answered by stored rounds about other sets")

    for kind in real:
        patch.setattr(kind, "policy", policy)


@pytest.mark.parametrize("way", sorted(WAYS))
def test_an_unfinished_release_of_another_version_can_be_ended_and_read(
    way: str,
    opened: Opened,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = opened()
    interrupted(session, way, 2)
    change_policy(monkeypatch)
    spent, held = session.ledger.spent(), session.ledger.held()
    assert held.rho > 0
    with pytest.raises(LedgerError) as other:
        released(session, way)
    assert other.value.code == "ledger.other-rounds" and "hush ledger end" in str(other.value)
    assert session.ledger.spent() == spent and session.ledger.held() == held
    assert run(["ledger", "end", str(tmp_path / "a.ledger"), "paid"]) == 0
    assert "stays spent" in capsys.readouterr().out
    assert session.ledger.spent() == spent and session.ledger.held().rho == 0
    release = released(session, way)
    assert release.history is not None and release.history.height >= 1
    assert (release.table("age", "sex")["lower"] <= release.table("age", "sex")["upper"]).all()
    assert session.ledger.spent() == spent and session.ledger.verify().ok


def test_lines_come_back_as_they_were_written() -> None:
    """With all that a reader needs: labels, prices, exact noise, and claims with their tables."""
    sizes = (3, 2)
    part = ResidualPart(sizes, ((0,), (0, 1)), (Fraction(1, 3), Fraction(7, 2**60)))
    measure = Measure(part, label=Label("look", (0, 1), 2.5, 0.5))
    select = Select((), np.array([1, 2]), 0.5, Fraction(1, 7), sets=((0,), (0, 1)))
    compare = Compare(sizes, ((0,), (1,)), np.zeros(5), Fraction(9, 4), label=Label("compare", sigma=1.5))
    claims = [
        Claim(((0,), (1,)), np.array([0.5, 1.5, 1e-300, 2.0, -0.0]), np.array([3.0, np.inf])),
        Claim(((0, 1),), None, np.array([0.25])),
    ]
    written = [
        Line.of(measure, np.arange(9)),
        Line.lost(measure),
        Line.of(select, np.array([1])),
        Line.of(compare, np.array([-(2**62), 2**62])),
        *(Line.note(claim) for claim in claims),
    ]
    lines = lines_from_bytes(lines_to_bytes(written))
    assert [line.kind for line in lines] == ["measure", "lost", "select", "compare", "note", "note"]
    assert [line.price for line in lines] == [measure.rho, measure.rho, select.rho, compare.rho, 0, 0]
    assert lines[2].sets == ((0, 1),), "the chosen marginal is stored by its name"
    for line, request in zip((lines[0], lines[2], lines[3]), (measure, select, compare), strict=True):
        assert line.parameters == request.parameters
        reply = line.reply_to(request)
        assert reply is not None and reply.asked.parameters == request.parameters
        assert line.reply_to(None) is None
        assert [line.reply_to(other) for other in (measure, select, compare) if other is not request] == [
            None
        ] * 2
    whole = Transcript(tuple(lines))
    read = whole.answers(sizes).part
    assert (read.sets, read.precisions) == (measure.part.sets, measure.part.precisions)
    rounds = whole.rounds(Fraction(1))
    assert rounds is not None and rounds[0] == Round(measure.label, 2, float(measure.rho))  # type: ignore[arg-type]
    for claim, read in zip(claims, whole.claims(), strict=True):
        assert claim.sets == read.sets and (claim.limits == read.limits).all()
        assert (claim.tables is None) == (read.tables is None)
        assert claim.tables is None or claim.tables.tobytes() == np.asarray(read.tables).tobytes()
    other = Measure(ResidualPart(sizes, ((0,), (1,)), (Fraction(1), Fraction(1))))
    assert lines[0].reply_to(other) is None, "other sets"


def test_a_release_that_was_ended_before_its_first_answer_says_so(opened: Opened, tmp_path: Path) -> None:
    session = opened()
    interrupted(session, "aim", 0)
    assert session.ledger.find("paid") is None, "nothing is set aside before the first draw is prepared"
    with pytest.raises(LedgerError) as unknown:
        end(tmp_path / "a.ledger", "paid")
    assert unknown.value.code == "ledger.unknown-request"


@pytest.mark.parametrize("strategy", ["aim", "auto"])
def test_a_release_whose_only_draw_was_lost_says_so(
    strategy: str, opened: Opened, small_schema: ht.Schema
) -> None:
    session = opened()
    options: dict[str, Any] = {"budget": ht.ZCDP("0.3"), "strategy": strategy, "request": "total"}
    workload = ht.Workload.all_marginals(small_schema, order=0)

    def crash(*_: Any) -> None:
        raise Stop

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(ht.Ledger, "store", crash)
        session.release(workload, **options)
    spent = session.ledger.spent()
    for _ in range(2):
        with pytest.raises(LedgerError) as lost:
            session.release(workload, **options)
        assert lost.value.code == "ledger.draw-lost"
    assert session.ledger.spent() == spent and session.ledger.held().rho == 0


def test_an_old_unfinished_release_can_be_ended_and_read(tmp_path: Path) -> None:
    """Rounds of version 0.1 that this version would ask otherwise."""
    import shutil

    fixtures = Path(__file__).resolve().parents[1] / "fixtures" / "v0_1"
    for name in ("aim-unfinished.ledger", "aim-unfinished.ledger.payloads", "schema.yaml", "data.csv"):
        source = fixtures / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    for path in tmp_path.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    ended = end(tmp_path / "aim-unfinished.ledger", "aim-unfinished")
    assert ended.state == "settled" and ended.held.rho == 0 < ended.drawn.rho
    session = ht.Session.open(
        str(tmp_path / "data.csv"), schema=tmp_path / "schema.yaml", ledger=tmp_path / "aim-unfinished.ledger"
    )
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.3"), strategy="aim", request="aim-unfinished")
    assert len(release.answers.layout.sets) > 0 and release.history is None


_OTHER_PROCESSOR = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import hushtable as ht
import test_paid_releases_last as here
from hushtable.errors import LedgerError
folder, way = Path(sys.argv[1]), sys.argv[3]
session = here.wide_session(folder)
try:
    release = here.wide_release(session, way)
    said = {"values": release.answers.values.tolist(), "state": session.ledger.holding("paid").state}
except LedgerError as error:
    said = {"code": error.code}
print(json.dumps(said))
"""


def wide_session(folder: Path) -> ht.Session:
    """Twenty attributes: enough for processors with and without wide registers to differ in last bits."""
    names = [f"a{k}" for k in range(20)]
    rows = range(500)
    frame = pl.DataFrame({name: [(r * r * (k + 3) // 7) % 3 for r in rows] for k, name in enumerate(names)})
    schema = {"attributes": {name: {"type": "integer", "bounds": [0, 2], "width": 1} for name in names}}
    return ht.Session.open(frame, schema=schema, ledger=folder / "a.ledger", budget=ht.ZCDP(20))


def wide_release(session: ht.Session, way: str) -> ht.Release:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    return session.release(workload, budget=ht.ZCDP("0.3"), request="paid", **WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("finished", [True, False])
def test_another_processor_reads_and_resumes(way: str, finished: bool, tmp_path: Path) -> None:
    """Compiled for a plain processor, and without NumPy's vector instructions."""
    session = wide_session(tmp_path)
    values: list[int] = []
    if finished:
        values = wide_release(session, way).answers.values.tolist()
    else:
        prepare, left = Confidential.prepare, [3]

        def failing(self: Confidential, request: Any) -> Any:
            if left[0] == 0:
                raise Stop
            left[0] -= 1
            return prepare(self, request)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Confidential, "prepare", failing)
            with pytest.raises(Stop):
                wide_release(session, way)
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX",
    }
    arguments = [sys.executable, "-c", _OTHER_PROCESSOR, str(tmp_path), str(Path(__file__).parent), way]
    done = subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    if finished:
        assert said["values"] == values
    elif "code" in said:
        assert said["code"] == "ledger.other-rounds"
        assert end(session.ledger, "paid").state == "settled"
        assert len(wide_release(session, way).answers.values) > 0
    else:
        assert said["state"] == "settled"
        assert wide_release(session, way).answers.values.tolist() == said["values"]
    assert session.ledger.verify().ok
