"""Bounds of tables that were not measured in full: by hand, many at once, in frames and in files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import hushtable as ht
from hushtable.marginals import AttributeSet, Layout, closure, lift_all
from hushtable.reconstruct import from_residuals
from hushtable.reconstruct.bounds import Bounder, intervals

SIZES = (3, 4, 2, 5)
KNOWN = ((), (0,), (1,), (2,), (3,), (0, 1), (1, 2), (0, 2), (2, 3))


def estimates():
    """Residuals of up to two attributes; the pairs (0, 3) and (1, 3) and everything larger are unknown."""
    layout = Layout(SIZES, KNOWN)
    generator = np.random.default_rng(1)
    lifted = generator.integers(-2000, 2000, layout.cells)
    lifted[0] = 9000
    return from_residuals(layout, lifted, [Fraction(1, 4)] * len(KNOWN))


def ends(found, s: AttributeSet, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The normal interval of a measured table."""
    reach = norm.isf(alpha / 2) * found.variance(s) ** 0.5
    return found.marginal(s) - reach, found.marginal(s) + reach


def test_a_table_of_three_known_pairs_is_bounded_by_them_and_by_what_two_force() -> None:
    found = estimates()
    part = 0.05 / 6
    ab, ac, bc = (ends(found, s, part) for s in ((0, 1), (0, 2), (1, 2)))
    a, b, c = (ends(found, (k,), part) for k in range(3))
    upper = np.minimum(ab[1][:, :, None], np.minimum(ac[1][:, None, :], bc[1][None, :, :])).clip(0)
    lower = np.maximum.reduce(
        [
            np.zeros(upper.shape),
            ab[0][:, :, None] + ac[0][:, None, :] - a[1][:, None, None],
            ab[0][:, :, None] + bc[0][None, :, :] - b[1][None, :, None],
            ac[0][:, None, :] + bc[0][None, :, :] - c[1][None, None, :],
        ]
    )
    bounds = Bounder(found, ((0, 1, 2),), 0.05).bounds((0, 1, 2))
    assert bounds.measured == "partly" and np.isnan(bounds.std)
    assert np.allclose(bounds.upper, upper.ravel())
    assert np.allclose(bounds.lower, np.minimum(lower, upper).ravel())


def test_a_pair_of_which_only_single_attributes_are_known() -> None:
    found = estimates()
    a, b, total = (ends(found, s, 0.05 / 3) for s in ((0,), (3,), ()))
    upper = np.minimum(a[1][:, None], b[1][None, :]).clip(0)
    lower = np.maximum(0.0, a[0][:, None] + b[0][None, :] - total[1])
    bounds = Bounder(found, ((0, 3),), 0.05).bounds((0, 3))
    assert bounds.measured == "partly"
    assert np.allclose(bounds.upper, upper.ravel())
    assert np.allclose(bounds.lower, np.minimum(lower, upper).ravel())


def test_many_tables_at_once_have_the_bounds_of_each_alone() -> None:
    found = estimates()
    sets = ((0, 1), (0, 3), (0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 1, 2, 3))
    bounder = Bounder(found, sets, 0.1)
    flags = []
    for s in sets:
        ours, alone = bounder.bounds(s), Bounder(found, (s,), 0.1).bounds(s)
        assert np.array_equal(ours.lower, alone.lower) and np.array_equal(ours.upper, alone.upper)
        assert ours.measured == alone.measured and np.array_equal(ours.std, alone.std, equal_nan=True)
        flags.append(ours.measured)
    assert flags == ["fully", "partly", "partly", "partly", "partly", "derived"]


@pytest.mark.parametrize("strategy", ["auto", "aim"])
def test_files_hold_the_numbers_of_the_frames(
    strategy: str, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1)
    )
    workload = ht.Workload.all_marginals(small_schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.01"), strategy=strategy, reconstruct="maxent")
    release.save(tmp_path / "out")
    long = pl.read_parquet(tmp_path / "out" / "tables" / "order-2.parquet")
    frames = pl.concat(
        [table.select("estimate", "std", "lower", "upper", "measured") for _, table in release.tables()]
    )
    assert long["measured"].cast(pl.String).to_list() == frames["measured"].to_list()
    assert long["std"].is_null().to_list() == frames["std"].is_null().to_list()
    assert (frames["std"].is_null() == (frames["measured"] != "fully")).all()
    for name in ("estimate", "lower", "upper", "std"):
        assert np.allclose(long[name].to_numpy(), frames[name].to_numpy(), equal_nan=True, rtol=1e-12)
    assert (long["lower"] <= long["estimate"]).all() and (long["estimate"] <= long["upper"]).all()


ROUGHLY = ((0, 1, 2), (0, 1, 3))


def noisy_counts(seed: int):
    """A table of many empty cells whose pairs are known well and whose triples roughly; and its true counts."""
    chance = np.random.default_rng(seed)
    counts = chance.multinomial(2000, chance.dirichlet(np.full(SIZES, 0.05).ravel())).reshape(SIZES)
    sets = closure(ROUGHLY)
    layout = Layout(SIZES, sets)
    precisions = [Fraction(1, 4) if len(s) < 3 else Fraction(1, 2500) for s in sets]
    true = {s: counts.sum(axis=tuple(k for k in range(4) if k not in s)) for s in sets}
    lifted = lift_all(layout, np.concatenate([true[s].ravel() for s in sets]))
    spread = np.repeat([float(1 / p) ** 0.5 for p in precisions], layout.lengths) * np.repeat(
        layout.lengths, layout.lengths
    )
    noise = np.rint(chance.normal(0.0, spread)).astype(np.int64)
    return from_residuals(layout, lifted + noise, precisions), true


@pytest.mark.long
@pytest.mark.parametrize("simultaneous", [False, True])
def test_intervals_of_rough_tables_use_the_tables_below_and_hold(simultaneous: bool) -> None:
    layout = Layout(SIZES, ROUGHLY)
    held, own, width = [], [], []
    for seed in range(300):
        found, true = noisy_counts(seed)
        made = intervals(found, layout, 0.05, simultaneous=simultaneous)
        counts = np.concatenate([true[s].ravel() for s in ROUGHLY])
        inside = (np.maximum(made.lower, 0.0) <= counts) & (counts <= np.maximum(made.upper, 0.0))
        held.append(inside[:24].all() if simultaneous else inside.mean())
        width.append(np.mean(np.maximum(made.upper, 0.0) - np.maximum(made.lower, 0.0)))
        own.append(np.mean(2 * made.reach))
        assert made.measured == ["fully", "fully"]
    assert np.mean(held) >= 0.95 - 3 * np.std(held) / len(held) ** 0.5
    assert np.mean(width) < 0.5 * np.mean(own)


def test_what_takes_part_follows_from_variances_and_not_from_answers() -> None:
    made = [intervals(noisy_counts(seed)[0], Layout(SIZES, ROUGHLY), 0.05) for seed in (1, 2)]
    assert np.array_equal(made[0].reach, made[1].reach)
    for seed in (1, 2):
        found, _ = noisy_counts(seed)
        assert Bounder(found, ROUGHLY, 0.05).rough(ROUGHLY).tolist() == [True, True]
        assert not Bounder(found, ((0, 1),), 0.05).rough(((0, 1), (0,), ())).any()
