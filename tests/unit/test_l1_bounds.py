"""Bounds on the L1 error of whole tables: each kind holds as often as it says, and the least of all is published."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import hushtable as ht
from hushtable.marginals import Layout, ResolvedWorkload, assemble, centre, closure
from hushtable.measurement import Answers
from hushtable.planning import claims
from hushtable.planning.claims import BETA, CELLS, CLAIMS, NOISE, TOTAL
from hushtable.planning.l1_noise import l1_limits
from hushtable.privacy.mechanism import LaplaceNoise
from hushtable.reconstruct import from_answers, from_marginals, from_residuals
from hushtable.reconstruct.table_bounds import l1_bounds
from simulation import DependentRows, adaptive_loop, by_run, linear_map
from thresholds import FALSE_ALARM

WIDE = {
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 79], "width": 2},
        "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other"},
        "member": {"type": "boolean"},
    }
}
"""Tables large enough for noisy distances to be worth their price."""


def too_many(runs: int, rate: float) -> int:
    """More failures than this occur by chance with probability FALSE_ALARM if each run fails at ``rate``."""
    return int(stats.binom.isf(FALSE_ALARM, runs, rate))


def test_the_levels_of_all_kinds_add_up_to_that_of_a_bound() -> None:
    assert pytest.approx(BETA) == CLAIMS + NOISE + CELLS + TOTAL


@pytest.mark.parametrize(
    ("sizes", "even"), [((4,), True), ((2, 3), False), ((5, 4, 3), True), ((7, 6, 2), False)]
)
def test_noise_of_known_covariance_adds_up_to_more_as_rarely_as_said(
    sizes: tuple[int, ...], even: bool
) -> None:
    """20,000 tables of noise by residuals; a bound of 5% fails more often than ``too_many`` at 1e-9."""
    runs, beta = 20_000, 0.05
    everything = tuple(range(len(sizes)))
    layout = Layout(sizes, closure([everything]))
    generator = np.random.default_rng(len(sizes))
    spread = np.ones(len(layout.sets)) if even else generator.uniform(0.1, 30.0, len(layout.sets))
    noise = np.zeros((runs, *sizes))
    for tau, variance in zip(layout.sets, spread.tolist(), strict=True):
        shape = [sizes[a] if a in tau else 1 for a in everything]
        draws = generator.normal(0.0, variance**0.5, (runs, *shape))
        for a in tau:
            draws -= draws.mean(axis=a + 1, keepdims=True)
        noise += draws * np.prod(shape) / np.prod(sizes)
    sums = np.abs(noise).reshape(runs, -1).sum(axis=1)
    precisions = [Fraction(1) / Fraction(v) for v in spread.tolist()]
    model = from_residuals(layout, np.zeros(layout.cells, np.int64), precisions).model
    limit = float(model.l1_limits([everything], beta)[0])
    assert int((sums > limit).sum()) <= too_many(runs, beta)
    # Not far from what is needed, and a bound without its tail would be seen.
    assert limit < 1.9 * np.quantile(sums, 1 - beta)
    assert int((sums > sums.mean()).sum()) > too_many(runs, beta)


def test_one_cell_has_its_exact_quantile() -> None:
    found = l1_limits(np.array([1.0]), np.array([4.0]), np.array([4.0]), 0.05)
    assert found[0] == pytest.approx(2 * stats.norm.isf(0.025))


def test_laplace_noise_of_a_table_adds_up_to_more_as_rarely_as_said() -> None:
    """5,000 tables of 12 cells, measured themselves and by their rows: failures beyond ``too_many`` at 1e-9."""
    runs, layout = 5_000, Layout((4, 3), ((0,), (0, 1)))
    noises = (LaplaceNoise(Fraction(2)), LaplaceNoise(Fraction(5)))

    def estimate(answers: np.ndarray) -> np.ndarray:
        return from_marginals(layout, answers, noises).estimate_all(Layout((4, 3), ((0, 1),)))

    draws = np.concatenate(
        [ht.privacy.discrete_laplace(n.scale, runs * c) for n, c in zip(noises, (4, 12), strict=True)]
    )
    sums = np.abs(by_run(draws, layout, runs) @ linear_map(estimate, layout)).sum(axis=1)
    model = from_marginals(layout, np.zeros(16, np.int64), noises).model
    limit = float(model.l1_limits([(0, 1)], 0.05)[0])
    assert int((sums > limit).sum()) <= too_many(runs, 0.05)
    assert int((sums > limit / 4).sum()) > too_many(runs, 0.05)


def published(release: ht.Release) -> list[float]:
    return release.accuracy()["l1_bound"].to_list()


@pytest.mark.long
@pytest.mark.parametrize(
    ("strategy", "reconstruct"), [("aim", "mle"), ("aim", "maxent"), ("auto", "maxent"), ("auto", "nonneg")]
)
@pytest.mark.parametrize("rho", ["0.0005", "0.02"])
def test_bounds_on_whole_tables_hold_and_are_the_least(
    strategy: str, reconstruct: str, rho: str, memory_path: Path, small_frame: pl.DataFrame
) -> None:
    """12 releases of 3 tables.  A run fails with probability 15% at most; more than ``too_many`` do so at 1e-9."""
    session = ht.Session.open(small_frame, schema=WIDE, ledger=memory_path / "a.ledger", budget=ht.ZCDP(1000))
    workload = ht.Workload.all_marginals(session.schema, order=2)
    exact = session.release(workload, budget=ht.ZCDP(500), strategy="residual-planner")
    truth = {names: exact.table(*names)["estimate"].round().to_numpy() for names in exact.marginals}
    broken = 0
    for _ in range(12):
        release = session.release(workload, budget=ht.ZCDP(rho), strategy=strategy, reconstruct=reconstruct)
        bounds = published(release)
        assert None not in bounds
        total = release.table()
        errors = []
        for names, bound in zip(release.marginals, bounds, strict=True):
            table = release.table(*names)
            estimate = table["estimate"].to_numpy()
            errors.append(float(np.abs(estimate - truth[names]).sum()))
            # No two tables differ by more than both add up to, and the noise of all cells has a union bound.
            reach = float(total["std"][0]) * stats.norm.isf(TOTAL / 2) + 1.0
            assert bound <= np.abs(estimate).sum() + max(0.0, float(total["unbiased"][0]) + reach) + 0.01
            if table["measured"][0] == "fully":
                away = np.abs(estimate - table["unbiased"].to_numpy()).sum()
                cells = table.height
                noise = cells * float(table["std"][0]) * stats.norm.isf(NOISE / (2 * cells))
                assert bound <= away + noise + 0.01
        broken += any(e > b for e, b in zip(errors, bounds, strict=True))
    assert broken <= too_many(12, 3 * BETA)


SIZES = (5, 4, 3, 6, 2)
SETS = tuple(combinations(range(5), 3))


WORKLOAD = ResolvedWorkload(SETS, (Fraction(1),) * len(SETS), SIZES)


@pytest.mark.long
@pytest.mark.parametrize("tables", [False, True])
def test_what_a_loop_claims_holds_for_all_its_tables_and_the_best_round_counts(tables: bool) -> None:
    """20 loops; all claims of one hold together but with probability CLAIMS, so ``too_many`` fail at 1e-9.

    The mutant, limits of a twentieth, fails in every loop.
    """
    layout = Layout(SIZES, closure(SETS))
    truth = DependentRows(SIZES).tabulate(layout)
    failed = mutant = better = 0
    for _ in range(20):
        state, measured = adaptive_loop(WORKLOAD, layout, "aim", tables)
        final = assemble(layout, state.values, layout)
        assert len(state.claims) == 2
        errors = [
            np.add.reduceat(np.abs((final if c.tables is None else c.tables) - truth), layout.offsets[:-1])
            for c in state.claims
        ]
        pairs = list(zip(state.claims, errors, strict=True))
        failed += any(bool((c.limits < error).any()) for c, error in pairs)
        mutant += any(bool((c.limits / 20 < error).any()) for c, error in pairs)
        estimates = from_answers(
            Answers.pooled(SIZES, [Answers(request.part, values) for request, values in measured])
        )
        both, alone = (
            l1_bounds(some, SETS, estimates, estimates) for some in (state.claims, state.claims[:1])
        )
        assert (both <= alone).all()
        better += bool((state.claims[1].limits < state.claims[0].limits).any())
    assert failed <= too_many(20, CLAIMS) < mutant
    assert better > 0


def test_a_table_of_known_pairs_is_bounded_by_its_cells() -> None:
    """What the bound from cells says, by hand: all sub-tables at the level shared out over their cells."""
    sizes = (2, 3, 2)
    counts = np.arange(12.0).reshape(sizes) * 10
    known = tuple(s for s in closure([(0, 1, 2)]) if len(s) < 3)
    layout = Layout(sizes, known)
    values = np.zeros(layout.cells)
    for s in known:
        marginal = counts.sum(axis=tuple(a for a in range(3) if a not in s))
        layout.view(values, s)[...] = centre(marginal) * marginal.size
    estimates = from_residuals(layout, np.rint(values).astype(np.int64), [Fraction(4)] * len(known))
    bound = float(l1_bounds([], [(0, 1, 2)], estimates, estimates)[0])
    cells = 3 * 4 * 3 - 12
    reach = {s: stats.norm.isf(CELLS / cells / 2) * estimates.variance(s) ** 0.5 for s in known}
    high = {s: estimates.marginal(s) + reach[s] for s in known}
    low = {s: estimates.marginal(s) - reach[s] for s in known}

    def wide(table: np.ndarray, s: tuple[int, ...]) -> np.ndarray:
        return table.reshape([sizes[a] if a in s else 1 for a in range(3)])

    pairs = [(0, 1), (0, 2), (1, 2)]
    upper = np.minimum.reduce([np.broadcast_to(wide(high[s], s), sizes) for s in pairs]).clip(0)
    lower = np.zeros(sizes)
    for a, b in combinations(pairs, 2):
        (shared,) = set(a) & set(b)
        lower = np.maximum(lower, wide(low[a], a) + wide(low[b], b) - wide(high[shared,], (shared,)))
    lower = np.minimum(lower, upper)
    table = estimates.marginal((0, 1, 2))
    above, short = np.maximum(upper - table, 0).sum(), np.maximum(table - lower, 0).sum()
    total = float(estimates.marginal(()))
    slack = stats.norm.isf(TOTAL / 2) * 0.5
    options = [
        above + short,
        2 * above + table.sum() - total + slack,
        2 * short + total + slack - table.sum(),
    ]
    assert (
        min(options) - 2.0 < bound <= min(options) + 2.0
    )  # the total's own interval is one of whole numbers
    assert np.abs(table - counts).sum() <= bound


@pytest.mark.parametrize("part", [1, 7, 2**24])
def test_what_a_round_moved_is_the_same_in_parts_of_any_size(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (3, 2, 4, 1)
    layout = Layout(sizes, closure([(0, 1, 2), (1, 2, 3)]))
    generator = np.random.default_rng(3)
    numbers = [layout.index[s] for s in ((0, 1), (2,))]
    changes = tuple((k, generator.normal(size=layout.lengths[k])) for k in numbers)
    monkeypatch.setattr(claims, "PART", part)
    moved = claims.moved(layout, changes)
    for gamma, norm in zip(layout.sets, moved, strict=True):
        table = np.zeros(layout.shape(gamma))
        for k, change in changes:
            tau = layout.sets[k]
            if set(tau) <= set(gamma):
                shape = [sizes[a] if a in tau else 1 for a in gamma]
                table = table + change.reshape(shape) * change.size / table.size
        assert norm == pytest.approx(np.abs(table).sum(), abs=1e-12)
