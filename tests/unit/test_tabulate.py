"""Tabulation against brute force: one ``np.add.at`` per marginal, over all records at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import combinations, pairwise
from math import prod
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import UsageError, WorkloadError
from hushtable.kernel import counting_plan
from hushtable.kernel.tabulate import Tabulator, tabulate
from hushtable.marginals.layout import Layout

MODULE = import_module("hushtable.kernel.tabulate")

COSTS: dict[str, Callable[[], float]] = {
    "planes": lambda: 0.0,
    "histograms": lambda: 1e9,
    "both": lambda: 0.1,
    "model": counting_plan.plane_cost,
}


@contextmanager
def counted_by(method: str) -> Iterator[None]:
    """Make the cost model prefer one way of counting; ``both`` mixes them in small tables."""
    with mock.patch.object(counting_plan, "plane_cost", COSTS[method]):
        yield


def brute_force(codes: Sequence[np.ndarray], layout: Layout) -> np.ndarray:
    out = np.zeros(layout.cells, np.int64)
    records = len(codes[0]) if codes else 0
    for position, attributes in enumerate(layout.sets):
        cell = np.zeros(records, np.int64)
        for axis in attributes:
            cell = cell * layout.sizes[axis] + codes[axis].astype(np.int64)
        np.add.at(out, layout.offsets[position] + cell, 1)
    return out


def draw(rng: np.random.Generator, sizes: Sequence[int], records: int) -> list[np.ndarray]:
    """Skewed codes, in the narrowest type that holds them."""
    return [(rng.random(records) ** 2 * n).astype(np.min_scalar_type(n - 1)) for n in sizes]


def counts(layout: Layout, *batches: Sequence[np.ndarray], threads: int = 2) -> np.ndarray:
    tabulator = Tabulator(layout, threads=threads)
    for batch in batches:
        tabulator.add(batch)
    return tabulator.counts()


def all_sets(d: int, orders: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(s for k in orders for s in combinations(range(d), k))


@st.composite
def layouts(draw_: st.DrawFn) -> Layout:
    sizes = tuple(draw_(st.lists(st.sampled_from([1, 1, 2, 2, 3, 4, 5, 7, 11, 300]), min_size=1, max_size=6)))
    axes = st.sets(st.integers(0, len(sizes) - 1), max_size=5).map(lambda s: tuple(sorted(s)))
    sets = draw_(
        st.lists(axes.filter(lambda s: prod(sizes[i] for i in s) <= 200_000), min_size=1, max_size=12)
    )
    return Layout(sizes, tuple(sets))


@pytest.mark.long
@pytest.mark.parametrize("method", COSTS)
@given(layout=layouts(), records=st.integers(0, 700), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_counts_equal_brute_force_for_any_layout(
    method: str, layout: Layout, records: int, seed: int
) -> None:
    codes = draw(np.random.default_rng(seed), layout.sizes, records)
    with counted_by(method):
        np.testing.assert_array_equal(counts(layout, codes, threads=1), brute_force(codes, layout))


@pytest.mark.parametrize("method", COSTS)
@pytest.mark.parametrize("order", range(7))
def test_every_order_equals_brute_force(method: str, order: int) -> None:
    sizes = (2, 3, 1, 4, 2, 5, 2)
    codes = draw(np.random.default_rng(order), sizes, 20_011)
    layout = Layout(sizes, all_sets(7, [order]))
    with counted_by(method):
        np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))


def test_orders_above_those_of_bit_planes_are_counted_too() -> None:
    sizes = (2,) * 9
    codes = draw(np.random.default_rng(9), sizes, 3000)
    layout = Layout(sizes, all_sets(9, [9, 2, 7]))
    np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))


@pytest.mark.parametrize("method", COSTS)
def test_small_marginals_below_large_ones_are_their_sums(method: str) -> None:
    sizes = (6, 2, 40, 3, 30, 1)
    codes = draw(np.random.default_rng(1), sizes, 9000)
    layout = Layout(sizes, (*all_sets(6, [1, 3, 0, 2]), (0, 2, 4, 5)))
    with counted_by(method):
        np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))


def test_a_repeated_set_is_filled_every_time() -> None:
    sizes = (3, 4, 2)
    codes = draw(np.random.default_rng(2), sizes, 500)
    layout = Layout(sizes, ((0, 1), (2,), (0, 1), (), (0,), ()))
    np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))


@pytest.mark.long
@pytest.mark.parametrize(
    "sizes", [(256, 257, 2), (65536, 3, 2), (65537, 2, 70_000), (1, 1, 1), (100_000, 40, 1)]
)
def test_large_attributes(sizes: tuple[int, ...]) -> None:
    codes = draw(np.random.default_rng(3), sizes, 30_000)
    for column, n in zip(codes, sizes, strict=True):
        column[:2] = [n - 1, 0]
    layout = Layout(sizes, ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2))[: 5 if prod(sizes) > 10**8 else 6])
    if sizes[2] > 65536:
        layout = Layout(sizes, ((0,), (1,), (2,), (0, 1)))
    np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))


@pytest.mark.parametrize("method", COSTS)
@pytest.mark.parametrize("records", [0, 1, 63, 64, 65, 511, 512, 513])
def test_few_records(method: str, records: int) -> None:
    sizes = (2, 3, 9, 1)
    codes = draw(np.random.default_rng(records), sizes, records)
    layout = Layout(sizes, all_sets(4, [0, 1, 2, 3]))
    with counted_by(method):
        np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))
        if not records:
            assert not Tabulator(layout).counts().any()


def test_equal_records_all_fall_into_one_cell() -> None:
    sizes = (4, 2, 50)
    codes = [np.full(200_000, c, np.uint8) for c in (3, 0, 49)]
    layout = Layout(sizes, all_sets(3, [0, 1, 2, 3]))
    found = counts(layout, codes)
    np.testing.assert_array_equal(found, brute_force(codes, layout))
    assert np.count_nonzero(found) == len(layout.sets)


@pytest.mark.parametrize("method", COSTS)
def test_batch_boundaries_do_not_matter(method: str) -> None:
    sizes = (2, 3, 20, 4, 2)
    codes = draw(np.random.default_rng(5), sizes, 40_000)
    layout = Layout(sizes, all_sets(5, [1, 2, 3]))
    cuts = [0, 0, 1, 2, 8191, 8192, 8193, 20_000, 20_000, 39_999, 40_000]
    batches = [[c[a:b] for c in codes] for a, b in pairwise(cuts)]
    with counted_by(method), mock.patch.object(MODULE, "LARGEST_BUFFER", 4096):
        expected = brute_force(codes, layout)
        np.testing.assert_array_equal(counts(layout, codes), expected)
        np.testing.assert_array_equal(counts(layout, *batches), expected)
        np.testing.assert_array_equal(tabulate(iter(batches), layout), expected)


def test_counts_may_be_asked_between_batches() -> None:
    sizes = (3, 3)
    first, second = (draw(np.random.default_rng(k), sizes, 1000) for k in (6, 7))
    layout = Layout(sizes, ((0, 1),))
    tabulator = Tabulator(layout)
    tabulator.add(first)
    np.testing.assert_array_equal(tabulator.counts(), brute_force(first, layout))
    tabulator.add(second)
    both = brute_force(first, layout) + brute_force(second, layout)
    np.testing.assert_array_equal(tabulator.counts(), both)


@pytest.mark.parametrize("method", COSTS)
def test_threads_do_not_matter(method: str) -> None:
    sizes = (2, 3, 2, 4, 9, 2, 30, 2)
    codes = draw(np.random.default_rng(8), sizes, 150_000)
    layout = Layout(sizes, all_sets(8, [3]))
    with counted_by(method):
        expected = counts(layout, codes, threads=1)
        for threads in (2, 3, 7):
            np.testing.assert_array_equal(counts(layout, codes, threads=threads), expected)


@pytest.mark.long
@pytest.mark.parametrize("method", ["planes", "histograms"])
def test_counters_widen_before_they_can_overflow(method: str) -> None:
    """Counters of 8 bits stand in for 32: 127 records fit, one more does not."""
    layout = Layout((2, 2), ((0, 1), (0,)))

    def run(limit: int) -> tuple[np.ndarray, np.ndarray]:
        batches = [[np.zeros(n, np.uint8)] * 2 for n in (100, 27, 1, 100)]
        with (
            counted_by(method),
            mock.patch.object(MODULE, "NARROW", np.int8),
            mock.patch.object(MODULE, "NARROW_RECORDS", limit),
        ):
            tabulator = Tabulator(layout, threads=1)
            steps = []
            for batch in batches:
                tabulator.add(batch)
                steps.append(tabulator.counts()[0])
        return np.array(steps), np.cumsum([100, 27, 1, 100])

    found, expected = run(127)
    np.testing.assert_array_equal(found, expected)
    found, expected = run(128)
    assert not np.array_equal(found, expected)


@pytest.mark.parametrize("method", COSTS)
def test_codes_outside_their_attribute_count_as_the_last_category(method: str) -> None:
    sizes = (3, 5, 300)
    layout = Layout(sizes, all_sets(3, [1, 2, 3]))
    rng = np.random.default_rng(10)
    wild = [rng.integers(0, 2**32, 5000, dtype=np.uint32) % np.uint32(m) for m in (6, 2**31, 2**31)]
    wild[1][:100] = 2**32 - 1
    tame = [np.minimum(column, n - 1) for column, n in zip(wild, sizes, strict=True)]
    with counted_by(method):
        np.testing.assert_array_equal(counts(layout, wild), brute_force(tame, layout))


def test_negative_codes_count_as_the_last_category() -> None:
    layout = Layout((3, 4), ((0, 1),))
    found = counts(layout, [np.array([0, -1, 1], np.int8), np.array([-(2**62), 3, 0], np.int64)])
    expected = brute_force([np.array([0, 2, 1]), np.array([3, 3, 0])], layout)
    np.testing.assert_array_equal(found, expected)


def test_strided_and_foreign_arrays_are_read_as_they_are() -> None:
    sizes = (3, 200, 5)
    table = np.column_stack(draw(np.random.default_rng(11), sizes, 2000)).astype(">u4")
    layout = Layout(sizes, all_sets(3, [2]))
    columns = [table[:, j] for j in range(3)]
    np.testing.assert_array_equal(counts(layout, columns), brute_force(columns, layout))


def test_attributes_without_a_marginal_may_have_any_size() -> None:
    sizes = (2, 10**9, 3)
    layout = Layout(sizes, ((0, 2),))
    codes = draw(np.random.default_rng(12), sizes, 1000)
    np.testing.assert_array_equal(counts(layout, codes), brute_force(codes, layout))


def test_a_layout_of_totals_counts_records() -> None:
    layout = Layout((2,), ((),))
    assert counts(layout, [np.zeros(300_000, np.uint8)]).tolist() == [300_000]
    assert counts(Layout((2,), ()), [np.zeros(3, np.uint8)]).tolist() == []


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        ([np.zeros(3, np.uint8)], "tabulate.wrong-columns"),
        ([np.zeros(3, np.uint8), np.zeros(2, np.uint8)], "tabulate.uneven-batch"),
        ([np.zeros(3, np.uint8), np.zeros(3)], "tabulate.wrong-codes"),
        ([np.zeros((3, 1), np.uint8), np.zeros(3, np.uint8)], "tabulate.wrong-codes"),
    ],
)
def test_a_malformed_batch_is_refused(batch: list[np.ndarray], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        Tabulator(Layout((2, 2), ((0, 1),))).add(batch)
    assert caught.value.code == code


def test_a_marginal_of_too_many_cells_is_refused_before_any_record() -> None:
    with pytest.raises(WorkloadError) as caught:
        Tabulator(Layout((2**16, 2**16), ((0,), (0, 1))))
    assert caught.value.code == "workload.marginal-too-large"


def most_allocated(layout: Layout, *, threads: int) -> int:
    """Bytes of all arrays of a tabulation with narrow counters, the result included."""
    plan = counting_plan.build_plan(layout)
    shape = MODULE._BufferShape(plan)
    counters = 4 * (plan.plane_cells + plan.histogram_cells)
    waiting = shape.records * len(shape.axes) * shape.dtype.itemsize + shape.records // 8 * shape.planes
    scratch, program = 4 * shape.records + 3 * 64, 0
    if plan.program is not None:
        scratch += 8 * shape.span * plan.program.depth
        program = 3 * sum(part.nbytes for part in plan.program.steps)
    places = sum(part.nbytes for expansion in plan.expansions for part in expansion)
    tables = 0 if plan.histograms is None else sum(part.nbytes for part in plan.histograms)
    return 8 * layout.cells + counters + waiting + threads * scratch + places + program + tables


@pytest.mark.parametrize("method", COSTS)
def test_the_layout_and_the_threads_bound_what_is_allocated(method: str) -> None:
    sizes = (2, 3, 2, 4, 9, 2, 30, 200, 2)
    layout = Layout(sizes, all_sets(9, [3, 2]))
    codes = draw(np.random.default_rng(13), sizes, 200_000)
    with counted_by(method):
        counts(layout, codes)
        bound = most_allocated(layout, threads=2)
        tracemalloc.start()
        counts(layout, codes)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    objects = 2**20
    assert peak - objects <= bound < 2 * peak


def test_the_plan_uses_both_ways_and_counts_nothing_twice() -> None:
    sizes = (2, 2, 3, 40, 50, 60)
    layout = Layout(sizes, all_sets(6, [1, 2, 3]))
    plan = counting_plan.build_plan(layout)
    assert plan.program is not None
    assert plan.histograms is not None
    assert all(len(layout.sets[k]) == 3 for k in plan.histogram_positions)
    assert {layout.index[3, 4, 5]} <= set(plan.histogram_positions)
    filled = sum(len(places.offset) for places in plan.expansions)
    assert filled + len(plan.histogram_positions) + len(plan.sums) == len(layout.sets)
