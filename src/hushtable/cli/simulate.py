"""A made-up town: correlated records for the demonstration, never real people.

The town is drawn from a fixed seed with an ordinary generator, because nothing in it is confidential.  It has
what real registers have: small and large categories, skewed amounts, nulls, impossible ages, misspelt codes.
``town.yaml`` beside this module is its schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray

PEOPLE = 50_000
"""Size of the town: with fewer, small tables drown in noise; with more, the demonstration takes longer."""
SCHEMA = Path(__file__).with_name("town.yaml")
CENSUS, MORE_PEOPLE = "census.csv", 1.04
"""The census of the town, and how many more people it counts than the register: those who never registered."""
OFFICIAL = f"""\
sums:
  income: {{column: taxable, bounds: [0, 100000], resolution: 100}}
known:
  - {{table: {CENSUS}, source: Census of 2025 (made up), kind: benchmark}}
"""


def town(people: int = PEOPLE, seed: int = 1729) -> pl.DataFrame:
    """Draw the register; every column is text, as it would stand in a CSV file."""
    rng = np.random.default_rng(seed)
    names = _categories()
    district = rng.choice(len(names["district"]), people, p=_zipf(len(names["district"]), 0.6))
    wealth = np.linspace(-0.6, 0.6, len(names["district"]))[rng.permutation(len(names["district"]))][district]
    age = np.clip(
        np.where(rng.random(people) < 0.25, rng.gamma(3, 6, people), rng.normal(44, 19, people)), 0, 104
    ).astype(int)
    age = np.where((district == 11) & (rng.random(people) < 0.5), rng.integers(18, 27, people), age)
    sex = rng.choice(3, people, p=[0.507, 0.487, 0.006])
    adult = age >= 16

    schooling = (
        rng.normal(3.4, 1.6, people) + 0.9 * wealth + np.where(age < 35, 0.7, 0) - np.where(age > 70, 1.2, 0)
    )
    education = np.clip(np.rint(schooling), 0, len(names["education"]) - 1).astype(int)
    education = np.minimum(education, np.where(age < 22, 4, np.where(age < 25, 5, 7)))

    employment = _employment(rng, age, sex, education)
    working = np.isin(employment, (2, 3))
    skill = np.clip(education * 3 + rng.normal(0, 4, people), 0, len(names["occupation"]) - 1).astype(int)
    occupation = np.where((sex == 0) & (rng.random(people) < 0.15), 14, skill)

    pay = np.exp(
        9.2 + 0.17 * education + 0.5 * wealth + 0.012 * np.minimum(age - 16, 35) + rng.normal(0, 0.55, people)
    )
    pay = np.where(working, pay, pay * np.choose(employment, [0, 0.1, 1, 1, 0.3, 0.55, 0.15]))

    married = rng.random(people) < np.clip((age - 20) / 30, 0, 0.68)
    marital = np.where(
        married, np.where(rng.random(people) < 0.12, 2, 1), np.where(rng.random(people) < 0.17, 3, 0)
    )
    marital = np.where((age > 68) & (rng.random(people) < (age - 60) / 70), 4, marital)
    birthplace = rng.choice(len(names["birthplace"]), people, p=_zipf(len(names["birthplace"]), 1.3))
    household = np.clip(1 + rng.poisson(np.where(age < 18, 2.6, np.where(married, 1.7, 0.7))), 1, 8)
    dwelling = np.clip(np.rint(1.3 - 0.9 * wealth + rng.normal(0, 0.8, people)), 0, 3).astype(int)
    tenure = np.where(
        age > 60,
        rng.choice(5, people, p=[0.6, 0.1, 0.12, 0.15, 0.03]),
        rng.choice(5, people, p=[0.1, 0.4, 0.3, 0.17, 0.03]),
    )
    commute = np.where(
        working | (employment == 1), rng.choice(6, people, p=[0.08, 0.16, 0.17, 0.16, 0.09, 0.34]), 0
    )
    car = rng.random(people) < np.clip(
        0.15 + 0.5 * (commute == 5) + 0.15 * (household > 2) + 0.2 * wealth, 0.02, 0.98
    )
    health = np.clip(np.rint(4.6 - age / 40 + 0.3 * wealth + rng.normal(0, 0.7, people)), 1, 5).astype(int)

    columns = {
        "person_id": np.array([f"P{k:06d}" for k in rng.permutation(people)]),
        "district": names["district"][district],
        "sex": _odd(rng, names["sex"][sex], ("f", "unknown"), 0.002),
        "age": _odd(rng, age.astype(str), ("-1", "142", "?"), 0.001),
        "marital": _hide(names["marital"][marital], ~adult),
        "education": _hide(names["education"][education], (age < 6) | (rng.random(people) < 0.03)),
        "employment": names["employment"][employment],
        "occupation": _odd(rng, _hide(names["occupation"][occupation], ~working), ("n/a",), 0.004),
        "income": _odd(rng, _hide(np.char.mod("%.2f", pay), ~adult), ("-250.00", "1e9", "about 20k"), 0.002),
        "birthplace": _hide(names["birthplace"][birthplace], rng.random(people) < 0.02),
        "household": household.astype(str),
        "dwelling": names["dwelling"][dwelling],
        "tenure": _hide(names["tenure"][tenure], rng.random(people) < 0.05),
        "commute": names["commute"][commute],
        "car": _hide(np.where(car, "true", "false"), rng.random(people) < 0.04),
        "taxable": np.char.mod("%.0f", np.where(adult, pay, 0.0)),
        "health": _hide(health.astype(str), rng.random(people) < 0.08),
    }
    return pl.DataFrame(
        {name: pl.Series(values.tolist(), dtype=pl.String) for name, values in columns.items()}
    )


def write_town(folder: Path, people: int = PEOPLE, *, official: bool = False) -> tuple[Path, Path]:
    """Write ``town.csv`` and ``town.yaml`` into ``folder`` and return their paths.

    With ``official`` the schema also has totals of income and a benchmark: the districts of a census.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data, schema = folder / "town.csv", folder / "town.yaml"
    _write(town(people), data)
    text = SCHEMA.read_text(encoding="utf-8")
    if official:
        districts = _categories()["district"]
        counts = np.rint(MORE_PEOPLE * people * _zipf(len(districts), 0.6)).astype(int)
        _write(pl.DataFrame({"district": districts.tolist(), "count": counts}), folder / CENSUS)
        text = text.replace("attributes:\n", f"{OFFICIAL}attributes:\n", 1)
    schema.write_text(text, encoding="utf-8")
    return data, schema


def shuffle(records: Path, out: Path) -> None:
    """Write a bad synthetic file: each column of the records in an order of its own."""
    with records.open("rb") as opened:
        frame = pl.read_csv(opened, infer_schema=False)
    _write(pl.DataFrame([frame[name].shuffle(seed=k) for k, name in enumerate(frame.columns)]), out)


def _write(frame: pl.DataFrame, file: Path) -> None:
    """As a CSV file; given its name alone, polars would take ``file:town.csv`` for an address."""
    with file.open("wb") as opened:
        frame.write_csv(opened)


def _categories() -> dict[str, NDArray[Any]]:
    """The declared values of every categorical attribute; of districts the leaves of their tree."""
    declared: dict[str, dict[str, Any]] = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["attributes"]
    found = {name: np.array(entry["values"]) for name, entry in declared.items() if "values" in entry}
    regions: dict[str, list[str]] = declared["district"]["tree"]
    return {**found, "district": np.array([district for inside in regions.values() for district in inside])}


def _employment(
    rng: np.random.Generator, age: NDArray[Any], sex: NDArray[Any], education: NDArray[Any]
) -> NDArray[Any]:
    """Child, student, employed, self-employed, unemployed, retired or at home, by age."""
    people = len(age)
    status = rng.choice(7, people, p=[0, 0.02, 0.68, 0.12, 0.07, 0.02, 0.09])
    status = np.where((sex == 0) & (rng.random(people) < 0.06), 6, status)
    status = np.where((education <= 1) & (rng.random(people) < 0.12), 4, status)
    status = np.where((age < 25) & (rng.random(people) < 0.55), 1, status)
    status = np.where((age >= 63) & (rng.random(people) < np.clip((age - 60) / 8, 0, 0.97)), 5, status)
    return np.where(age < 16, 0, status)


def _zipf(categories: int, power: float) -> NDArray[Any]:
    """Probabilities that fall as a power of the rank."""
    weights = 1.0 / np.arange(1, categories + 1) ** power
    return weights / weights.sum()


def _hide(values: NDArray[Any], hidden: NDArray[Any]) -> NDArray[Any]:
    """Replace the values under ``hidden`` by nulls."""
    shown = values.astype(object)
    shown[hidden] = None
    return shown


def _odd(
    rng: np.random.Generator, values: NDArray[Any], oddities: tuple[str, ...], share: float
) -> NDArray[Any]:
    """Replace a small share of the values that are present by codes nobody declared."""
    present = np.array([value is not None for value in values])
    hit = (rng.random(len(values)) < share) & present
    return np.where(hit, rng.choice(np.array(oddities, object), len(values)), values.astype(object))
