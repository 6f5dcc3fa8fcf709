"""What published readers make of exports: pysdmx and sdmx1, frictionless, pyjstat, pyaxis, openpyxl, pandas, polars.

Schemas are generated with names and labels that formats treat in their own ways: marks, quotes, letters of other
scripts, control characters, formulas, the same label up to case.
"""

from __future__ import annotations

import io
import zipfile
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import pandas
import polars as pl
import pytest
import sdmx
from frictionless import Package, validate
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyaxis import pyaxis
from pyjstat import pyjstat
from pysdmx.io import get_datasets, read_sdmx

import hushtable as ht
from hushtable.release.exports import EXPORT_FORMATS
from in_r import in_r

WORDS = st.sampled_from(
    ["a", "A", "b c", "b_c", "=1+1", "@x", "-5", "0012", 'say "x"', "a,b;c", "été", "性別", "x\ty", "<&>", "'", "_T",
     "CON", "null", "1e5", "(other)", "a" * 70, "NA", " lead"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["age", "Age", "a b", "a-b", "性別", "measure", "quality", "OBS_VALUE", "unbiased", "total", "5y"]
)


@st.composite
def releases(draw: st.DrawFn) -> ht.Release:
    names = draw(st.lists(NAMES, min_size=2, max_size=3, unique=True))
    attributes: dict[str, Any] = {}
    for name in names:
        values = draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
        attributes[name] = {"type": "categorical", "values": values}
        if draw(st.booleans()):
            attributes[name]["label"] = draw(WORDS)
    about = {"period": draw(st.sampled_from(["2025", "2025-Q1", "spring of 2025"])), "source": draw(WORDS)}
    schema = ht.Schema.from_dict({"about": about, "attributes": attributes})
    every = list(product(*(entry["values"] for entry in attributes.values())))
    frame = pl.DataFrame([dict(zip(names, row, strict=True)) for row in every * 9])
    strategy = draw(st.sampled_from(["residual-planner", "auto"]))
    with TemporaryDirectory() as folder:
        session = ht.Session.open(frame, schema=schema, ledger=f"{folder}/x.ledger", budget=ht.ZCDP(1))
        workload = ht.Workload([(), (names[0],), tuple(names[:2])])
        return session.release(workload, budget=ht.ZCDP("0.1"), strategy=strategy)


FEW = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@FEW
@given(releases())
def test_sdmx_readers_find_every_observation(release: ht.Release) -> None:
    with TemporaryDirectory() as place:
        done = release.export(f"{place}/x", "sdmx-csv")
        structure = done.folder / "structure.xml"
        read_sdmx(structure, validate=True)  # against the schemas of the standard
        message = sdmx.read_sdmx(structure)
        for names, file in zip(release.marginals, done.files, strict=False):
            expected = release.table(*names)["estimate"].to_list()
            (found,) = get_datasets(done.folder / file.path, structure)
            values = pandas.to_numeric(found.data["OBS_VALUE"]).tolist()
            assert values == pytest.approx(expected)
            (flow,) = [f for f in message.dataflow.values() if f.id == found.structure.id]
            known = {d.id: set(d.local_representation.enumerated.items) for d in flow.structure.dimensions
                     if d.local_representation.enumerated is not None}  # fmt: skip
            for column, codes in known.items():
                assert set(found.data[column].astype(str)) <= codes
            data = sdmx.read_sdmx(done.folder / file.path, structure=flow.structure).data[0]
            assert [float(o.value) for o in data.obs] == pytest.approx(expected)


@FEW
@given(releases(), st.sampled_from(sorted(EXPORT_FORMATS)))
def test_frictionless_finds_the_files_as_they_are_described(release: ht.Release, name: str) -> None:
    with TemporaryDirectory() as place:
        done = release.export(f"{place}/x", name)
        report = validate(str(done.folder / "datapackage.json"))
        assert report.valid, report.flatten(["title", "message"])
        release.save(f"{place}/out")
        Package(f"{place}/out/datapackage.json")
        assert validate(f"{place}/out/datapackage.json").valid


@FEW
@given(releases())
def test_readers_of_cubes_find_estimates_and_errors(release: ht.Release) -> None:
    names = release.marginals[-1]
    table = release.table(*names)
    with TemporaryDirectory() as place:
        stem = Path(release.export(f"{place}/json", "json-stat").files[2].path)
        text = (Path(place) / "json" / stem).read_text("utf-8")
        frame = pyjstat.Dataset.read(io.StringIO(text)).write("dataframe", naming="id")
        metric = frame.columns[-2]
        for column in ("estimate", "upper"):
            found = frame[frame[metric] == column]["value"].tolist()
            assert found == pytest.approx(table[column].to_list())
        release.export(f"{place}/px", "px")
        read = pyaxis.parse(str((Path(place) / "px" / stem).with_suffix(".px")), encoding="utf-8")["DATA"]
        found = read[read.iloc[:, -2] == "Estimate"]["DATA"].astype(float).tolist()
        assert sorted(found) == pytest.approx(sorted(table["estimate"].to_list()), abs=6e-4)


@FEW
@given(releases())
def test_a_workbook_is_as_offices_ask_for_it(release: ht.Release) -> None:
    with TemporaryDirectory() as place:
        done = release.export(f"{place}/x", "xlsx")
        file = done.folder / "tables.xlsx"
        with zipfile.ZipFile(file) as parts:
            assert b"<f>" not in b"".join(parts.read(name) for name in parts.namelist())
        book = openpyxl.load_workbook(file)
        assert (
            book.sheetnames[:3] == ["Cover", "Contents", "Notes"] and len(book.sheetnames) == 3 + done.tables
        )
        for sheet in book:
            assert not sheet.merged_cells.ranges and sheet["A1"].value
        for number, names in enumerate(release.marginals, 1):
            expected = release.table(*names)
            frame = pandas.read_excel(file, sheet_name=f"Table_{number}", header=4)
            assert frame["Estimate"].tolist() == pytest.approx(expected["estimate"].to_list())
            assert frame.shape[0] == expected.height
            header = [cell.value for cell in book[f"Table_{number}"][5]]
            assert None not in header and len(set(header)) == len(header)


@pytest.mark.parametrize("name", sorted(EXPORT_FORMATS))
@pytest.mark.parametrize("tool", ["pandas", "polars"])
def test_the_lines_of_the_readme_open_the_files(
    name: str, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_schema: ht.Schema,
    small_frame: pl.DataFrame,
) -> None:  # fmt: skip
    session = ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("age", "sex")]), budget=ht.ZCDP("0.1"))
    release.export(tmp_path / "x", name)
    monkeypatch.chdir(tmp_path / "x")
    lines = Path("README.txt").read_text("utf-8").splitlines()
    shown = next(line.split(":", 1)[1].strip() for line in lines if line.strip().startswith(f"{tool}:"))
    for line in shown.split("; or "):
        *statements, last = line.split("; ")
        names: dict[str, Any] = {}
        exec("; ".join(statements), names)
        assert len(eval(last, names)) > 0


@pytest.mark.parametrize("name", sorted(EXPORT_FORMATS))
def test_the_line_for_r_opens_the_file(
    name: str, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("age", "sex")]), budget=ht.ZCDP("0.1"))
    release.export(tmp_path / "x", name, tables=[("age", "sex")])
    lines = (tmp_path / "x" / "README.txt").read_text("utf-8").splitlines()
    rows = in_r(
        next(line.split(":", 1)[1].strip() for line in lines if line.strip().startswith("R:")), tmp_path / "x"
    )
    texts = {text for row in rows for text in row.values()}
    estimates = release.table("age", "sex")["estimate"]
    numbers = [float(text) for text in texts if text.replace(".", "", 1).isdigit()]
    assert all(min(abs(number - wanted) for number in numbers) < 0.51 for wanted in estimates)
