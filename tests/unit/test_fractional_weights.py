"""Weights on grids finer than whole numbers: exact steps, dense algebra, prices, and public numbers in persons."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import floor, prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import hushtable as ht
from bit_sources import FixedBits
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Layout
from hushtable.measurement import ResidualPart
from hushtable.privacy import UNIT, sampler
from hushtable.schema.row_weight import nearest_steps, rounded

ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "area": {"type": "categorical", "values": ["a", "b", "c"]},
}
PAIR = ht.Workload([("sex", "area")])
GRIDS = ("0.01", "0.1", "0.25", "0.5", "0.001", "2.5", "0.125", "0.000001", "1", "7")


def schema(weight: dict[str, Any], **more: Any) -> ht.Schema:
    return ht.Schema.from_dict({"weight": {"column": "w", **weight}, **more, "attributes": ATTRIBUTES})


def exact_steps(text: str, grid: Fraction) -> int:
    """Of a decimal as it is written, halves upward, by rational numbers alone."""
    return floor(Fraction(text) / grid + Fraction(1, 2))


@pytest.mark.parametrize("grid", GRIDS)
def test_decimals_go_to_the_step_that_rational_numbers_say(grid: str):
    """Middles between steps, their neighbours in the last digit, and others; one number by itself alike."""
    step, chance = Fraction(grid), np.random.default_rng(len(grid))
    steps = [0, 1, 2, 3, 100, *chance.integers(0, 10_000, 3000).tolist()]
    most = Fraction(10**6)
    middles = [(n + Fraction(1, 2)) * step for n in steps if n * step < most]
    digits = max(0, -Decimal(grid).as_tuple().exponent) + 1
    written = [f"{Decimal(m.numerator) / Decimal(m.denominator):.{digits}f}" for m in middles]
    assert all(Fraction(text) == middle for text, middle in zip(written, middles, strict=True))
    last = Decimal(1).scaleb(-digits)
    near = [str(Decimal(text) + k * last) for text in written for k in (-1, 0, 1)]
    found = nearest_steps(np.array([float(text) for text in near]), step)
    assert found.tolist() == [exact_steps(text, step) for text in near]
    assert [rounded(float(text), step) for text in near[:600]] == found[:600].tolist()


def test_floating_point_alone_would_decide_some_of_them_by_chance():
    texts = [f"{n / 1000:.3f}" for n in range(5, 100_000, 10)]
    plain = np.floor(np.array([float(text) for text in texts]) / 0.01 + 0.5).astype(int).tolist()
    right = [exact_steps(text, Fraction(1, 100)) for text in texts]
    assert plain != right
    assert nearest_steps(np.array([float(text) for text in texts]), Fraction(1, 100)).tolist() == right


def test_every_kind_of_source_reads_weights_by_one_rule(tmp_path: Path):
    texts = ["1.37", "1.005", "0.994999", "0", "10.125", "9.995", "40", "0.005", "2.675", "1e-1", "99"]
    declared = schema({"bounds": [0, 40], "resolution": 0.01})
    rows = {"sex": ["F"] * len(texts), "area": ["a"] * len(texts)}
    weights = [exact_steps(str(min(Decimal(text), Decimal(40))), Fraction(1, 100)) for text in texts]
    plain = pl.DataFrame({**rows, "w": texts})
    numbers = plain.with_columns(pl.col("w").cast(pl.Float64))
    decimals = pa.table({**rows, "w": pa.array([Decimal(t) for t in texts], pa.decimal128(20, 9))})
    objects = numbers.to_pandas()
    objects["w"] = [Decimal(text) for text in texts]
    plain.write_csv(tmp_path / "d.csv")
    numbers.write_parquet(tmp_path / "d.parquet")
    kinds = (plain, numbers, numbers.to_arrow(), numbers.to_pandas(), objects, decimals)
    for data in (*kinds, tmp_path / "d.csv", tmp_path / "d.parquet"):
        found = open_counter(data, declared).tabulate(Layout((2, 3), ((), (0,))))
        assert found.tolist() == [sum(weights), sum(weights), 0], type(data)
    comma = schema({"bounds": [0, 40], "resolution": 0.01}, csv={"decimal": ",", "delimiter": ";"})
    lines = ["sex;area;w", *(f"F;a;{text.replace('.', ',')}" for text in texts)]
    (tmp_path / "c.csv").write_text("\n".join(lines) + "\n")
    assert open_counter(tmp_path / "c.csv", comma).tabulate(Layout((2, 3), ((),))).tolist() == [sum(weights)]


def test_the_largest_weight_is_what_the_bound_is_read_as():
    """Bounds just at a middle, and between two decimals that are one floating-point number."""
    for grid in ("0.01", "0.1", "0.25", "1.5"):
        for high in (1.005, 2.675, 9.995, 10.125, 7.35, 1.15, 3.75, 1.0049999999999999999):
            weight = schema({"bounds": [0, high], "resolution": float(grid)}).weight
            assert weight.largest == exact_steps(repr(high), Fraction(grid))
            seen = weight.whole(np.nextafter(high, [0.0, high]))
            assert seen[1] == weight.largest and seen.max() == weight.largest


def cells_of(sizes: tuple[int, ...], attributes: tuple[int, ...], lifts: bool = False) -> np.ndarray:
    """The matrix that sums a full table to a marginal, or to its lifted residual ``kron (n I - 11')``."""
    made = np.ones((1, 1))
    for k, n in enumerate(sizes):
        own = n * np.eye(n) - np.ones((n, n)) if lifts else np.eye(n)
        made = np.kron(made, own if k in attributes else np.ones((1, n)))
    return made


@pytest.mark.long
@pytest.mark.parametrize("case", range(60))
def test_estimates_variances_and_prices_are_those_of_dense_algebra(case: int, tmp_path: Path):
    """60 random schemas, grids and workloads: counts by rational numbers, least squares and prices by hand."""
    chance = np.random.default_rng(case)
    sizes = tuple(int(n) for n in chance.integers(2, 5, chance.integers(1, 4)))
    names = [f"a{k}" for k in range(len(sizes))]
    grid = Fraction(GRIDS[case % 7])
    top, rows, n = Fraction(int(chance.integers(100, 900)), 100), int(chance.integers(1, 3)), 40
    declared = ht.Schema.from_dict(
        {
            "attributes": {
                name: {"type": "categorical", "values": list(range(size))}
                for name, size in zip(names, sizes, strict=True)
            },
            "max_rows_per_person": rows,
            "weight": {"column": "w", "bounds": [0, float(top)], "resolution": float(grid)},
            "sums": {"x": {"bounds": [-3, 5], "resolution": 1}},
        }
    )
    codes = [chance.integers(0, size, n) for size in sizes]
    written = [f"{w:.3f}" for w in chance.uniform(0, float(top) * 1.1, n)]
    values = chance.integers(-3, 6, n)
    frame = pl.DataFrame({**dict(zip(names, codes, strict=True)), "x": values, "w": written})
    weights = [exact_steps(str(min(Fraction(w), top)), grid) for w in written]
    largest = exact_steps(str(top), grid)
    truth, totals = np.zeros(sizes, dtype=object), np.zeros(sizes, dtype=object)
    for *cell, weight, x in zip(*(c.tolist() for c in codes), weights, values.tolist(), strict=True):
        truth[tuple(cell)] += weight
        totals[tuple(cell)] += weight * (x - 1)
    every = [tuple(names[i] for i in range(len(sizes)) if m >> i & 1) for m in range(1, 2 ** len(sizes))]
    picked = [every[k] for k in sorted(set(chance.integers(0, len(every), 2).tolist()))]
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(100))
    strategy = ("residual-planner", "identity")[case % 3 == 0]
    plan = session.plan(ht.Workload(picked), budget=ht.ZCDP(1), strategy=strategy)
    release = session.release(ht.Workload(picked), budget=ht.ZCDP(1), strategy=strategy)
    everything = Layout(sizes, (tuple(range(len(sizes))),))
    assert open_counter(frame, declared).tabulate(everything).tolist() == truth.ravel().tolist()
    price = Fraction(0)
    planned = dict(zip(plan.tables()["marginal"], plan.tables()["std"], strict=True))
    for answers, of, per_row in ((release.answers, truth, 1), (release.quantities["sum(x)"], totals, 4)):
        part = answers.part
        lifts = isinstance(part, ResidualPart)
        queries = [cells_of(sizes, s, lifts) for s in part.sets]
        noise = part.noise
        spread = [Fraction(p) for p, k in zip(noise.parameters, noise.lengths, strict=True) for _ in range(k)]
        matrix, precision = np.concatenate(queries), 1.0 / np.array([float(v) for v in spread])
        # the noise is far smaller than the range of the data, so that integers of another grid would be seen
        apart = answers.values - matrix @ of.ravel().astype(float)
        assert (np.abs(apart) <= 9.0 * np.sqrt([float(v) for v in spread]) + 1).all()
        inverse = np.linalg.pinv(matrix.T @ (precision[:, None] * matrix), rcond=1e-12, hermitian=True)
        table = float(grid) * (inverse @ (matrix.T @ (precision * answers.values)))
        found = release.estimates if per_row == 1 else release.totals["x"]
        for asked in picked:
            key = tuple(sorted(names.index(name) for name in asked))
            ask = cells_of(sizes, key)
            scale = np.abs(ask @ table).max() + 1.0
            assert np.allclose(found.marginal(key).ravel(), ask @ table, atol=1e-9 * scale, rtol=0)
            variances = float(grid) ** 2 * np.diag(ask @ inverse @ ask.T)
            told = found.model.variances_of(Layout(sizes, (key,)))
            assert np.allclose(told, variances, rtol=1e-6)
            if per_row == 1:
                shown = release.table(*[names[i] for i in key])
                assert np.allclose(shown["unbiased"], ask @ table, atol=1e-9 * scale, rtol=0)
                assert np.allclose(shown["std"], np.sqrt(variances), rtol=1e-6)
                assert planned[" x ".join(names[i] for i in key)] == pytest.approx(shown["std"][0], rel=1e-9)
        costs = [
            sum(
                (int(q) ** 2 / (2 * v) for q, v in zip(matrix[:, cell], spread, strict=True) if q),
                Fraction(0),
            )
            for cell in range(prod(sizes))
        ]
        price += max(costs) * (per_row * rows * largest) ** 2
    assert release.card.charged.rho == -(-price.numerator * UNIT // price.denominator) <= UNIT


QUARTER = 0.25
NUMBERS = {"estimate", "std", "lower", "upper", "unbiased", "unbiased_lower", "unbiased_upper"}
SUMMED = {"sums": {"pay": {"bounds": [0, 90], "resolution": 10}}}


def two_ways(more: dict[str, Any], folder: Path, steps: int = 40) -> list[ht.Session]:
    """The same people by weights of k quarters on that grid, and by k on whole numbers."""
    chance = np.random.default_rng(5)
    n = 600
    weights = chance.integers(1, steps + 1, n)
    frame = pl.DataFrame(
        {
            "sex": np.array(["F", "M"])[chance.integers(0, 2, n)].tolist(),
            "area": np.array(["a", "b", "c"])[(chance.integers(0, 9, n) ** 0.5).astype(int) % 3].tolist(),
            "pay": chance.uniform(-5, 95, n),
            "w": weights.astype(float),
        }
    )
    replicas = {f"r{k}": np.where(np.arange(n) % 4 == k, 0, weights * 4 / 3) // 1 for k in range(4)}
    frame = frame.with_columns(**{name: pl.Series(values) for name, values in replicas.items()})
    scaled = frame.with_columns(pl.col("w", *replicas) * QUARTER)
    fine = schema({"bounds": [0, steps * QUARTER], "resolution": QUARTER}, **more)
    return [
        ht.Session.open(data, schema=declared, ledger=folder / f"{k}.ledger", budget=ht.ZCDP(100))
        for k, (data, declared) in enumerate(
            ((scaled, fine), (frame, schema({"bounds": [0, steps]}, **more)))
        )
    ]


def released(sessions: list[ht.Session], monkeypatch: pytest.MonkeyPatch, **how: Any) -> list[ht.Release]:
    """Each by the same random bits."""
    made: list[ht.Release] = []
    for session in sessions:
        with monkeypatch.context() as patch:
            patch.setattr(sampler, "system_bits", lambda: FixedBits(seed=5))
            made.append(session.release(PAIR, request="one", **how))
    return made


def check_scaled(fine: pl.DataFrame, whole: pl.DataFrame, factor: float, close: float) -> None:
    assert fine.columns == whole.columns
    for name in fine.columns:
        if name in NUMBERS:
            given = (whole[name] * factor).to_numpy()
            assert np.allclose(fine[name].to_numpy(), given, rtol=close, atol=close, equal_nan=True), name
        elif fine[name].dtype != pl.Float64:
            assert fine[name].equals(whole[name])


WAYS = {
    "residual-planner": {"strategy": "residual-planner", "budget": ht.ZCDP(1)},
    "identity": {"strategy": "identity", "budget": ht.ZCDP(1)},
    "auto": {"strategy": "auto", "budget": ht.ZCDP(1)},
}


@pytest.mark.parametrize("way", WAYS)
def test_all_that_is_published_is_the_same_in_persons_whatever_the_grid(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """With equal bits, weights of k quarters give a quarter of every number that weights of k give."""
    sessions = two_ways({**SUMMED, "coverage": "2%"}, tmp_path)
    fine, whole = released(sessions, monkeypatch, **WAYS[way])
    assert fine.card.charged == whole.card.charged
    assert fine.answers.values.tolist() == whole.answers.values.tolist()
    for value in ("count", "sum(pay)", "mean(pay)", "share(area)", "share(area, pay)"):
        factor = QUARTER if value in ("count", "sum(pay)") else 1.0
        for asked in ((), ("sex",), ("sex", "area")):
            if "area" in value and "area" not in asked:
                continue
            shown = [release.table(*asked, value=value) for release in (fine, whole)]
            check_scaled(*shown, factor, 1e-6)
    assert np.allclose(fine.accuracy()["std"], whole.accuracy()["std"] * QUARTER)
    assert np.allclose(fine.accuracy()["expected_l1"], whole.accuracy()["expected_l1"] * QUARTER)
    bounds = zip(fine.accuracy()["l1_bound"], whole.accuracy()["l1_bound"], strict=True)
    assert all(
        (a is None and b is None) or a == pytest.approx(QUARTER * b, rel=0.1, abs=1) for a, b in bounds
    )
    assert fine.card.coverage == whole.card.coverage  # rows, which have no weight
    assert "10 rows each" in str(fine.card.counted) and "40 rows each" in str(whole.card.counted)
    fine.save(tmp_path / "out")
    again = ht.Release.load(tmp_path / "out")
    assert again.table("sex", "area").equals(fine.table("sex", "area"))
    assert "0.25" in (tmp_path / "out" / "README.txt").read_text()
    plans = [session.plan(PAIR, **WAYS[way]) for session in sessions]
    if way != "auto":
        one, other = (plan.tables() for plan in plans)
        for name in ("std", "half_width", "expected_l1"):
            assert np.allclose(one[name], other[name] * QUARTER)
    total = float(fine.estimates.marginal(()))
    assert fine.microdata().height == pytest.approx(total, abs=1)
    numbers = fine.whole_numbers()
    assert numbers.counts(()).tolist()[0] == pytest.approx(total, abs=fine.table()["std"][0] + 1)
    true = open_counter(sessions[0]._data, sessions[0].schema).tabulate(Layout((2, 3), ((),)))
    assert total == pytest.approx(QUARTER * int(true[0]), abs=6 * fine.table()["std"][0])


@pytest.mark.parametrize("budget", [ht.ZCDP(1), ht.PureDP(4)], ids=str)
def test_counts_and_their_sum_have_records_and_promises_in_persons(
    budget: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Raw counts with their exact noise; fits see the answers as they are."""
    declared = schema({"bounds": [0, 10], "resolution": QUARTER})
    frame = pl.DataFrame({"sex": ["F"] * 300, "area": ["a"] * 300, "w": [3.25] * 300})
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=type(budget)(9))
    made = session.release_counts(("sex", "area"), budget=budget)
    shown = made.table("sex", "area", alpha=1e-9)
    truth = np.array([975.0, 0, 0, 0, 0, 0])
    assert ((shown["lower"].to_numpy() <= truth) & (truth <= shown["upper"].to_numpy())).all()
    single = session.release(PAIR, budget=budget, strategy="identity")
    estimates = single.table("sex", "area")["unbiased"].to_numpy() / QUARTER
    assert (estimates == np.rint(estimates)).all()
    for fit in ("sequential", "nnls", "ols", "reweighted"):
        records = made.microdata(fit=fit)
        assert records.height == pytest.approx(975, abs=8 * made.table()["std"][0] + 60)
    promised = ht.release.counts_promise(made.answers, declared.count_unit)
    in_steps = ht.release.counts_promise(made.answers)
    assert promised.point_error == pytest.approx(QUARTER**2 * in_steps.point_error)


def test_earlier_answers_are_reused_and_compared_in_persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fine, whole = two_ways({}, tmp_path)
    made: list[tuple[ht.Release, ht.Release]] = []
    reused: list[ht.Release] = []
    for session in (fine, whole):
        with monkeypatch.context() as patch:
            patch.setattr(sampler, "system_bits", lambda: FixedBits(seed=5))
            first = session.release(PAIR, budget=ht.ZCDP(1), strategy="residual-planner")
            again = session.release(PAIR, budget=ht.ZCDP(4), strategy="residual-planner", reuse=True)
            other = session.release(PAIR, budget=ht.ZCDP(1), strategy="residual-planner")
            made.append((other, first))
            reused.append(again)
            assert first.card.reuse is None and again.card.reuse is not None
    check_scaled(*(again.table("sex", "area") for again in reused), QUARTER, 1e-9)
    one, two = (ht.compare(again, other).table("sex") for again, other in made)
    assert np.allclose(one["difference"], two["difference"] * QUARTER)
    assert np.allclose(one["std"], two["std"] * QUARTER) and np.allclose(one["p_value"], two["p_value"])


def test_replicate_weights_and_stated_totals_are_in_persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sample = {
        "rows": 600,
        "replicates": {"columns": [f"r{k}" for k in range(4)], "kind": "jackknife", "by": "sex"},
    }
    figures = [[100.25 / factor, 300.5 / factor, 700 / factor] for factor in (1, QUARTER)]
    stated = [
        {"attributes": ["area"], "figures": given, "source": "a register", "kind": kind}
        for given, kind in zip(figures, ("invariant", "invariant"), strict=True)
    ]
    for number, fitting in enumerate(stated):
        weight = {"bounds": [0, 10], "resolution": QUARTER} if not number else {"bounds": [0, 40]}
        assert schema(weight, known=[fitting]).known[0].free
    with pytest.raises(HushtableError, match=r"multiple of 0\.25"):
        schema({"bounds": [0, 10], "resolution": QUARTER}, known=[{**stated[0], "figures": [0.1, 1, 1]}])
    fine, whole = released(
        two_ways({"sample": sample}, tmp_path), monkeypatch, budget=ht.ZCDP(2), strategy="identity"
    )
    one, other = fine.card.design_effect, whole.card.design_effect
    assert one.effect == pytest.approx(other.effect, rel=1e-6) and one.std == pytest.approx(
        other.std, rel=1e-6
    )


def test_stated_totals_on_the_grid_are_shown_exactly_and_shrink_the_rest(tmp_path: Path):
    frame = pl.DataFrame({"sex": ["F", "M"] * 50, "area": ["a", "b"] * 50, "w": [1.37, 2.05] * 50})
    figures = [68.5, 102.5]
    known = [{"attributes": ["sex"], "figures": figures, "source": "these rows", "kind": "invariant"}]
    declared = schema({"bounds": [0, 3], "resolution": 0.01}, known=known)
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(9))
    plan = session.plan(PAIR, budget=ht.ZCDP(1), strategy="residual-planner")
    release = session.release(PAIR, budget=ht.ZCDP(1), strategy="residual-planner")
    assert np.allclose(release.table("sex")["estimate"], figures, rtol=1e-12)
    assert (release.table("sex")["std"] == 0).all()
    assert release.card.doubts in (None, ())
    table = release.table("sex", "area")
    assert plan.tables()["std"][0] == pytest.approx(table["std"][0], rel=1e-9)
    assert np.allclose(table["unbiased"].to_numpy().reshape(2, 3).sum(axis=1), figures, atol=1e-6)
    for fit in ("nnls", "reweighted"):
        assert release.microdata(fit=fit).height == pytest.approx(171, abs=3)


def test_benchmarks_and_record_weights_reach_the_figures_in_persons(tmp_path: Path):
    frame = pl.DataFrame({"sex": ["F", "M"] * 200, "area": ["a", "b"] * 200, "w": [1.37, 2.05] * 200})
    figures = [300.0, 400.0]
    known = [{"attributes": ["sex"], "figures": figures, "source": "register", "kind": "benchmark"}]
    declared = schema({"bounds": [0, 3], "resolution": 0.01}, known=known)
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(9))
    release = session.release(PAIR, budget=ht.ZCDP(4), strategy="residual-planner")
    assert np.allclose(release.table("sex")["benchmarked"], figures)
    adjusted = release.table("sex", "area")
    assert np.allclose(adjusted["benchmarked"].to_numpy().reshape(2, 3).sum(axis=1), figures)
    assert adjusted["estimate"].sum() == pytest.approx(684, abs=40)
    records = release.microdata()
    sums = records.group_by("sex").agg(pl.col("benchmark_weight").sum()).sort("sex")
    assert np.allclose(sums["benchmark_weight"], figures)


@pytest.mark.parametrize("wanted", ["count", "sum(pay)", "mean(pay)"])
def test_a_plan_read_backwards_meets_widths_in_persons(wanted: str):
    more = {} if wanted == "count" else SUMMED
    fine = schema({"bounds": [0, 10], "resolution": QUARTER}, **more)
    whole = schema({"bounds": [0, 40]}, **more)
    found = [
        ht.release.budget_wanted(declared, PAIR, [ht.release.Wish(wanted, ("sex", "area"), width, 500 * unit)])
        for declared, width, unit in (
            (fine, 5.0, 1.0), (whole, 5.0 if wanted == "mean(pay)" else 20.0, 4.0)
        )
    ]  # fmt: skip
    assert float(found[0]) == pytest.approx(float(found[1]), rel=1e-6)


def test_true_errors_are_told_in_persons(tmp_path: Path):
    fine, _ = two_ways({}, tmp_path)
    release = fine.release(PAIR, budget=ht.ZCDP(50), strategy="residual-planner")
    found = fine.evaluate(release, confidential=True)
    assert found.overall["records"][0] == pytest.approx(float(release.estimates.marginal(())), abs=20)
    assert found.overall["l1_share"][0] < 0.05
    assert found.worst["true"].max() < 2000


def test_adaptive_rounds_tell_their_noise_in_persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fine, whole = released(two_ways({}, tmp_path), monkeypatch, budget=ht.ZCDP(1), strategy="aim")
    assert np.allclose(fine.history["sigma"], whole.history["sigma"] * QUARTER)
    check_scaled(fine.table("sex", "area"), whole.table("sex", "area"), QUARTER, 1e-6)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "seven digits": ({"bounds": [0, 3], "resolution": 0.0000001}, "schema.wrong-weight"),
    "too many steps": ({"bounds": [0, 20_000], "resolution": 0.01}, "schema.wrong-weight"),
    "nobody weighs 1": ({"bounds": [0, 0.9], "resolution": 0.1}, "schema.wrong-weight"),
    "coarser than all": ({"bounds": [0, 3], "resolution": 6.5}, "schema.wrong-weight"),
    "nothing": ({"bounds": [0, 3], "resolution": 0}, "schema.wrong-type"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_grids_that_cannot_be_are_refused_by_name(case: str):
    given, code = REFUSED[case]
    with pytest.raises(HushtableError) as refused:
        schema(given)
    assert refused.value.code == code


@pytest.mark.parametrize("strategy", ["residual-planner", "identity", "auto"])
def test_sums_that_could_leave_64_bits_are_refused_before_anything_is_spent(strategy: str):
    """2^36 persons in steps of 10^-6, times the cells of a residual, are beyond 2^62."""
    attributes = {name: {"type": "integer", "bounds": [0, 63]} for name in ("p", "q")}
    for resolution, fits in ((0.000001, False), (0.01, True)):
        weight = {"column": "w", "bounds": [0, 1], "resolution": resolution}
        declared = ht.Schema.from_dict({"attributes": attributes, "weight": weight})
        refused = None
        try:
            ht.release.plan_release(declared, ht.Workload([("p", "q")]), ht.ZCDP(1), ht.release.Way(strategy))
        except HushtableError as error:
            refused = error.code
        # cells measured one by one are not multiplied, and have room for the finer steps too
        assert refused == (None if fits or strategy == "identity" else "workload.overflow")


def test_totals_of_fine_weights_have_no_room_beyond_2_to_the_62():
    weight = {"bounds": [0, 10], "resolution": 0.0001}
    steps = {"pay": {"bounds": [0, 10**6], "resolution": 1}}
    with pytest.raises(HushtableError) as refused:
        ht.release.plan_release(schema(weight, sums=steps), PAIR, ht.ZCDP(1))
    assert refused.value.code == "workload.overflow"
    ht.release.plan_release(schema(weight), PAIR, ht.ZCDP(1))


def test_choices_are_refused_on_finer_steps_before_anything_is_spent(tmp_path: Path):
    session, _ = two_ways({}, tmp_path)
    options = [ht.linear.marginals(session.schema, order=k, rho=0.01) for k in (1, 2)]
    with pytest.raises(HushtableError) as refused:
        session.choose(options)
    assert refused.value.code == "choose.fractional-weights"
    assert not ht.Ledger.open(tmp_path / "0.ledger").reservations()


def test_a_schema_is_read_back_with_its_grid_and_whole_ones_are_counted_as_before():
    for resolution in (0.01, 0.1, 2.5, 0.000001):
        declared = schema(
            {"bounds": [0, 1], "resolution": resolution}
            if resolution < 1
            else {"bounds": [0, 9], "resolution": 2.5}
        )
        assert ht.Schema.loads(declared.to_yaml()) == declared
        assert declared.count_unit == Fraction(str(resolution))
    tens = schema({"bounds": [0, 48], "resolution": 10})
    assert tens.count_unit == 1 and tens.weight.largest == 50 and tens.to_dict()["weight"]["resolution"] == 10


@pytest.mark.parametrize("rows", [1, 3])
def test_no_person_costs_more_than_the_charge_and_the_heaviest_costs_it(rows: int):
    """A price for weights 10% smaller would be exceeded."""
    declared = schema({"bounds": [0, 4.37], "resolution": 0.01}, max_rows_per_person=rows)
    part = ht.release.plan_release(declared, PAIR, ht.ZCDP(1)).noise.part
    variances = np.repeat([float(v) for v in part.noise.parameters], part.noise.lengths)
    nobody = part.exact(np.zeros(part.layout.cells, np.int64))
    costs: list[float] = []
    for seed in range(30):
        chance = np.random.default_rng(seed)
        weights = chance.uniform(0, 6, rows) if seed else np.full(rows, 4.37)
        areas = chance.choice(["a", "b", "c"], rows).tolist() if seed else ["a"] * rows
        person = pl.DataFrame({"sex": ["F"] * rows, "area": areas, "w": weights})
        moved = part.exact(open_counter(person, declared).tabulate(part.layout)) - nobody
        costs.append(float(np.sum(moved**2 / (2 * variances))))
    charge = float(part.price(declared.most_per_person).rho)
    assert max(costs) == pytest.approx(costs[0], rel=1e-12)
    assert costs[0] == pytest.approx(charge, rel=1e-12)
    assert costs[0] > float(part.price(393 * rows).rho) * 1.2
