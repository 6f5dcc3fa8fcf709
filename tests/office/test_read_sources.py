"""Workbooks, SPSS and Stata files as sources: the contract of every source, odd cells, labels in a draft."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest
from office_files import DAY_STYLE, RawCell, spss, stata, xlsx

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_source

CONTRACT = Path(__file__).parents[1] / "contract"


def contract(
    kind: str, write: Callable[[Any, Any, Path], Path], column: str
) -> dict[str, Callable[..., Any]]:
    """The tests that every source has to pass, for one kind of file; ``column`` is a name that such files can have."""
    modules: dict[str, ModuleType] = {}
    kept = {name: sys.modules.get(name) for name in ("source_kinds", "test_source_contract")}
    for name in kept:
        text = (CONTRACT / f"{name}.py").read_text("utf-8").replace("\"Age in years; 'q'\"", repr(column))
        modules[name] = sys.modules[name] = ModuleType(name)
        exec(compile(text, f"{name}.py", "exec"), vars(modules[name]))
    sys.modules.update({name: module for name, module in kept.items() if module is not None})
    kinds = modules["source_kinds"]

    def made(tmp_path: Path) -> Callable[[Any], Path]:
        return lambda rows: write(rows, kinds, tmp_path)

    found = {}
    for name, test in vars(modules["test_source_contract"]).items():
        if name.startswith("test_") and "make" in inspect.signature(test).parameters:
            found[f"{name} [{kind}]"] = _given(test, made)
    return found


def _given(test: Callable[..., Any], made: Callable[[Path], Any]) -> Callable[..., Any]:
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    values = [
        dict(zip([mark.args[0]], [value], strict=True)) for mark in marks for value in mark.args[1]
    ] or [{}]

    def run(tmp_path: Path) -> None:
        for k, more in enumerate(values):
            folder = tmp_path / str(k)
            folder.mkdir()
            test(made(folder), **more)

    return run


def as_xlsx(rows: Any, kinds: ModuleType, folder: Path) -> Path:
    return xlsx(folder / "data.xlsx", kinds.COLUMNS, [raw for raw, _ in rows])


def as_frame(rows: Any, kinds: ModuleType) -> pd.DataFrame:
    """Numbers and days as numbers, everything else as texts; an empty text is missing."""
    columns: dict[str, Any] = {}
    for k, name in enumerate(kinds.COLUMNS):
        cells = [raw[k] for raw, _ in rows]
        if k in (3, 4, 5, 6):
            columns[name] = pd.Series([None if c is None else float(c) for c in cells], dtype="float64")
        elif k == 7:
            columns[name] = pd.Series(list(cells), dtype=object)
        else:
            columns[name] = pd.Series(["" if c is None else c for c in cells], dtype=object)
    return pd.DataFrame(columns)


def as_spss(rows: Any, kinds: ModuleType, folder: Path) -> Path:
    forms = {"born": "DATE11"} if not rows else None
    return spss(folder / "data.sav", as_frame(rows, kinds), variable_format=forms)


def as_stata(rows: Any, kinds: ModuleType, folder: Path) -> Path:
    return stata(folder / "data.dta", as_frame(rows, kinds))


PROMISES = {
    **contract("xlsx", as_xlsx, "Age in years; 'q'"),
    **contract("sav", as_spss, "Age_in_years"),
    **contract("dta", as_stata, "Age_in_years"),
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_source_keeps_what_every_source_promises(name: str, tmp_path: Path) -> None:
    PROMISES[name](tmp_path)


CODED = ht.Schema.from_dict(
    {
        "attributes": {
            "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other", "null": "category"},
            "age": {
                "type": "integer",
                "bounds": [0, 99],
                "width": 10,
                "outside": "other",
                "null": "category",
            },
            "born": {
                "type": "date",
                "bounds": ["1990-01-01", "1999-12-31"],
                "width": "1 year",
                "outside": "other",
                "null": "category",
            },
        }
    }
)
ODD_CELLS = {
    "an error of a formula": RawCell("e", "<v>#SPILL!</v>"),
    "no number": RawCell("n", "<v>abc</v>"),
    "a number of 5,000 digits": RawCell("n", f"<v>{'9' * 5000}</v>"),
    "infinity": RawCell("n", "<v>1E999</v>"),
    "a text that is not there": RawCell("s", "<v>99999</v>"),
    "a negative text": RawCell("s", "<v>-1</v>"),
    "a day out of range": RawCell("n", "<v>1e12</v>", DAY_STYLE),
    "no day": RawCell("d", "<v>yesterday</v>"),
    "neither true nor false": RawCell("b", "<v>7</v>"),
    "an unknown kind": RawCell("zz", "<v>1</v>"),
    "a style that is not there": RawCell("n", "<v>1</v>", 77),
}


def codes(data: Any, schema: ht.Schema = CODED) -> list[tuple[int, ...]]:
    return [tuple(row) for batch in open_source(data, schema).batches() for row in np.stack(batch).T.tolist()]


@pytest.mark.parametrize("case", ODD_CELLS)
def test_one_odd_cell_decides_over_nothing_else(case: str, tmp_path: Path) -> None:
    good = [["F", 12, date(1991, 5, 5)], ["M", 40, date(1999, 1, 1)]]
    plain = codes(xlsx(tmp_path / "a.xlsx", ["sex", "age", "born"], good))
    for column in range(3):
        odd = ["F", 12, date(1991, 5, 5)]
        odd[column] = ODD_CELLS[case]  # type: ignore[call-overload]
        found = codes(xlsx(tmp_path / "b.xlsx", ["sex", "age", "born"], [good[0], odd, good[1]]))
        assert [found[0], found[2]] == plain
        others = [k for k in range(3) if k != column]
        assert [found[1][k] for k in others] == [plain[0][k] for k in others]


def test_nothing_is_said_of_a_cell(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    codes(
        xlsx(tmp_path / "a.xlsx", ["sex", "age", "born"], [["F", cell, cell] for cell in ODD_CELLS.values()])
    )
    assert len(recwarn) == 0


def test_a_workbook_of_another_writer_reads_the_same(tmp_path: Path) -> None:
    """openpyxl writes shared texts, formulas and days in its own way."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["sex", "age", "born"])
    sheet.append(["F", 12, date(1991, 5, 5)])
    sheet.append([None, None, None])
    sheet.append(["M", 40.0, date(1999, 1, 1)])
    sheet.append(["=1+1", "12", "1991-05-05"])
    book.create_sheet("other").append(["nothing"])
    book.save(tmp_path / "a.xlsx")
    assert codes(tmp_path / "a.xlsx") == [
        (0, 1, 1),
        (1, 4, 9),
        (2, 1, 1),
    ]  # a formula that was never computed is empty


@pytest.mark.parametrize(("write", "name"), [(spss, "x.sav"), (stata, "x.dta")])
def test_one_bad_byte_decides_over_nothing_else(write: Any, name: str, tmp_path: Path) -> None:
    schema = ht.Schema.from_dict(
        {"attributes": {"sex": {"type": "categorical", "values": ["F", "été", "日本"], "outside": "other"}},
         "person": "who"}
    )  # fmt: skip
    frame = pd.DataFrame({"who": ["a", "b", "XXXX", "d"], "sex": ["F", "été", "ZZZZZ", "日本"]})
    good = codes(write(tmp_path / name, frame), schema)
    bad = write(tmp_path / f"bad-{name}", frame, {"ZZZZZ": b"\xff\xfe\xc3(\x80", "XXXX": b"\xe9\xff\x80\x81"})
    assert codes(bad, schema) == good == [(0,), (1,), (3,), (2,)]


def test_missing_values_of_a_file_are_nulls(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": ["F", "M", ""], "age": [12.0, 99.0, np.nan], "born": [date(1991, 5, 5)] * 3})
    ranges = {"age": [{"lo": 99, "hi": 99}]}
    assert codes(spss(tmp_path / "x.sav", frame, missing_ranges=ranges)) == [
        (0, 1, 1),
        (1, 10, 1),
        (2, 10, 1),
    ]


@pytest.mark.parametrize("form", ["%td", "%tc", "%tm", "%tq"])
def test_days_of_stata_are_those_of_its_calendar(form: str, tmp_path: Path) -> None:
    start = date(1960, 1, 1)
    wanted = {
        "%td": date(1995, 6, 17),
        "%tc": date(1995, 6, 17),
        "%tm": date(1995, 6, 1),
        "%tq": date(1995, 4, 1),
    }[form]
    number = {
        "%td": (wanted - start).days,
        "%tc": (wanted - start).days * 86_400_000.0 + 3_600_000,
        "%tm": (1995 - 1960) * 12 + 5,
        "%tq": (1995 - 1960) * 4 + 1,
    }[form]
    frame = pd.DataFrame({"day": [float(number)]})
    file = stata(tmp_path / "x.dta", frame, variable_format={"day": form})
    schema = ht.Schema.from_dict(
        {"attributes": {"day": {"type": "date", "bounds": ["1995-01-01", "1995-12-31"], "width": "1 day"}}}
    )
    assert codes(file, schema) == [((wanted - date(1995, 1, 1)).days,)]


@pytest.mark.parametrize(("form", "first"), [("MOYR8", date(1995, 6, 1)), ("QYR8", date(1995, 4, 1))])
def test_months_and_quarters_of_spss_are_their_first_day(form: str, first: date, tmp_path: Path) -> None:
    """The number has a day that the program does not show."""
    seconds = (date(1995, 6, 17) - date(1582, 10, 14)).days * 86_400.0 + 3600
    file = spss(tmp_path / "x.sav", pd.DataFrame({"day": [seconds]}), variable_format={"day": form})
    schema = ht.Schema.from_dict(
        {"attributes": {"day": {"type": "date", "bounds": ["1995-01-01", "1995-12-31"], "width": "1 day"}}}
    )
    assert codes(file, schema) == [((first - date(1995, 1, 1)).days,)]


def test_labels_of_values_go_into_the_draft(tmp_path: Path) -> None:
    frame = pd.DataFrame({"region": [1.0, 2.0, 2.0] * 20, "age": [float(20 + k % 50) for k in range(60)]})
    file = spss(
        tmp_path / "people.sav",
        frame,
        column_labels={"region": "Region of residence", "age": "Age in years"},
        variable_value_labels={
            "region": {1.0: "North", 2.0: "South", 3.0: "Islands"},
            "age": {99.0: "refused"},
        },
    )
    text = ht.session.draft(file)
    schema = ht.Schema.loads(text)
    region = schema.attributes["region"]
    assert region.labels[:3] == ("North", "South", "Islands") and region.label == "Region of residence"
    assert schema.attributes["age"].kind == "integer" and schema.attributes["age"].label == "Age in years"
    assert {"attributes.region.values", "attributes.region.labels"} <= set(schema.unreviewed)


@pytest.mark.parametrize("name", ["people.xlsx", "people.sav", "people.dta"])
def test_a_session_and_a_preflight_take_the_file(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [float(k % 80) for k in range(400)], "sex": ["F", "M"] * 200})
    place = tmp_path / name
    if name.endswith("xlsx"):
        xlsx(place, frame.columns, frame.rows())
    else:
        (spss if name.endswith("sav") else stata)(place, frame.to_pandas())
    schema = {"attributes": {"age": {"type": "integer", "bounds": [0, 79], "width": 20},
                             "sex": {"type": "categorical", "values": ["F", "M"]}}}  # fmt: skip
    session = ht.Session.open(place, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(20_000))
    release = session.release(ht.Workload([("age", "sex")]), budget=ht.ZCDP(10_000), strategy="identity")
    assert release.table("age", "sex")["estimate"].round().to_list() == [50.0] * 8
    found = ht.preflight(place, schema=schema)
    assert (found.rows, found.counted) == (400, 400)


@pytest.mark.parametrize("name", ["x.xlsx", "x.sav", "x.dta"])
def test_what_is_no_such_file_is_refused_without_its_text(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"somebody's secret " * 50)
    with pytest.raises(HushtableError) as refused:
        open_source(tmp_path / name, CODED)
    assert refused.value.code == "source.unreadable" and "secret" not in str(refused.value)


def titled(path: Path, before: list[list[Any]]) -> Path:
    """A workbook as offices keep them: a title above the names of the columns."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [*before, ["sex", "age", "town"], *(["FM"[k % 2], k % 80, "AB"[k % 2]] for k in range(100))]:
        sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    "before", [[["Staff in 2024"]], [["Staff"], [None], ["as of", 2024]], [[None], [None, "Staff"]]]
)
def test_rows_above_the_names_of_the_columns_are_pointed_out(before: list[list[Any]], tmp_path: Path) -> None:
    place = titled(tmp_path / "people.xlsx", before)
    schema = {"attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}}}
    for look in (ht.session.draft, lambda data: ht.preflight(data, schema=schema)):
        with pytest.raises(HushtableError) as refused:
            look(place)
        assert "Remove the rows above the names" in refused.value.fix and "Staff" not in str(refused.value)
    plain = titled(tmp_path / "plain.xlsx", [])
    assert ht.Schema.loads(ht.session.draft(plain)).names == ("sex", "age", "town")
    assert ht.preflight(plain, schema=schema).counted == 100


@pytest.mark.parametrize(
    ("start", "fix"), [(b"\xd0\xcf\x11\xe0", "password"), (b"sex;age\nF;3\n", ".csv"), (b"PAR1", ".parquet")]
)
def test_a_workbook_by_name_alone_is_told_what_it_is(start: bytes, fix: str, tmp_path: Path) -> None:
    (tmp_path / "people.xlsx").write_bytes(start + (b"F;3\n" if start[:1] == b"s" else bytes(500)))
    with pytest.raises(HushtableError) as refused:
        ht.session.draft(tmp_path / "people.xlsx")
    assert fix in refused.value.fix


def test_labels_that_name_people_are_not_drafted(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"interviewer": [1.0, 2.0, 2.0] * 20, "age": [float(20 + k % 50) for k in range(60)]}
    )
    labels = {"interviewer": {1.0: "Anna Kern", 2.0: "Jon Doe"}}
    text = ht.session.draft(spss(tmp_path / "people.sav", frame, variable_value_labels=labels))
    assert (
        ht.Schema.loads(text).names == ("age",) and "Kern" not in text and "look like names of people" in text
    )
