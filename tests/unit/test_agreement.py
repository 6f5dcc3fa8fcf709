"""Three-way tables that are fitted together: against plain NumPy, and against what a schema declares impossible."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.marginals import AttributeSet, Layout, centre, closure
from hushtable.measurement import Residuals
from hushtable.reconstruct.maxent import fit_maxent
from hushtable.reconstruct.triple_loops import AGREE_LEAST, AGREE_STEP, departure
from hushtable.reconstruct.triples import AGREE_ROUNDS
from hushtable.reconstruct.zeros import Zeros

SIZES = (3, 4, 2, 5)
TRIPLES = tuple(combinations(range(4), 3))
PAIRS = tuple(combinations(range(4), 2))


def noisy_residuals(precision: float, seed: int, known: tuple[AttributeSet, ...], zeros: Zeros) -> Residuals:
    """Noisy residuals of 3,000 records with a common cause, none of them impossible."""
    generator = np.random.default_rng(seed)
    cause = generator.integers(0, 3, 3000)
    codes = [np.where(generator.random(3000) < 0.6, cause % n, generator.integers(0, n, 3000)) for n in SIZES]
    counts = np.zeros(SIZES)
    np.add.at(counts, tuple(codes), 1)
    for s in closure([(0, 1, 2, 3)]):
        mask = zeros.whole(s, tuple(SIZES[a] for a in s))
        counts *= ~mask.reshape([SIZES[a] if a in s else 1 for a in range(4)])
    layout = Layout(SIZES, known)
    values = np.empty(layout.cells)
    for s in known:
        marginal = counts.sum(axis=tuple(k for k in range(4) if k not in s))
        layout.view(values, s)[...] = centre(marginal + generator.normal(0, precision**-0.5, marginal.shape))
    return Residuals(layout, values, np.full(len(known), precision))


def shared(tables: dict[AttributeSet, np.ndarray]) -> float:
    """The largest difference between two tables of the same pair."""
    worst = 0.0
    for pair in PAIRS:
        sums = [
            t.sum(axis=tuple(k for k, a in enumerate(s) if a not in pair))
            for s, t in tables.items()
            if set(pair) <= set(s)
        ]
        worst = max(worst, float((np.max(sums, axis=0) - np.min(sums, axis=0)).max()))
    return worst


def slowly_agreed(tables: dict[AttributeSet, np.ndarray], fitted) -> dict[AttributeSet, np.ndarray]:
    """The rounds of agreement, table by table."""
    tables = {s: t.copy() for s, t in tables.items()}
    pairs = {s: t.copy() for s, t in fitted.pairs.items()}
    for _ in range(AGREE_ROUNDS):
        for pair, q in pairs.items():
            above = [
                t.sum(axis=next(k for k, a in enumerate(s) if a not in pair))
                for s, t in tables.items()
                if set(pair) <= set(s)
            ]
            mean = np.mean(above, axis=0)
            fresh = np.maximum(q + AGREE_STEP * (mean - q), AGREE_LEAST * np.minimum(q, mean))
            for _ in range(3):
                fresh *= (fitted.ones[pair[0]] / fresh.sum(axis=1))[:, None]
                fresh *= fitted.ones[pair[1]] / fresh.sum(axis=0)
            pairs[pair] = fresh
        for (a, b, c), t in tables.items():
            t *= (pairs[a, b] / t.sum(axis=2))[:, :, None]
            t *= (pairs[a, c] / t.sum(axis=1))[:, None, :]
            t *= (pairs[b, c] / t.sum(axis=0))[None, :, :]
    return tables


def test_agreement_follows_its_definition_and_brings_shared_tables_together() -> None:
    sets = closure(TRIPLES)
    residuals = noisy_residuals(0.05, 1, sets, Zeros())
    alone = fit_maxent(residuals, sets, agree=False)
    before = {s: alone.table(s) for s in TRIPLES}
    together = fit_maxent(residuals, sets)
    after = {s: together.table(s) for s in TRIPLES}
    wanted = slowly_agreed(before, alone)
    for s in TRIPLES:
        assert np.allclose(after[s], wanted[s], rtol=1e-8)
    assert shared(after) < 0.3 * shared(before)
    flat = together.estimate_all(Layout(SIZES, (*PAIRS, *TRIPLES)))
    assert np.array_equal(flat[-60 * 2 :], np.concatenate([after[s].ravel() for s in TRIPLES])[-60 * 2 :])


def test_departures_from_a_table_are_centred() -> None:
    generator = np.random.default_rng(2)
    table, residual = generator.random((3, 4, 5)), generator.random(60)
    move = departure(table.reshape(-1), np.array(table.shape), residual)
    assert np.allclose(move, residual - centre(table).reshape(-1))


RULES = {
    "one attribute": [{1: (2,)}],
    "two attributes": [{0: (0,), 3: (1, 2)}],
    "three attributes": [{0: (0, 1), 1: (3,), 2: (1,)}],
    "together a whole value": [{0: (2,), 2: (0,)}, {0: (2,), 2: (1,)}],
    "several": [{1: (2,)}, {0: (0,), 3: (1, 2)}, {0: (0, 1), 1: (3,), 2: (1,)}],
}


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("precision", [1e-4, 0.05, 100.0])
def test_impossible_cells_are_zero_and_totals_stay(name: str, precision: float) -> None:
    sets = closure([(0, 1, 2, 3)])
    zeros = Zeros.by_rules(SIZES, RULES[name], sets)
    full = np.zeros(SIZES, bool)
    for rule in RULES[name]:
        full[np.ix_(*(rule.get(a, range(n)) for a, n in enumerate(SIZES)))] = True
    for known in (sets, tuple(s for s in sets if len(s) <= 2), sets[:5]):
        fitted = fit_maxent(noisy_residuals(precision, 3, known, zeros), sets, zeros)
        for s in sets:
            found = fitted.table(s)
            impossible = full.all(axis=tuple(k for k in range(4) if k not in s))
            assert (found[impossible] == 0.0).all() and (found >= 0.0).all() and np.isfinite(found).all()
            assert found.sum() == pytest.approx(fitted.total, rel=1e-6)


def test_rules_that_leave_nothing_are_ignored() -> None:
    assert not Zeros.by_rules(SIZES, [{2: (0, 1)}], closure(TRIPLES))
    assert not Zeros.by_rules(SIZES, [], closure(TRIPLES))


def test_impossible_cells_help_the_others() -> None:
    """Most cells of a pair are impossible: knowing so brings the rest nearer to the truth."""
    rules = [{1: (0, 1), 3: (0, 1, 2)}, {1: (2, 3), 3: (3, 4)}]
    sets = closure(TRIPLES)
    zeros = Zeros.by_rules(SIZES, rules, sets)
    exact = noisy_residuals(1e12, 4, sets, zeros)
    truth = fit_maxent(exact, sets, zeros).table((1, 3))
    noisy = noisy_residuals(1e-4, 4, sets, zeros)
    errors = [np.abs(fit_maxent(noisy, sets, z).table((1, 3)) - truth).sum() for z in (zeros, Zeros())]
    assert errors[0] < 0.8 * errors[1]


STRICT = {
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 79], "width": 10},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "member": {"type": "boolean"},
    },
    "impossible": [
        {"age": "0-9", "member": True},
        {"age": "20-29", "sex": "M", "member": False},
    ],
}


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["auto", "aim", "residual-planner"])
@pytest.mark.parametrize("reconstruct", ["maxent", "nonneg"])
def test_released_tables_are_zero_where_the_schema_says_impossible(
    strategy: str, reconstruct: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(9)
    age, member = generator.integers(0, 80, 4000), generator.random(4000) < 0.5
    member &= age >= 10
    sex = np.where((age >= 20) & (age < 30) & ~member, "F", generator.choice(["F", "M"], 4000))
    frame = pl.DataFrame({"age": age, "sex": sex, "member": member})
    session = ht.Session.open(frame, schema=STRICT, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1))
    workload = ht.Workload.all_marginals(session.schema, order=3)
    release = session.release(workload, budget=ht.ZCDP("0.001"), strategy=strategy, reconstruct=reconstruct)
    total = float(release.table()["estimate"][0])
    pair, whole = release.table("age", "member"), release.table("age", "sex", "member")
    child = (pl.col("age") == "0-9") & pl.col("member")
    young = (pl.col("age") == "20-29") & (pl.col("sex") == "M") & ~pl.col("member")
    assert pair.filter(child)["estimate"].to_list() == [0.0]
    assert whole.filter(child | young)["estimate"].to_list() == [0.0] * 3
    for table in (pair, whole):
        assert (table["estimate"] >= 0.0).all()
        assert table["estimate"].sum() == pytest.approx(total, rel=1e-6)
