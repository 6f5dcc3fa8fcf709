"""Records that do not invent: bands as bands, values that follow from one another, what is impossible never made."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import QueryError, SchemaError
from hushtable.microdata import settle

DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
FLIGHTS: dict[str, Any] = {
    "attributes": {
        "date": {"type": "date", "bounds": ["2024-01-01", "2024-03-31"], "width": "1 month"},
        "day": {"type": "categorical", "values": DAYS},
        "month": {"type": "integer", "bounds": [1, 12], "width": 1},
        "age": {"type": "integer", "bounds": [0, 79], "width": 20},
        "years": {"type": "integer", "column": "age", "bounds": [0, 79], "width": 5},
        "county": {"type": "categorical", "values": ["a", "b", "c"]},
        "region": {"type": "categorical", "values": ["North", "South"]},
    },
    "depends": [
        {"attribute": "day", "on": "date", "part": "weekday"},
        {"attribute": "month", "on": "date", "part": "month"},
        {"attribute": "region", "on": "county", "map": {"a": "North", "b": "South", "c": "South"}},
    ],
    "impossible": [{"age": "0-19", "county": "c"}],
}


def rows(count: int) -> pl.DataFrame:
    days = [date(2024, 1, 1 + k % 28) if k % 3 else date(2024, 1 + k % 3, 1 + k % 29) for k in range(count)]
    ages = [(k * k) % 80 for k in range(count)]
    county = ["abc"[k % 3] if ages[k] >= 20 else "ab"[k % 2] for k in range(count)]
    return pl.DataFrame(
        {
            "date": days,
            "day": [DAYS[d.weekday()] for d in days],
            "month": [d.month for d in days],
            "age": ages,
            "county": county,
            "region": ["North" if c == "a" else "South" for c in county],
        }
    )


def released(schema: Any, frame: pl.DataFrame, folder: Path, order: int = 2) -> ht.Release:
    opened = ht.Schema.of(schema)
    session = ht.Session.open(frame, schema=opened, ledger=folder / "x.ledger", budget=ht.ZCDP(1))
    return session.release(ht.Workload.all_marginals(opened, order=order), budget=ht.ZCDP("0.5"))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ht.Release:
    return released(FLIGHTS, rows(1500), tmp_path_factory.mktemp("flights"))


def contradictions(frame: pl.DataFrame) -> int:
    return sum(
        DAYS[row["date"].weekday()] != row["day"]
        or row["date"].month != row["month"]
        or row["age"] != row["years"]
        or row["region"] != {"a": "North"}.get(row["county"], "South")
        or (row["age"] < 20 and row["county"] == "c")
        for row in frame.to_dicts()
    )


@pytest.mark.long
def test_no_record_contradicts_itself(release: ht.Release) -> None:
    frame = release.microdata()
    assert frame.height > 1000 and contradictions(frame) == 0
    assert (
        frame["age"].is_between(0, 79).all()
        and frame["date"].is_between(date(2024, 1, 1), date(2024, 3, 31)).all()
    )


def test_the_rule_sees_records_that_do(release: ht.Release) -> None:
    frame = release.microdata()
    assert contradictions(frame.with_columns(pl.col("day").shuffle(seed=1))) > 100


@pytest.mark.long
def test_values_of_a_band_follow_the_finer_reading_of_the_column(tmp_path: Path) -> None:
    """All people of 0-79 are children of four: drawn evenly, the mean would be 40."""
    schema = {
        "attributes": {
            "age": {"type": "integer", "bounds": [0, 79], "bins": 1},
            "fine": {"type": "integer", "column": "age", "bounds": [0, 79], "width": 1},
        }
    }
    frame = released(schema, pl.DataFrame({"age": [4] * 2000}), tmp_path).microdata()
    assert frame["age"].to_list() == frame["fine"].to_list()
    assert abs(frame["age"].mean() - 4) < 2  # type: ignore[operator]


def test_bands_are_written_as_bands(release: ht.Release, tmp_path: Path) -> None:
    frame = release.microdata(labels=True)
    assert set(frame["age"]) <= set(release.schema.attributes["age"].labels)
    assert set(frame["date"]) <= {"2024-01", "2024-02", "2024-03"}
    assert set(frame["county"]) <= {"a", "b", "c"}
    same = release.microdata()
    assert same.height == frame.height and (same["county"] == frame["county"]).all()


@pytest.mark.parametrize("query", ["COUNT WHERE age < 20", "AVG(age)", "COUNT WHERE date >= '2024-02-01'"])
def test_a_check_of_bands_is_refused_before_it_is_charged(
    query: str, release: ht.Release, tmp_path: Path
) -> None:
    """A band is no number: every comparison would find nobody, and the verdict would be about that."""
    bands = release.microdata(labels=True)
    bands.write_csv(tmp_path / "bands.csv")
    session = ht.Session.open(rows(300), schema=FLIGHTS, ledger=tmp_path / "checks", budget=ht.ZCDP(1))
    for synthetic in (bands, tmp_path / "bands.csv"):
        with pytest.raises(QueryError) as caught:
            session.check(query, synthetic, tau=50, budget=ht.ZCDP("0.1"))
        assert caught.value.code == "query.misread-column" and "labels=True" in str(caught.value)
    assert str(session.remaining) == "rho=1"
    session.check(
        "COUNT WHERE county = 'a'", bands, tau=50, budget=ht.ZCDP("0.1")
    )  # no band, so it can be compared


def test_every_file_gets_a_dictionary_that_says_which_columns_are_bands(
    release: ht.Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release.save(tmp_path / "out")
    assert run(["microdata", str(tmp_path / "out"), "--out", str(tmp_path / "r.csv")]) == 0
    told = capsys.readouterr().out
    assert "drawn evenly inside bands" in told and "r.csv.dictionary.csv" in told
    with (tmp_path / "r.csv.dictionary.csv").open(encoding="utf-8") as lines:
        entries = list(csv.DictReader(lines))
    what = {entry["column"]: entry["what"] for entry in entries}
    assert what == {
        "date": "band", "day": "category", "month": "value", "age": "band", "years": "band", "county": "category",
        "region": "category",
    }  # fmt: skip
    package = json.loads((tmp_path / "r.csv.datapackage.json").read_text("utf-8"))
    records, dictionary = package["resources"]
    frame = pl.read_csv(tmp_path / records["path"])
    assert [field["name"] for field in records["schema"]["fields"]] == frame.columns
    assert dictionary["path"] == "r.csv.dictionary.csv"
    assert run(["microdata", str(tmp_path / "out"), "--out", str(tmp_path / "b.csv"), "--labels"]) == 0
    assert "drawn evenly" not in capsys.readouterr().out
    assert set(pl.read_csv(tmp_path / "b.csv")["age"]) <= set(release.schema.attributes["age"].labels)


@pytest.mark.long
@settings(max_examples=40)
@given(
    st.integers(1, 400),
    st.sampled_from(["1 month", "1 week", "1 day", "1 year"]),
    st.sampled_from(["weekday", "day", "month", "quarter", "year"]),
    st.integers(0, 2**32),
)
def test_settled_codes_are_those_of_the_drawn_days(count: int, width: str, part: str, seed: int) -> None:
    """Whatever codes a fit gives, settled records agree, by Python's own calendar."""
    low, high = {"year": (2019, 2022)}.get(
        part, (1, {"weekday": 7, "day": 31, "month": 12, "quarter": 4}.get(part, 0))
    )
    schema = ht.Schema.from_dict(
        {
            "attributes": {
                "date": {"type": "date", "bounds": ["2019-05-01", "2022-02-03"], "width": width},
                "part": {"type": "categorical", "values": list(range(low, high + 1))},
            },
            "depends": [{"attribute": "part", "on": "date", "part": part}],
        }
    )
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, n, count) for n in schema.sizes], axis=1).astype(np.int32)
    settled, values = settle(schema, codes, seed=seed)
    numbers = {
        "weekday": lambda d: d.isoweekday(),
        "day": lambda d: d.day,
        "month": lambda d: d.month,
        "quarter": lambda d: (d.month + 2) // 3,
        "year": lambda d: d.year,
    }
    assert (settled[:, 0] == codes[:, 0]).all()
    for k, day in enumerate(values["date"].tolist()):
        found = date.fromordinal(date(1970, 1, 1).toordinal() + day)
        start, end = schema.attributes["date"].values_of(int(codes[k, 0]))
        assert start <= found <= end
        assert numbers[part](found) == low + settled[k, 1]
    rules = [dict(rule) for rule in schema.record_rules]
    broken = [any(codes[k, 0] in rule[0] and codes[k, 1] in rule[1] for rule in rules) for k in range(count)]
    assert all(
        broken[k] or (settled[k] == codes[k]).all() for k in range(count)
    )  # only what cannot be gives way


def test_dependencies_are_read_written_and_no_new_version() -> None:
    schema = ht.Schema.from_dict(FLIGHTS)
    again = ht.Schema.loads(schema.to_yaml())
    assert again == schema and again.depends == schema.depends
    plain = ht.Schema.from_dict({key: value for key, value in FLIGHTS.items() if key != "depends"})
    assert plain.version == schema.version and plain != schema


@pytest.mark.parametrize(
    "line",
    [
        {"attribute": "day", "on": "day", "part": "weekday"},
        {"attribute": "day", "on": "age", "part": "weekday"},
        {"attribute": "day", "on": "date"},
        {"attribute": "day", "on": "date", "part": "month"},
        {"attribute": "region", "on": "county", "map": {"a": "East"}},
        {"attribute": "region", "on": "county", "map": {"z": "North"}},
        {"attribute": "region", "on": "age", "map": {"0-19": "North"}},
        {"attribute": "nobody", "on": "date", "part": "day"},
    ],
)
def test_dependencies_that_cannot_be_are_refused(line: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        ht.Schema.from_dict({**FLIGHTS, "depends": [line]})
    circle = [
        {"attribute": "region", "on": "county", "map": {"a": "North"}},
        {"attribute": "county", "on": "region", "map": {"North": "a"}},
    ]
    with pytest.raises(SchemaError, match="circle"):
        ht.Schema.from_dict({**FLIGHTS, "depends": circle})


@pytest.mark.parametrize(
    ("query", "warned"),
    [
        ("COUNT WHERE age >= 20", False),
        ("COUNT WHERE age >= 30", True),
        ("COUNT WHERE age <= 39 AND county = 'a'", False),
        ("COUNT WHERE age < 39", True),
        ("COUNT WHERE age = 20", True),
        ("COUNT WHERE month = 3", False),
        ("COUNT WHERE month IN (1, 2)", False),
        ("COUNT WHERE date >= DATE '2024-02-01'", False),
        ("COUNT WHERE date > DATE '2024-02-01'", True),
        ("SUM(age)", True),
        ("SUM(month)", False),
        ("COUNT WHERE day = 'Mon'", False),
    ],
)
def test_a_check_that_cuts_inside_a_band_warns(query: str, warned: bool) -> None:
    frame = rows(60)
    plan = ht.deciders.plan_check(
        ht.Schema.from_dict(FLIGHTS),
        [query],
        frame.with_columns(years=pl.col("age")),
        tau=5,
        budget=ht.PureDP(1),
    )
    assert bool(plan.warnings) == warned
    assert plan.to_dict()["questions"][0]["warnings"] == list(plan.warnings)


def test_the_warning_stands_beside_the_verdict(tmp_path: Path) -> None:
    frame = rows(200)
    session = ht.Session.open(frame, schema=FLIGHTS, ledger=tmp_path / "x", budget=ht.PureDP(9))
    synthetic = frame.with_columns(years=pl.col("age"))
    found = session.check(["COUNT WHERE age >= 30"], synthetic, tau=50, budget=ht.PureDP(1))
    assert "cuts a band in two" in str(found) and found.to_dict()["warnings"]
    again = session.check(["COUNT WHERE age >= 40"], synthetic, tau=50, budget=ht.PureDP(1))
    assert again.warnings == () and "warnings" not in again.to_dict()
