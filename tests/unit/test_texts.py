"""Strangers' text on a terminal and in a spreadsheet: shown or neutralised, and read back as it was."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.cli.app import run
from hushtable.cli.output import emit, grid, note, say
from hushtable.deciders.synthetic import read
from hushtable.report.labelled import read_records
from hushtable.report.page import Page
from hushtable.report.pieces import Chapter, Grid, Section
from hushtable.spreadsheets import neutralised, read_csv, restored, write_csv
from hushtable.texts import visible, visible_json

STARTS = "=+-@\t\r"
HOSTILE = [
    "\x1b[2J",
    "\x9b31m",
    "\u202eevil",
    "\u2066x",
    "\x07",
    "a\rb",
    "a\nb",
    "\x7f",
    "\u200f",
    "\ufeff",
    "\ud800",
]
labels = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text("'=+-@\t\r\n\"0159.eE, ", max_size=8),
    st.none(),
)
names = st.lists(st.text("'=+-@ab", min_size=1, max_size=4), min_size=1, max_size=3, unique=True)


def harmless(shown: str) -> bool:
    """No control, bidirectional or line separating character; the newline at the end of a line is ours."""
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN", "B", "S"}
    return all(
        unicodedata.bidirectional(c) not in bidi and unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp")
        for c in shown.replace("\n", "").replace("\u200c", "").replace("\u200d", "")
    )


def runs_in_a_spreadsheet(cell: str) -> bool:
    """The published advice on CSV injection: a cell that begins so, unless it is a number."""
    if not cell or cell[0] not in STARTS + "\n＝＋－＠":
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return not cell.isascii() or cell != cell.strip() or any(c in cell for c in "_nN")


@given(st.text())
def test_nothing_invisible_is_left_on_a_line(text: str) -> None:
    assert harmless(visible(text)) and "\n" not in visible(text)
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(st.dictionaries(st.text(), st.text()), st.booleans())
def test_json_shows_nothing_invisible_and_means_the_same(value: dict[str, str], ascii_only: bool) -> None:
    written = visible_json(value, ascii_only=ascii_only)
    assert harmless(written)
    assert json.loads(written) == value


@pytest.mark.parametrize("text", HOSTILE)
def test_every_way_to_print_shows_control_characters(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text)
    note(text)
    grid([text], [[text]], right=[])
    emit({text: text})
    out, err = capsys.readouterr()
    assert harmless(out) and harmless(err)


@pytest.mark.long
@given(st.lists(st.tuples(labels, labels), max_size=6), names)
@settings(max_examples=300)
def test_any_labels_are_read_back_from_csv_as_they_were(rows: list[tuple], header: list[str]) -> None:
    columns = {name: [row[k % 2] for row in rows] for k, name in enumerate(header)}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(header, pl.String))
    assert restored(neutralised(frame)).equals(frame)
    written = write_csv(frame)
    assert read_csv(written.encode()).equals(frame)
    assert read_csv(write_csv(frame, raw=True).encode(), raw=True).equals(frame)
    for row in csv.reader(io.StringIO(written, newline="")):
        assert not any(map(runs_in_a_spreadsheet, row))


@given(
    st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False))
)
def test_plain_numbers_are_never_changed(number: object) -> None:
    for text in (str(number), f"+{number}" if not str(number).startswith("-") else str(number)):
        if "nf" not in text:
            frame = pl.DataFrame({"a": [text]})
            assert neutralised(frame).equals(frame)


def test_numbers_and_categories_keep_their_type_where_nothing_is_risky() -> None:
    frame = pl.DataFrame(
        {"n": [-5, 3], "x": [-0.5, 1.0], "c": ["a", "b"]}, schema_overrides={"c": pl.Categorical}
    )
    assert neutralised(frame).schema == frame.schema
    assert write_csv(frame) == frame.write_csv()


@given(st.lists(st.text("'=a", min_size=1, max_size=3), min_size=1, max_size=4, unique=True))
def test_a_strangers_header_is_never_lost(header: list[str]) -> None:
    assert len(set(restored(pl.DataFrame({name: ["x"] for name in header})).columns)) == len(header)


VALUES = ["=1+1", "'=1+1", "+x", "-5", "-x", "@SUM", "\tx", "\rx", "plain", "'", "\x1b[31mred", "\u202eltr"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose labels and one attribute name are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    schema = ht.Schema.from_dict(
        {
            "attributes": {
                "=kind": {"type": "categorical", "values": VALUES},
                "sex": {"type": "categorical", "values": ["F", "M"]},
            }
        }
    )
    rows = pl.DataFrame({"=kind": VALUES * 40, "sex": ["F", "M"] * (20 * len(VALUES))})
    session = ht.Session.open(rows, schema=schema, ledger=folder / "l.ledger", budget=ht.ZCDP(1000))
    workload = ht.Workload.all_marginals(schema, order=2)
    session.release(workload, budget=ht.ZCDP(500), strategy="residual-planner").save(folder / "out")
    schema.save(folder / "schema.yaml")
    rows.write_parquet(folder / "data.parquet")
    return folder


def test_records_written_for_spreadsheets_are_read_back_by_check_and_report(
    released: Path, tmp_path: Path
) -> None:
    assert run(["microdata", str(released / "out"), "--out", str(tmp_path / "r.csv")]) == 0
    assert run(["microdata", str(released / "out"), "--out", str(tmp_path / "raw.csv"), "--raw"]) == 0
    assert run(["microdata", str(released / "out"), "--out", str(tmp_path / "r.parquet")]) == 0
    exact = pl.read_parquet(tmp_path / "r.parquet")
    assert set(exact["=kind"]) == set(VALUES)
    assert read(tmp_path / "r.csv").equals(exact)
    assert pl.read_csv(tmp_path / "raw.csv", infer_schema=False).equals(exact)
    schema = ht.Schema.load(released / "schema.yaml")
    assert read_records(tmp_path / "r.csv", schema).equals(read_records(tmp_path / "r.parquet", schema))
    with (tmp_path / "r.csv").open(newline="") as file:
        assert not any(runs_in_a_spreadsheet(cell) for row in csv.reader(file) for cell in row)


def test_tables_are_printed_without_control_characters(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ([], ["--json"]):
        assert run(["table", str(released / "out"), "=kind", "sex", *options]) == 0
        out = capsys.readouterr().out
        assert harmless(out)
        assert ("\\x1b" if not options else "\\u001b") in out
    assert run(["table", str(released / "out"), "=kind", "--csv"]) == 0
    safe = capsys.readouterr().out
    assert run(["table", str(released / "out"), "=kind", "--csv", "--raw"]) == 0
    raw = capsys.readouterr().out
    assert not any(
        runs_in_a_spreadsheet(cell) for row in csv.reader(io.StringIO(safe, newline="")) for cell in row
    )
    assert any(
        runs_in_a_spreadsheet(cell) for row in csv.reader(io.StringIO(raw, newline="")) for cell in row
    )
    assert read_csv(safe.encode()).equals(pl.read_csv(raw.encode(), infer_schema=False))


def test_the_reports_csv_files_are_neutralised_unless_raw(tmp_path: Path) -> None:
    grid_of = Grid("cells", "Cells", pl.DataFrame({"cell": ["=cmd", "-5", "a"]}))
    page = {"title": "t", "lead": "l", "footer": "f", "folder": "d", "version": "1"}
    chapters = (Chapter("c", "C", (Section("s", "S", grids=(grid_of,)),)),)
    Page(**page, chapters=chapters).write(tmp_path / "a.html")
    assert (tmp_path / "d" / "cells.csv").read_text() == "cell\n'=cmd\n-5\na\n"
    Page(**page, chapters=chapters, raw=True).write(tmp_path / "b.html")
    assert (tmp_path / "d" / "cells.csv").read_text() == "cell\n=cmd\n-5\na\n"


def test_a_draft_shows_control_characters_and_means_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = ["\u202eltr", "\x1b[31mred", "\u2028", "plain"]
    pl.DataFrame({"kind": values * 50, "\u202ename": ["a"] * 200}).write_parquet(tmp_path / "d.parquet")
    assert run(["init", str(tmp_path / "d.parquet")]) == 0
    text = capsys.readouterr().out
    assert harmless(text)
    assert set(ht.Schema.loads(text).to_dict()["attributes"]["kind"]["values"]) == set(values)


@pytest.mark.long
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, unique=True))
def test_a_saved_schema_holds_nothing_invisible(values: list[str]) -> None:
    try:
        schema = ht.Schema.from_dict({"attributes": {"a": {"type": "categorical", "values": values}}})
    except ht.errors.SchemaError:
        return
    assert harmless(schema.to_yaml())
    assert ht.Schema.loads(schema.to_yaml()).version == schema.version


def test_errors_show_control_characters_of_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "no\x1b[31m\u202e\udcff", "age"]) == 1
    assert harmless(capsys.readouterr().err)
