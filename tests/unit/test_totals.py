"""Totals and means: exact sums, dense algebra, prices by hand, intervals of ratios, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isclose, prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.kernel.draw import noisy
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Counting, Layout
from hushtable.measurement import Answers, JointPart, ResidualPart
from hushtable.privacy import UNIT
from hushtable.release.ratios import NoisyPair, ratios_of_intervals

ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "area": {"type": "categorical", "values": ["a", "b", "c"]},
}
INCOME = {"bounds": [0, 1000], "resolution": 10}
LAYOUT = Layout((2, 3), ((), (0,), (1,), (0, 1)))
PAIR = ht.Workload([("sex", "area")])


def schema(**more: Any) -> ht.Schema:
    return ht.Schema.from_dict({"sums": {"income": INCOME}, **more, "attributes": ATTRIBUTES})


def frame_of(seed: int, rows: int) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": np.array(["F", "M"])[chance.integers(0, 2, rows)].tolist(),
            "area": np.array(["a", "b", "c"])[chance.integers(0, 3, rows)].tolist(),
            "income": chance.uniform(-50, 1100, rows),
            "w": chance.uniform(0, 5, rows),
        },
        schema={"sex": pl.String, "area": pl.String, "income": pl.Float64, "w": pl.Float64},
    )


def opened(frame: pl.DataFrame, declared: ht.Schema, folder: Path, budget: int = 100) -> ht.Session:
    return ht.Session.open(frame, schema=declared, ledger=folder / "l", budget=ht.ZCDP(budget))


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-2000, 3000), st.floats(-1, 9)), max_size=20),
    st.integers(0, 99),
    st.sampled_from([(0, 1000, 10), (0, 1000, 40), (-500, 510, 10), (5, 6, 1)]),
    st.booleans(),
)
def test_values_are_clipped_rounded_centred_and_added_up_in_every_kind_of_table(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[float, float]],
    seed: int,
    grid: tuple[int, int, int],
    weighted: bool,
):
    low, high, step = grid
    frame = frame_of(seed, len(drawn)).with_columns(
        income=pl.Series([x for x, _ in drawn], dtype=pl.Float64),
        w=pl.Series([w for _, w in drawn], dtype=pl.Float64),
    )
    more = {"weight": {"column": "w", "bounds": [0, 7]}} if weighted else {}
    declared = schema(sums={"income": {"bounds": [low, high], "resolution": step}}, **more)
    column = declared.sums["income"]

    def rounded(x: float) -> Fraction:
        inside = min(max(x, low), high)
        return step * Fraction(int(np.floor(inside / step + 0.5)))

    weights = [int(np.floor(min(max(w, 0.0), 7.0) + 0.5)) if weighted else 1 for _, w in drawn]
    middle = Fraction(low + high, 2)
    values = [w * (rounded(x) - middle) for (x, _), w in zip(drawn, weights, strict=True)]
    keys = list(zip(frame["sex"], frame["area"], strict=True))
    expected = [sum(values, Fraction(0))]
    expected += [
        sum((v for v, (s, _) in zip(values, keys, strict=True) if s == x), Fraction(0)) for x in "FM"
    ]
    expected += [
        sum((v for v, (_, a) in zip(values, keys, strict=True) if a == x), Fraction(0)) for x in "abc"
    ]
    expected += [
        sum((v for v, k in zip(values, keys, strict=True) if k == (s, a)), Fraction(0))
        for s in "FM"
        for a in "abc"
    ]
    folder = tmp_path_factory.mktemp("sums")
    frame.write_csv(folder / "d.csv")
    frame.write_parquet(folder / "d.parquet")
    for data in (frame, frame.to_arrow(), folder / "d.csv", folder / "d.parquet"):
        rows, sums = open_counter(data, declared).totals([Counting(LAYOUT), Counting(LAYOUT, "sum(income)")])
        assert [column.unit * int(found) for found in sums] == expected
        assert rows[0] == sum(weights) and abs(sums).max(initial=0) <= column.largest * max(sum(weights), 1)


def test_of_a_person_the_same_rows_count_and_are_summed():
    """Rows that differ by what is summed alone are different rows; the order of a table decides nothing."""
    declared = schema(person="who", max_rows_per_person=2)
    frame = frame_of(1, 60).with_columns(sex=pl.lit("F"), who=pl.arange(60) % 9)
    wanted = [Counting(LAYOUT), Counting(LAYOUT, "sum(income)")]
    first = open_counter(frame, declared).totals(wanted)
    assert first[0][0] == 18
    for seed in range(5):
        found = open_counter(frame.sample(fraction=1.0, shuffle=True, seed=seed), declared).totals(wanted)
        assert [x.tolist() for x in found] == [x.tolist() for x in first]


def cells_of(sizes: tuple[int, ...], attributes: tuple[int, ...]) -> np.ndarray:
    """The matrix that sums a full table to a marginal, by hand."""
    rows = [np.eye(n) if k in attributes else np.ones((1, n)) for k, n in enumerate(sizes)]
    made = np.ones((1, 1))
    for row in rows:
        made = np.kron(made, row)
    return made


def lifted(sizes: tuple[int, ...], attributes: tuple[int, ...]) -> np.ndarray:
    """``kron (n I - 11')`` of a marginal."""
    rows = [
        n * np.eye(n) - np.ones((n, n)) if k in attributes else np.ones((1, n)) for k, n in enumerate(sizes)
    ]
    made = np.ones((1, 1))
    for row in rows:
        made = np.kron(made, row)
    return made


@pytest.mark.long
@pytest.mark.parametrize("case", range(60))
def test_estimates_variances_and_prices_are_those_of_dense_algebra(case: int, tmp_path: Path):
    """60 random schemas and workloads: least squares by hand, and the dearest row over every cell and value."""
    chance = np.random.default_rng(case)
    sizes = tuple(int(n) for n in chance.integers(2, 5, chance.integers(1, 4)))
    names = [f"a{k}" for k in range(len(sizes))]
    low = int(chance.integers(-20, 20))
    high, step = low + int(chance.integers(1, 40)), int(chance.choice([1, 2, 5]))
    rows, top = int(chance.integers(1, 3)), int(chance.integers(1, 6))
    weighted = bool(case % 2)
    declared = ht.Schema.from_dict(
        {
            "attributes": {
                name: {"type": "categorical", "values": list(range(n))}
                for name, n in zip(names, sizes, strict=True)
            },
            "sums": {"x": {"bounds": [low * step, high * step], "resolution": step}},
            "max_rows_per_person": rows,
            **({"weight": {"column": "w", "bounds": [0, top]}} if weighted else {}),
        }
    )
    every = [tuple(names[i] for i in range(len(sizes)) if m >> i & 1) for m in range(1, 2 ** len(sizes))]
    picked = [every[k] for k in sorted(set(chance.integers(0, len(every), 2).tolist()))]
    n = 40
    frame = pl.DataFrame(
        {
            **{name: chance.integers(0, size, n) for name, size in zip(names, sizes, strict=True)},
            "x": chance.uniform(low * step, high * step, n),
            "w": chance.uniform(0, top, n),
        }
    )
    session = opened(frame, declared, tmp_path)
    strategy = ("residual-planner", "identity")[case % 3 == 0]
    release = session.release(ht.Workload(picked), budget=ht.ZCDP(1), strategy=strategy)
    answers = release.quantities["sum(x)"]
    part = answers.part
    residual = isinstance(part, ResidualPart)
    queries = [lifted(sizes, s) if residual else cells_of(sizes, s) for s in part.sets]
    spread = [
        float(p) for p, n in zip(part.noise.parameters, part.noise.lengths, strict=True) for _ in range(n)
    ]
    matrix, weights = np.concatenate(queries), 1.0 / np.array(spread)
    inverse = np.linalg.pinv(matrix.T @ (weights[:, None] * matrix), rcond=1e-12, hermitian=True)
    table = inverse @ (matrix.T @ (weights * answers.values))
    found = release.totals["x"]
    for names_of in picked:
        key = tuple(sorted(names.index(name) for name in names_of))
        ask = cells_of(sizes, key)
        scale = np.abs(ask @ table).max() + 1.0
        assert np.allclose(found.marginal(key).ravel(), ask @ table, atol=1e-9 * scale, rtol=0)
        variances = np.diag(ask @ inverse @ ask.T)
        layout = Layout(declared.sizes, (key,))
        assert np.allclose(found.model.variances_of(layout), variances, rtol=1e-9, atol=0)
    dearest = dearest_row(declared, queries, part) * rows**2 * (top**2 if weighted else 1)
    counts = release.answers.part
    count_queries = [
        lifted(sizes, s) if isinstance(counts, ResidualPart) else cells_of(sizes, s) for s in counts.sets
    ]
    own = max(cost_of(count_queries, counts, cell) for cell in range(prod(sizes)))
    charged = dearest + own * rows**2 * (top**2 if weighted else 1)
    assert release.card.charged.rho == -(-charged.numerator * UNIT // charged.denominator)


def cost_of(queries: list[np.ndarray], part: Any, cell: int) -> Fraction:
    """Sum of squares over twice the variances, of a row of weight 1 in a cell."""
    squares = np.concatenate([q[:, cell] for q in queries]).astype(int) ** 2
    spread = [p for p, n in zip(part.noise.parameters, part.noise.lengths, strict=True) for _ in range(n)]
    return sum((int(q) / (2 * Fraction(v)) for q, v in zip(squares, spread, strict=True) if q), Fraction(0))


def dearest_row(declared: ht.Schema, queries: list[np.ndarray], part: Any) -> Fraction:
    """Over every cell and every value of the grid, by what ``whole`` makes of it."""
    column = declared.sums["x"]
    grid = np.arange(column.low, column.high + 1) * float(column.resolution)
    largest = int(np.abs(column.whole(grid)).max())
    return largest**2 * max(cost_of(queries, part, cell) for cell in range(prod(declared.sizes)))


@pytest.mark.parametrize("strategy", ["residual-planner", "auto", "identity"])
def test_a_release_measures_totals_beside_counts_within_its_budget(strategy: str, tmp_path: Path):
    frame = frame_of(3, 6000)
    session = opened(frame, schema(), tmp_path)
    release = session.release(PAIR, budget=ht.ZCDP(2), strategy=strategy, request="one")
    assert 0.99 * 2 * UNIT < release.card.charged.rho <= 2 * UNIT
    assert release.card.plan.totals == ("income",) and "500" in release.card.summed[0]
    truth = frame.with_columns(pl.col("income").clip(0, 1000)).group_by("sex", "area")
    truth = truth.agg(pl.col("income").sum().alias("sum"), pl.col("income").mean().alias("mean"))
    for value in ("sum", "mean"):
        table = release.table("sex", "area", alpha=1e-6, value=f"{value}(income)").join(
            truth, on=["sex", "area"]
        )
        slack = 5 * 6000 if value == "sum" else 5  # of the grid
        assert ((table["lower"] - slack <= table[value]) & (table[value] <= table["upper"] + slack)).all()
    shares = release.table("sex", "area", value="share(area)")
    assert isclose(shares["estimate"].sum(), 2, abs_tol=0.05)
    release.save(tmp_path / "out")
    again = ht.Release.load(tmp_path / "out")
    stored = session.release(PAIR, budget=ht.ZCDP(2), strategy=strategy, request="one")
    for value in ("sum(income)", "mean(income)", "share(sex)", "share(area, income)", "rate(income, income)"):
        shown = release.table("sex", "area", value=value)
        assert again.table("sex", "area", value=value).equals(shown)
        assert stored.table("sex", "area", value=value).equals(shown)


def test_a_pure_epsilon_pays_for_counts_and_totals(tmp_path: Path):
    session = ht.Session.open(frame_of(3, 500), schema=schema(), ledger=tmp_path / "l", budget=ht.PureDP(9))
    release = session.release(PAIR, budget=ht.PureDP(4), strategy="identity")
    assert 3.99999 * UNIT < release.card.charged.xi <= 4 * UNIT and release.card.charged.rho == 0
    scale = release.quantities["sum(income)"].part.noise.parameters[0]
    assert isclose(float(50 / scale), 2, rel_tol=1e-9)  # half of the width is 50 steps, half of the budget 2
    assert release.table("area", value="mean(income)").height == 3


def test_no_person_costs_more_than_the_charge_and_the_largest_value_costs_it():
    """Sum of squared changes over 2 variances, exactly; a price for bounds 10% narrower would be exceeded."""
    declared = schema(weight={"column": "w", "bounds": [0, 4]}, max_rows_per_person=2)
    plan = ht.release.plan_release(declared, PAIR, ht.ZCDP(1))
    part = JointPart.of(plan.noise.part, plan.measured_beside)
    variances = np.repeat([float(v) for v in part.noise.parameters], part.noise.lengths)
    costs = []
    for seed in range(30):
        person = frame_of(seed, 2)
        if not seed:
            person = person.with_columns(sex=pl.lit("F"), area=pl.lit("b"), income=5000.0, w=4.0)
        moved = part.exact(np.concatenate(open_counter(person, declared).totals(part.counting)))
        costs.append(float(np.sum(moved**2 / (2 * variances))))
    charge = float(plan.price(plan.noise).rho)
    assert max(costs) == costs[0] == pytest.approx(charge, rel=1e-12)
    assert plan.cost.rho == -(-plan.price(plan.noise).rho * UNIT // 1)
    narrower = replace(part.parts[1], largest=45)
    assert costs[0] > float(part.parts[0].price(8).rho + narrower.price(8).rho)


def test_kept_answers_of_totals_are_reused_by_nobody_and_counts_still_are(tmp_path: Path):
    session = opened(frame_of(5, 300), schema(), tmp_path)
    session.release(PAIR, budget=ht.ZCDP(1), strategy="residual-planner")
    more = session.release(PAIR, budget=ht.ZCDP(4), strategy="residual-planner", reuse=True)
    assert more.card.charged.rho == pytest.approx((2 + 1.5) * UNIT, rel=1e-6)
    assert more.table("sex", value="mean(income)").height == 2


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-50, 50), st.floats(-50, 50), st.floats(0.1, 9), st.floats(0.1, 9), st.floats(-0.95, 0.95),
)  # fmt: skip
def test_fieller_keeps_exactly_what_its_noise_explains(p: float, q: float, a: float, b: float, r: float):
    """Against a grid of ratios; where something is left, the ends are the first and the last of it."""
    pair = NoisyPair(*(np.array([x]) for x in (p, q, a**2, b**2, r * a * b)))
    grid = np.linspace(-3, 3, 6001)
    kept = np.abs(p - grid * q) <= 1.96 * np.sqrt(a**2 - 2 * grid * r * a * b + grid**2 * b**2)
    (lower,), (upper,) = pair.fieller(1.96, -3.0, 3.0)
    assert -3 <= lower <= upper <= 3
    if kept.any():
        assert lower <= grid[kept][0] + 2e-3 and upper >= grid[kept][-1] - 2e-3
        inside = kept[1:-1].any() and not (kept[0] and kept[-1])
        if inside:
            assert lower >= grid[kept][0] - 2e-3 and upper <= grid[kept][-1] + 2e-3


@settings(max_examples=200, deadline=None)
@given(st.floats(-9, 9), st.floats(0, 9), st.floats(-2, 9), st.floats(0, 9), st.floats(0, 1), st.floats(0, 1))
def test_ratios_of_intervals_hold_every_ratio(
    a: float, wide: float, c: float, high: float, s: float, t: float
):
    part, whole = (np.array([a]), np.array([a + wide])), (np.array([c]), np.array([c + high]))
    (lower,), (upper,) = ratios_of_intervals(part, whole, -5.0, 5.0)
    numerator, denominator = a + s * wide, c + t * high
    if denominator > 1e-6 and -5.0 <= numerator / denominator <= 5.0:
        assert lower - 1e-9 <= numerator / denominator <= upper + 1e-9


def drawn_again(release: ht.Release, exact: dict[str, np.ndarray]) -> ht.Release:
    """The same release with other noise."""

    def drawn(of: str, answers: Answers) -> Answers:
        return Answers(answers.part, noisy(exact[of], answers.part.noise))

    others = {of: drawn(of, answers) for of, answers in release.quantities.items()}
    return replace(release, answers=drawn("rows", release.answers), quantities=others)


def held(
    runs: int, tmp_path: Path, strategy: str, budget: Any = None, known: float | None = None
) -> dict[tuple[str, int], float]:
    """How often intervals of groups of 5, 50 and 5,000 rows hold the truth, by value and rows of the group.

    ``known``: what the weighted counts of areas are multiplied by before they are stated.
    """
    budget = budget or ht.ZCDP("0.2")
    chance = np.random.default_rng(7)
    sizes = [5, 50, 5000, 5, 50, 5000]
    keys = [(s, a) for s in "FM" for a in "abc"]
    rows = [key for key, n in zip(keys, sizes, strict=True) for _ in range(n)]
    frame = pl.DataFrame(rows, schema=["sex", "area"], orient="row").with_columns(
        income=pl.Series(10.0 * chance.integers(0, 101, len(rows)) ** 2 / 100),
        spent=pl.Series(10.0 * chance.integers(1, 51, len(rows))),
        w=pl.Series(chance.integers(1, 5, len(rows)).astype(float)),
    )
    by_area = frame.group_by("area").agg(pl.col("w").sum()).sort("area")["w"].to_list()
    figures = [] if known is None else [round(known * weight) for weight in by_area]
    stated = {"attributes": ["area"], "figures": figures, "source": "a register", "kind": "invariant"}
    declared = schema(
        sums={"income": INCOME, "spent": {"bounds": [10, 500], "resolution": 10}},
        weight={"column": "w", "bounds": [0, 4]},
        **({} if known is None else {"known": [stated]}),
    )
    kind = type(budget)
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=kind(9999))
    release = session.release(PAIR, budget=budget, strategy=strategy)
    counter = open_counter(frame, declared)
    exact: dict[str, np.ndarray] = {}
    for of, answers in {"rows": release.answers, **release.quantities}.items():
        (counts,) = counter.totals([Counting(answers.part.layout, of)])
        exact[of] = answers.part.exact(counts)
    rounded = frame.with_columns((pl.col("income") / 10 + 0.5).floor() * 10)
    w = pl.col("w")
    truth = rounded.group_by("sex", "area").agg(
        w.sum().alias("count"), (w * pl.col("income")).sum().alias("x"), (w * pl.col("spent")).sum().alias("y")
    ).sort("sex", "area")  # fmt: skip
    x, y, n = (truth[name].to_numpy() for name in ("x", "y", "count"))
    by_sex = n.reshape(2, 3).sum(axis=1).repeat(3)
    true = {
        "count": n,
        "sum(income)": x,
        "mean(income)": x / n,
        "share(area)": n / by_sex,
        "share(area, income)": x / x.reshape(2, 3).sum(axis=1).repeat(3),
        "rate(income, spent)": x / y,
    }
    found = dict.fromkeys(((value, size) for value in true for size in sizes[:3]), 0.0)
    for _ in range(runs):
        if strategy == "auto":  # what it measures follows from its noise: a run is a release
            again = session.release(PAIR, budget=budget, strategy=strategy)
        else:
            again = drawn_again(release, exact)
        for value, at in true.items():
            table = again.table("sex", "area", value=value)
            lower, upper = table["lower"].to_numpy(), table["upper"].to_numpy()
            inside = ((lower - 1e-9 <= at) & (at <= upper + 1e-9)).reshape(2, 3)
            for size, share in zip(sizes[:3], inside.mean(axis=0), strict=True):
                found[value, size] += float(share) / runs
    return found


def check_held(found: dict[tuple[str, int], float], runs: int, exactly: bool) -> None:
    """At 95%, in groups of each size: totals and counts within, ratios not below, 4 standard errors.

    The two cells of a size share noise, so that a run counts as one; fewer than one check in 30,000 fails by chance.
    The upper limit is for groups of 5,000, whose ends are never cut at 0: cut ends only add to what holds.
    """
    error = 4 * np.sqrt(0.05 * 0.95 / runs)
    for (value, size), share in found.items():
        assert share >= 0.95 - error, (value, size, share)
        if exactly and value in ("sum(income)", "count") and size == 5000:
            assert share <= 0.95 + error, (value, size, share)


@pytest.mark.long
def test_intervals_hold_in_small_and_large_groups(tmp_path: Path):
    check_held(held(150, tmp_path, "residual-planner"), 150, True)


@pytest.mark.long
def test_intervals_hold_where_weighted_counts_are_known_and_not_where_they_are_off(tmp_path: Path):
    """With figures that are 1% too large the counts of 5,000 rows are off by more than their noise."""
    check_held(held(100, tmp_path, "residual-planner", known=1.0), 100, True)
    (tmp_path / "off").mkdir()
    assert held(20, tmp_path / "off", "residual-planner", known=1.01)["count", 5000] < 0.8


@pytest.mark.long
def test_intervals_hold_after_rounds_that_follow_the_noise(tmp_path: Path):
    check_held(held(15, tmp_path, "auto"), 15, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    ["residual-planner", "identity", "Laplace", "known", "known by identity", "auto", "auto with known"],
)
def test_intervals_hold_in_2000_runs(way: str, tmp_path: Path):
    budget = ht.PureDP("0.6") if way == "Laplace" else None
    strategy = {"residual-planner": "residual-planner", "known": "residual-planner"}.get(way, "identity")
    strategy = "auto" if way.startswith("auto") else strategy
    found = held(2000, tmp_path, strategy, budget, 1.0 if "known" in way else None)
    print(way, {f"{value} {size}": round(share, 4) for (value, size), share in found.items()})
    check_held(found, 2000, way not in ("Laplace", "auto", "auto with known"))


def test_too_short_an_interval_is_noticed_in_every_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from hushtable.release import value_tables

    spread = value_tables.normal_spread
    monkeypatch.setattr(value_tables, "normal_spread", lambda alpha: 0.5 * spread(alpha))
    found = held(40, tmp_path, "residual-planner")
    least = 0.95 - 4 * np.sqrt(0.05 * 0.95 / 40)
    assert all(found["sum(income)", size] < least for size in (50, 5000)), found


def test_an_empty_group_has_the_whole_range_and_says_so(tmp_path: Path):
    frame = frame_of(2, 3000).filter(pl.col("area") != "c")
    release = opened(frame, schema(), tmp_path).release(
        PAIR, budget=ht.ZCDP("0.5"), strategy="residual-planner"
    )
    table = release.table("sex", "area", value="mean(income)", alpha=1e-4).filter(pl.col("area") == "c")
    assert table["note"].to_list() == ["may be empty"] * 2
    assert table["lower"].to_list() == [0.0] * 2 and table["upper"].to_list() == [1000.0] * 2
    full = release.table("area", value="mean(income)").filter(pl.col("area") != "c")
    assert full["note"].to_list() == [""] * 2 and full["std"].is_not_null().all()


def test_levels_have_means_on_all_of_them(tmp_path: Path):
    declared = ht.Schema.from_dict(
        {
            "sums": {"income": INCOME},
            "attributes": {
                "place": {
                    "type": "categorical",
                    "levels": ["region", "town"],
                    "tree": {"N": ["a", "b"], "S": ["c"]},
                },
                "sex": ATTRIBUTES["sex"],
            },
        }
    )
    frame = frame_of(9, 6000).rename({"area": "place"})
    for strategy in ("residual-planner", "auto"):
        (tmp_path / strategy).mkdir()
        session = opened(frame, declared, tmp_path / strategy)
        release = session.release(ht.Workload([("town", "sex")]), budget=ht.ZCDP(5), strategy=strategy)
        values = frame.with_columns(pl.col("income").clip(0, 1000))
        north = values.filter(pl.col("place") != "c")["income"].mean()
        table = release.table("region", value="mean(income)", alpha=1e-6)
        assert table["lower"][0] - 5 <= north <= table["upper"][0] + 5
        assert release.table("town", "sex", value="share(town, income)").height == 6


REFUSED = {
    "no resolution": ({"income": {"bounds": [0, 9]}}, "schema.missing-field"),
    "no bounds": ({"income": {"resolution": 1}}, "schema.missing-field"),
    "no columns": ({}, "schema.wrong-sum"),
    "backwards": ({"income": {"bounds": [9, 0], "resolution": 1}}, "schema.wrong-bounds"),
    "off the grid": ({"income": {"bounds": [0, 9], "resolution": 2}}, "schema.wrong-bounds"),
    "too fine": ({"income": {"bounds": [0, 9], "resolution": 1e-9}}, "schema.wrong-bounds"),
    "a name": ({"in come": {"bounds": [0, 9], "resolution": 1}}, "schema.bad-name"),
    "a field": ({"income": {"bounds": [0, 9], "resolution": 1, "null": "drop"}}, "schema.unknown-field"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_summed_is_refused_by_name(case: str):
    declared, code = REFUSED[case]
    with pytest.raises(HushtableError) as refused:
        schema(sums=declared)
    assert refused.value.code == code


def test_a_schema_with_sums_is_read_back_and_is_another_domain():
    declared = schema(
        sums={"x": {"column": "in come", "bounds": [0.5, 9], "resolution": 0.25, "outside": "drop"}}
    )
    assert ht.Schema.loads(declared.to_yaml()) == declared
    assert declared.version != schema().version and declared.columns[-1] == "in come"
    assert declared.sums["x"].largest == 17 and declared.sums["x"].unit == Fraction(1, 4)
    halves = schema(sums={"x": {"bounds": [0, 3], "resolution": 1}}).sums["x"]
    assert (halves.largest, halves.unit, halves.middle) == (3, Fraction(1, 2), Fraction(3, 2))


def test_strategies_and_values_that_cannot_be_are_refused_by_name(tmp_path: Path):
    session = opened(frame_of(6, 50), schema(), tmp_path)
    with pytest.raises(HushtableError) as refused:
        session.plan(PAIR, budget=ht.ZCDP(1), strategy="aim")
    assert refused.value.code == "release.no-totals"
    release = session.release(PAIR, budget=ht.ZCDP(1), strategy="residual-planner")
    for value, code in (
        ("median(income)", "table.value"),
        ("rate(income)", "table.value"),
        ("mean(income, income)", "table.value"),
        ("mean(age)", "table.no-sum"),
        ("share(area, age)", "table.no-sum"),
    ):
        with pytest.raises(HushtableError) as refused:
            release.table("sex", value=value)
        assert refused.value.code == code, value
    with pytest.raises(HushtableError) as refused:
        release.table("sex", value="share(area)")
    assert refused.value.code == "table.share"
    with pytest.raises(HushtableError) as refused:
        release.table("sex", value="mean(income)", simultaneous=True)
    assert refused.value.code == "table.simultaneous"


@pytest.mark.long
def test_the_command_line_plans_backwards_shows_exports_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    frame_of(6, 3000).write_csv("d.csv")
    schema().save("s.yaml")
    asked = ["--schema", "s.yaml", "--order", "2"]
    assert (
        run(["plan", *asked, "--want", "mean(income) by sex,area = 20 for 500", "--want", "sex,area=9"]) == 0
    )
    printed = capsys.readouterr().out
    assert "groups of 500 rows" in printed and "sum(income) by sex x area" in printed
    budget = printed.split('--budget "')[1].split('"')[0]
    wishes = [ht.release.Wish.parse("mean(income) by sex,area = 20 for 500")]
    workload = ht.Workload.all_marginals(schema(), order=2)
    rho = ht.release.budget_wanted(schema(), workload, wishes)
    plan = ht.release.plan_release(schema(), workload, ht.ZCDP(rho))
    (total,) = plan.beside.totals
    width = total.mean_half_width((0, 1), plan.noise.error_model(), 500, 0.05)
    assert width == pytest.approx(20, rel=1e-4) and width <= 20
    assert run(["ledger", "create", "l", "--budget", "rho=99"]) == 0
    assert run(["release", "d.csv", *asked, "--ledger", "l", "--budget", budget, "--out", "out"]) == 0
    assert run(["table", "out", "sex", "area", "--value", "mean(income)"]) == 0
    assert "true mean(income)" in capsys.readouterr().out
    assert run(["table", "out", "sex", "--value", "mean(age)"]) == 2
    for name in ("csv", "json-stat", "px"):
        assert run(["export", "out", "--format", name, "--value", "mean(income)"]) == 0
    exported = pl.read_csv(next((tmp_path / "out-csv").rglob("*.csv")))
    assert exported["estimate"].is_between(0, 1000).all()
    assert run(["export", "out", "--format", "csv", "--value", "mean(income)", "--publish", "-o", "p"]) == 2
    assert run(["report", "out"]) == 0
    assert "Totals and means" in next(tmp_path.rglob("*.html")).read_text()
