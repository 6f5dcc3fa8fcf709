"""Commands interrupted or killed at every step of writing what they paid for, and repeated: complete, and paid once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh import forkserver
from release_campaign import run_until

import hushtable as ht
from hushtable.cli import main
from hushtable.cli.app import run
from hushtable.kernel.run import Job
from hushtable.kernel.run import run as run_job
from hushtable.kernel.spending import Account, working_on
from hushtable.ledger import Spend, Unit, failpoints
from hushtable.measurement import Measure, ResidualPart, Transcript, lines_from_bytes
from hushtable.privacy import Cost
from hushtable.release.details import RefinementDetail
from hushtable.watching import silent

SCHEMA = {
    "attributes": {"age": {"type": "integer", "bounds": [0, 79], "width": 20}, "member": {"type": "boolean"}}
}
ROWS = "age,member\n" + "".join(f"{7 * k % 80},{'true' if k % 3 else 'false'}\n" for k in range(50))
KNOWN = "people.csv --schema people.yaml --ledger people.ledger"
COMMANDS = {
    "release": f"release {KNOWN} --order 2 --budget rho=0.1 --strategy residual-planner --out out",
    "auto": f"release {KNOWN} --order 2 --budget rho=0.1 --no-report --out out",
    "choose": f"choose {KNOWN} --orders 1 2 --budget rho=0.1 --snr 0.5:0.1 --out out",
    "buckets": f"choose {KNOWN} --options few.yaml many.yaml --budget rho=0.1 --snr 0.5:0.1 --out out",
    "finish": "choose finish --ledger people.ledger --choice waiting --option 1 --out out",
    "check": f"check {KNOWN} --synthetic people.csv --query COUNT --tau 5 --budget rho=0.1",
}
OUTPUT = ("note.written", "bundle.filled", "bundle.moved")
STEPS = [n for n in failpoints.NAMES if n.split(".")[0] in ("schema", "reserve", "charge", "store", "settle")]
LOSING = ("charge.committed", "store.temporary", "store.renamed", "store.locked", "store.inserted")
"""Between charge and store a kill costs what was charged: nobody knows what was drawn."""


@pytest.fixture
def context() -> Any:
    return forkserver()


def prepare(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(ROWS)
    schema = ht.Schema.from_dict(SCHEMA)
    schema.save(folder / "people.yaml")
    (folder / "few.yaml").write_text("buckets: {age: [2], member: all}\n")
    (folder / "many.yaml").write_text("buckets: {age: [1, 2, 3], member: all}\n")
    session = ht.Session.open(
        folder / "people.csv", schema=schema, ledger=folder / "people.ledger", budget=ht.ZCDP(1)
    )
    options = [ht.linear.marginals(schema, order=k) for k in (1, 2)]
    session.choose(options, budget=ht.ZCDP("0.05"), request="waiting")


def worker(folder: Path, words: list[str], point: str | None, number: int, ready: Any) -> None:
    """Run a command in this process; send a signal to itself at a failpoint if one is given."""

    def hook(reached: str) -> None:
        if reached == point:
            failpoints.arm(None)
            os.kill(os.getpid(), number)

    with (folder / "printed").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failpoints.arm(hook)
    ready.send(True)
    main(words)


def disguising_worker(folder: Path, words: list[str], point: str, ready: Any) -> None:
    """Run a command whose interrupt becomes another error, as in a compiled library that is just being loaded."""

    def disguise(reached: str) -> None:
        if reached == point:
            failpoints.arm(None)
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt as error:
                raise SystemError("initialization failed") from error

    with (folder / "printed").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    failpoints.arm(disguise)
    ready.send(True)
    main(words)


def stop(
    context: Any, folder: Path, words: list[str], point: str | None, number: int, after: float | None = None
) -> tuple[int, float]:
    """Run a command until a signal ends it, at a failpoint or after some seconds; exit code and how long it lived."""
    return run_until(context, worker, (folder, words, point, number), number, after)


def charges(folder: Path) -> list[Any]:
    ledger = ht.Ledger.open(folder / "people.ledger")
    assert ledger.verify().ok
    return [c for h in ledger.reservations() for c in h.charges]


def is_lost(folder: Path) -> bool:
    return any(not charge.stored for charge in charges(folder))


def repeat(folder: Path, name: str, resume: bool = False) -> str:
    """Type the command again, and check that the folder is complete, is what was paid for, and was paid for once."""
    before, ledger = charges(folder), ht.Ledger.open(folder / "people.ledger")
    was_complete = (folder / "out" / "release.json").exists() and not list(folder.glob(".out.request"))
    words = COMMANDS[name].split()
    if resume and name in ("release", "auto") and (folder / ".out.request").exists():
        words[words.index("--out")] = "--resume"
    lost = is_lost(folder)
    code = run(words)
    if lost and code:
        assert len(charges(folder)) == len(before), "paid without a word"
        return "lost"
    if was_complete and name != "finish":
        assert code == 1 and len(charges(folder)) == len(before)
        return "was complete"
    assert code == 0
    if name == "check":
        assert len(charges(folder)) == 2 + lost, "asked again after a lost draw, otherwise never"
        return "lost" if lost else "asked"
    assert not list(folder.glob(".out.request")) and not list(folder.glob(".hush-*"))
    if name == "release":
        assert (folder / "out" / "report.html").exists()
        assert len(charges(folder)) == 2, "one for the choice that waits, one for this"
        stored = lines_from_bytes(ledger.payload(charges(folder)[-1].number))[0]
        assert np.array_equal(ht.Release.load(folder / "out").answers.values, stored.values)
    after = charges(folder)
    assert run([*words[:-1], "another"]) == (0 if name == "finish" else 1), "complete, so it asks"
    assert charges(folder) == after
    held = ht.Ledger.open(folder / "people.ledger").open_reservations()
    assert [h.reservation.request for h in held] == ([] if name == "finish" else ["waiting"])
    card = (folder / "out" / "release.json").read_text()
    assert '"request"' in card
    return "resumed" if len(before) > 1 else "began"


QUICK = [
    ("release", "bundle.filled", signal.SIGKILL),
    ("release", "bundle.moved", signal.SIGINT),
    ("release", "store.committed", signal.SIGKILL),
    ("choose", "bundle.filled", signal.SIGINT),
    ("finish", "bundle.moved", signal.SIGKILL),
    ("buckets", "bundle.filled", signal.SIGKILL),
]
EVERY = [
    (name, point, number)
    for name in COMMANDS
    for point in (*OUTPUT, *STEPS)
    for number in (signal.SIGKILL, signal.SIGINT)
    if (name, point, number) not in QUICK
]


@pytest.mark.parametrize(
    ("name", "point", "number"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in EVERY)],
    ids=lambda part: part.name if isinstance(part, signal.Signals) else part,
)
def test_a_command_stopped_at_a_step_is_completed_by_repeating_it(
    name: str, point: str, number: signal.Signals, memory_path: Path, context: Any, monkeypatch: Any
) -> None:
    folder = memory_path / "one"
    prepare(folder)
    code, _ = stop(context, folder, COMMANDS[name].split(), point, number)
    assert code in (0, 130, -signal.SIGKILL), (folder / "printed").read_text()
    if number == signal.SIGINT:
        assert not is_lost(folder), "an interrupt waits for what was charged"
    monkeypatch.chdir(folder)
    assert repeat(folder, name, resume=point.endswith("d")) != "lost" or point in LOSING


def random_stops(
    count: int, seed: int, place: Path, context: Any, leave: Callable[[Path], None]
) -> Counter[str]:
    """Stop so many commands, each after a part of the time that a whole one takes."""
    chance = random.Random(seed)
    whole: dict[str, float] = {}
    ends: Counter[str] = Counter()
    for number in range(count):
        name = chance.choice(["release", "auto", "choose", "finish"])
        if name not in whole:
            prepare(place / name)
            code, whole[name] = stop(context, place / name, COMMANDS[name].split(), None, 0)
            assert code == 0, (place / name / "printed").read_text()
        folder = place / f"{number:04}"
        prepare(folder)
        how = chance.choice([signal.SIGKILL, signal.SIGINT])
        after = chance.uniform(0.0, 1.05) * whole[name]
        code, _ = stop(context, folder, COMMANDS[name].split(), None, how, after)
        assert code in (0, 130, -signal.SIGKILL, -signal.SIGINT), (folder / "printed").read_text()
        leave(folder)
        ends[repeat(folder, name, resume=bool(number % 2))] += 1
    return ends


@pytest.mark.parametrize("count", [2, pytest.param(240, marks=pytest.mark.slow)])
def test_commands_stopped_at_random_moments_are_completed_by_repeating_them(
    count: int, memory_path: Path, context: Any, monkeypatch: Any
) -> None:
    ends = random_stops(count, count, memory_path, context, monkeypatch.chdir)
    assert sum(ends.values()) == count
    print(dict(ends))


def test_an_interrupt_that_a_library_makes_another_error_of_is_an_interrupt(
    memory_path: Path, context: Any
) -> None:
    prepare(memory_path)
    given = (memory_path, COMMANDS["release"].split(), "bundle.filled")
    code, _ = run_until(context, disguising_worker, given, 0, None)
    printed = (memory_path / "printed").read_text()
    assert code == 130 and "hush: interrupted" in printed and "--resume out" in printed, printed
    assert "internal" not in printed


def test_an_interrupt_waits_until_what_was_charged_is_stored(tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "l.ledger", ht.ZCDP(1))
    ledger.bind_unit(Unit(rows=1))
    spend = Spend(Cost(0, 10**11), "release", RefinementDetail("a test", "0.1"))
    drawn: list[int] = []

    class Handle:
        def prepare(self, request: Any) -> Any:
            return self.draw

        def draw(self) -> np.ndarray:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            drawn.append(7)
            return np.array([7])

    def go(account: Account) -> Transcript:
        asked = Measure(ResidualPart((2,), ((),), (Fraction(1),)))
        job = Job.once(asked, spend.cost, Handle, [])
        return run_job(job, account, account.begin(spend), silent)

    with pytest.raises(KeyboardInterrupt), working_on(ledger, "one") as account:
        go(account)
    assert drawn == [7] and not is_open(ledger)
    with working_on(ledger, "one") as account:
        (line,) = go(account).lines
        assert line.values.tolist() == [7]
    assert drawn == [7] and ledger.spent() == spend.cost


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_an_interrupt_that_is_ignored_does_not_cut_a_release_short(tmp_path: Path, handler: Any) -> None:
    prepare(tmp_path)
    session = ht.Session.open(
        tmp_path / "people.csv", schema=tmp_path / "people.yaml", ledger=tmp_path / "people.ledger"
    )
    plan = session.plan(
        ht.Workload.all_marginals(session.schema, order=2), budget=ht.ZCDP("0.1"), strategy="aim"
    )

    def interrupt(step: str, done: int, total: int) -> None:
        if step.startswith("step"):
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    try:
        session.run(plan, request="whole", progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    held = session.ledger.holding("whole")
    assert held is not None and held.state == "settled"
    assert held.drawn == ht.ZCDP("0.1").limit


def is_open(ledger: ht.Ledger) -> bool:
    return any(not charge.stored for holding in ledger.reservations() for charge in holding.charges)
