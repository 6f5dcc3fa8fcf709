"""The whole release, through a session with a real ledger, at worst-case neighbours: an empty table and one person.

Eight rows per person keep the noise wide, so that the normal trade-off curve applies to within 1e-3.  With independent
noise per cell, one release of a table with many blocks holds one run per block: each block is looked at alone, and in
it the two tables differ by one person.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from lower_bounds import always_exceeds, gaussian_excess, normal_curve, pure_bound
from test_mechanisms import too_little_noise

import hushtable as ht

ROWS = 8
BLOCKS = 500
TINY = {
    "max_rows_per_person": ROWS,
    "attributes": {"member": {"type": "boolean"}, "urban": {"type": "boolean"}},
}
BLOCKED = {
    "max_rows_per_person": ROWS,
    "attributes": {
        "block": {"type": "integer", "bounds": [0, BLOCKS - 1]},
        "member": {"type": "boolean"},
    },
}
PAIRS = 200
PAIRED = {
    "max_rows_per_person": ROWS,
    "attributes": {f"a{k}": {"type": "boolean"} for k in range(2 * PAIRS)},
}
Runs = Callable[[int, int], np.ndarray]
PLUS = np.array([-1.0, 1.0])
"""What a row adds to the lifted marginal of an attribute that is true; the negative where it is false."""


def tiny_runs(folder: Path) -> Runs:
    """The log likelihood ratio of everything that residual-planner measures of a 2 x 2 table with rho 1/2."""
    schema = ht.Schema.from_dict(TINY)
    workload = ht.Workload.all_marginals(schema, order=2)
    person = np.ones(1)
    sessions = [
        ht.Session.open(
            pl.DataFrame(
                {"member": [True] * rows, "urban": [False] * rows},
                schema=dict.fromkeys(TINY["attributes"], pl.Boolean),
            ),
            schema=schema,
            ledger=folder / f"{rows}.ledger",
            budget=ht.ZCDP(10**6),
        )
        for rows in (0, ROWS)
    ]
    moved = {(): person, (0,): PLUS, (1,): -PLUS, (0, 1): np.kron(PLUS, -PLUS)}

    def runs(people: int, count: int) -> np.ndarray:
        found = np.empty(count)
        for k in range(count):
            answers = (
                sessions[people].release(workload, budget=ht.ZCDP("0.5"), strategy="residual-planner").answers
            )
            found[k] = sum(
                ROWS * float(answers.of(s).ravel() @ moved[s]) / float(variance)
                for s, variance in zip(answers.part.sets, answers.part.noise.parameters, strict=True)
            )
        return found

    return runs


def block_runs(folder: Path, budget: ht.ZCDP | ht.PureDP) -> Runs:
    """One cell of each block of a blocked table, from as few releases as needed."""
    schema = ht.Schema.from_dict(BLOCKED)
    workload = ht.Workload([("block", "member")])
    types = {"block": pl.Int64, "member": pl.Boolean}
    sessions = [
        ht.Session.open(
            pl.DataFrame({"block": blocks, "member": [True] * len(blocks)}, schema=types),
            schema=schema,
            ledger=folder / f"{len(blocks)}.ledger",
            budget=type(budget)(10**6),
        )
        for blocks in ([], list(range(BLOCKS)) * ROWS)
    ]

    def runs(people: int, count: int) -> np.ndarray:
        parts = [
            sessions[people].release(workload, budget=budget, strategy="identity").answers.of((0, 1))[:, 1]
            for _ in range(-(-count // BLOCKS))
        ]
        return np.concatenate(parts)[:count]

    return runs


def pair_batch(folder: Path, count: int) -> Callable[[], float]:
    """Many disjoint pairs of attributes in one release: the residuals of each pair alone are one run.

    The claim is what those three residuals are charged, and the log likelihood ratio is that of the claim.
    """
    schema = ht.Schema.from_dict(PAIRED)
    names = list(PAIRED["attributes"])
    workload = ht.Workload(list(zip(names[::2], names[1::2], strict=True)))
    budget = ht.ZCDP(Fraction(PAIRS, 2))
    sessions = [
        ht.Session.open(
            pl.DataFrame(
                {name: [k % 2 == 0] * rows for k, name in enumerate(names)},
                schema=dict.fromkeys(names, pl.Boolean),
            ),
            schema=schema,
            ledger=folder / f"{rows}.ledger",
            budget=ht.ZCDP(10**6),
        )
        for rows in (0, ROWS)
    ]
    noise = sessions[0].plan(workload, budget=budget, strategy="residual-planner").noise
    price = {s: m.price(ROWS).rho for s, m in zip(noise.part.sets, noise.part.mechanisms, strict=True)}
    moved = {(0,): PLUS, (1,): -PLUS, (0, 1): np.kron(PLUS, -PLUS)}
    mu = float(2 * sum(price[s] for s in moved)) ** 0.5
    weight = {s: 2 * float(price[s]) / (ROWS * float(m @ m)) for s, m in moved.items()}

    def one(people: int) -> np.ndarray:
        answers = sessions[people].release(workload, budget=budget, strategy="residual-planner").answers
        found = np.zeros(PAIRS)
        for pair in range(PAIRS):
            for s, m in moved.items():
                values = answers.of(tuple(2 * pair + axis for axis in s)).ravel()
                found[pair] += weight[s] * float(values @ m)
        return found

    def batch() -> float:
        absent, present = (
            np.concatenate([one(people) for _ in range(-(-count // PAIRS))])[:count] for people in (0, 1)
        )
        return gaussian_excess(absent, present, normal_curve(mu), middle=mu**2 / 2, deviation=mu)

    return batch


def residual_batch(folder: Path, count: int) -> Callable[[], float]:
    runs = tiny_runs(folder)

    def batch() -> float:
        absent, present = runs(0, count), runs(1, count)
        return gaussian_excess(absent, present, normal_curve(1.0), middle=0.5, deviation=1.0)

    return batch


def gaussian_batch(folder: Path, count: int) -> Callable[[], float]:
    runs = block_runs(folder, ht.ZCDP("0.5"))

    def batch() -> float:
        absent, present = runs(0, count), runs(1, count)
        return gaussian_excess(absent, present, normal_curve(1.0), middle=ROWS / 2, deviation=float(ROWS))

    return batch


def laplace_batch(folder: Path, count: int) -> Callable[[], float]:
    runs = block_runs(folder, ht.PureDP(1))

    def batch() -> float:
        absent, present = runs(0, count) >= ROWS, runs(1, count) >= ROWS
        return pure_bound(absent, present) - 1.0

    return batch


BATCHES = {
    "residual-planner": residual_batch,
    "residual-planner in pairs": pair_batch,
    "identity Gaussian": gaussian_batch,
    "identity Laplace": laplace_batch,
}
CASES = [
    pytest.param("residual-planner", 200, id="residual-planner-quick"),
    pytest.param("residual-planner in pairs", 20_000, id="residual-planner in pairs", marks=pytest.mark.slow),
    pytest.param("identity Gaussian", 20_000, id="identity Gaussian"),
    pytest.param("identity Laplace", 20_000, id="identity Laplace"),
]
MUTANTS = [
    pytest.param(
        "residual-planner in pairs", 20_000, 2, id="residual-planner in pairs", marks=pytest.mark.slow
    ),
    pytest.param("identity Gaussian", 20_000, 2, id="identity Gaussian"),
    pytest.param("identity Laplace", 20_000, 2, id="identity Laplace"),
]


@pytest.mark.parametrize(("strategy", "runs"), CASES)
def test_a_release_hides_a_person_as_well_as_its_charge_says(
    strategy: str, runs: int, memory_path: Path
) -> None:
    assert not always_exceeds(BATCHES[strategy](memory_path, runs))


@pytest.mark.parametrize(("strategy", "runs", "batches"), MUTANTS)
def test_a_release_with_ten_percent_too_little_noise_is_caught(
    strategy: str, runs: int, batches: int, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with too_little_noise(monkeypatch, seed=3):
        assert always_exceeds(BATCHES[strategy](memory_path, runs), batches)


def test_the_statistic_of_the_tiny_table_has_the_charged_deviation(memory_path: Path) -> None:
    """Exact counts of one person instead of noise: the log likelihood ratio moves by mu^2 = 2 rho, hence mu = 1."""
    runs = tiny_runs(memory_path)
    difference = np.mean(runs(1, 40)) - np.mean(runs(0, 40))
    assert difference == pytest.approx(1.0, abs=6.2 * (2 / 40) ** 0.5)
