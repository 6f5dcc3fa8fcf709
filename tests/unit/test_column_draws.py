"""Records drawn column by column: chances meet tables, gaps do not grow with the rows, rules and blocks are kept."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import hushtable as ht
from hushtable.marginals import Layout
from hushtable.microdata import Targets, affordable, count_records, generate, seeded
from hushtable.microdata.column_draws import draw_columns
from hushtable.microdata.column_loops import SMOOTHING, Blocks, scale
from hushtable.microdata.generator import foreseen_work, sweep_work

FREE = (np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))


def drawn(table, sets, order, rows, seed=0):
    """Records drawn to the tables of ``table``, the layout and what was wanted."""
    sizes = tuple(int(n) for n in table.max(axis=0) + 1)
    layout = Layout(sizes, tuple(sets))
    goal = count_records(table, layout) * (rows / len(table))
    told = []
    made = draw_columns(
        layout, goal, order, [FREE] * len(sizes), rows, seeded.seeded(seed), lambda *step: told.append(step)
    )
    done = [step[1] for step in told]
    assert len(done) == len(sizes) and done == sorted(done) and done[0] == 0 and done[-1] < told[0][2]
    return made, layout, goal


def chained(rows, width, seed=4):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (rows, width)).astype(np.int32)
    for k in range(1, width):
        table[:, k] = np.where(rng.random(rows) < 0.6, table[:, k - 1], table[:, k])
    return table


def test_scaled_chances_are_those_of_proportional_fitting():
    """Twin: the same factors by whole arrays."""
    rng = np.random.default_rng(1)
    records = rng.integers(0, 3, (400, 3)).astype(np.int32)
    wanted = rng.dirichlet(np.ones(4), 6)
    blocks = Blocks(np.array([0, 3, 6]), np.array([0, 1, 2]), np.array([0, 1]), np.array([1, 1]))
    score = np.zeros((6, 4), np.float32)
    scale(records, blocks, wanted, score, 5)
    chances, twin = np.full((400, 4), 0.25), np.zeros((6, 4))
    for _ in range(5):
        for axis, first in ((0, 0), (1, 3)):
            hot = np.eye(3)[records[:, axis]]
            have = hot.T @ chances
            factor = (wanted[first : first + 3] * have.sum(axis=1, keepdims=True) + SMOOTHING) / (
                have + SMOOTHING
            )
            twin[first : first + 3] += np.log(factor)
            chances *= hot @ factor
            chances /= chances.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(score, twin, atol=2e-3)


@pytest.mark.parametrize("rows", [2_000, 30_000])
def test_steered_draws_leave_a_fraction_of_the_gap_of_independent_ones(rows):
    """Independent draws leave about 0.8 sqrt(cells rows) per table: 9 cells of two attributes."""
    sets = [s for k in (1, 2) for s in combinations(range(6), k)]
    made, layout, goal = drawn(chained(20_000, 6), sets, range(6), rows)
    gap = np.add.reduceat(np.abs(count_records(made, layout) - goal), layout.offsets[:-1])
    assert gap.mean() < 0.25 * 0.8 * np.sqrt(9 * rows)


def test_tables_of_three_attributes_are_met_where_pairs_say_nothing():
    """The third column is the parity of the first two: every pair is independent."""
    rng = np.random.default_rng(2)
    table = rng.integers(0, 2, (10_000, 3)).astype(np.int32)
    table[:, 2] = table[:, 0] ^ table[:, 1]
    sets = [s for k in (1, 2, 3) for s in combinations(range(3), k)]
    made, _, _ = drawn(table, sets, (1, 2, 0), 10_000)
    assert ((made[:, 0] ^ made[:, 1]) == made[:, 2]).mean() > 0.99


def test_attributes_that_change_together_are_drawn_together():
    """Half of the columns are 0 exactly where the first one is: no change of one value at a time leads there."""
    rng = np.random.default_rng(3)
    table = rng.integers(1, 3, (20_000, 12)).astype(np.int32)
    table[:, 0] = rng.random(20_000) < 0.4
    table[table[:, 0] == 0, 1:7] = 0
    sizes = tuple(int(n) for n in table.max(axis=0) + 1)
    layout = Layout(sizes, tuple(combinations(range(12), 2)))
    want = count_records(table, layout)
    schema = ht.Schema.from_domain({f"x{k}": n for k, n in enumerate(sizes)})
    made, _ = generate(Targets(layout, want.astype(float)), schema, 20_000)
    assert np.abs(count_records(made, layout) - want).sum() / len(layout.sets) / 20_000 < 0.005
    assert ((made[:, 1:7] == 0).sum(axis=1) % 6 == 0).mean() > 0.999


def test_rules_and_chances_that_end_nowhere_leave_possible_records():
    """A rule of three attributes is kept whatever column ends it, and a seed gives the same records again."""
    fields = {f"x{k}": {"type": "categorical", "values": [0, 1, 2]} for k in range(5)}
    rules = [{"x0": [0, 1], "x3": [1, 2], "x4": 0}, {"x2": 0, "x1": [0, 1, 2]}]
    schema = ht.Schema.from_dict({"attributes": fields, "impossible": rules})
    layout = Layout((3,) * 5, tuple(combinations(range(5), 2)))
    goal = count_records(np.random.default_rng(5).integers(0, 3, (3000, 5)).astype(np.int32), layout)
    made, _ = generate(Targets(layout, goal.astype(float)), schema, 3000, seed=7)
    assert not ((made[:, 0] < 2) & (made[:, 3] > 0) & (made[:, 4] == 0)).any()
    assert (made[:, 2] > 0).all()
    again, _ = generate(Targets(layout, goal.astype(float)), schema, 3000, seed=7)
    np.testing.assert_array_equal(made, again)


def test_pairs_are_followed_however_many_rows_there_are_and_work_grows_no_faster():
    """Leaving them out would make records of 66 attributes with a million rows independent columns."""
    sizes = (4,) * 66
    sets = [s for k in (1, 2, 3) for s in combinations(range(66), k)]
    few = affordable(sets, sizes, 10_000_000)
    assert max(map(len, few)) == 2 and len(few) == 66 + 66 * 65 // 2
    assert sweep_work(few, sizes, 2) == 2 * sweep_work(few, sizes, 1)
    ratio = foreseen_work(few, sizes, 20_000_000) / foreseen_work(few, sizes, 10_000_000)
    assert 1.9 < ratio <= 2.0
