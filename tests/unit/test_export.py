"""Exports: every format holds the numbers of the tables, and says what they are; nothing that a stranger wrote runs.

What published readers make of the files is tested in ``tests/office``, in an environment that has them.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.release.exports import EXPORT_FORMATS
from in_r import in_r

SCHEMA = {
    "about": {
        "title": "Town register",
        "unit": "persons",
        "period": 2025,
        "area": "Alder",
        "source": "Register office",
        "contact": "desk@alder.example",
        "footnotes": ["Without visitors."],
        "language": "en",
        "labels": {"de": {"sex": {"label": "Geschlecht", "values": {"F": "weiblich"}}}},
    },
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 79], "width": 20, "label": "Age group"},
        "sex": {
            "type": "categorical",
            "values": ["F", "=1+1", 'a "b", c'],
            "outside": "other",
            "labels": {"F": "Female"},
        },
        "quality": {"type": "boolean", "null": "category"},
        "code": {"type": "categorical", "values": [1, 2, 3], "null": "category"},
    },
}
TABLES = [(), ("age", "sex"), ("code", "quality")]
WITHOUT_LIBRARIES = ["csv", "sdmx-csv", "json-stat", "px", "parquet"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ht.Release:
    rows = range(900)
    frame = pl.DataFrame(
        {
            "age": [(7 * r * r + 3 * r) % 80 for r in rows],
            "sex": [("F", "=1+1", "F", 'a "b", c', "?")[r % 5] for r in rows],
            "quality": [(True, False, None)[r % 3] for r in rows],
            "code": [(1, 2, 2, None)[r % 4] for r in rows],
        }
    )
    ledger = tmp_path_factory.mktemp("export") / "town.ledger"
    session = ht.Session.open(frame, schema=SCHEMA, ledger=ledger, budget=ht.ZCDP(1))
    return session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.02"), strategy="residual-planner")


@pytest.fixture(scope="module")
def folders(release: ht.Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("formats")
    for name in WITHOUT_LIBRARIES:
        release.export(place / name, name)
    return {name: place / name for name in WITHOUT_LIBRARIES}


def read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_csv_has_the_numbers_of_the_table_and_runs_nothing(
    folders: dict[str, Path], release: ht.Release
) -> None:
    rows = read(folders["csv"] / "tables" / "age-sex.csv")
    table = release.table("age", "sex")
    assert [float(row["estimate"]) for row in rows] == table["estimate"].to_list()
    assert [float(row["upper"]) for row in rows] == table["upper"].to_list()
    assert [row["sex"] for row in rows[:4]] == ["Female", "'=1+1", 'a "b", c', "(other)"]
    assert set(rows[0]) >= {"std", "lower", "unbiased", "measured", "quality_flag"}
    raw = release.export(folders["csv"].parent / "raw", "csv", raw=True, tables=[("sex",)])
    assert [row["sex"] for row in read(raw.folder / "tables" / "sex.csv")][1] == "=1+1"


def test_parquet_has_typed_columns(folders: dict[str, Path], release: ht.Release) -> None:
    frame = pl.read_parquet(folders["parquet"] / "tables" / "quality-code.parquet")
    assert frame["code"].dtype == pl.Int64 and frame["quality"].dtype == pl.Boolean
    assert frame["estimate"].to_list() == release.table("quality", "code")["estimate"].to_list()


def test_the_flag_of_a_cell_is_that_of_its_interval(folders: dict[str, Path]) -> None:
    for row in read(folders["csv"] / "tables" / "quality-code.csv"):
        estimate, lower, upper = (float(row[name]) for name in ("estimate", "lower", "upper"))
        reaches = lower < upper and (lower < 0.5 or estimate <= 0)  # less than half a person is nobody
        assert (row["quality_flag"] == "near-zero") == reaches


def test_json_stat_keeps_the_rules_of_its_standard(folders: dict[str, Path], release: ht.Release) -> None:
    for file in sorted((folders["json-stat"] / "tables").iterdir()):
        data: dict[str, Any] = json.loads(file.read_text("utf-8"))
        assert (data["version"], data["class"]) == ("2.0", "dataset")
        assert len(data["id"]) == len(data["size"]) == len(data["dimension"])
        cells = 1
        for name, size in zip(data["id"], data["size"], strict=True):
            category = data["dimension"][name]["category"]
            assert len(category["index"]) == len(set(category["index"])) == size
            assert category["label"].keys() == set(category["index"])
            cells *= size
        assert len(data["value"]) == cells
        assert all(0 <= int(place) < cells for place in data["status"])
    table = json.loads((folders["json-stat"] / "tables" / "age-sex.json").read_text("utf-8"))
    width = table["size"][-1]
    assert table["value"][::width] == release.table("age", "sex")["estimate"].to_list()
    links = json.loads((folders["json-stat"] / "collection.json").read_text("utf-8"))["link"]["item"]
    assert all((folders["json-stat"] / link["href"]).is_file() for link in links)


def test_px_lists_each_value_once_and_has_a_number_for_every_cell(
    folders: dict[str, Path], release: ht.Release
) -> None:
    text = (folders["px"] / "tables" / "age-sex.px").read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 256
    head, _, data = text.partition("DATA=")
    keywords = dict(re.findall(r'^([A-Z-]+(?:\("[^"]*"\))?)=((?:[^;"]|"[^"]*")*);', head, re.M))
    sizes = []
    for name in re.findall(r'"([^"]*)"', f"{keywords['STUB']},{keywords['HEADING']}"):
        values = re.findall(r'"([^"]*)"', keywords[f'VALUES("{name}")'])
        assert len(values) == len(set(values))
        sizes.append(len(values))
    numbers = data.replace(";", "").split()
    assert len(numbers) == sizes[0] * sizes[1] * sizes[2]
    estimates = [float(number) for number in numbers[:: sizes[2]]]
    assert estimates == pytest.approx(release.table("age", "sex")["estimate"].to_list(), abs=6e-4)


def test_sdmx_names_only_codes_and_columns_of_its_structure(folders: dict[str, Path]) -> None:
    root = ElementTree.parse(folders["sdmx-csv"] / "structure.xml").getroot()
    space = {"s": "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"}
    lists = {
        made.attrib["id"]: [code.attrib["id"] for code in made.findall("s:Code", space)]
        for made in root.iterfind(".//s:Codelist", space)
    }
    flows = {flow.attrib["id"] for flow in root.iterfind(".//s:Dataflow", space)}
    for file in (folders["sdmx-csv"] / "data").iterdir():
        for row in read(file):
            assert row["STRUCTURE_ID"].removeprefix("HUSHTABLE:").removesuffix("(1.0)") in flows
            assert row["OBS_STATUS"] in lists["CL_OBS_STATUS"] and row["TIME_PERIOD"] == "2025"
            for column, value in row.items():
                assert value in lists.get(f"CL_{column}", [value])
    assert all(len(codes) == len(set(codes)) for codes in lists.values())


@pytest.mark.parametrize("name", WITHOUT_LIBRARIES)
def test_a_folder_describes_every_file_that_it_holds(folders: dict[str, Path], name: str) -> None:
    folder = folders[name]
    package = json.loads((folder / "datapackage.json").read_text("utf-8"))
    held = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert {resource["path"] for resource in package["resources"]} == held - {
        "datapackage.json",
        "README.txt",
    }
    names = [resource["name"] for resource in package["resources"]]
    assert len(names) == len(set(names)) and all(re.fullmatch(r"[-a-z0-9._]+", name) for name in names)
    text = (folder / "README.txt").read_text("utf-8")
    assert "Without visitors." in text and "Register office" in text and "rho=0.02" in text


def test_fields_of_a_data_package_are_the_columns_of_the_file(folders: dict[str, Path]) -> None:
    package = json.loads((folders["csv"] / "datapackage.json").read_text("utf-8"))
    for resource in package["resources"]:
        rows = read(folders["csv"] / resource["path"])
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == list(rows[0])
        for field in fields:
            allowed = field.get("constraints", {}).get("enum")
            assert allowed is None or {row[field["name"]] for row in rows} <= set(allowed)
        key = resource["schema"].get("primaryKey", [])
        assert not key or len({tuple(row[name] for name in key) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", ["csv", "parquet"])
@pytest.mark.parametrize("tool", ["pandas", "polars"])
def test_the_lines_of_the_readme_open_the_files(
    folders: dict[str, Path], name: str, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[name])
    shown = line_of(Path("README.txt"), tool)
    names: dict[str, Any] = {}
    *statements, last = shown.split("; ")
    exec("; ".join(statements), names)
    frame = eval(last, names)
    assert isinstance(frame, pandas.DataFrame if tool == "pandas" else pl.DataFrame)
    assert frame.shape[0] == 1 and "estimate" in frame.columns


def test_the_line_for_r_needs_nothing_but_r(tmp_path: Path) -> None:
    """Also where a category is called NA, has a quote, or only looks like a number."""
    schema = ht.Schema.from_dict(
        {"attributes": {"a b": {"type": "categorical", "values": ["NA", 'say "x"', "été", "a,b"]}}}
    )
    frame = pl.DataFrame({"a b": ["NA", 'say "x"', "été", "a,b"] * 50})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("a b",)]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    release.export(tmp_path / "x", "csv", tables=[("a b",)])
    table = release.table("a b")
    line = line_of(tmp_path / "x" / "README.txt", "R")
    rows = in_r(line, tmp_path / "x")
    assert [row["a b"] for row in rows] == ["NA", 'say "x"', "été", "a,b"]
    assert [float(row["estimate"]) for row in rows] == pytest.approx(table["estimate"].to_list())
    names: dict[str, Any] = {}
    exec("import pandas", names)
    found = eval(
        line_of(tmp_path / "x" / "README.txt", "pandas").split("; ")[1].replace('("', f'("{tmp_path}/x/'),
        names,
    )
    assert found["a b"].to_list() == table["a b"].to_list()


def line_of(readme: Path, tool: str) -> str:
    return next(
        line.split(":", 1)[1].strip()
        for line in readme.read_text("utf-8").splitlines()
        if line.strip().startswith(f"{tool}:")
    )


def test_the_readme_of_a_bundle_opens_its_own_files(
    release: ht.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.save(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    for tool in ("pandas", "polars", "Python"):
        *statements, last = line_of(Path("README.txt"), tool).split("; ")
        names: dict[str, Any] = {}
        exec("; ".join(statements), names)
        assert eval(last, names).shape[0] == 1
    package = json.loads(Path("datapackage.json").read_text("utf-8"))
    for resource in package["resources"]:
        columns = pl.read_parquet_schema(resource["path"])
        assert "schema" not in resource or [f["name"] for f in resource["schema"]["fields"]] == list(columns)
    assert ht.Release.load(".").marginals == release.marginals


def test_a_changed_data_package_is_damage(release: ht.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    (tmp_path / "out" / "datapackage.json").write_text("{}")
    with pytest.raises(HushtableError, match=r"bundle\.damaged"):
        ht.Release.load(tmp_path / "out")


def test_labels_of_a_language_reach_the_files(release: ht.Release, tmp_path: Path) -> None:
    release.in_language("de").export(tmp_path / "de", "csv", tables=[("sex",)])
    assert read(tmp_path / "de" / "tables" / "sex.csv")[0]["sex"] == "weiblich"


def test_the_command_writes_what_the_library_writes(
    release: ht.Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release.save(tmp_path / "out")
    words = ["export", str(tmp_path / "out"), "--format", "csv", "--table", "age,sex"]
    assert run(words) == 0
    assert "Wrote 1 table to" in capsys.readouterr().out
    made = (tmp_path / "out-csv" / "tables" / "age-sex.csv").read_bytes()
    release.export(tmp_path / "mine", "csv", tables=[("age", "sex")])
    assert made == (tmp_path / "mine" / "tables" / "age-sex.csv").read_bytes()
    assert run(words) == 1 and "bundle.exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"format": "xls"}, "export.format"),
        ({"format": "csv", "tables": [("age",), ("age",)]}, "export.repeated"),
        ({"format": "csv", "tables": [("age", "code")]}, "table.not-released"),
        ({"format": "csv", "alpha": 2}, "planning.alpha"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(
    release: ht.Release, tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(HushtableError) as refused:
        release.export(tmp_path / "x", **options)
    assert refused.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_a_format_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made = EXPORT_FORMATS["xlsx"]
    monkeypatch.setattr(type(made), "package", "no_such_package")
    with pytest.raises(HushtableError, match=r"hushtable\[office\]"):
        made.check_installed()
