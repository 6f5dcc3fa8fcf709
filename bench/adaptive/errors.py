"""Errors and times of every strategy and reconstruction, by epsilon, with exact noise and no ledger.

One measurement serves several reconstructions where they do not decide what is measured.  What does not fit or takes
too long is left out with a reason.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.adaptive.figures import Clock, Figures
from bench.adaptive.tables import DELTA, MEMORY, Table
from hushtable.kernel.draw import Confidential
from hushtable.marginals import Layout
from hushtable.measurement import Answers, Measure, Purse, Reply
from hushtable.planning import STRATEGIES, AdaptivePlan, NoisePlan, PlanOptions, State, plan_residuals
from hushtable.privacy import rho_from
from hushtable.reconstruct import RECONSTRUCTIONS, LocalTables, StateFits, fit_tables, from_answers

METHODS = (
    ("auto", ("maxent",)),
    ("aim", ("mle",)),
    ("aim", ("maxent",)),
    ("residual-planner", ("mle", "maxent", "nonneg")),
)
"""Strategies, each with the ways in which the same measurements are read."""

SMALL_CELLS, LARGE_CELLS = 10_000_000, 30_000_000
"""Closures with more cells get ``nonneg`` tables only for the first seed at epsilon 1, with yet more none."""

MOST_FITTING = 60.0
"""Seconds that a nonnegative fit may take."""

Measured = list[tuple[Measure, np.ndarray]]


class OutOfTime(Exception):
    """A loop that was stopped; says how much of its budget it had spent."""


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` inside when it takes longer."""

    def stop(*_: object) -> None:
        raise OutOfTime(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def adaptive_rounds(plan: AdaptivePlan, reconstruction: str, table: Table, clock: Clock) -> Measured:
    """Run an adaptive plan whose tables will be read in some way, and give back its measurements."""
    keeping = plan.keeping(MEMORY, RECONSTRUCTIONS[reconstruction])
    refit = LocalTables(plan.layout).refit if keeping.tables else None
    scored = plan.scores and refit is None
    handle = Confidential(table.source, plan.layout, wide=keeping.wide, scored=scored)
    purse = Purse(plan.rho)
    policy = plan.policy(State.empty(plan.layout), purse, StateFits(), keeping, refit)
    measured, request = [], next(policy)
    while not clock.over:
        purse.pay(request.rho)
        values = handle.prepare(request)()
        if isinstance(request, Measure):
            measured.append((request, values))
        try:
            request = policy.send(Reply(request, values))
        except StopIteration:
            return measured
    spent = float((purse.limit - purse.left) / purse.limit)
    raise OutOfTime(f"stopped after {clock.elapsed:.0f} s, with {spent:.0%} of the budget spent")


def measure(table: Table, strategy: str, reconstruction: str, rho: Fraction, clock: Clock) -> Measured:
    """Noisy integers by a strategy."""
    return measured_by(
        STRATEGIES[strategy].gaussian(table.workload, rho, 1, PlanOptions()), reconstruction, table, clock
    )


def measured_by(plan: NoisePlan, reconstruction: str, table: Table, clock: Clock) -> Measured:
    """Noisy integers by a plan, adaptive or not."""
    if isinstance(plan, AdaptivePlan):
        return adaptive_rounds(plan, reconstruction, table, clock)
    asked = Measure(plan.part)
    return [(asked, Confidential(table.source).measure(asked)())]


def expected_errors(table: Table, rho: Fraction) -> dict[str, Any]:
    """The closed form of the residual planner's errors with unbiased tables (normal law)."""
    clock = Clock()
    errors = plan_residuals(table.workload, rho=rho).errors()
    cells = table.workload.layout.lengths
    l1, l2 = errors.l1 / table.records, errors.std * np.sqrt(cells) / table.records
    found = {"l1": float(l1.mean()), "l2": float(l2.mean()), "largest": float(l1.max())}
    return found | {"elapsed": clock.elapsed, "processor": clock.processor, "note": "expected, closed form"}


def too_large(table: Table, strategy: str, reconstruction: str, epsilon: float) -> str | None:
    """Why a method cannot be run on a table."""
    cells = table.layout.cells
    if strategy == "residual-planner" and 40 * cells > MEMORY:
        return f"{cells / 1e9:.1f} billion residuals would be measured and kept at once"
    if reconstruction == "nonneg" and cells > (LARGE_CELLS if epsilon == 1 else SMALL_CELLS):
        return f"the fit passes many times over {cells / 1e6:.0f} million cells"
    return None


def disagreement(table: Table, estimates: np.ndarray) -> float:
    """Largest difference of a two-way table as read from two three-way tables, in records."""
    lowest: dict[tuple[int, ...], np.ndarray] = {}
    highest: dict[tuple[int, ...], np.ndarray] = {}
    layout: Layout = table.answered
    for s in layout.sets:
        cells = layout.view(estimates, s)
        for k in range(3):
            pair, seen = s[:k] + s[k + 1 :], cells.sum(axis=k)
            lowest[pair] = np.minimum(lowest.get(pair, seen), seen)
            highest[pair] = np.maximum(highest.get(pair, seen), seen)
    return float(max((highest[pair] - lowest[pair]).max() for pair in lowest))


def fit(table: Table, measured: Measured, reconstruction: str) -> dict[str, Any]:
    """Errors and time of one reconstruction."""
    clock = Clock()
    found = [Answers(request.part, values) for request, values in measured]
    estimates = from_answers(found[0] if len(found) == 1 else Answers.pooled(table.sizes, found))
    flat = fit_tables(reconstruction, estimates, table.workload.closure).estimate_all(table.answered)
    times = {"fit_elapsed": clock.elapsed, "fit_processor": clock.processor}
    differ = disagreement(table, flat) if reconstruction == "maxent" and not table.sampled else 0.0
    return table.errors(flat) | times | {"differ": differ}


def one_measurement(
    figures: Figures,
    table: Table,
    epsilon: float,
    strategy: str,
    reconstructions: tuple[str, ...],
    seed: int,
    whole: Clock,
) -> None:
    """Measure once and read the tables in every way that is not yet there.

    A loop may take a third of the table's time.
    """
    rho = Fraction(rho_from(epsilon=epsilon, delta=DELTA))
    small = table.layout.cells <= SMALL_CELLS
    ways = [r for r in reconstructions if r != "nonneg" or seed == 0 or small]
    keys = {r: f"{table.name}/{epsilon:g}/{strategy}/{r}/{seed}" for r in ways}
    missing = {r: key for r, key in keys.items() if key not in figures}
    if not missing:
        return
    same = {"table": table.name, "epsilon": epsilon, "strategy": strategy, "seed": seed}
    for reconstruction, key in list(missing.items()):
        reason = too_large(table, strategy, reconstruction, epsilon)
        if reason and strategy == "residual-planner" and reconstruction == "mle":
            figures.put(key, **same, reconstruction=reconstruction, **expected_errors(table, rho))
        elif reason:
            figures.put(key, **same, reconstruction=reconstruction, left_out=reason)
        if reason:
            del missing[reconstruction]
    if not missing:
        return
    clock = Clock(max(60.0, whole.limit / 3))
    try:
        measured = measure(table, strategy, reconstructions[0], rho, clock)
    except OutOfTime as reason:
        for reconstruction, key in missing.items():
            figures.put(key, **same, reconstruction=reconstruction, left_out=str(reason))
        return
    times = {"elapsed": clock.elapsed, "processor": clock.processor, "measurements": len(measured)}
    for reconstruction, key in missing.items():
        if reconstruction == "nonneg" and whole.over:
            figures.put(
                key, **same, reconstruction=reconstruction, left_out="no time was left for this table"
            )
            continue
        try:
            with stopped_after(MOST_FITTING if reconstruction == "nonneg" else 3600.0):
                found = fit(table, measured, reconstruction)
        except OutOfTime as reason:
            figures.put(key, **same, reconstruction=reconstruction, left_out=str(reason))
            continue
        found["elapsed"] = times["elapsed"] + found.pop("fit_elapsed")
        found["processor"] = times["processor"] + found.pop("fit_processor")
        note = {"note": f"{len(table.answered.sets)} tables, drawn"} if table.sampled else {}
        figures.put(
            key, **same, reconstruction=reconstruction, measurements=times["measurements"], **found, **note
        )


def run(
    figures: Figures, names: list[str], epsilons: list[float], seeds: dict[str, int], limits: dict[str, float]
) -> None:
    """All tables; each has a limit of seconds, after which no further seed is begun."""
    with TemporaryDirectory() as folder:
        for strategy, ways in METHODS:
            first = Figures("compiling", Path(folder))
            one_measurement(first, Table.load("titanic"), 1.0, strategy, ways, 1, Clock(300.0))
    for name in names:
        table, clock = Table.load(name), Clock(limits[name])
        for seed in range(seeds[name]):
            if seed and clock.over:
                break
            for epsilon in epsilons:
                for strategy, ways in METHODS:
                    one_measurement(figures, table, epsilon, strategy, ways, seed, clock)
