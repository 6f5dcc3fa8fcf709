"""AIM's rounds scored against tables: the distances, the fit that follows a loop, and what the loop gains."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np

from bit_sources import SeededBits
from hushtable.kernel.select import Distances
from hushtable.marginals import Layout, centre, closure
from hushtable.measurement import GRID, Select
from hushtable.planning import State
from hushtable.privacy import exponential_mechanism
from hushtable.reconstruct.local import LocalTables


def test_selection_against_tables_is_the_exponential_mechanism_over_their_distances() -> None:
    """The same bits choose the same marginal as scores that are computed by hand."""
    sizes, sets = (3, 4, 2), closure([(0, 1, 2)])
    layout, generator = Layout(sizes, sets), np.random.default_rng(5)
    counts = np.concatenate([generator.integers(0, 50, n) for n in layout.lengths])
    tables = np.rint(generator.uniform(0, 50, layout.cells) * GRID) / GRID
    weights = np.arange(len(sets))
    chosen = []
    for seed, epsilon in product(range(5), (Fraction(1, 1000), Fraction(1, 100), Fraction(50))):
        request = Select((), weights, 0.5, epsilon, np.arange(len(sets)), tables)
        distances = Distances(layout, counts)
        distances.update(np.arange(len(sets)), np.zeros(layout.cells))
        distances.update(np.arange(1, len(sets)), tables)
        exact = [
            np.abs(GRID * c - np.rint(GRID * t)).sum()
            for c, t in zip(
                np.split(counts, layout.offsets[1:-1]), np.split(tables, layout.offsets[1:-1]), strict=True
            )
        ]
        scores = weights[1:] * (
            np.array(exact[1:], np.int64) - np.rint(0.5 * GRID * layout.lengths[1:]).astype(int)
        )
        wanted = 1 + exponential_mechanism(
            scores, epsilon / (2 * GRID * int(weights.max())), bits=SeededBits(seed)
        )
        candidates, scores, factor = distances.scores(request)
        chosen.append(candidates[exponential_mechanism(scores, factor, bits=SeededBits(seed))])
        assert chosen[-1] == wanted
    assert len(set(chosen)) > 1


def test_local_tables_follow_a_full_fit_where_something_changed() -> None:
    """After many small changes the tables that were fitted again equal those of a start from nothing, nearly."""
    sizes, sets = (3, 4, 2, 5), closure(combinations(range(4), 3))
    layout, generator = Layout(sizes, sets), np.random.default_rng(6)
    counts = generator.gamma(0.3, 20.0, sizes)
    state = State.empty(layout)

    def measure(some: list[int]) -> None:
        for k in some:
            marginal = counts.sum(axis=tuple(a for a in range(4) if a not in sets[k]))
            noisy = centre(marginal + generator.normal(0.0, 3.0, marginal.shape))
            layout.view(state.values, sets[k])[...] = noisy
            state.precisions[k] = 1.0 / 9.0

    local = LocalTables(layout)
    small = [k for k, s in enumerate(sets) if len(s) < 2]
    measure(small)
    local.refit(state, small)
    for pair in combinations(range(4), 2):
        k = layout.index[pair]
        before, untouched = local.tables.copy(), [s for s in sets if not set(pair) <= set(s)]
        measure([k])
        numbers, tables = local.refit(state, [k])
        assert [sets[j] for j in numbers] == [s for s in sets if set(pair) <= set(s)]
        for s in untouched:
            assert (layout.view(tables, s) == layout.view(before, s)).all()
    fresh = LocalTables(layout)
    fresh.refit(state, list(range(len(sets))))
    total = local.tables[0]
    for s in sets:
        warm, cold = layout.view(local.tables, s), layout.view(fresh.tables, s)
        assert warm.min() >= 0.0 and abs(warm.sum() - total) < 1e-6 * total
        assert np.abs(warm - cold).sum() < 0.1 * total
