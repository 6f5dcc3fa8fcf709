"""What a choice charges when a person's record may change between its parts, and when it may not.

Every price is compared with brute force: one record is put into each cell of the domain, the part's integers are read
off, and their squares are divided by the variances of the noise.
"""

from __future__ import annotations

import itertools
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable import linear
from hushtable.errors import RefusedError, WorkloadError
from hushtable.kernel.tabulate import tabulate
from hushtable.linear.dense import LinearGaussian
from hushtable.measurement import MatrixPart, Part
from hushtable.privacy import Cost
from hushtable.release.choices import ChoicePlan, plan_choice
from hushtable.release.choices.families import ROUNDING
from hushtable.release.choices.record import Opening, Taken
from hushtable.session import open_choice

UNIT = 10**12
RHO = Fraction(1, 2)
FIXTURES = Path(__file__).parents[1] / "fixtures"


def record_costs(part: Part, sizes: tuple[int, ...]) -> list[Fraction]:
    """Half of the squared, variance-weighted move of one record, for a record in every cell of the domain."""
    variances = [v for v, n in zip(part.noise.parameters, part.noise.lengths, strict=True) for _ in range(n)]
    costs: list[Fraction] = []
    for cell in itertools.product(*(range(n) for n in sizes)):
        codes = np.array([cell], np.int32).T
        moved = part.exact(tabulate([codes], part.layout)).tolist()
        costs.append(
            sum((Fraction(m * m) / v for m, v in zip(moved, variances, strict=True)), Fraction(0)) / 2
        )
    return costs


def dearest_pairing(parts: list[Part], sizes: tuple[int, ...]) -> Fraction:
    """The most that a person can lose whose record is another one in every part."""
    return sum((max(record_costs(part, sizes)) for part in parts), Fraction(0))


def dearest_record(parts: list[Part], sizes: tuple[int, ...]) -> Fraction:
    """The most that a person can lose whose record stays as it is."""
    return max(map(sum, zip(*(record_costs(part, sizes) for part in parts), strict=True)))


def random_buckets(generator: np.random.Generator, size: int) -> linear.BucketTable:
    cuts = np.flatnonzero(generator.random(size - 1) < 0.5) + 1
    return linear.bucket_table([linear.buckets(size, cuts.tolist()), linear.buckets(2, (1,))])


def random_matrix(generator: np.random.Generator, cells: int) -> LinearGaussian:
    rows = np.vstack([np.ones(cells), generator.integers(-2, 3, (2, cells))])
    return LinearGaussian(rows, generator.uniform(0.5, 4, 3)).scaled(rho=float(RHO))


def random_options(seed: int) -> tuple[tuple[int, ...], list[Any]]:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(3, 7))
    if seed % 3:
        return (size, 2), [random_buckets(generator, size) for _ in range(2 + seed % 2)]
    return (size,), [random_matrix(generator, size) for _ in range(2)]


def reachable(plan: ChoicePlan) -> list[tuple[int, int]]:
    """Every stage and option that can be taken there."""
    last = len(plan.options) - 2
    return [(s, k) for k in range(len(plan.options)) for s in range(min(k, last) + 1)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(36))
def test_every_path_is_priced_at_its_dearest_records_and_fits_the_budget(seed: int) -> None:
    sizes, options = random_options(seed)
    plan = plan_choice(sizes, options, rho=RHO)
    slack = 1 + ROUNDING if plan.family.name == "matrices" else 1
    for stage, option in reachable(plan):
        parts = plan.path(stage, option)
        assert plan.price(option, stage) == dearest_pairing(parts, sizes) * slack
        assert plan.rho_with(plan.options[option], parts) == dearest_pairing(parts, sizes)
        assert plan.price(option, stage) <= plan.dearest <= RHO
    assert plan.dearest == max(plan.price(k, s) for s, k in reachable(plan))
    assert plan.dearest > RHO * (1 - 4 * ROUNDING)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(36))
def test_with_frozen_data_every_path_costs_its_dearest_record(seed: int) -> None:
    sizes, options = random_options(seed)
    plan = plan_choice(sizes, options, rho=RHO, frozen=True)
    for stage, option in reachable(plan):
        parts = plan.path(stage, option)
        charged = plan.rho_with(plan.options[option], parts)
        assert charged == dearest_record(parts, sizes)
        assert charged <= plan.price(option, stage) <= RHO
        if plan.family.name == "buckets":
            assert charged == plan.options[option].rho


@pytest.mark.long
@pytest.mark.parametrize("order", [(1, 2), (0, 1, 3)])
def test_marginals_cost_the_same_whether_rows_change_or_not(order: tuple[int, ...]) -> None:
    sizes = (2, 3, 4)
    options = [linear.marginals(sizes, order=k) for k in order]
    for frozen in (False, True):
        plan = plan_choice(sizes, options, rho=RHO, frozen=frozen)
        assert plan.dearest == RHO
        for stage, option in reachable(plan):
            parts = plan.path(stage, option)
            assert dearest_record(parts, sizes) == dearest_pairing(parts, sizes) == plan.price(option, stage)
            assert plan.price(option, stage) == RHO


@pytest.fixture
def lopsided() -> tuple[ht.Schema, pl.DataFrame, list[linear.BucketTable]]:
    """Ten ages; the first alone or all together, then each by itself."""
    schema = ht.Schema.from_dict({"attributes": {"age": {"type": "integer", "bounds": [0, 9]}}})
    options = [linear.bucket_table([linear.buckets(10, c)]) for c in ((1,), tuple(range(1, 10)))]
    return schema, pl.DataFrame({"age": [3] * 40}), options


def test_a_corrected_row_is_paid_for_in_both_parts(tmp_path: Path, lopsided: Any) -> None:
    """Age 0 is dearest in the common part and cheapest in the rest: once corrected, both are paid at their most."""
    schema, frame, options = lopsided
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(3))
    fixed = [o.scaled(rho=RHO) for o in options]
    choice = session.choose(fixed)
    common, rest = choice.plan.path(0, 1)
    lost = record_costs(common, (10,))[0] + record_costs(rest, (10,))[3]
    assert lost > Fraction(9, 10) > RHO
    assert choice.charged + choice.held == Cost(0, -(-lost * UNIT // 1))
    corrected = ht.Session.open(
        frame.with_columns(pl.lit(0).alias("age")), schema=schema, ledger=tmp_path / "l"
    )
    corrected.choice(choice.id).finish(1)
    assert corrected.ledger.spent() == Cost(0, -(-lost * UNIT // 1)) and corrected.ledger.verify().ok


def test_frozen_data_pay_the_price_of_the_option(tmp_path: Path, lopsided: Any) -> None:
    schema, frame, options = lopsided
    declared = ht.Schema.from_dict({**schema.to_dict(), "frozen": True})
    assert declared.version == schema.version and declared != schema
    assert ht.Schema.loads(declared.to_yaml()) == declared
    for number, (used, word) in enumerate([(declared, None), (schema, True)]):
        ledger = tmp_path / f"{number}.ledger"
        session = ht.Session.open(frame, schema=used, ledger=ledger, budget=ht.ZCDP(1))
        choice = session.choose(options, budget=ht.ZCDP("0.5"), frozen=word)
        assert "no row changed" in choice.notes[0]
        card = open_choice(ledger, choice.id, data=frame).finish(1).card
        assert card.choice.frozen is True and "curator's word" in card.choice.note
        assert session.ledger.spent() == Cost(0, UNIT // 2)


def test_the_budget_covers_the_dearest_path_and_both_prices_are_shown(tmp_path: Path, lopsided: Any) -> None:
    schema, frame, options = lopsided
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    choice = session.choose(options, budget=ht.ZCDP("0.5"))
    assert choice.cost(1).rho == choice.charged.rho + choice.held.rho <= UNIT // 2
    assert choice.cost(1).rho > UNIT // 2 - 1000
    assert choice.frozen_cost(1).rho < choice.cost(1).rho
    assert "change between two parts" in choice.notes[0]
    detail = session.ledger.reservations()[0].reservation.detail
    assert Fraction(detail["frozen_rho"][1]) < Fraction(detail["option_rho"][1]) and detail["frozen"] is False
    choice.finish(1)
    assert session.ledger.spent() == choice.cost(1) and session.ledger.held() == Cost.ZERO


def test_noise_that_was_fixed_is_not_changed_to_fit(lopsided: Any) -> None:
    fixed = [o.scaled(rho=RHO) for o in lopsided[2]]
    with pytest.raises(WorkloadError) as caught:
        plan_choice((10,), fixed, rho=RHO)
    assert caught.value.code == "choose.path-over-budget"
    assert plan_choice((10,), fixed, rho=2 * RHO).options[1].rho == RHO
    one_free = plan_choice((10,), [lopsided[2][0], fixed[1].scaled(rho=RHO / 2)], rho=RHO)
    assert one_free.options[1].rho == RHO / 2 and one_free.dearest <= RHO


@pytest.mark.parametrize("name", ["buckets-open", "matrices-open"])
def test_an_open_choice_of_0_1_needs_the_curators_word_or_ends(name: str, tmp_path: Path) -> None:
    for source in FIXTURES.glob("v0_1/choices.ledger*"):
        copy = tmp_path / source.name
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    data, ledger = FIXTURES / "v0_1" / "data.csv", tmp_path / "choices.ledger"
    plain = open_choice(ledger, name, data=data)
    spent = plain.charged
    if plain.cost(1).rho > plain.charged.rho + plain.held.rho:
        with pytest.raises(RefusedError) as caught:
            plain.finish(1)
        assert caught.value.code == "choose.not-frozen"
        assert open_choice(ledger, name, data=data).charged == spent
    told = open_choice(ledger, name, data=data, frozen=True)
    assert told.finish(1).card.choice.frozen is True
    assert told.charged.rho <= told.frozen_cost(1).rho


def without_frozen(to_dict: Any) -> Any:
    return lambda note: {k: v for k, v in to_dict(note).items() if k != "frozen"}


@pytest.mark.parametrize("version", ["0.1", "this"])
def test_the_card_of_an_older_choice_says_what_its_price_rests_on(
    version: str, tmp_path: Path, lopsided: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1 wrote no word about freezing; an option is then taken by it, or by this one with `--frozen`."""
    schema, frame, options = lopsided
    frame.write_csv(tmp_path / "t.csv")
    session = ht.Session.open(tmp_path / "t.csv", schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(3))

    with monkeypatch.context() as patched:
        for note in (Opening, Taken):
            patched.setattr(note, "to_dict", without_frozen(note.to_dict))
        old = session.choose(options, budget=ht.ZCDP("0.5"), frozen=True)
        if version == "0.1":
            old.finish(1)
    if version == "this":
        open_choice(tmp_path / "l", old.id, frozen=True).finish(1)
    again = open_choice(tmp_path / "l", old.id)
    card = again.result().card.choice
    assert again.charged == Cost(0, UNIT // 2)
    assert card.frozen is (version == "this")
    assert ("curator's word" if version == "this" else "if no row changed") in card.note
    assert again.notes == [card.note]


@pytest.mark.parametrize("rows", [8191, 8192, 20_000])
def test_costs_of_tall_matrices_are_exact(rows: int) -> None:
    matrix = np.full((rows, 3), 2**25, np.int64)
    matrix[:, 1] = -(2**24)
    part = MatrixPart((3,), matrix, 25)
    assert part.profile.tolist() == [rows, Fraction(rows, 4), rows]
    assert part.rho == Fraction(rows, 2)


def test_costs_are_exact_for_entries_of_any_size() -> None:
    generator = np.random.default_rng(3)
    for bits in (1, 25, 30, 31, 40, 62):
        matrix = generator.integers(-(2**bits), 2**bits, (50, 4))
        squares = [Fraction(sum(int(v) ** 2 for v in matrix[:, t]), 4**25) for t in range(4)]
        assert MatrixPart((4,), matrix, 25).profile.tolist() == squares


def test_a_step_that_would_overflow_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    """All options can be taken at once; only passing the first one by would leave 64 bits."""
    schema = ht.Schema.from_dict({"attributes": {"age": {"type": "integer", "bounds": [0, 3]}}})
    session = ht.Session.open(
        pl.DataFrame({"age": [1]}), schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(10**6)
    )
    prices = [((3,), "16939/635300000000000"), ((1, 3), "11351/1565102500000000000")]
    prices.append(((1, 2, 3), "5327/394250800000000000"))
    options = [linear.bucket_table([linear.buckets(4, c)]).scaled(rho=Fraction(r)) for c, r in prices]
    with pytest.raises(WorkloadError) as caught:
        session.choose(options)
    assert caught.value.code == "choose.overflow" and session.ledger.spent() == Cost.ZERO
