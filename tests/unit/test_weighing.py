"""Sums by weight against brute force: one ``np.add.at`` per marginal, over all records at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import UsageError
from hushtable.kernel import covers
from hushtable.kernel.number_words import NumberWords
from hushtable.kernel.tabulate import tabulate
from hushtable.kernel.weighing import RowTabulator, Weigher
from hushtable.marginals import Counting, Layout


def brute_force(codes: list[np.ndarray], values: np.ndarray, layout: Layout) -> np.ndarray:
    out = np.zeros(layout.cells, np.int64)
    for position, attributes in enumerate(layout.sets):
        cell = np.zeros(len(values), np.int64)
        for axis in attributes:
            cell = cell * layout.sizes[axis] + codes[axis].astype(np.int64)
        np.add.at(out, layout.offsets[position] + cell, values)
    return out


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    sizes = tuple(draw(st.lists(st.integers(1, 300), min_size=1, max_size=7)))
    every = [s for k in range(4) for s in combinations(range(len(sizes)), k)]
    sets = draw(st.lists(st.sampled_from(every), min_size=1, max_size=20))
    kept = [s for s in sets if np.prod([sizes[a] for a in s], dtype=float) < 1e6]
    return Layout(sizes, tuple(kept or [()]))


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(layouts(), st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_any_sets_of_any_sizes_are_summed_as_brute_force_does(layout: Layout, records: int, seed: int):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, n, records).astype(np.min_scalar_type(n - 1)) for n in layout.sizes]
    values = [rng.integers(-(10**12), 10**12, records), rng.integers(0, 300, records)]
    cut = records // 3
    weigher = Weigher(layout, (10**12, 300))
    for a, b in ((0, cut), (cut, records)):
        weigher.add([c[a:b] for c in codes], [v[a:b] for v in values])
    for row, value in zip(weigher.sums(), values, strict=True):
        np.testing.assert_array_equal(row, brute_force(codes, value, layout))


def test_weights_of_one_are_counted_as_rows_are():
    sizes = (5, 2, 18, 6, 9)
    attributes = {f"a{k}": {"type": "categorical", "values": list(range(n))} for k, n in enumerate(sizes)}
    schema = ht.Schema.from_dict({"attributes": attributes, "weight": {"column": "w", "bounds": [0, 9]}})
    layout = Layout(sizes, tuple(s for k in range(4) for s in combinations(range(5), k)))
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, n, 10_000).astype(np.uint8) for n in sizes]
    for threads in (1, None):
        tabulator = RowTabulator(schema, [Counting(layout)], threads=threads)
        tabulator.add([*codes, np.ones(10_000, np.int64)])
        np.testing.assert_array_equal(tabulator.counts()[0], tabulate([codes], layout))


def test_every_set_lies_in_its_cover_and_covers_keep_their_size():
    sizes = tuple(int(n) for n in np.random.default_rng(2).integers(2, 12, 20))
    layout = Layout(sizes, tuple(s for k in range(4) for s in combinations(range(20), k)))
    found = covers.cover(layout)
    for attributes, number in zip(layout.sets, found.of, strict=True):
        assert set(attributes) <= set(found.sets[number])
    cells = [np.prod([sizes[a] for a in s]) for s in found.sets]
    assert max(cells) <= covers.COVER_CELLS
    assert len(found.sets) < len(layout.sets) / 10


def test_codes_beyond_a_size_count_as_the_last_category_and_uneven_batches_are_refused():
    layout = Layout((2, 3), ((0,), (1,)))
    weigher = Weigher(layout, (9,))
    weigher.add([np.array([7], np.uint8), np.array([9], np.uint8)], [np.array([4])])
    assert weigher.sums().tolist() == [[0, 4, 0, 0, 4]]
    with pytest.raises(UsageError, match="lengths"):
        weigher.add([np.zeros(2, np.uint8), np.zeros(2, np.uint8)], [np.ones(3, np.int64)])


def plain_cover(layout: Layout) -> tuple[list[set[int]], dict[tuple[int, ...], int]]:
    """Covers by the definition: the first open set, and the attribute that most open sets lack alone, while it fits."""
    left, found, of = sorted(set(layout.sets), key=lambda s: (-len(s), s)), list[set[int]](), {}
    while left:
        inside = set(left[0])
        while True:
            room = covers.COVER_CELLS // int(np.prod([layout.sizes[a] for a in inside]))
            lacked = [(set(s) - inside).pop() for s in left if len(set(s) - inside) == 1]
            gains = {a: lacked.count(a) for a in lacked if layout.sizes[a] <= room}
            if not gains:
                break
            inside.add(min(gains, key=lambda a: (-gains[a], a)))
        of |= {s: len(found) for s in left if set(s) <= inside}
        left = [s for s in left if s not in of]
        found.append(inside)
    return found, of


@pytest.mark.parametrize("seed", range(12))
def test_covers_are_those_of_their_definition(seed: int, monkeypatch: pytest.MonkeyPatch):
    chance = np.random.default_rng(seed)
    monkeypatch.setattr(covers, "COVER_CELLS", int(chance.choice([40, 300, 5000])))
    sizes = tuple(int(n) for n in chance.integers(1, 9, int(chance.integers(1, 9))))
    every = [s for k in range(4) for s in combinations(range(len(sizes)), k)]
    layout = Layout(sizes, tuple(every[k] for k in sorted(set(chance.integers(0, len(every), 30).tolist()))))
    found, of = plain_cover(layout)
    made = covers.cover(layout)
    assert [set(s) for s in made.sets] == found and made.of == tuple(of[s] for s in layout.sets)


@pytest.mark.parametrize(
    "limits", [(1, 500), (300, 150_000), (7,) * 40, (2**20, 2**46), (1, 2**40, 3, 10**9, 0)]
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_words_hold_sums_of_the_largest_numbers_of_as_many_records_as_they_say(
    limits: tuple[int, ...], sign: int
):
    """All numbers at their limits, all signs alike or by turns, added by Python's whole numbers."""
    packing = NumberWords.of(limits)
    numbers = [sign * limit * (-1) ** k for k, limit in enumerate(limits)]
    for told in (numbers, [sign * limit for limit in limits], [2 * number for number in numbers]):
        words = packing.words([np.array([number]) for number in told])
        if packing.shares:
            assert packing.rows >= 2**16
        rows = packing.rows if packing.shares else 1000
        full = [int(word[0]) * rows for word in words]
        assert all(-(2**63) <= word < 2**63 for word in full)
        found = packing.unpacked(np.array(full, np.int64)[:, None])[:, 0].tolist()
        alone = {group[0] for group in packing.groups if len(group) == 1}
        most = [n if k in alone else max(-limits[k], min(limits[k], n)) for k, n in enumerate(told)]
        assert found == [number * rows for number in most]


def test_words_that_are_full_are_unpacked_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch):
    """Words of 63 bits with three numbers each hold few records: with a smaller start, 16 at a time."""
    monkeypatch.setattr("hushtable.kernel.number_words.FEWEST_ROWS_BITS", 4)
    layout = Layout((3, 4, 2), ((0, 1), (2,), ()))
    limits = (2**15 - 1,) * 3 + (2**17,)
    assert NumberWords.of(limits).groups == ((0, 1, 2), (3,)) and NumberWords.of(limits).rows == 2**5
    chance = np.random.default_rng(4)
    codes = [chance.integers(0, n, 1000).astype(np.uint8) for n in layout.sizes]
    values = [chance.integers(-limit, limit + 1, 1000) for limit in limits]
    weigher, done = Weigher(layout, limits), 0
    for many in (1, 31, 32, 33, 500, 403):
        weigher.add([c[done : done + many] for c in codes], [v[done : done + many] for v in values])
        done += many
        for row, value in zip(weigher.sums(), values, strict=True):
            expected = brute_force([c[:done] for c in codes], value[:done], layout)
            np.testing.assert_array_equal(row, expected)
