"""Sums of released cells: ranges, areas, quantiles, combinations, replicates, against dense linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from dense_levels import Dense, random_axes, random_workload
from hushtable.axes import Axes
from hushtable.cli.app import run
from hushtable.errors import WorkloadError
from hushtable.kernel import open_counter
from hushtable.kernel.draw import Confidential
from hushtable.marginals import ResolvedWorkload
from hushtable.measurement import Answers, Measure
from hushtable.planning import plan_residuals
from hushtable.reconstruct import combined, from_answers, sum_table, sum_variances
from thresholds import Z

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, district], tree: {North: [a, b, c], South: [d, e]}}
  age: {type: integer, bounds: [0, 15], levels: {eight: 8, four: 4, two: 2, age: 1}}
  pay: {type: real, bounds: [0, 1000], bins: 10}
  sex: {type: categorical, values: [F, M]}
"""
TABLES = [("district", "age"), ("age", "sex"), ("pay", "sex"), ("region", "sex")]


def people(n: int = 4000) -> pl.DataFrame:
    chance = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "place": chance.choice(list("abcde"), n).astype(str).tolist(),
            "age": np.minimum(chance.poisson(6, n), 15),
            "pay": chance.gamma(2.0, 120.0, n),
            "sex": chance.choice(["F", "M"], n).astype(str).tolist(),
        }
    )


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> ht.Session:
    place = tmp_path_factory.mktemp("sums") / "l"
    return ht.Session.open(people(), schema=ht.Schema.loads(SCHEMA), ledger=place, budget=ht.ZCDP(10**6))


@pytest.fixture(scope="module")
def release(session) -> ht.Release:
    return session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.05"), strategy="residual-planner")


@pytest.mark.parametrize("case", range(20))
def test_any_sum_has_the_variance_of_least_squares(case):
    chance = np.random.default_rng(case)
    axes = random_axes(chance)
    sets = random_workload(axes, chance)
    part = plan_residuals(ResolvedWorkload(sets, (Fraction(1),) * len(sets), axes), rho=Fraction(1, 4)).part
    dense = Dense(axes)
    units = [u / p for s, p in zip(part.sets, part.precisions, strict=True) for u in dense.unit_noise(s)]
    kept = np.array([u > 0 for u in units])
    scale = 1 / np.sqrt(np.array([float(u) for u in units])[kept])
    queries = np.concatenate([dense.residual(s) for s in part.sets])[kept]
    solve = np.linalg.pinv(queries * scale[:, None], rcond=1e-11)
    noisy = np.zeros(len(units), np.int64)
    noisy[kept] = chance.integers(-500, 500, kept.sum())
    estimates = from_answers(Answers(part, noisy))
    weights = [(s, chance.normal(size=[axes[a] for a in s])) for s in sets]
    row = sum(w.ravel() @ dense.marginal(s) for s, w in weights) @ solve
    value, variance = combined(estimates, weights)
    assert variance == pytest.approx(float((row**2).sum()), rel=1e-9)
    assert value == pytest.approx(float(row @ (noisy[kept] * scale)), rel=1e-9, abs=1e-6)
    matrices = [chance.integers(0, 2, (3, axes[a])).astype(float) for a in sets[0]]
    kron = np.ones((1, 1))
    for matrix in matrices:
        kron = np.kron(kron, matrix)
    rows = kron @ dense.marginal(sets[0]) @ solve
    found = sum_variances(estimates, sets[0], matrices)
    np.testing.assert_allclose(found.ravel(), (rows**2).sum(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        sum_table(estimates.marginal(sets[0]), matrices).ravel(),
        rows @ (noisy[kept] * scale),
        rtol=1e-8,
        atol=1e-6,
    )


def test_plain_axes_and_axes_of_one_level_have_the_same_sums():
    sizes, sets = (3, 4), ((0, 1),)
    part = plan_residuals(ResolvedWorkload(sets, (Fraction(1),), sizes), rho=Fraction(1, 4)).part
    values = np.random.default_rng(0).integers(-9, 9, part.layout.cells)
    plain = from_answers(Answers(part, values))
    weights = np.random.default_rng(1).normal(size=(3, 4))
    level = plan_residuals(ResolvedWorkload(sets, (Fraction(1),), Axes.of(sizes)), rho=Fraction(1, 4)).part
    other = from_answers(Answers(level, values))
    assert combined(plain, [((0, 1), weights)]) == pytest.approx(combined(other, [((0, 1), weights)]))


def test_a_range_is_the_sum_of_its_cells_with_less_error_than_they_have_together(release):
    found = release.range("age", 4, 11, by=("sex",))
    cells = release.table("age", "sex").filter(pl.col("age").cast(pl.Int64).is_between(4, 11))
    assert found["estimate"].to_list() == pytest.approx(
        cells.group_by("sex", maintain_order=True).agg(pl.col("estimate").sum())["estimate"].to_list()
    )
    assert found["std"].max() < (cells["std"] ** 2).sum() ** 0.5
    assert found.columns == ["age", "sex", "estimate", "std", "lower", "upper"]
    assert release.range("age", "4-11").equals(release.range("age", 4, 11))
    assert release.range("eight", 8, 15)["estimate"][0] == pytest.approx(
        release.table("eight")["estimate"][1]
    )


def test_an_area_across_the_tree_and_a_difference_have_their_own_errors(release):
    whole = release.area(["a", "b", "c"], by=("two",))
    told = release.combine([{"region": "North", "weight": 1.0}])
    assert whole["estimate"].sum() == pytest.approx(told["estimate"][0])
    across = release.area(["a", "e"])
    assert across["estimate"][0] == pytest.approx(
        release.table("district").filter(pl.col("district").is_in(["a", "e"]))["estimate"].sum()
    )
    rows = [
        {"name": n, "region": r, "sex": s, "weight": w}
        for n, r, s, w in (("gap", "North", "F", 1), ("gap", "South", "F", -1), ("all", None, None, 1))
    ]
    found = release.combine(rows)
    north, south = (release.table("region", "sex").filter(region=r, sex="F") for r in ("North", "South"))
    assert found["estimate"][0] == pytest.approx(north["estimate"][0] - south["estimate"][0])
    assert found["std"][1] == pytest.approx(release.table()["std"][0])


def test_replicates_have_the_law_of_the_noise(release):
    drawn = release.replicates(400, "district", "age", seed=3)
    noise = drawn.select(pl.col("^replicate_.*$") - pl.col("estimate")).to_numpy()
    std = release.table("district", "age")["std"].to_numpy()
    ratio = (noise**2).mean(axis=1) / std**2
    assert abs(ratio.mean() - 1.0) < Z * (2 / 400 / 10) ** 0.5
    area = noise.reshape(5, 16, 400)[[0, 4]].sum(axis=(0, 1))
    assert area.std() == pytest.approx(release.area(["a", "e"])["std"][0], rel=0.25)
    assert drawn.equals(release.replicates(400, "district", "age", seed=3))


def test_replicates_of_two_releases_are_independent(session):
    """As separate releases are, so that a change between them has the error of both."""
    made = [
        session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.01"), strategy="residual-planner")
        for _ in range(2)
    ]
    noise = [
        one.replicates(400, "district", "age")
        .select(pl.col("^replicate_.*$") - pl.col("estimate"))
        .to_numpy()
        for one in made
    ]
    between = np.corrcoef(noise[0][0], noise[1][0])[0, 1]
    assert abs(between) < Z / 400**0.5


def test_a_median_is_where_half_of_the_records_are(session):
    sharp = session.release(ht.Workload(TABLES), budget=ht.ZCDP(10**4), strategy="residual-planner")
    for q in (0.1, 0.5, 0.9):
        truth = float(np.quantile(people()["age"].to_numpy(), q, method="inverted_cdf"))
        row = sharp.quantile("age", q).to_dicts()[0]
        assert (row["lower"], row["estimate"], row["upper"]) == (truth, truth, truth)
    pay = sharp.quantile("pay", 0.5, by=("sex",))
    for sex, row in zip(("F", "M"), pay.to_dicts(), strict=True):
        truth = people().filter(sex=sex)["pay"].clip(0, 1000).median()
        assert row["lower"] <= truth <= row["upper"]
        assert row["estimate"] == pytest.approx(truth, abs=40)
    share = sharp.share("pay", 0, 200).to_dicts()[0]
    assert share["estimate"] == pytest.approx((people()["pay"] < 200).mean(), abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    "runs", [pytest.param(150, id="quick"), pytest.param(2000, id="full", marks=pytest.mark.slow)]
)
def test_intervals_of_sums_and_quantiles_hold(session, release, runs):
    frame = people()
    truth = {
        "range": ((frame["age"] >= 3) & (frame["age"] <= 12)).sum(),
        "area": frame["place"].is_in(["b", "d"]).sum(),
        "median": float(np.quantile(frame["age"].to_numpy(), 0.5, method="inverted_cdf")),
    }
    held = dict.fromkeys(truth, 0)
    plan = session.plan(ht.Workload(TABLES), budget=ht.ZCDP("0.002"))
    part, sets = plan.noise.part, plan.workload.sets
    drawing = Confidential(open_counter(frame, session.schema)).measure(Measure(part))
    for _ in range(runs):
        made = ht.Release(session.schema, sets, Answers(part, drawing()), release.card)
        for name, row in (
            ("range", made.range("age", 3, 12)),
            ("area", made.area(["b", "d"])),
            ("median", made.quantile("age")),
        ):
            held[name] += row["lower"][0] <= truth[name] <= row["upper"][0]
    error = Z * (0.05 * 0.95 / runs) ** 0.5
    assert abs(held["range"] / runs - 0.95) < error + 0.003
    assert abs(held["area"] / runs - 0.95) < error + 0.003
    assert held["median"] / runs > 0.95 - error


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda r: r.combine(pl.DataFrame(schema={"sex": pl.String, "weight": pl.Float64})), "combine.empty"),
        (lambda r: r.range("age", 4, 99), "range.bins"),
        (lambda r: r.range("pay", 5, 100), "range.bins"),
        (lambda r: r.range("sex", "F"), "range.order"),
        (lambda r: r.range("age", 4, 5, by=("pay",)), "range.table"),
        (lambda r: r.quantile("age", 1.5), "quantile.share"),
        (lambda r: r.quantile("sex"), "quantile.order"),
        (lambda r: r.area(["a", "z"]), "area.unknown"),
        (lambda r: r.area(["a"], by=("district",)), "table.repeated"),
        (lambda r: r.combine([{"sex": "F"}]), "combine.weights"),
        (lambda r: r.combine([{"sex": "Q", "weight": 1}]), "combine.cell"),
        (lambda r: r.combine([{"sex": "F", "weight": "two"}]), "combine.not-a-number"),
        (lambda r: r.combine([{"sex": "F", "weight": "nan"}]), "combine.not-a-number"),
        (lambda r: r.combine([{"sex": "F", "weight": 1e308}]), "combine.size"),
        (lambda r: r.combine([{"sex": "F", "weight": -1e-200}]), "combine.size"),
        (lambda r: r.combine([{"pay": "[0, 100)", "age": "1", "weight": 1}]), "combine.not-measured"),
        (lambda r: r.replicates(0, "sex"), "replicates.number"),
        (lambda r: r.replicates(2.5, "sex"), "replicates.number"),
        (lambda r: r.combine(5), "combine.weights"),
        (lambda r: r.area([]), "area.empty"),
        (lambda r: r.area("ab"), "area.unknown"),
    ],
)
def test_what_cannot_be_summed_is_refused_by_name(release, ask, code):
    with pytest.raises(WorkloadError) as refused:
        ask(release)
    assert refused.value.code == code


def test_a_text_is_one_category_of_an_area(release):
    assert release.area("a").equals(release.area(["a"]))


def test_an_interval_finer_than_the_released_level_says_so(session, capsys, tmp_path):
    """Before the answers are read, and after."""
    asked = ht.Workload([("four", "sex")])
    coarse = session.release(asked, budget=ht.ZCDP("0.05"), strategy="residual-planner")
    with pytest.raises(WorkloadError, match="whole bins of 'four', the finest level of 'age'") as refused:
        coarse.range("age", 1, 6, by=("sex",))
    assert refused.value.code == "range.bins"
    coarse.save(tmp_path / "o")
    assert run(["table", str(tmp_path / "o"), "age=1-6", "sex"]) == 2
    assert "'four'" in capsys.readouterr().err
    assert coarse.range("age", 4, 11, by=("sex",)).height == 2


@pytest.mark.parametrize("level", ["name", "weight"])
def test_a_level_that_is_called_like_a_column_of_weights_is_refused_there(tmp_path, level):
    text = SCHEMA.replace("[region, district]", f"[{level}, district]")
    opened = ht.Session.open(
        people(200), schema=ht.Schema.loads(text), ledger=tmp_path / "l", budget=ht.ZCDP(9)
    )
    made = opened.release(ht.Workload([(level,)]), budget=ht.ZCDP("0.5"), strategy="residual-planner")
    with pytest.raises(WorkloadError) as refused:
        made.combine([{"name": "North", "weight": 1}])
    assert refused.value.code == "combine.taken"


def test_the_error_of_a_sum_grows_with_its_weights_up_to_the_largest(release):
    one, large, small = (release.combine([{"sex": "F", "weight": w}]) for w in (1, 1e100, -1e-100))
    assert large["std"].item() == pytest.approx(1e100 * one["std"].item())
    assert small["std"].item() == pytest.approx(1e-100 * one["std"].item()) and small["estimate"].item() < 0


def test_sums_on_the_command_line(release, tmp_path, capsys):
    release.save(tmp_path / "out")
    out = str(tmp_path / "out")
    (tmp_path / "w.csv").write_text("name,region,sex,weight\ngap,North,F,1\ngap,South,F,-1\n")
    for words in (
        ["table", out, "age=4-11", "sex"],
        ["table", out, "sex", "--area", "a,e"],
        ["table", out, "sex", "--replicates", "3", "--csv"],
        ["quantile", out, "age", "--at", "0.25", "--at", "0.5", "--by", "sex"],
        ["combine", out, str(tmp_path / "w.csv")],
    ):
        if words[2:4] == ["sex", "--area"]:
            words = ["table", out, "--area", "a,e"]
        assert run(words) == 0, words
        assert run([*words, "--json"]) == 0, words
    assert "gap" in capsys.readouterr().out
    assert run(["table", out, "age=4-11", "two=0-3"]) == 2
