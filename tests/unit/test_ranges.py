"""Workloads of ranges, and levels that halve: plans against dense sums over every range, and a convex solver."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import polars as pl
import pytest

import hushtable as ht
from dense_levels import Dense
from hushtable.axes import Axes
from hushtable.errors import SchemaError, WorkloadError
from hushtable.measurement import Answers
from hushtable.planning import plan_residuals
from hushtable.reconstruct import from_answers, sum_variances

RHO = Fraction(1, 2)


def schema(n: int, levels="auto", **more) -> ht.Schema:
    x = {"type": "integer", "bounds": [0, n - 1], **({} if levels is None else {"levels": levels}), **more}
    return ht.Schema.from_dict({"attributes": {"x": x, "sex": {"type": "categorical", "values": ["F", "M"]}}})


def all_ranges(n: int, size: int) -> np.ndarray:
    rows = [[a <= c < b for c in range(size)] for a in range(n) for b in range(a + 1, n + 1)]
    return np.array(rows, float)


def asked(kind: str, n: int, size: int) -> np.ndarray:
    if kind == "ranges":
        return all_ranges(n, size)
    if kind == "prefixes":
        return np.tril(np.ones((n, size)))
    return np.array([[1 <= c <= 2 for c in range(size)], [3 <= c <= 5 for c in range(size)]], float)


@pytest.mark.parametrize("kind", ["ranges", "prefixes", "1-2,3-5"])
@pytest.mark.parametrize(
    ("n", "levels", "null"),
    [(8, "auto", "drop"), (7, "auto", "category"), (9, {"three": 3, "x": 1}, "drop"), (6, None, "drop")],
)
def test_a_plan_for_ranges_is_the_best_for_all_of_them(n, levels, null, kind):
    declared = schema(n, levels, null=null)
    finest = declared.names[declared.axis("x")]
    workload = ht.Workload([(f"{finest}={kind}", "sex")]).resolve(declared)
    part = plan_residuals(workload, rho=RHO).part
    axes, (attributes,) = Axes.of(declared.sizes), workload.sets
    dense, size = Dense(axes), declared.attributes["x"].size
    wanted = np.kron(asked(kind, n, size), np.eye(2)) @ dense.marginal(attributes)
    unit = [np.array([float(u) for u in dense.unit_noise(s)]) for s in part.sets]
    kept = [u > 0 for u in unit]
    queries = [dense.residual(s)[k] for s, k in zip(part.sets, kept, strict=True)]
    solve = np.linalg.pinv(np.concatenate(queries), rcond=1e-11)
    parts = np.split(wanted @ solve, np.cumsum([len(q) for q in queries])[:-1], axis=1)
    gain = np.array([float((p**2 @ u[k]).sum()) for p, u, k in zip(parts, unit, kept, strict=True)])
    price = np.array(
        [((q**2) / u[k, None]).sum(axis=0) / 2 for q, u, k in zip(queries, unit, kept, strict=True)]
    )
    ours = float((gain / np.array([float(p) for p in part.precisions])).sum())
    x = cp.Variable(len(gain), pos=True)
    best = cp.Problem(
        cp.Minimize(gain @ cp.inv_pos(x)), [np.unique(price.round(12), axis=1).T @ x <= float(RHO)]
    )
    best.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert ours <= best.value * (1 + 1e-6)
    estimates = from_answers(Answers(part, np.zeros(part.layout.cells, np.int64)))
    found = sum_variances(estimates, attributes, [asked(kind, n, size), np.eye(2)])
    assert float(found.sum()) == pytest.approx(ours, rel=1e-9)


def mean_square(n: int, starts: range) -> float:
    """Mean variance of ranges, over all lengths from some starts, times that of a count for the whole budget."""
    declared = schema(n)
    workload = ht.Workload([("x=ranges",)]).resolve(declared)
    part = plan_residuals(workload, rho=RHO).part
    estimates = from_answers(Answers(part, np.zeros(part.layout.cells, np.int64)))
    total = count = 0.0
    for a in starts:
        rows = np.tril(np.ones((n, n)))[a:]
        rows[:, :a] = 0.0
        found = sum_variances(estimates, workload.sets[0], [rows])
        total, count = total + float(found.sum()), count + len(found)
    return total / count * 2 * float(RHO)


def test_ranges_of_a_hundred_values_cost_less_than_adding_up_single_ones():
    """Single values: a mean of 34 cells; the spectral bound of any linear mechanism and halves lie close together."""
    assert mean_square(100, range(100)) < 8.5


@pytest.mark.slow
def test_all_ranges_of_1024_values_stay_below_their_promise():
    assert mean_square(1024, range(1024)) <= 18.1


def best_by_wavelets(n: int, gram: np.ndarray, groups: int) -> float:
    """Sum of variances, times twice the budget, of the best noise on Haar wavelets by contrasts of some groups.

    A computation of its own, over dense matrices: each kind of wavelet is measured with one variance; its rows are
    orthogonal, so what it adds to the error is a trace, what a record pays the square of its entry.
    """
    kinds = [np.ones((1, n))]
    width = n
    while width > 1:
        half = width // 2
        kinds.append(np.kron(np.eye(n // width), np.concatenate([np.ones(half), -np.ones(half)])))
        width = half
    total = 0.0
    for kind in kinds:
        size = float((kind[0] ** 2).sum())
        gain = float(np.einsum("ij,jk,ik->", kind, gram, kind)) / size**2
        # By groups: their sum, whose estimate is spread evenly, and their contrasts, which a record pays 1 - 1/g for.
        total += np.sqrt(gain * groups / groups**2 * 1.0) + np.sqrt(gain * (groups - 1) * (1 - 1 / groups))
    return total**2


def gram_of(kind: str, n: int) -> np.ndarray:
    """How often two values are asked for together: in ranges, in prefixes."""
    low, high = np.minimum.outer(np.arange(n), np.arange(n)), np.maximum.outer(np.arange(n), np.arange(n))
    return ((low + 1.0) * (n - high)) if kind == "ranges" else (n - high).astype(float)


@pytest.mark.parametrize("kind", ["ranges", "prefixes"])
@pytest.mark.parametrize(
    "n", [64, pytest.param(256, marks=pytest.mark.long), pytest.param(1024, marks=pytest.mark.slow)]
)
def test_ranges_and_prefixes_by_sex_are_within_a_hundredth_of_dense_wavelets(n, kind):
    declared = schema(n)
    workload = ht.Workload([(f"x={kind}", "sex")]).resolve(declared)
    part = plan_residuals(workload, rho=RHO).part
    estimates = from_answers(Answers(part, np.zeros(part.layout.cells, np.int64)))
    total = 0.0
    for a in range(n if kind == "ranges" else 1):
        rows = np.tril(np.ones((n, n)))[a:]
        rows[:, :a] = 0.0
        total += float(sum_variances(estimates, workload.sets[0], [rows, np.eye(2)]).sum())
    assert total * 2 * float(RHO) <= best_by_wavelets(n, gram_of(kind, n), 2) * 1.01


def test_all_ranges_together_weigh_as_much_as_the_cells_of_their_table():
    """Against the closed form over dense matrices for both tables, with a weight of 2 / (n + 1) for each range."""
    n = 8
    declared = schema(n)
    workload = ht.Workload([("x=ranges",), ("sex",)]).resolve(declared)
    part = plan_residuals(workload, rho=RHO).part
    dense = Dense(Axes.of(declared.sizes))
    kinds = {
        s: (asked("ranges", n, n) * (2 / (n + 1)) ** 0.5 if len(dense.marginal(s)) == n else np.eye(2))
        for s in workload.sets
    }
    wanted = np.concatenate([kinds[s] @ dense.marginal(s) for s in workload.sets])
    queries = [dense.residual(s) for s in part.sets]
    unit = [np.array([float(u) for u in dense.unit_noise(s)]) for s in part.sets]
    solve = np.linalg.pinv(np.concatenate(queries), rcond=1e-11)
    parts = np.split(wanted @ solve, np.cumsum([len(q) for q in queries])[:-1], axis=1)
    gain = np.array([float((p**2 @ u).sum()) for p, u in zip(parts, unit, strict=True)])
    price = np.array([float((q[:, 0] ** 2 / u).sum()) / 2 for q, u in zip(queries, unit, strict=True)])
    best = np.sqrt(gain * price).sum() ** 2 / float(RHO)
    ours = float((gain / np.array([float(p) for p in part.precisions])).sum())
    assert ours == pytest.approx(best, rel=1e-6)


def test_halves_of_halves_are_levels_with_names():
    declared = schema(10)
    assert declared.names == ("x.8", "x.4", "x.2", "x", "sex")
    assert [b.tolist() for b in declared.sizes.blocks[:4]] == [
        [0, 2],
        [0, 2, 3],
        [0, 2, 4, 5],
        [0, 2, 4, 6, 8, 10],
    ]
    assert declared.levels["x.4"].labels == ("0-3", "4-7", "8-9")
    assert ht.Schema.loads(declared.to_yaml()) == declared
    assert schema(1).names == ("x", "sex")
    with pytest.raises(SchemaError):
        ht.Schema.from_dict({"attributes": {"x": {"type": "categorical", "values": ["a"], "levels": "auto"}}})


def test_ranges_in_a_workload_file_change_the_plan_and_its_hash(tmp_path):
    declared = schema(64)
    (tmp_path / "w.yaml").write_text("- ['x=ranges', sex]\n- [x.8]\n")
    ranges = ht.Workload.load(tmp_path / "w.yaml").resolve(declared)
    cells = ht.Workload([("x", "sex"), ("x.8",)]).resolve(declared)
    assert ranges.sets == cells.sets
    assert ranges.digest != cells.digest
    assert plan_residuals(ranges, rho=RHO).part.precisions != plan_residuals(cells, rho=RHO).part.precisions


@pytest.mark.parametrize("marginal", [("sex=ranges",), ("x=rangs",), ("x=3-99",), ("x=ranges", "x")])
def test_ranges_that_are_none_are_refused(marginal):
    with pytest.raises(WorkloadError) as refused:
        ht.Workload([marginal]).resolve(schema(8))
    assert refused.value.code in ("workload.ranges", "workload.duplicate-attribute")


def test_ranges_are_planned_for_the_sum_alone():
    workload = ht.Workload([("x=ranges",)]).resolve(schema(8))
    with pytest.raises(WorkloadError, match="sum of variances"):
        plan_residuals(workload, rho=RHO, objective="max_variance")


@pytest.mark.long
@pytest.mark.parametrize(
    ("levels", "intervals"),
    [
        ({"group": [18, 65], "year": 1}, "0-17,18-64,65-99"),
        ({"group": [18, 65], "year": 1}, "0-99"),
        ("auto", "0-31,32-63"),
    ],
)
def test_intervals_that_are_a_coarser_level_cost_little_more_than_single_counts(levels, intervals, tmp_path):
    """Nothing asks for finer residuals then: they are measured for the error bars of single cells, and nearly free."""
    frame = pl.DataFrame({"x": [1, 20, 70], "sex": ["F", "M", "F"]})
    session = ht.Session.open(frame, schema=schema(100, levels), ledger=tmp_path / "l", budget=ht.ZCDP(1))
    workload = ht.Workload([(f"x={intervals}", "sex")])
    release = session.release(workload, budget=ht.ZCDP("0.1"), strategy="residual-planner")
    low, high = intervals.partition(",")[0].split("-")
    std = release.range("x", int(low), int(high), by=("sex",))["std"][0]
    assert (1 / 0.2) ** 0.5 <= std <= 1.01 * (1 / 0.2) ** 0.5
    assert np.isfinite(release.table("x", "sex")["std"].to_numpy()).all()


@pytest.mark.parametrize("strategy", ["residual-planner", "identity"])
@pytest.mark.parametrize("kind", ["ranges", "prefixes", "1-2,3-5"])
@pytest.mark.parametrize("levels", ["auto", None])
def test_a_plan_says_how_wrong_what_is_asked_will_be(levels, kind, strategy, tmp_path):
    """Beside the cells: the root of the mean variance of every asked sum, each summed up after a release."""
    n, declared = 8, schema(8, levels)
    finest = declared.names[declared.axis("x")]
    people = pl.DataFrame({"x": [1, 4, 7] * 20, "sex": ["F", "M"] * 30})
    session = ht.Session.open(people, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(9))
    workload = ht.Workload([(f"{finest}={kind}", "sex")])
    plan = session.plan(workload, budget=ht.ZCDP(1), strategy=strategy)
    cells, row = plan.tables().to_dicts()
    stretches = asked(kind, n, n)
    assert cells["marginal"] == f"{finest} x sex" and cells["cells"] == 2 * n
    word = kind if kind.isalpha() else "intervals"
    assert row["marginal"] == f"{finest}={word} x sex" and row["cells"] == 2 * len(stretches)
    made = session.release(workload, budget=ht.ZCDP(1), strategy=strategy)
    ends = [(int(np.flatnonzero(r)[0]), int(np.flatnonzero(r)[-1])) for r in stretches]
    stds = np.concatenate([made.range(finest, a, b, by=("sex",))["std"].to_numpy() for a, b in ends])
    assert row["std"] == pytest.approx(np.sqrt(np.mean(stds**2)), rel=1e-9)
    assert row["half_width"] == pytest.approx(1.959963984540054 * row["std"])
    assert f"{finest}={word}" in plan._repr_html_()
