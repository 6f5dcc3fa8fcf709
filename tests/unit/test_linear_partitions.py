"""Tables over bucketised attributes: the closed form against matrices, and where it ends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.linear import LinearGaussian, bucket_table, buckets
from hushtable.linear.partitions import indicator

AGE4 = (18, 45, 65)
AGE9 = (5, 18, 25, 35, 45, 55, 65, 75)
AGE23 = (5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)


def census(rho: str = "0.125") -> list[linear.BucketTable]:
    """Sex by age in 1, 4, 9 and 23 buckets (section 7.5.1)."""
    return [bucket_table([buckets(103, cuts), (0, 1)], rho=rho) for cuts in ((), AGE4, AGE9, AGE23)]


def random_table(rng: np.random.Generator, sizes: tuple[int, ...]) -> linear.BucketTable:
    partitions = [rng.integers(0, int(rng.integers(1, n + 1)), size=n).tolist() for n in sizes]
    table = bucket_table(partitions)
    noise = np.array([Fraction(int(k), 4) for k in rng.integers(1, 40, size=table.variances.size)], object)
    return linear.BucketTable(table.partitions, noise.reshape(table.variances.shape))


def test_buckets_count_the_cuts():
    assert [max(buckets(103, cuts)) + 1 for cuts in ((), AGE4, AGE9, AGE23)] == [1, 4, 9, 23]
    assert buckets(103, AGE4)[17:19] == (0, 1)


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_common_table_of_the_census_options_is_that_of_the_joint_program(first: int):
    options = census()[first:]
    c = linear.common(options)
    assert c.variances.shape == options[0].variances.shape
    by_matrices = linear.common([m.dense() for m in options])
    assert c.dense().cost == pytest.approx(by_matrices.cost, abs=1e-9)
    assert linear.equivalent(linear.ladder(options)[0], c)


@pytest.mark.long
def test_random_tables_also_not_nested_agree_with_matrices():
    rng = np.random.default_rng(1)
    for _ in range(40):
        options = [random_table(rng, (4, 3)) for _ in range(int(rng.integers(2, 4)))]
        c = linear.common(options)
        by_matrices = linear.common([m.dense() for m in options])
        assert c.dense().cost == pytest.approx(by_matrices.cost, abs=1e-8)
        for m in options:
            r = linear.residual(m, c)
            parts = [c] if r is None else [c, r]
            assert linear.equivalent(linear.stack(parts), m)
            assert linear.answerable(c, from_=m) and linear.answerable(c.dense(), from_=m.dense())
            assert (
                linear.answerable(m, from_=c) == (r is None) == linear.answerable(m.dense(), from_=c.dense())
            )
            assert float(m.rho) == pytest.approx(m.dense().rho)
            if r is not None:
                assert r.dense().cost == pytest.approx(m.dense().cost - c.dense().cost, abs=1e-9)
                assert float(r.rho) == pytest.approx(r.dense().rho)


def test_the_parts_of_every_option_cost_exactly_what_it_costs_record_by_record():
    options = census()
    c = linear.common(options)
    for m in options:
        r = linear.residual(m, c)
        whole = linear.partitions.spread(c.profile, linear.partitions.bucket_maps(m.partitions, c.partitions))
        assert ((whole + (r.profile if r else 0)) == m.profile).all() and m.rho == Fraction(1, 8)


def test_recreated_cells_have_exactly_the_mean_and_covariance_of_the_table():
    table = linear.BucketTable(
        bucket_table([(0, 1, 2, 3)]).partitions, np.array([Fraction(k) for k in (1, 2, 3, 4)], object)
    )
    coarse = linear.BucketTable(((0, 0, 1, 1),), np.array([Fraction(5), Fraction(7)], object))
    r = linear.residual(table, coarse)
    assert [str(t) for t in r.totals] == ["2/15", "0"], "the second block needs no count of its own"
    x = np.array([10.0, 4.0, 0.0, 7.0])
    blocks = np.array([14.0, 7.0])
    deviations = x - r.weights.astype(float) * np.repeat(blocks, 2)
    assert linear.recreate(table, coarse, r, blocks, (deviations, blocks)) == pytest.approx(x)
    noise = [np.diag(np.sqrt([1.0, 2, 3, 4])), np.diag(np.sqrt([5.0, 7])), np.array([[7.5**0.5, 0.0]])]
    columns = [linear.recreate(table, coarse, r, np.zeros(2), (e, np.zeros(2))) for e in noise[0]]
    columns += [linear.recreate(table, coarse, r, e, (np.zeros(4), np.zeros(2))) for e in noise[1]]
    columns += [linear.recreate(table, coarse, r, np.zeros(2), (np.zeros(4), e)) for e in noise[2]]
    assert np.array(columns).T @ np.array(columns) == pytest.approx(np.diag([1.0, 2, 3, 4]))


def test_buckets_of_equal_width_are_marginals_over_digits():
    """24 ages in 4 buckets of 6, each in 2, each in 3: the digits of a mixed-radix number."""
    for cuts, digits in (((6, 12, 18), (0,)), (range(3, 24, 3), (0, 1)), (range(1, 24), (0, 1, 2))):
        table = bucket_table([buckets(24, cuts)], rho=1)
        assert linear.equivalent(table.dense(), linear.marginals((4, 2, 3), sets=[digits], rho=1).dense())


def test_several_tables_over_unequal_buckets_share_no_eigenvectors():
    """Where the closed form ends: the total and buckets of 1 and 2 values do not commute, nor do they with a mix."""
    total, two = indicator([(0, 0, 0)]), indicator([(0, 1, 1)])
    first, second = (rows.T @ rows for rows in (total, two))
    assert not np.allclose(first @ second, second @ first)
    option = LinearGaussian(np.vstack([total, two]), [1.0, 1.0, 1.0])
    c = linear.common([option, bucket_table([(0, 1, 2)], rho=1)])
    assert isinstance(c, LinearGaussian) and len(c.queries) == 2


def test_bad_buckets_are_refused_with_a_code():
    for call in (
        lambda: buckets(5, cuts=(3, 2)),
        lambda: buckets(5, cuts=(0,)),
        lambda: buckets(5, cuts=(5,)),
        lambda: bucket_table([]),
        lambda: bucket_table([[]]),
        lambda: linear.BucketTable(((1, 0),), np.array([1, 2])),
        lambda: linear.BucketTable(((0, 1),), np.array([1, 2, 3])),
        lambda: bucket_table([(0, 0, 1)]).coarse_variances([(0, 1, 1)]),
    ):
        with pytest.raises(WorkloadError, match=r"linear\.buckets"):
            call()
    with pytest.raises(WorkloadError, match=r"linear\.not-common"):
        linear.residual(bucket_table([(0, 0, 1)], rho=1), bucket_table([(0, 1, 1)], rho="0.001"))
    with pytest.raises(WorkloadError, match=r"linear\.output"):
        a, b = bucket_table([(0, 1)], rho=1), bucket_table([(0, 0)], rho="0.1")
        linear.recreate(a, b, linear.residual(a, b), np.zeros(2), (np.zeros(2), np.zeros(1)))
