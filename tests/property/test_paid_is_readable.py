"""After the charge nothing may fail: whatever budget, sizes, strategy, reconstruction, options or decider, a request is
refused before anything is charged, or it can be read in every way for ever."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable import linear
from hushtable.deciders import DECIDERS
from hushtable.errors import HushtableError
from hushtable.privacy import Cost
from hushtable.release import make_microdata
from hushtable.report.public import public_report
from hushtable.report.view import View

LARGE = 2**20
STRATEGIES = ("auto", "aim", "residual-planner", "identity")
RECONSTRUCTIONS = (None, "maxent", "mle", "nonneg")


def schema_of(sizes: tuple[int, ...], rows: int) -> ht.Schema:
    """Integer attributes of these sizes, one value per category."""
    attributes = {f"a{k}": {"type": "integer", "bounds": [0, n - 1], "width": 1} for k, n in enumerate(sizes)}
    return ht.Schema.from_dict({"max_rows_per_person": rows, "attributes": attributes})


def drawn_sizes(chance: random.Random) -> tuple[int, ...]:
    """A few attributes; now and then a large one, up to 2^20 categories."""
    if chance.random() < 0.04:
        return (chance.choice((1000, 2**16, 10**6, LARGE)),)
    return tuple(chance.choice((1, 1, 2, 2, 3, 7, 40)) for _ in range(chance.choice((1, 1, 2, 3, 4))))


def drawn_budget(chance: random.Random) -> Any:
    """From 1e-9 to 1e9, in every currency; round numbers and others."""
    amount = Fraction(chance.choice((1, 1, 2, 7, 999))) * Fraction(10) ** chance.randrange(-12, 8)
    kind = chance.choice((ht.ZCDP, ht.ZCDP, ht.PureDP, None))
    amount = min(max(amount, Fraction(1, 10**9)), Fraction(10**9))
    return ht.ApproxDP(epsilon=amount, delta="1e-9") if kind is None else kind(amount)


def read_in_every_way(made: ht.Release, place: Path, *, drawn: bool) -> None:
    """Tables, accuracy, bundle there and back, the report's numbers, records."""
    for _, table in made.tables():
        for name in ("estimate", "lower", "upper"):
            assert np.isfinite(table[name].to_numpy()).all(), name
    made.accuracy(), repr(made)
    made.save(place)
    back = ht.Release.load(place)
    assert np.array_equal(back.answers.values, made.answers.values)
    if drawn:
        public_report(place)
    view = View.open(place)
    assert view.marginals.height == len(made.workload) and view.total["upper"] >= view.total["lower"]
    try:
        make_microdata(back)
    except HushtableError as refused:
        assert refused.code == "microdata.rows"  # more records than one makes at once
        make_microdata(back, rows=10)


def one_case(seed: int, folder: Path, *, drawn: bool = False) -> str:
    """ "read", or the code of the refusal before the charge; any other end is a failure."""
    chance = random.Random(seed)
    sizes, rows = drawn_sizes(chance), chance.choice((1, 1, 1, 5, 10**6))
    count = chance.choice((0, 1, 30))
    data = pl.DataFrame(
        {f"a{k}": [chance.randrange(n) for _ in range(count)] for k, n in enumerate(sizes)},
        schema=dict.fromkeys([f"a{k}" for k in range(len(sizes))], pl.Int64),
    )
    strategy, method = chance.choice(STRATEGIES), chance.choice(RECONSTRUCTIONS)
    session: ht.Session | None = None
    try:
        schema, budget = schema_of(sizes, rows), drawn_budget(chance)
        session = ht.Session.open(data, schema=schema, ledger=folder / "l", budget=budget)
        if chance.random() < 0.15:
            made = session.release_counts(budget=budget, accurate=chance.choice(("sum", "point")))
        else:
            sets = list(
                ht.Workload.all_marginals(schema, order=min(chance.choice((1, 2)), len(sizes)))
                .resolve(schema)
                .sets
            )
            names = [tuple(schema.names[a] for a in s) for s in sets]
            weights = [chance.choice((1, 3, 10**-6, 10**6)) for _ in names] if chance.random() < 0.4 else None
            made = session.release(
                ht.Workload(names, weights=weights),
                budget=budget,
                strategy=strategy,
                reconstruct=method,
                objective=chance.choice(("sum_variance", "max_variance")),
            )
    except HushtableError as refused:
        assert session is None or session.ledger.spent() == Cost.ZERO, (seed, refused.code)
        return refused.code
    read_in_every_way(made, folder / "out", drawn=drawn)
    return "read"


def marginal_options(chance: random.Random, sizes: tuple[int, ...]) -> list[Any]:
    """Tables of growing order."""
    schema = schema_of(sizes, 1)
    orders = sorted({min(k, len(sizes)) for k in (chance.choice((0, 1)), 1, 2)})
    return [linear.marginals(schema, order=k) for k in orders]


def bucket_options(chance: random.Random, sizes: tuple[int, ...]) -> list[Any]:
    """Tables over buckets, nested or not."""

    def cuts(n: int) -> list[int]:
        return sorted(chance.sample(range(1, n), chance.randint(0, min(n - 1, 6))))

    count = chance.choice((2, 2, 3))
    return [linear.bucket_table([linear.buckets(n, cuts(n)) for n in sizes]) for _ in range(count)]


def matrix_options(chance: random.Random, sizes: tuple[int, ...]) -> list[Any]:
    """Queries over all cells that share a total."""
    cells = int(np.prod(sizes))
    if cells > 2000:
        sizes, cells = (7,), 7  # of another domain: refused
    entries = chance.choice((1, 3, 1000))

    def rows() -> Any:
        drawn = [
            [chance.randint(-entries, entries) for _ in range(cells)] for _ in range(chance.choice((1, 2)))
        ]
        return np.array([[1] * cells, *drawn], float)

    given = [rows() for _ in range(2)]
    return [linear.LinearGaussian(q, [chance.choice((0.5, 1, 9)) for _ in q]) for q in given]


FAMILIES: dict[str, Callable[[random.Random, tuple[int, ...]], list[Any]]] = {
    "marginals": marginal_options,
    "buckets": bucket_options,
    "matrices": matrix_options,
}


def opened(chance: random.Random, folder: Path, sizes: tuple[int, ...], budget: Any) -> ht.Session:
    """A few rows of people in a ledger that has this budget."""
    count = chance.choice((0, 1, 30))
    data = pl.DataFrame(
        {f"a{k}": [chance.randrange(n) for _ in range(count)] for k, n in enumerate(sizes)},
        schema=dict.fromkeys([f"a{k}" for k in range(len(sizes))], pl.Int64),
    )
    rows = chance.choice((1, 1, 1, 5, 10**6))
    return ht.Session.open(data, schema=schema_of(sizes, rows), ledger=folder / "l", budget=budget)


def read_a_choice(choice: Any, place: Path) -> None:
    """What was measured so far, prices, signals, and what was released of it, there and back."""
    json.dumps(choice.to_dict(), allow_nan=False), repr(choice), choice.notes
    for option in range(choice.stage, len(choice.options)):
        assert not np.isnan(choice.snr(option)).any()
    read_a_part(choice.common, place)


def read_a_part(made: Any, place: Path) -> None:
    if isinstance(made, ht.Release):
        read_in_every_way(made, place, drawn=False)
        return
    made.save(place)
    for one in (made, type(made).load(place)):
        for name in ("estimate", "std", "lower", "upper"):
            assert np.isfinite(one.table()[name].to_numpy()).all(), name


def one_choice(seed: int, folder: Path, *, drawn: bool = False) -> str:
    """A choice to its end: "read", or the code of the refusal before the charge."""
    chance = random.Random(seed)
    sizes, family = drawn_sizes(chance), tuple(FAMILIES)[seed % 3]
    session: ht.Session | None = None
    try:
        session = opened(chance, folder, sizes, drawn_budget(chance))
        options = FAMILIES[family](chance, sizes)
        price = None if chance.random() < 0.2 and family == "matrices" else session.ledger.budget
        choice = session.choose(options, budget=price, frozen=chance.random() < 0.3)
    except HushtableError as refused:
        assert session is None or session.ledger.spent() == session.ledger.held() == Cost.ZERO, refused.code
        return refused.code
    read_a_choice(choice, folder / "begun")
    if len(options) > 2 and chance.random() < 0.5:
        choice.advance()
        read_a_choice(choice, folder / "advanced")
    made = choice.finish(chance.randrange(choice.stage, len(options)))
    read_a_part(made, folder / "out")
    again = session.choice(choice.id)
    read_a_part(again.result(), folder / "again")
    assert session.ledger.held() == Cost.ZERO
    return "read"


AGGREGATES = ("COUNT", "SUM", "MEDIAN", "AVG")


def one_check(seed: int, folder: Path, *, drawn: bool = False) -> str:
    """A question for every decider in turn: "read", or the code of the refusal before the charge."""
    chance = random.Random(seed)
    sizes = drawn_sizes(chance)
    decider = ("auto", *DECIDERS)[seed % (len(DECIDERS) + 1)]
    kind = chance.choice(AGGREGATES) if decider == "auto" else DECIDERS[decider].aggregate.name.upper()
    where = f"WHERE a0 >= {chance.randrange(sizes[0])}" if chance.random() < 0.7 else ""
    query = f"{kind} {where}".strip() if kind == "COUNT" else f"{kind}(a0) {where}".strip()
    session: ht.Session | None = None
    try:
        session = opened(chance, folder, sizes, drawn_budget(chance))
        count = chance.choice((0, 1, 30, 1000))
        synthetic = pl.DataFrame(
            {f"a{k}": [chance.randrange(n) for _ in range(count)] for k, n in enumerate(sizes)}
        )
        tau = chance.choice((1, 2, 50, 10**6, "5%", "0.5%", Fraction(1, 2)))
        largest = chance.choice((None, None, 1, sizes[0]))
        asked = {"tau": tau, "budget": session.ledger.budget, "decider": decider, "largest": largest}
        verdict = session.check(query, synthetic, **asked)
    except HushtableError as refused:
        assert session is None or session.ledger.spent() == session.ledger.held() == Cost.ZERO, refused.code
        return refused.code
    spent = session.ledger.spent()
    again = session.check(query, synthetic, **asked)
    assert session.ledger.spent() == spent != Cost.ZERO and session.ledger.held() == Cost.ZERO
    for one in (verdict, again):
        assert str(one) and repr(one)
        assert json.loads(json.dumps(one.to_dict(), allow_nan=False))["satisfied"] == verdict.satisfied
    return "read"


def campaign(folder: Path, seeds: range, one_case: Callable[..., str] = one_case) -> Counter[str]:
    """Run the cases of some seeds and count how they ended."""
    ends: Counter[str] = Counter()
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        try:
            ends[one_case(seed, place, drawn=seed % 40 == 0)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__} {error}") from error
        shutil.rmtree(place)
    return ends


def test_a_paid_release_can_be_read(memory_path: Path) -> None:
    ends = campaign(memory_path, range(60))
    assert ends["read"] >= 20


@pytest.mark.slow
def test_two_thousand_paid_releases_can_be_read(memory_path: Path) -> None:
    ends = campaign(memory_path, range(1000, 3000))
    assert ends["read"] >= 800


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rho", ["1000", "1e6"])
def test_noise_that_rounds_to_nothing_leaves_a_readable_release(
    strategy: str, rho: str, tmp_path: Path
) -> None:
    """With a budget of 1e6 nearly every draw of noise is 0, and its true variance is below the smallest double."""
    data = pl.DataFrame({"a0": [0, 1, 1], "a1": [2, 2, 0]})
    session = ht.Session.open(data, schema=schema_of((2, 3), 1), ledger=tmp_path / "l", budget=ht.ZCDP(rho))
    asked = ht.Workload.all_marginals(session.schema, order=2)
    made = session.release(asked, budget=ht.ZCDP(rho), strategy=strategy, reconstruct="mle")
    assert made.table("a0")["estimate"].to_list() == pytest.approx([1.0, 2.0], abs=1e-6)
    read_in_every_way(made, tmp_path / "out", drawn=False)


def test_a_paid_choice_can_be_read(memory_path: Path) -> None:
    assert campaign(memory_path, range(24), one_choice)["read"] >= 6


def test_a_paid_verdict_can_be_read(memory_path: Path) -> None:
    assert campaign(memory_path, range(42), one_check)["read"] >= 10


@pytest.mark.slow
def test_two_thousand_paid_choices_and_verdicts_can_be_read(memory_path: Path) -> None:
    assert campaign(memory_path, range(1000, 2000), one_choice)["read"] >= 300
    assert campaign(memory_path, range(2000, 4000), one_check)["read"] >= 400


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rho", ["1000", "1e6"])
def test_a_choice_whose_noise_rounds_to_nothing_can_be_read(family: str, rho: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    session = opened(chance, tmp_path, (2, 3), ht.ZCDP(rho))
    try:
        choice = session.choose(FAMILIES[family](chance, (2, 3)), budget=ht.ZCDP(rho))
    except HushtableError as refused:
        assert session.ledger.spent() == Cost.ZERO, refused.code
        return
    read_a_choice(choice, tmp_path / "begun")
    read_a_part(choice.finish(1), tmp_path / "out")


def test_a_query_of_nothing_leaves_a_readable_choice(tmp_path: Path) -> None:
    """It has no noise under any option, so that there is no ratio of its signal to noise."""
    data = pl.DataFrame({"a0": [0, 1, 1]})
    session = ht.Session.open(data, schema=schema_of((2,), 1), ledger=tmp_path / "l", budget=ht.ZCDP(10))
    options = [
        linear.LinearGaussian(np.array(q, float), [1, 1]) for q in ([[1, 1], [0, 0]], [[1, 1], [1, 0]])
    ]
    choice = session.choose(options, budget=ht.ZCDP(10))
    read_a_choice(choice, tmp_path / "begun")
    read_a_part(choice.finish(0), tmp_path / "out")


@pytest.mark.parametrize(("one", "seed"), [(one_case, 1335), (one_check, 3675)])
def test_what_once_failed_can_be_read_or_is_refused(
    one: Callable[..., str], seed: int, memory_path: Path
) -> None:
    """Weights twelve orders apart in a minimax plan, and a sum of values that are all 0."""
    assert one(seed, memory_path)
