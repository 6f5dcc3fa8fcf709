"""After the charge nothing may fail: whatever budget, sizes, strategy and reconstruction, a release is refused before
anything is charged, or it can be read in every way for ever."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
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


def campaign(folder: Path, seeds: range) -> Counter[str]:
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


@pytest.mark.parametrize("amount", ["1e-9", "1e-3", "1", "1000", "1e6"])
def test_choices_and_checks_can_be_read_at_any_budget(amount: str, tmp_path: Path) -> None:
    data = pl.DataFrame({"a0": [0, 1, 1], "a1": [2, 2, 0]})
    schema = schema_of((2, 3), 1)
    session = ht.Session.open(data, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(amount))
    choice = session.choose(
        [ht.linear.marginals(schema, order=1), ht.linear.marginals(schema, order=2)], budget=ht.ZCDP(amount)
    )
    assert np.isfinite(choice.common.table("a0")["estimate"].to_numpy()).all()
    choice.snr(1)
    made = choice.finish(1)
    assert isinstance(made, ht.Release)
    read_in_every_way(made, tmp_path / "out", drawn=False)
    pure = ht.Session.open(data, schema=schema, ledger=tmp_path / "p", budget=ht.PureDP(amount))
    for query in ("COUNT WHERE a0 = 1", "SUM(a1)", "MEDIAN(a1)"):
        try:
            verdict = pure.check(query, data, tau=1, budget=ht.PureDP(Fraction(amount) / 4))
        except HushtableError:
            continue
        assert str(verdict) and verdict.to_dict()
    spent = pure.ledger.spent()
    assert spent.rho == 0
