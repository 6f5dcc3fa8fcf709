"""Published whole numbers of random schemas are the tables of some file of rows, and so add up wherever they must.

The file is looked for by an integer program over all rows that there can be, with categories by a reading of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import hushtable as ht
from hushtable.microdata import whole_tables
from hushtable.release import whole_numbers

Reader = Callable[[Any], str | None]
"""The label of a value on a level; None where the row is dropped."""
TEXTS = ["a", "b", "c", "d", "e", "?", None]
NUMBERS = [*range(-2, 24), None]


@dataclass
class World:
    """Attributes as a schema has them, and how each of their levels reads a value of its column."""

    attributes: dict[str, Any] = field(default_factory=dict)
    readers: dict[str, tuple[str, Reader]] = field(default_factory=dict)
    chains: list[list[str]] = field(default_factory=list)

    def add_tree(self, k: int, chance: np.random.Generator) -> None:
        leaves = [str(x) for x in chance.permutation(list("abcde"))[: chance.integers(2, 6)]]
        above = {leaf: f"g{chance.integers(2)}" for leaf in leaves}
        tree = {g: [leaf for leaf in leaves if above[leaf] == g] for g in sorted(set(above.values()))}
        outside, null = chance.choice(["other", "drop"], p=[0.7, 0.3]), chance.choice(["category", "drop"])
        kinds = {"outside": str(outside), "null": str(null)}
        self.attributes[f"t{k}"] = {
            "type": "categorical",
            "column": "text",
            "levels": [f"up{k}", f"down{k}"],
            "tree": tree,
            **kinds,
        }

        def read(value: Any, coarse: bool) -> str | None:
            if value in above:
                return above[value] if coarse else value
            if value is None:
                return "(null)" if null == "category" else None
            return "(other)" if outside == "other" else None

        self._level(f"up{k}", f"down{k}", "text", read)

    def add_bins(self, k: int, chance: np.random.Generator) -> None:
        fine = int(chance.choice([1, 2, 3]))
        wide, low = 2 * fine, int(chance.choice([0, 4]))
        outside = str(chance.choice(["clip", "drop", "other"]))
        high = low + 3 * fine * int(chance.integers(1, 3)) - 1
        self.attributes[f"n{k}"] = {
            "type": "integer",
            "column": "number",
            "bounds": [low, high],
            "levels": {f"wide{k}": wide, f"fine{k}": fine},
            "outside": outside,
        }

        def read(value: Any, coarse: bool) -> str | None:
            if value is None:
                return None
            if not low <= value <= high:
                if outside != "clip":
                    return "(other)" if outside == "other" else None
                value = min(max(value, low), high)
            width = wide if coarse else fine
            first = low + (value - low) // width * width
            last = min(first + width - 1, high)
            return str(first) if first == last else f"{first}-{last}"

        self._level(f"wide{k}", f"fine{k}", "number", read)

    def _level(self, up: str, down: str, column: str, read: Callable[[Any, bool], str | None]) -> None:
        self.readers[up] = column, lambda value: read(value, True)
        self.readers[down] = column, lambda value: read(value, False)
        self.chains.append([up, down])

    def rows(self) -> list[dict[str, Any]]:
        """Every row that no attribute drops."""
        every = [{"text": t, "number": n} for t, n in itertools.product(TEXTS, NUMBERS)]
        return [
            row
            for row in every
            if all(read(row[column]) is not None for column, read in self.readers.values())
        ]


def made(seed: int) -> tuple[World, list[tuple[str, ...]], pl.DataFrame]:
    chance = np.random.default_rng(seed)
    world = World()
    for k in range(int(chance.integers(1, 4))):
        world.add_tree(k, chance)
    for k in range(int(chance.integers(0, 3))):
        world.add_bins(k, chance)
    tables = set[tuple[str, ...]]()
    for _ in range(int(chance.integers(2, 6))):
        picked = sorted(
            chance.choice(len(world.chains), min(len(world.chains), int(chance.integers(1, 4))), False)
        )
        tables.add(tuple(str(chance.choice(world.chains[k])) for k in picked))
    rows = world.rows() or [{"text": None, "number": None}]
    drawn = chance.integers(0, len(rows), int(chance.integers(0, 60)))
    people = pl.DataFrame([rows[k] for k in drawn], {"text": pl.String, "number": pl.Int64}, orient="row")
    return world, sorted(tables), people


def has_rows(world: World, whole: ht.release.WholeNumbers, tables: list[tuple[str, ...]]) -> bool:
    """Whether some file of rows has exactly these tables."""
    rows = world.rows()
    sums: list[np.ndarray] = [np.ones((1, len(rows)))]
    told = [np.array([whole.counts(()).item()])]
    for names in tables:
        frame = whole.table(*names)
        place = {cell: k for k, cell in enumerate(frame.select(names).rows())}
        matrix = np.zeros((frame.height, len(rows)))
        for r, row in enumerate(rows):
            cell = tuple(world.readers[name][1](row[world.readers[name][0]]) for name in names)
            matrix[place[cell], r] = 1
        sums.append(matrix)
        told.append(frame["published"].to_numpy())
    numbers = np.concatenate(told)
    if not rows:
        return not numbers.any()
    found = milp(
        np.zeros(len(rows)),
        integrality=np.ones(len(rows)),
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(np.concatenate(sums), numbers, numbers),
    )
    return found.status == 0


def published(seed: int, folder) -> tuple[World, ht.release.WholeNumbers, list[tuple[str, ...]]]:
    world, tables, people = made(seed)
    session = ht.Session.open(
        people, schema={"attributes": world.attributes}, ledger=folder / "l", budget=ht.ZCDP(10)
    )
    strategy = ["residual-planner", "auto", "identity"][seed % 3]
    release = session.release(ht.Workload(tables), budget=ht.ZCDP("0.05"), strategy=strategy)
    return world, release.whole_numbers(), tables


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_published_numbers_are_the_tables_of_some_file(tmp_path, seed):
    world, whole, tables = published(seed, tmp_path)
    assert (whole.made.counts >= 0).all()
    assert has_rows(world, whole, tables)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_so_are_those_that_are_made_of_records(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(whole_numbers, "MOST_JOINT", 0)
    world, whole, tables = published(seed, tmp_path)
    assert has_rows(world, whole, tables)


@pytest.mark.long
def test_numbers_of_attributes_that_share_a_column_but_are_rounded_apart_are_seen(tmp_path, monkeypatch):
    """The search above finds what is wrong where one column's attributes are treated as if each had its own."""
    monkeypatch.setattr(whole_numbers, "shared_columns", lambda attributes: ())
    found = []
    for seed in range(12):
        (tmp_path / str(seed)).mkdir()
        world, whole, tables = published(seed, tmp_path / str(seed))
        found.append(has_rows(world, whole, tables))
    assert not all(found)


@pytest.mark.long
def test_impossible_cells_stay_empty_in_tables_of_three_attributes(tmp_path):
    """Also where a table has a coarser level of a rule's attribute, all of whose categories the rule names."""
    schema = {
        "attributes": {
            "age": {"type": "integer", "bounds": [0, 29], "levels": {"ten": 10, "year": 1}},
            "job": {"type": "categorical", "values": ["none", "some"]},
            "sex": {"type": "categorical", "values": ["F", "M"]},
        },
        "impossible": [{"age": "0-14", "job": "some"}],
    }
    chance = np.random.default_rng(0)
    age = chance.integers(0, 30, 50)
    people = pl.DataFrame(
        {
            "age": age,
            "job": np.where(age < 15, "none", "some").tolist(),
            "sex": chance.choice(["F", "M"], 50).tolist(),
        }
    )
    session = ht.Session.open(people, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    for tables in ([("year", "job", "sex")], [("ten", "job", "sex")]):
        release = session.release(ht.Workload(tables), budget=ht.ZCDP("0.01"), strategy="residual-planner")
        frame = release.whole_numbers().table(*tables[0])
        young = [*map(str, range(15)), "0-9"]
        held = frame.filter(pl.col(tables[0][0]).is_in(young) & (pl.col("job") == "some"))
        assert held.height and held["published"].sum() == 0
    assert whole_tables.MOST_JOINT == whole_numbers.MOST_JOINT


def test_records_come_as_near_as_cells_where_cells_are_impossible(tmp_path, monkeypatch):
    """What each of the two ways leaves of the distance; records that stay where they are leave up to four times it."""
    schema = {
        "attributes": {
            "age": {"type": "integer", "bounds": [0, 29], "levels": {"ten": 10, "year": 1}},
            "job": {"type": "categorical", "values": ["none", "some", "much"]},
            "sex": {"type": "categorical", "values": ["F", "M"]},
        },
        "impossible": [{"age": "0-14", "job": ["some", "much"]}, {"job": "much", "sex": "F", "age": "20-29"}],
    }
    chance = np.random.default_rng(0)
    age, sex = chance.integers(0, 30, 3000), chance.choice(["F", "M"], 3000)
    job = np.where(age < 15, "none", chance.choice(["none", "some", "much"], 3000))
    job = np.where((job == "much") & (sex == "F") & (age >= 20), "some", job)
    people = pl.DataFrame({"age": age, "job": job.tolist(), "sex": sex.tolist()})
    session = ht.Session.open(people, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    tables = [("year", "job", "sex"), ("ten", "job"), ("year", "sex")]
    release = session.release(ht.Workload(tables), budget=ht.ZCDP("0.01"), strategy="residual-planner")
    left = []
    for most in (whole_tables.MOST_JOINT, 0):
        monkeypatch.setattr(whole_numbers, "MOST_JOINT", most)
        made = release.whole_numbers()
        assert made.finished
        frame = made.table(*tables[0]).with_columns(pl.col("year").cast(pl.String).cast(pl.Int64))
        young = (pl.col("year") < 15) & (pl.col("job") != "none")
        old = (pl.col("year") >= 20) & (pl.col("job") == "much") & (pl.col("sex") == "F")
        held = frame.filter(young | old)
        assert held.height == 15 * 2 * 2 + 10 and held["published"].sum() == 0
        spread = release.columns(made.made.layout.sets, 0.05).stds
        lengths = np.repeat(made.made.layout.lengths, made.made.layout.lengths)
        apart = (made.made.counts - made.estimates) / np.maximum(spread, whole_numbers.FINEST)
        left.append(float((apart**2 / lengths).sum()))
    assert left[1] <= 1.1 * left[0]
