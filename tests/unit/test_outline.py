"""The outline of a release: what it refuses, the release refuses, and for the same reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import BundleError, UsageError
from hushtable.marginals import closure
from hushtable.release import Outline
from hushtable.spreadsheets import csv_columns, read_csv

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, district], tree: {North: [a, b, c], South: [d, e]}}
  age: {type: integer, bounds: [0, 15], levels: {eight: 8, four: 4, two: 2, age: 1}}
  pay: {type: real, bounds: [0, 1000], bins: 10}
  sex: {type: categorical, values: [F, M]}
"""
FLAT = """\
attributes:
  a: {type: categorical, values: [x, y, z]}
  b: {type: integer, bounds: [0, 5], width: 1}
  c: {type: boolean}
  d: {type: categorical, values: [u, v]}
"""
WORDS = [
    (),
    ("age",),
    ("two", "sex"),
    ("district", "age"),
    ("region", "sex"),
    ("age", "pay"),
    ("district", "region"),
    ("sex", "sex"),
    ("zz",),
    ("age=4-11",),
    ("age=4-11", "sex"),
    ("age=3-99",),
    ("age=4-11", "two"),
    ("zz=1-2",),
    ("sex=F",),
    ("age=4-11", "pay=0-100"),
    ("pay=[0, 100)", "sex"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance, n, home = np.random.default_rng(5), 500, tmp_path_factory.mktemp("outline")
    people = pl.DataFrame(
        {
            "place": chance.choice(list("abcde"), n).astype(str).tolist(),
            "age": chance.integers(0, 16, n),
            "pay": chance.gamma(2.0, 120.0, n),
            "sex": chance.choice(["F", "M"], n).astype(str).tolist(),
        }
    )
    session = ht.Session.open(people, schema=ht.Schema.loads(SCHEMA), ledger=home / "l", budget=ht.ZCDP(100))
    tables = [("district", "age"), ("age", "sex"), ("pay", "sex"), ("region", "sex")]
    made = session.release(ht.Workload(tables), budget=ht.ZCDP("0.5"), strategy="residual-planner")
    made.save(home / "out")
    return home / "out"


def refusal(ask) -> str | None:
    try:
        ask()
    except UsageError as error:
        return error.code
    return None


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_words_are_refused_alike_with_and_without_the_answers(folder: Path, words: tuple[str, ...]) -> None:
    outline, release = Outline.read(folder), ht.Release.load(folder)
    early, late = (
        refusal(lambda: outline.check_asked(words)),
        refusal(lambda: ht.release.asked_table(release, words)),
    )
    assert early == late


def test_quantiles_areas_and_levels_are_refused_alike(folder: Path) -> None:
    outline, release = Outline.read(folder), ht.Release.load(folder)
    for attribute in ("age", "four", "pay", "sex", "district", "zz"):
        for by in ((), ("sex",), ("zz",), ("age",)):
            early = refusal(lambda a=attribute, b=by: outline.check_quantile(a, b))
            late = refusal(lambda a=attribute, b=by: release.quantile(a, by=b))
            assert early == late, (attribute, by)
    for leaves in (["a"], ["a", "e"], ["a", "zz"]):
        early = refusal(lambda area=leaves: outline.check_asked((), area))
        assert early == refusal(lambda area=leaves: release.area(area))
    for levels in ((), ("region",), ("two", "region"), ("age",), ("zz",)):
        early = refusal(lambda names=levels: outline.check_levels(names))
        assert early == refusal(lambda names=levels: release.microdata(rows=10, levels=names))


def test_a_release_and_its_folder_have_one_outline(folder: Path) -> None:
    kept, made = Outline.read(folder), ht.Release.load(folder).outline
    assert kept.schema == made.schema
    assert (kept.workload, kept.origin, kept.marginals) == (made.workload, made.origin, made.marginals)


@pytest.mark.parametrize("name", [n for n, s in ht.planning.STRATEGIES.items() if s.keeps_to_workload])
def test_what_keeps_to_its_workload_measures_nothing_beyond_it(name: str, tmp_path: Path) -> None:
    chance, schema = np.random.default_rng(4), ht.Schema.loads(FLAT)
    people = pl.DataFrame(
        {
            "a": chance.choice(["x", "y", "z"], 200).astype(str).tolist(),
            "b": chance.integers(0, 6, 200),
            "c": chance.integers(0, 2, 200) == 1,
            "d": chance.choice(["u", "v"], 200).astype(str).tolist(),
        }
    )
    tables = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "b", "d")]
    asked = [tables[k] for k in chance.choice(4, 2, replace=False)]
    session = ht.Session.open(people, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(10))
    made = session.release(ht.Workload(asked), budget=ht.ZCDP(1), strategy=name)
    assert set(made.answers.layout.sets) <= set(closure(made.workload, schema.sizes))


@pytest.mark.parametrize("damage", ["{", '{"format": "hushtable-release-1"}', "[]"])
def test_a_folder_that_is_no_release_is_refused(damage: str, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text(damage)
    with pytest.raises(BundleError):
        Outline.read(tmp_path)


def test_a_schema_that_was_changed_is_damage(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_bytes((folder / "release.json").read_bytes())
    (tmp_path / "schema.yaml").write_text((folder / "schema.yaml").read_text() + "\n")
    with pytest.raises(BundleError, match="damaged"):
        Outline.read(tmp_path)


@pytest.mark.parametrize(
    "line", ["a,b", '"a,b",c', "'=x,'-1,''+y,'z", "\ufeffa,b", "'a,b", "a;b", "-x,weight"]
)
def test_the_first_line_names_the_columns_as_the_whole_file_does(line: str, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(f"{line}\n{','.join('1' * (line.count(',') + 1))}\n", encoding="utf-8")
    if line.startswith('"'):
        (tmp_path / "w.csv").write_text(f"{line}\n1,2\n")
    assert csv_columns(tmp_path / "w.csv") == read_csv(tmp_path / "w.csv").columns
