"""The compiled kernels on many sets at once, against one array at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import WorkloadError
from hushtable.marginals import (
    Incidence,
    Layout,
    accumulate,
    assemble,
    centre,
    centre_all,
    closure,
    lift,
    lift_all,
    sorted_sets,
    threads,
)


def marginal(table: np.ndarray, attributes: tuple[int, ...]) -> np.ndarray:
    return table.sum(axis=tuple(i for i in range(table.ndim) if i not in attributes))


def tabulated(table: np.ndarray, layout: Layout) -> np.ndarray:
    return np.concatenate([marginal(table, s).ravel() for s in layout.sets]).astype(np.int64)


@st.composite
def domains(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    everything = [s for k in range(len(sizes) + 1) for s in combinations(range(len(sizes)), k)]
    sets = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=5, unique=True))
    return sizes, tuple(sets), draw(st.integers(0, 2**32 - 1))


@given(domains())
@settings(max_examples=80, deadline=None)
def test_kernels_agree_with_one_array_at_a_time(case):
    sizes, sets, seed = case
    table = np.random.default_rng(seed).integers(0, 100, sizes)
    below = Layout(sizes, closure(sets))
    counts = tabulated(table, below)
    lifted, centred = lift_all(below, counts), centre_all(below, counts)
    scaled = centre_all(below, lifted, below.lengths.astype(float))
    for s in below.sets:
        assert np.array_equal(below.view(lifted, s), lift(below.view(counts, s)))
        assert np.allclose(below.view(centred, s), centre(below.view(counts, s)), atol=1e-9)
        assert np.allclose(below.view(scaled, s), below.view(centred, s), atol=1e-9)
    assert np.allclose(
        assemble(below, centred, Layout(sizes, sets)), tabulated(table, Layout(sizes, sets)), atol=1e-8
    )


@given(domains())
@settings(max_examples=60, deadline=None)
def test_accumulate_is_the_weighted_sum_of_marginals_summed_down(case):
    sizes, sets, seed = case
    rng = np.random.default_rng(seed)
    layout, below = Layout(sizes, sets), Layout(sizes, closure(sets))
    values, weights = rng.integers(-9, 99, layout.cells), rng.random(len(sets))
    result = accumulate(layout, values, weights, below)
    for tau in below.sets:
        expected = np.zeros(below.shape(tau))
        for gamma, weight in zip(sets, weights, strict=True):
            if set(tau) <= set(gamma):
                drop = tuple(k for k, axis in enumerate(gamma) if axis not in tau)
                expected = expected + weight * layout.view(values, gamma).sum(axis=drop)
        assert np.allclose(below.view(result, tau), expected, atol=1e-9)


def test_residuals_that_are_missing_count_as_zero():
    sizes, gamma = (3, 4), (0, 1)
    table = np.random.default_rng(6).integers(0, 50, sizes)
    only = Layout(sizes, ((), (0,)))
    estimate = assemble(only, centre_all(only, tabulated(table, only)), Layout(sizes, (gamma,))).reshape(
        sizes
    )
    assert np.allclose(estimate, np.repeat(table.sum(axis=1, keepdims=True) / 4, 4, axis=1))


def test_a_flat_array_of_the_wrong_length_or_type_is_refused():
    layout = Layout((3,), ((0,),))
    for wrong in (np.zeros(2, np.int64), np.zeros(3)):
        with pytest.raises(WorkloadError):
            lift_all(layout, wrong)


def test_several_threads_cover_every_job_once(monkeypatch):
    monkeypatch.setattr(threads, "SMALL", 0)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 3)
    sizes = (3, 2, 4, 5, 2)
    table = np.random.default_rng(7).integers(0, 9, sizes)
    below = Layout(sizes, closure(combinations(range(5), 3)))
    counts = tabulated(table, below)
    centred = centre_all(below, lift_all(below, counts), below.lengths.astype(float))
    assert np.allclose(assemble(below, centred, below), counts)


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=4, unique=True).map(lambda s: tuple(sorted(s))), min_size=1)
)
def test_closure_holds_exactly_the_subsets_small_before_large(sets):
    expected = {t for s in sets for k in range(len(s) + 1) for t in combinations(s, k)}
    found = closure(sets)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert list(found) == sorted(found, key=lambda s: (len(s), s))
    assert sorted_sets([*found, *found]) == found


def test_incidence_lists_every_pair_with_its_axes():
    residuals = Layout((2, 3, 4), ((), (0,), (2,), (0, 2)))
    pairs = Incidence.between(((0, 2), (1,)), residuals)
    assert pairs.members.tolist() == [0, 1, 2, 3, 0, -1]
    assert pairs.owners.tolist() == [0, 0, 0, 0, 1, 1]
    assert pairs.masks.tolist() == [0, 1, 2, 3, 0, 2]
    assert pairs.superset_sums(np.array([10.0, 1.0]), 4).tolist() == [11.0, 10.0, 10.0, 10.0]
    assert pairs.subset_sums(np.array([1.0, 2.0, 4.0, 8.0]), 2).tolist() == [15.0, 1.0]


def test_marginals_beyond_what_can_be_numbered_are_refused():
    with pytest.raises(WorkloadError) as caught:
        Layout((2**31, 2**31, 4), ((0, 1, 2),))
    assert caught.value.code == "workload.too-large"
    with pytest.raises(WorkloadError) as caught:
        closure([tuple(range(40))])
    assert caught.value.code == "workload.too-large"
