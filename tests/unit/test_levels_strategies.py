"""Every strategy, reading and choice on the lattice of levels: right, priced exactly, adding up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from dense_levels import Dense, random_axes, random_workload
from hushtable import linear
from hushtable.errors import BudgetError, HushtableError, WorkloadError
from hushtable.marginals import Layout, ResolvedWorkload, accumulate, closure
from hushtable.measurement import Answers, ResidualPart
from hushtable.planning import budget_for, plan_residuals
from hushtable.reconstruct import fit_tables, from_answers

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, state, county],
          tree: {North: {N1: [a, b], N2: [c]}, South: {S1: [d, e, f]}, Isles: [g]}}
  age: {type: integer, bounds: [0, 29], levels: {decade: 10, year: 1}}
  sex: {type: categorical, values: [F, M]}
"""
STATE = {"a": "N1", "b": "N1", "c": "N2", "d": "S1", "e": "S1", "f": "S1", "g": "g"}
TABLES = [("county", "decade"), ("state", "sex"), ("region", "decade", "sex")]
COARSE, FINE = [("region", "sex")], [("county", "sex")]


@pytest.fixture
def people() -> pl.DataFrame:
    chance, n = np.random.default_rng(3), 4000
    place = chance.choice(list("abcdefg"), n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05])
    return pl.DataFrame(
        {
            "place": place.astype(str).tolist(),
            "age": chance.integers(0, 30, n),
            "sex": chance.choice(["F", "M"], n).astype(str).tolist(),
        }
    )


@pytest.fixture
def session(people, tmp_path) -> ht.Session:
    return ht.Session.open(
        people, schema=ht.Schema.loads(SCHEMA), ledger=tmp_path / "l", budget=ht.ZCDP(10**6)
    )


def truth_of(people: pl.DataFrame) -> dict[tuple[str, str], int]:
    states = people.with_columns(pl.col("place").replace_strict(STATE))
    return {(p, s): n for p, s, n in states.group_by("place", "sex").len().rows()}


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["identity", "aim", "auto", "residual-planner"])
@pytest.mark.parametrize("reconstruct", ["mle", "maxent", "nonneg"])
def test_every_strategy_and_reading_finds_the_counts_of_levels(session, people, strategy, reconstruct):
    release = session.release(
        ht.Workload(TABLES), budget=ht.ZCDP(10**5), strategy=strategy, reconstruct=reconstruct
    )
    found = {(r["state"], r["sex"]): r["estimate"] for r in release.table("state", "sex").to_dicts()}
    assert found == pytest.approx(truth_of(people), abs=1.0)
    assert release.card.charged.rho <= 10**5 * ht.privacy.UNIT
    state, county = (release.table(level)["estimate"].to_numpy() for level in ("state", "county"))
    exact = 1e-9 if reconstruct == "mle" else 1e-5
    assert np.add.reduceat(county, [0, 2, 3, 6]) == pytest.approx(state, rel=exact)


@pytest.mark.parametrize("strategy", ["identity", "aim"])
def test_what_is_read_with_little_budget_has_error_bars_and_spends_no_more(session, strategy):
    before = session.remaining.cost.rho
    release = session.release(
        ht.Workload(TABLES), budget=ht.ZCDP("0.05"), strategy=strategy, reconstruct="mle"
    )
    assert before - session.remaining.cost.rho <= ht.ZCDP("0.05").limit.rho
    table = release.table("county", "decade")
    known = table.filter(pl.col("measured") == "fully")
    assert (known["std"] > 0).all() and known["std"].is_finite().all()


def test_nonneg_tables_agree_on_every_level(session):
    release = session.release(
        ht.Workload(TABLES), budget=ht.ZCDP("0.005"), strategy="residual-planner", reconstruct="nonneg"
    )
    fine = release.table("county", "decade")["estimate"].to_numpy().reshape(7, 3)
    sexes = release.table("state", "sex")["estimate"].to_numpy().reshape(4, 2)
    three = release.table("region", "decade", "sex")["estimate"].to_numpy().reshape(3, 3, 2)
    assert min(fine.min(), sexes.min(), three.min()) >= 0
    total = fine.sum()
    assert np.add.reduceat(fine, [0, 3, 6]) == pytest.approx(three.sum(axis=2), abs=1e-7 * total)
    assert np.add.reduceat(sexes, [0, 2, 3]) == pytest.approx(three.sum(axis=1), abs=1e-7 * total)


def test_a_budget_for_a_wanted_error_on_levels(session):
    wanted = {("county", "decade"): 12.0, ("state", "sex"): 8.0}
    for strategy in ("residual-planner", "identity"):
        resolved = ht.Workload(TABLES).resolve(session.schema)
        rho = budget_for(resolved, wanted, strategy=strategy)
        plan = session.plan(ht.Workload(TABLES), budget=ht.ZCDP(rho), strategy=strategy)
        widths = {tuple(r["marginal"].split(" x ")): r["half_width"] for r in plan.tables().to_dicts()}
        reached = max(widths[s] / w for s, w in wanted.items())
        assert 0.999 < reached <= 1 + 1e-9


def test_a_pure_epsilon_cannot_pay_for_levels(people, tmp_path):
    session = ht.Session.open(
        people, schema=ht.Schema.loads(SCHEMA), ledger=tmp_path / "p", budget=ht.PureDP(1)
    )
    with pytest.raises(BudgetError) as refused:
        session.release(ht.Workload(TABLES), budget=ht.PureDP("0.5"), strategy="identity")
    assert refused.value.code == "budget.pure-levels"


# --- choices ---------------------------------------------------------------------------------------------------------


def options(schema: ht.Schema) -> list[linear.MarginalMechanism]:
    return [linear.marginals(schema, sets=COARSE), linear.marginals(schema, sets=FINE)]


def test_a_choice_between_a_coarse_and_a_fine_level(session, people):
    choice = session.choose(options(session.schema), budget=ht.ZCDP(10**5))
    common = choice.common.table("region", "sex")
    assert common["estimate"].sum() == pytest.approx(len(people), abs=1)
    assert choice.signal(1).share(5) == 1.0
    release = choice.finish(1)
    found = {(r["state"], r["sex"]): r["estimate"] for r in release.table("state", "sex").to_dicts()}
    assert found == pytest.approx(truth_of(people), abs=1.0)
    again = session.choice(choice.id)
    assert again.result().table("county", "sex").equals(release.table("county", "sex"))


CROOKED = """\
attributes:
  place: {type: categorical, levels: [region, state, county],
          tree: {North: {N1: [a], N2: [b]}, South: {S1: [c, d, e]}}}
  sex: {type: categorical, values: [F, M]}
"""


@pytest.mark.parametrize("frozen", [False, True])
def test_a_choice_on_crooked_levels_adds_up_the_dearest_rows_unless_frozen(people, tmp_path, frozen):
    """Rows of the north pay for states, rows of the south for counties: nobody for both."""
    session = ht.Session.open(
        people, schema=ht.Schema.loads(CROOKED), ledger=tmp_path / "c", budget=ht.ZCDP(1)
    )
    offered = [
        linear.marginals(session.schema, sets=[("state", "sex")], rho="0.1"),
        linear.marginals(session.schema, sets=FINE, rho="0.1"),
    ]
    before = session.remaining.cost.rho
    choice = session.choose(offered, budget=ht.ZCDP("0.2"), frozen=frozen)
    assert not choice.plan.even
    choice.finish(1)
    spent, alone = before - session.remaining.cost.rho, ht.ZCDP("0.1").limit.rho
    assert spent == choice.cost(1).rho
    parts = choice.plan.path(0, 1)
    if frozen:
        assert spent == pytest.approx(alone, abs=2) and spent == choice.frozen_cost(1).rho
    else:
        assert spent == pytest.approx(float(sum(part.rho for part in parts)) * 10**12, abs=3)
        assert spent > 1.01 * alone


def test_topping_up_on_crooked_levels_adds_each_draw_s_dearest_row(people, tmp_path):
    """Draws at different times: who pays most for the second is not who paid most for the first."""
    session = ht.Session.open(
        people, schema=ht.Schema.loads(CROOKED), ledger=tmp_path / "r", budget=ht.ZCDP(1)
    )
    ways = {"strategy": "residual-planner"}
    first = session.release(ht.Workload([("state", "sex")]), budget=ht.ZCDP("0.1"), **ways).answers.part
    target = session.plan(ht.Workload(FINE), budget=ht.ZCDP("0.12"), **ways).noise.part
    before = session.remaining.cost.rho
    session.release(ht.Workload(FINE), budget=ht.ZCDP("0.12"), reuse=True, **ways)
    spent = before - session.remaining.cost.rho
    had = dict(zip(first.sets, first.precisions, strict=True))
    lacks = {s: p - had.get(s, 0) for s, p in zip(target.sets, target.precisions, strict=True)}
    world, rows = Dense(target.layout.axes), 0
    for s, more in lacks.items():
        units = np.array([float(u) for u in world.unit_noise(s)])
        noisy = units > 0
        if more > 0 and noisy.any():
            rows = rows + (world.residual(s)[noisy] ** 2 / units[noisy, None]).sum(axis=0) * float(more) / 2
    assert spent == pytest.approx(float(np.max(rows)) * 10**12, abs=3)
    assert spent + ht.ZCDP("0.1").limit.rho > 1.01 * ht.ZCDP("0.12").limit.rho


def test_what_is_even_costs_its_option_however_it_is_reached(session):
    before = session.remaining.cost.rho
    choice = session.choose(options(session.schema), budget=ht.ZCDP("0.1"))
    assert choice.plan.even  # rows of a and b meet siblings on every level: they are the dearest everywhere
    choice.finish(1)
    assert before - session.remaining.cost.rho == pytest.approx(ht.ZCDP("0.1").limit.rho, abs=2)


def test_buckets_and_two_levels_of_one_attribute_are_refused(session):
    before = session.remaining.to_dict()
    sizes = [len(a.labels) for a in session.schema.attributes.values()]
    tables = [linear.bucket_table([tuple(range(n)) for n in sizes]) for _ in range(2)]
    with pytest.raises(WorkloadError) as refused:
        session.choose(tables, budget=ht.ZCDP("0.1"))
    assert refused.value.code == "choose.no-levels"
    with pytest.raises(WorkloadError, match="two levels"):
        linear.marginals(session.schema.sizes, sets=[(0, 1)])
    assert session.remaining.to_dict() == before


@pytest.mark.parametrize("seed", range(20))
def test_a_mechanism_of_tables_on_levels_is_its_matrices(seed):
    """Cost, variances and common part, against plain linear algebra over all cells."""
    chance = np.random.default_rng(seed)
    axes = random_axes(chance)
    sets = random_workload(axes, chance)
    tables = {s: Fraction(int(chance.integers(1, 9)), int(chance.integers(1, 9))) for s in sets}
    made = linear.MarginalMechanism.from_tables(axes, tables)
    dense = made.dense()
    information = dense.queries.T @ (dense.queries / dense.covariance[:, None])
    assert float(made.profile) == pytest.approx(np.diag(information).max(), rel=1e-9)
    covariance = np.linalg.pinv(information, rcond=1e-12)
    world = Dense(axes)
    for s in sets:
        rows = world.marginal(s).astype(float)
        spread = np.einsum("ij,jk,ik->i", rows, covariance, rows)
        assert made.cell_variance(s) == pytest.approx(spread.max(), rel=1e-7)
    again = linear.MarginalMechanism.from_dict(made.to_dict(), axes)
    assert again.precisions == made.precisions and again.rho == made.rho


@pytest.mark.parametrize("seed", range(20))
def test_tables_on_even_levels_have_independent_noise(seed):
    """Where blocks of a level are equally long, a table told by residuals is one with equal noise in its cells."""
    chance = np.random.default_rng(seed)
    fan = [int(n) for n in chance.integers(2, 4, 3)]
    lengths = np.cumprod(fan)
    blocks = [np.arange(0, n + 1, k) for n, k in zip(lengths, fan, strict=True)]
    axes = ht.axes.Axes([*lengths, 2], [-1, 0, 1, -1], [*blocks, [0, 2]])
    made = linear.MarginalMechanism.from_tables(axes, {(2, 3): Fraction(3)})
    assert made.rho == Fraction(1, 6)
    assert made.cell_variance((2, 3)) == pytest.approx(3.0)
    assert made.cell_variance((0,)) == pytest.approx(3.0 * 2 * lengths[2] / lengths[0])


@pytest.mark.parametrize("seed", range(10))
def test_sums_over_levels_are_those_of_matrices(seed):
    chance = np.random.default_rng(seed)
    axes = random_axes(chance)
    sets = random_workload(axes, chance)
    cells, world = chance.integers(0, 9, Layout(axes, (axes.finest,)).cells), Dense(axes)
    above, below = Layout(axes, sets), Layout(axes, closure(sets, axes))
    flat = np.concatenate([world.marginal(s) @ cells for s in sets])
    weights = chance.random(len(sets))
    found = accumulate(above, flat, weights, below)
    for s in below.sets:
        share = sum(w for w, g in zip(weights, sets, strict=True) if axes.tells(s, g))
        assert below.view(found, s).ravel() == pytest.approx(share * (world.marginal(s) @ cells))


# --- readings --------------------------------------------------------------------------------------------------------


def test_tables_of_first_levels_are_read_as_if_there_were_no_finer_ones():
    """The same answers, with and without a finer level beside them: chains and neighbours help in both."""
    chance = np.random.default_rng(6)
    sizes, sets = (4, 5, 6), ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    deep = ht.axes.Axes((*sizes, 18), (-1, -1, -1, 2), [(0, 4), (0, 5), (0, 6), range(0, 19, 3)])
    weights = (Fraction(1),) * 3
    part = plan_residuals(ResolvedWorkload(sets[-3:], weights, sizes), rho=Fraction(1, 50)).part
    shares = chance.gamma(0.7, 1.0, sizes)
    people = chance.multinomial(3000, shares.ravel() / shares.sum()).reshape(sizes)
    exact = part.exact(
        np.concatenate([people.sum(axis=tuple({0, 1, 2} - set(s))).ravel() for s in part.sets])
    )
    noisy = exact + np.rint(chance.normal(0, 20, len(exact))).astype(np.int64)
    beside = ResidualPart(deep, part.sets, part.precisions)
    plain = fit_tables("maxent", from_answers(Answers(part, noisy)), sets)
    levels = fit_tables("maxent", from_answers(Answers(beside, noisy)), sets)
    for s in sets:
        np.testing.assert_allclose(levels.table(s), plain.table(s), rtol=1e-9, atol=1e-9)


def test_a_budget_for_the_error_of_a_table_inside_one_that_is_asked_for(session):
    """A coarser level, or fewer attributes: the plan by that budget has just the error that was wanted."""
    workload = ht.Workload([("county", "sex")])
    for names in (("region",), ("state", "sex"), ("sex",)):
        wishes = [ht.release.Wish.parse(f"{','.join(names)}=10")]
        rho = ht.release.budget_wanted(session.schema, workload, wishes)
        model = session.plan(workload, budget=ht.ZCDP(rho)).noise.error_model()
        key = tuple(sorted(session.schema.axes(names)))
        assert model.half_widths([key])[0] == pytest.approx(10, rel=1e-6)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ("age=10", "nor inside"),
        ("county,state=10", "two levels"),
        ("age=10-19,sex=10", "is an interval"),
        ("county,sex=0", "positive and finite"),
        ("nowhere=10", "no attribute 'nowhere'"),
    ],
)
def test_accuracies_that_cannot_be_wanted_are_refused_in_sentences_of_their_own(session, wish, said):
    wishes = [ht.release.Wish.parse(wish)]
    with pytest.raises(HushtableError, match=said):
        ht.release.budget_wanted(session.schema, ht.Workload([("county", "sex")]), wishes)
