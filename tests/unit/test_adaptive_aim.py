"""AIM+GReM against a slow NumPy twin: same selections, same noise, same estimates, exact accounts."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import pi, prod, sqrt

import numpy as np
import pytest

from hushtable.errors import BudgetError, WorkloadError
from hushtable.kernel.draw import Confidential
from hushtable.kernel.gap_loops import LARGEST_NORM
from hushtable.kernel.select import Gaps
from hushtable.marginals import Layout, ResolvedWorkload, decompose, reconstruct
from hushtable.measurement import GRID, Answers, Line, Measure, Purse, Reply, Select, Transcript
from hushtable.planning import AimPlan, State, plan_adaptive
from hushtable.planning.aim import aim_policy, improvement_weights, root_below
from hushtable.planning.wishes import work_limit
from hushtable.privacy import exponential_mechanism
from hushtable.reconstruct import from_answers
from tests.bit_sources import SeededBits
from tests.simulation import CodesInMemory

SIZES = (3, 2, 4, 1, 3)


class Rows(CodesInMemory):
    """Codes in memory, in place of a confidential source."""

    def __init__(self, sizes: tuple[int, ...], rows: int, seed: int = 1) -> None:
        generator = np.random.default_rng(seed)
        first = generator.integers(0, sizes[0], rows)
        columns = [first] + [
            (first + generator.integers(0, 2, rows) * k) % n for k, n in enumerate(sizes) if k
        ]
        self.codes = [np.asarray(c % n, np.uint8) for c, n in zip(columns, sizes, strict=True)]


def workload_of(sizes: tuple[int, ...], order: int = 3) -> ResolvedWorkload:
    sets = tuple(combinations(range(len(sizes)), order))
    return ResolvedWorkload(sets, (Fraction(1),) * len(sets), sizes)


def run(
    workload: ResolvedWorkload, rho: Fraction, source: Rows, **options: object
) -> tuple[State, Purse, list]:
    """The loop with seeded bits; every request with its reply."""
    layout = Layout(workload.sizes, workload.closure)
    state, purse = State.empty(layout), Purse(rho)
    handle = Confidential(source, layout, bits=SeededBits(7), wide=options.pop("wide", True))
    policy = aim_policy(workload, state, purse, **options)
    steps, request = [], next(policy)
    while True:
        purse.pay(request.rho)
        values = handle.prepare(request)()
        steps.append((request, values))
        try:
            request = policy.send(Reply(request, values))
        except StopIteration:
            return state, purse, steps


def subsets(gamma: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(gamma, k) for k in range(len(gamma) + 1)))


def slow_estimates(sizes: tuple[int, ...], steps: list) -> dict[tuple[int, ...], np.ndarray]:
    """GReM-MLE by the published algebra: noisy integers to residuals, averaged, reconstructed."""
    top: dict = {}
    bottom: dict = {}
    for request, values in steps:
        if not isinstance(request, Measure):
            continue
        start = 0
        for tau, precision in zip(request.part.sets, request.part.precisions, strict=True):
            shape = tuple(sizes[i] for i in tau)
            noisy = values[start : start + prod(shape)].reshape(shape) / prod(shape)
            start += prod(shape)
            z = decompose(noisy, tau, tau)
            top[tau] = top.get(tau, 0.0) + z * float(precision)
            bottom[tau] = bottom.get(tau, 0.0) + float(precision)
    found = {}
    for gamma in chain.from_iterable(combinations(range(len(sizes)), k) for k in range(4)):
        lengths = [sizes[i] for i in gamma]
        found[gamma] = sum(
            reconstruct(top[tau] / bottom[tau], tau, gamma, lengths) for tau in subsets(gamma) if tau in top
        )
    return found


@pytest.mark.long
def test_the_final_estimates_are_those_of_the_published_algebra() -> None:
    workload = workload_of(SIZES)
    state, _, steps = run(workload, Fraction(1, 2), Rows(SIZES, 800))
    answers = Answers.pooled(SIZES, [Answers(r.part, v) for r, v in steps if isinstance(r, Measure)])
    estimates, slow = from_answers(answers), slow_estimates(SIZES, steps)
    for gamma in workload.closure:
        assert np.abs(estimates.marginal(gamma) - slow[gamma]).max() < 1e-9
    assert np.allclose(state.precisions[state.precisions > 0], estimates.precisions, rtol=1e-12)


@pytest.mark.long
def test_gaps_and_norms_follow_a_plain_loop_over_all_marginals() -> None:
    workload = workload_of(SIZES)
    layout = Layout(SIZES, workload.closure)
    source = Rows(SIZES, 800)
    counts = source.tabulate(layout)
    _, _, steps = run(workload, Fraction(1, 5), source)
    fast = Gaps(layout, counts.copy())
    slow = {s: GRID * layout.view(counts, s).astype(np.int64) for s in layout.sets}
    for request, _ in steps:
        if not isinstance(request, Select):
            continue
        fast.update(request.changes)
        for gamma in layout.sets:
            delta = np.zeros(layout.shape(gamma))
            for k, change in request.changes:
                tau = layout.sets[k]
                if set(tau) <= set(gamma):
                    wide = [SIZES[a] if a in tau else 1 for a in gamma]
                    missing = prod(SIZES[a] for a in gamma if a not in tau)
                    delta = delta + change.reshape(wide) * (GRID / missing)
            slow[gamma] = slow[gamma] - np.rint(delta).astype(np.int64)
        norms = np.array([np.abs(slow[s]).sum() for s in layout.sets])
        assert np.abs(fast._norms - norms).max() <= 2  # a tie in rounding may fall either way
    assert norms.max() < LARGEST_NORM


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("sizes", [(9, 2, 17, 3), (2, 30, 3, 12), (1, 600, 2, 5)])
def test_changes_of_one_or_many_residuals_move_gaps_of_every_shape(
    sizes: tuple[int, ...], dtype: type[np.generic]
) -> None:
    """Long and short axes, inside and outside, in doubles and in 32 bits, also where gaps saturate."""
    layout = Layout(sizes, workload_of(sizes).closure)
    generator = np.random.default_rng(5)
    counts = generator.integers(0, 1000, layout.cells).astype(dtype)
    slow = {s: GRID * layout.view(counts, s).astype(np.int64) for s in layout.sets}
    gaps = Gaps(layout, counts.copy())
    most = 2**44 if dtype is np.int64 else 2**31 - 1
    for k, several in enumerate([1, 1, 1, 4, 1, 2] * 6):
        numbers = generator.choice(len(layout.sets), several, replace=False)
        scale = 2.0**60 if k == 20 else 1e3
        changes = tuple((int(n), generator.normal(scale=scale, size=layout.lengths[n])) for n in numbers)
        gaps.update(changes)
        for gamma in layout.sets:
            delta = np.zeros(layout.shape(gamma))
            for n, change in changes:
                tau = layout.sets[n]
                if set(tau) <= set(gamma):
                    wide = [sizes[a] if a in tau else 1 for a in gamma]
                    delta = delta + change.reshape(wide) * (
                        GRID / prod(sizes[a] for a in gamma if a not in tau)
                    )
            moved = slow[gamma] - np.rint(np.clip(delta, -2.0 * most, 2.0 * most)).astype(np.int64)
            slow[gamma] = np.clip(moved, -most, most)
    found = gaps._cells.astype(np.int64)
    expected = np.concatenate([slow[s].ravel() for s in layout.sets])
    assert np.abs(found - expected).max() <= 2  # ties
    norms = [min(int(np.abs(layout.view(found, s)).sum()), LARGEST_NORM) for s in layout.sets]
    touched = gaps._norms.tolist()
    assert all(a == b for a, b in zip(touched, norms, strict=True))


@pytest.mark.long
def test_scores_select_as_the_exponential_mechanism_over_the_published_score() -> None:
    workload = workload_of((3, 2, 4), 2)
    layout = Layout(workload.sizes, workload.closure)
    counts = Rows((3, 2, 4), 60).tabulate(layout)
    gaps = Gaps(layout, counts.copy())
    weights = improvement_weights(workload, layout.sets)
    epsilon = Fraction(1, 10)
    request = Select((), weights, 3.0 * sqrt(2 / pi), epsilon)
    bits = SeededBits(3)
    candidates, scores, factor = gaps.scores(request)
    chosen = [candidates[exponential_mechanism(scores, factor, bits=bits)] for _ in range(20_000)]
    draws = np.bincount(chosen, minlength=len(layout.sets))
    score = weights * (np.add.reduceat(counts, layout.offsets[:-1]) - sqrt(2 / pi) * 3.0 * layout.lengths)
    chance = np.exp(float(epsilon) * (score - score.max()) / (2.0 * weights.max()))
    chance[weights == 0] = 0.0
    expected = 20_000 * chance / chance.sum()
    assert draws[0] == 0
    assert np.abs(draws - expected).max() < 6.5 * np.sqrt(expected.max())


def test_weights_count_common_attributes_and_scale_with_the_users() -> None:
    workload = ResolvedWorkload(((0, 1), (1, 2)), (Fraction(1), Fraction(1, 3)), (2, 2, 2))
    sets = workload.closure
    weights = dict(zip(sets, improvement_weights(workload, sets).tolist(), strict=True))
    for gamma in sets:
        exact = len(set(gamma) & {0, 1}) + Fraction(len(set(gamma) & {1, 2}), 3)
        assert weights[gamma] == 3 * exact


@pytest.mark.parametrize("noise", ["crp", "iid"])
@pytest.mark.parametrize("rho", ["1e-6", "1/10", "3"])
def test_the_purse_pays_every_round_exactly_and_ends_empty(noise: str, rho: str) -> None:
    limit = Fraction(rho)
    _, purse, steps = run(workload_of(SIZES), limit, Rows(SIZES, 300), noise=noise)
    spent = Fraction(0)
    for request, _ in steps:
        if isinstance(request, Select):
            spent += request.epsilon**2 / 8
        else:
            spent += sum(
                precision * prod(Fraction(SIZES[i] - 1, SIZES[i]) for i in tau) / 2
                for tau, precision in zip(request.part.sets, request.part.precisions, strict=True)
            )
    assert spent == purse.spent <= limit
    assert limit - spent < limit * Fraction(1, 10**9)
    rounds = Transcript(tuple(Line.of(*step) for step in steps)).rounds(limit)
    assert rounds is not None and abs(sum(r.share for r in rounds) - 1.0) < 1e-9


def test_rounds_grow_only_by_what_two_estimates_say() -> None:
    """The next epsilon is the last one or twice it, and follows from the public replies alone."""
    workload = workload_of(SIZES)
    _, _, steps = run(workload, Fraction(1), Rows(SIZES, 500))
    _, _, other = run(workload, Fraction(1), Rows(SIZES, 5, seed=9))
    assert len(steps) != len(other) or any((a[1] != b[1]).any() for a, b in zip(steps, other, strict=False))
    state, purse = State.empty(Layout(SIZES, workload.closure)), Purse(Fraction(1))
    policy = aim_policy(workload, state, purse)
    request = next(policy)
    for asked, reply in steps[:-1]:
        assert request.words() == asked.words()
        purse.pay(request.rho)
        request = policy.send(Reply(request, reply))
    epsilons = [float(r.epsilon) for r, _ in steps if isinstance(r, Select)]
    for before, after in pairwise(epsilons[:-1]):
        assert after in (before, 2 * before)


@pytest.mark.long
def test_counting_on_demand_changes_nothing() -> None:
    workload = workload_of(SIZES)
    _, _, kept = run(workload, Fraction(1, 10), Rows(SIZES, 400))
    _, _, again = run(workload, Fraction(1, 10), Rows(SIZES, 400), wide=False)
    assert len(kept) == len(again)
    assert all((a[1] == b[1]).all() for a, b in zip(kept, again, strict=True))


def test_a_work_limit_ends_the_loop_and_still_spends_everything() -> None:
    workload = workload_of(SIZES)
    _, _, full = run(workload, Fraction(1), Rows(SIZES, 300))
    _, purse, short = run(workload, Fraction(1), Rows(SIZES, 300), work=1)
    assert len(short) < len(full)
    assert purse.left < Fraction(1, 10**9)


def test_bad_limits_are_refused_with_what_to_do() -> None:
    workload = workload_of(SIZES)
    with pytest.raises(BudgetError) as caught:
        plan_adaptive(AimPlan, workload, rho=Fraction(1, 10**11))
    assert caught.value.code == "budget.no-round" and "rho=" in caught.value.fix
    for text in ("soon", "-3s", "0"):
        with pytest.raises(WorkloadError) as refused:
            work_limit(text)
        assert refused.value.code == "time.unreadable"
    assert work_limit("2min") == 120 * work_limit("1")
    with pytest.raises(WorkloadError):
        plan_adaptive(AimPlan, workload, rho=Fraction(1)).keeping(100)


def test_the_root_is_below_and_close() -> None:
    for value in (Fraction(1, 3), Fraction(7, 10**9), Fraction(81)):
        root = root_below(value)
        assert root * root <= value and float(root) == pytest.approx(sqrt(value), rel=1e-11)
