"""The explorer in a real browser: what it shows is what was released, with intervals that follow from it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from math import isclose, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from opened import Opened, assert_readable, axe_findings

import hushtable as ht
from hushtable.release import quality_column
from hushtable.report import public, write_report

Z = NormalDist().inv_cdf(0.975)
NESTED = {
    "about": {"title": "Houses", "unit": "houses", "footnotes": ["Without <tents>."]},
    "attributes": {
        "place": {
            "type": "categorical",
            "levels": ["region", "town"],
            "tree": {"North": ["a", "b", "c"], "South": ["d"], "West": ["e", "f"]},
        },
        "kind": {"type": "categorical", "values": ["=1+1", "</script>\u202e"], "outside": "other"},
        "age": {"type": "integer", "bounds": [0, 59], "width": 20},
    },
}


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nested places, labels of a stranger, all tables of up to three attributes, every one measured."""
    folder = tmp_path_factory.mktemp("houses")
    rows = 3000
    frame = pl.DataFrame(
        {
            "place": ["aaabbcddef"[(r * r + 3 * r) % 10] for r in range(rows)],
            "kind": [("=1+1", "</script>\u202e", "?")[r % 3] for r in range(rows)],
            "age": [(r * r * 11) % 60 for r in range(rows)],
        }
    )
    session = ht.Session.open(frame, schema=NESTED, ledger=folder / "l", budget=ht.ZCDP("0.2"))
    workload = ht.Workload([("town", "kind"), ("town", "age"), ("kind", "age"), ("town", "kind", "age")])
    session.release(workload, budget=ht.ZCDP("0.2"), strategy="residual-planner").save(folder / "out")
    write_report(folder / "out")
    return folder / "out"


def shown(opened: Opened, name: str) -> None:
    opened.page.wait_for_selector(f"#explorer[data-table='{name}']")


def saved(opened: Opened, kind: str) -> tuple[str, bytes]:
    with opened.page.expect_download() as saving:
        opened.page.click(f"#explorer [data-save={kind}]")
    return saving.value.suggested_filename, Path(saving.value.path()).read_bytes()


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def values_of(opened: Opened, cells: str) -> list[float]:
    """The estimates in some cells, without their marks."""
    texts = "(found) => found.map((cell) => cell.firstChild.textContent)"
    return [number(text) for text in opened.page.locator(f"#explorer {cells} .value").evaluate_all(texts)]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_a_table_is_picked_sorted_searched_and_taken_along(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html")
    page = opened.page
    release = ht.Release.load(published)
    page.select_option("#explorer-1-pick-0", label="district")
    page.select_option("#explorer-1-pick-1", label="car")
    shown(opened, "district,car")
    table = release.table("district", "car")
    values = values_of(opened, "td.cell")
    assert len(values) == table.height
    assert max(abs(a - b) for a, b in zip(values, table["estimate"], strict=True)) <= 0.5
    totals = values_of(opened, "tr.total td")
    assert isclose(totals[-1], release.table()["estimate"][0], abs_tol=0.5)
    assert totals[:-1] == pytest.approx(release.table("car")["estimate"].to_list(), abs=0.5)
    name, content = saved(opened, "csv")
    lines = rows_of(content)
    assert name == "district-car.csv"
    assert [line["district"] for line in lines] == table["district"].to_list()
    assert [line["quality"] for line in lines] == quality_column(table, 0.05).to_list()
    assert [number(line["lower"]) for line in lines] == pytest.approx(table["lower"].to_list(), abs=1)
    assert min(number(line["lower"]) for line in lines) >= 0
    page.click("#explorer thead th:nth-child(2) button")
    page.wait_for_selector("#explorer th[aria-sort=descending]")
    own = values_of(opened, "tbody tr:not(.total) td:nth-child(2)")
    assert own == sorted(own, reverse=True)
    page.fill("#explorer-1-search", "harb")
    page.wait_for_selector("#explorer .status:text('1 of 12 rows found')")
    assert {line["district"] for line in rows_of(saved(opened, "csv")[1])} == {"Harbour"}
    page.click("#explorer .swap")
    shown(opened, "car,district")
    page.select_option("#explorer-1-pick-1", "")
    shown(opened, "car")
    assert page.locator("#explorer table.bars .whisker").count() == 3 * release.table("car").height
    assert opened.complaints == [] and len(opened.requests) == 1
    page.close()


@pytest.mark.parametrize(
    ("strategy", "note", "sums"),
    [
        ("identity", "no sharper than a sum", "is such a sum"),
        ("residual-planner", "sharper than a sum", "smaller"),
    ],
)
def test_totals_are_called_sharper_only_where_they_are(
    strategy: str, note: str, sums: str, tmp_path: Path, browser: Any
) -> None:
    frame = pl.DataFrame({name: [size * r % 3 for r in range(300)] for name, size in (("a", 1), ("b", 5))})
    schema = {"attributes": {name: {"type": "categorical", "values": ["0", "1", "2"]} for name in ("a", "b")}}
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP("0.2"))
    workload = ht.Workload([("a", "b")] if strategy == "identity" else [("a", "b"), ("a",), ("b",)])
    release = session.release(workload, budget=ht.ZCDP("0.2"), strategy=strategy)
    release.save(tmp_path / "out")
    own, added = release.table()["std"][0], sqrt((release.table("a", "b")["std"] ** 2).sum())
    assert isclose(own, added) == (strategy == "identity")
    write_report(tmp_path / "out")
    opened = Opened(browser, tmp_path / "out" / "report.html", after="#table=a,b")
    shown(opened, "a,b")
    assert f"Totals are {note}" in (text := opened.page.inner_text("#explorer")) or f", {note}" in text
    assert ("no sharper" in text) == (strategy == "identity")
    task = opened.page.locator("tr", has_text="A sum of many cells of one table")
    assert sums in task.inner_text()
    opened.page.close()


def test_bars_have_axes_from_zero_zoomed_and_logarithmic(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", after="#table=district")
    page = opened.page
    shown(opened, "district")
    assert page.locator("#explorer rect.fill").count() == 12 and page.locator("#explorer .dot").count() == 0
    for axis in ("zoom", "log"):
        page.select_option("#explorer-1-axis", axis)
        page.wait_for_selector("#explorer .dot")
        places = page.locator("#explorer .whisker").evaluate_all(
            "(lines) => lines.map((line) => [line.x1, line.x2].map((x) => x.baseVal.valueInSpecifiedUnits))"
        )
        assert all(0 <= a <= b <= 100 for a, b in places)
        widest = max(b - a for a, b in places)
        assert widest > 5, "an error bar that can be seen"
    for order in ("down", "up", "label", "own"):
        page.select_option("#explorer-1-order", order)
    page.select_option("#explorer-1-show", "total")
    page.wait_for_selector("#explorer td .value:text('%')")
    shares = [float(line["share_of_total"]) for line in rows_of(saved(opened, "csv")[1])]
    assert isclose(sum(shares), 1, abs_tol=0.05)
    assert opened.complaints == []
    page.close()


@pytest.mark.slow
def test_a_third_attribute_is_held_fixed_in_a_grid_and_listed_in_bars(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", after="#table=sex,age,car")
    page = opened.page
    shown(opened, "sex,age,car")
    table = ht.Release.load(published).table("sex", "age", "car")
    page.select_option("#explorer-1-fixed-14", label="true")
    page.wait_for_function("document.querySelector('#explorer-1-fixed-14')?.value === '1'")
    assert page.inner_text("#explorer caption").endswith("by sex and age, car: true")
    lines = rows_of(saved(opened, "csv")[1])
    expected = table.filter(pl.col("car") == "true" if table["car"].dtype == pl.String else pl.col("car"))
    assert [number(line["estimate"]) for line in lines] == pytest.approx(
        expected["estimate"].to_list(), abs=0.6
    )
    page.select_option("#explorer-1-view", "bars")
    page.wait_for_selector("#explorer .more")
    page.click("#explorer .more")
    page.wait_for_selector("#explorer .more", state="detached")
    assert page.locator("#explorer tbody tr.inner").count() == table.height
    assert_readable(opened)
    page.close()


def test_names_of_rows_stay_where_they_are_when_a_wide_grid_is_moved(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", 390, 844, after="#table=car,age,sex")
    page = opened.page
    shown(opened, "car,age,sex")
    assert ", sex: " in page.inner_text("#explorer caption"), "what is held fixed is said, on paper too"
    moved = "(box) => { box.scrollLeft = 250; return [...box.querySelectorAll('tr > th:first-child')].map((cell) => "
    moved += "cell.getBoundingClientRect().left - box.getBoundingClientRect().left); }"
    box = page.locator("#explorer .scroll")
    assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") >= 250
    assert max(map(abs, box.evaluate(moved))) <= 1
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("view", ["bars", "grid"])
def test_axe_finds_nothing_wrong_with_the_explorer(view: str, published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", after="#table=education,employment")
    shown(opened, "education,employment")
    opened.page.select_option("#explorer-1-view", view)
    opened.page.wait_for_selector(f"#explorer table.{view}")
    for scheme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=scheme)
        assert axe_findings(opened.page) == []
    opened.page.close()


def spread(table: pl.DataFrame) -> float:
    """Half of an interval's width in standard errors: 1.96, or more where noise comes in whole numbers."""
    return float(((table["unbiased_upper"] - table["unbiased"]) / table["std"]).max())


WHOLES = {"total": (), "row": ("town",), "column": ("age",)}


def test_intervals_of_percentages_are_fiellers_with_the_exact_error_of_both_numbers(
    houses: Path, browser: Any
) -> None:
    """At an end r, part - r whole lies z of its own standard errors from 0: by sums of cells, not by a formula."""
    opened = Opened(browser, houses / "report.html", after="#table=town,age")
    release = ht.Release.load(houses)
    for show, kept in WHOLES.items():
        shown(opened, "town,age")
        opened.page.select_option("#explorer-1-show", show)
        opened.page.wait_for_selector(f"#explorer-1-show:has(option[value={show}]:checked)")
        opened.page.wait_for_selector("#explorer td.cell .value:text('%')")
        lines = rows_of(saved(opened, "csv")[1])
        assert len(lines) == 18
        checked, z = 0, max(spread(release.table("town", "age")), spread(release.table(*kept)))
        for line in lines:
            for end in ("lower", "upper"):
                r = float(line[end])
                if not 0 < r < 1:
                    continue
                cells = [{"town": line["town"], "age": line["age"], "weight": 1.0}]
                whole = {"town": None, "age": None} | {name: line[name] for name in kept}
                cells.append({**whole, "weight": -r})
                if not kept:
                    pairs = [(town, age) for town in "abcdef" for age in ("0-19", "20-39", "40-59")]
                    cells[1:] = [{"town": t, "age": a, "weight": -r} for t, a in pairs]
                sums = release.combine(pl.DataFrame(cells)).to_dicts()[0]
                rounding = (0.05 + 0.5 * r) / sums["std"]  # parts are tenths, wholes are whole
                away = abs(sums["estimate"]) / sums["std"]
                assert isclose(away, z, abs_tol=rounding + 0.005), (show, line, end)
                checked += 1
        assert checked > 12
    opened.page.close()


def test_labels_of_strangers_are_shown_and_saved_harmlessly(houses: Path, browser: Any) -> None:
    opened = Opened(browser, houses / "report.html", after="#table=kind,region")
    page = opened.page
    shown(opened, "kind,region")
    heads = page.locator("#explorer tbody th").all_inner_texts()
    assert heads[:2] == ["=1+1", r"</script>\u202e"]
    assert "Without <tents>." in page.inner_text("#explorer .notes")
    assert page.inner_text("#explorer caption") == "Houses by kind and region"
    lines = rows_of(saved(opened, "csv")[1])
    assert {line["kind"] for line in lines} == {"'=1+1", "</script>\u202e", "(other)"}
    name, content = saved(opened, "xlsx")
    assert name == "kind-region.xlsx"
    book = zipfile.ZipFile(io.BytesIO(content))
    assert book.testzip() is None
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    for part in book.namelist():
        ElementTree.fromstring(book.read(part))
    sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    cells = [["".join(cell.itertext()) for cell in row] for row in sheet.iterfind(".//m:row", space)]
    assert cells[0] == ["kind", "region", "estimate", "lower", "upper", "quality", "measured"]
    assert len(cells) == 10 and cells[1][0] == "=1+1"
    assert sheet.find(".//m:f", space) is None, "a text is a text, never a formula"
    assert [row[2] for row in cells[1:]] == [line["estimate"] for line in lines]
    assert opened.complaints == []
    page.close()


@pytest.mark.slow
def test_tables_of_other_pages_are_a_click_away(
    houses: Path, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushtable.report.explorer.PIECE", 10)
    monkeypatch.setattr(public, "MOST_PACKED", 100)
    write_report(houses, out=tmp_path / "r.html")
    opened = Opened(browser, tmp_path / "r.html", after="#table=town,kind,age")
    page = opened.page
    page.wait_for_selector("#explorer .content a")
    page.click("#explorer .content a")
    page.wait_for_url("**/report-data/tables-*.html#table=town,kind,age")
    opened.ready()
    shown(opened, "town,kind,age")
    assert page.locator("#explorer td.cell").count() == 18
    page.goto(page.url.split("#")[0] + "#table=region")
    page.reload()
    opened.ready()
    assert json.loads(page.evaluate("JSON.stringify(location.hash)")) == "#table=region"
    assert opened.complaints == []
    page.close()


@pytest.mark.slow
def test_an_exact_or_an_empty_whole_does_not_break_a_percentage(houses: Path, browser: Any) -> None:
    opened = Opened(browser, houses / "report.html")
    fieller = "hushtable.data.fieller"
    exact = {"unbiased": 5, "std": 0, "reach": 0}
    whole = {"unbiased": 10, "std": 0, "reach": 0}
    assert opened.page.evaluate(f"{fieller}({json.dumps(exact)}, {json.dumps(whole)}, 0.1)") == [0.5, 0.5]
    nothing = {"unbiased": -3, "std": 2, "reach": 4}
    assert opened.page.evaluate(f"{fieller}({json.dumps(exact)}, {json.dumps(nothing)}, 0.1)") == [0, 1]
    part = {"unbiased": 30, "std": 3, "reach": 3 * Z}
    large = {"unbiased": 1000, "std": 4, "reach": 4 * Z}
    low, high = opened.page.evaluate(f"{fieller}({json.dumps(part)}, {json.dumps(large)}, 0.0)")
    assert low < 0.03 < high and isclose((high - low) / 2, Z * sqrt(9 + 0.0009 * 16) / 1000, rel_tol=0.01)
    opened.page.close()
