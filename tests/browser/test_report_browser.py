"""The report in a real browser: draws everything, asks nobody, fits phone, desk and paper, is read without seeing."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path
from typing import Any

import pytest
from opened import WIDTHS, Opened, assert_readable, axe_findings
from page_checks import CONTRAST, NAMELESS, REFERENCES

import hushtable as ht
from hushtable.release import add_explanation, make_microdata
from hushtable.report import write_report
from shared_data import data_file

CHAPTERS = ["Result", "Explore", "Quality", "Privacy", "Appendix"]


def test_the_report_draws_everything_and_asks_nobody_at_any_width_in_light_and_dark(
    published: Path, browser: Any, artefacts: Path
) -> None:
    opened = Opened(browser, published / "report.html", *WIDTHS["desktop"])
    page = opened.page
    assert page.locator("h2").all_inner_texts() == CHAPTERS
    assert page.locator(".chart svg").count() > 6
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for device, (width, height) in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(100)  # charts follow the width of their place
            if device == "phone" or scheme == "dark":
                page.screenshot(path=artefacts / f"town-{device}-{scheme}.png", full_page=True)
            assert_readable(opened)
            assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('nav ul'))")
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_wrong(scheme: str, published: Path, browser: Any) -> None:
    for file in (published / "report.html", published.with_name("out-confidential.html")):
        opened = Opened(browser, file, *WIDTHS["desktop"])
        opened.page.emulate_media(color_scheme=scheme)
        assert axe_findings(opened.page) == []
        opened.page.close()


def test_the_report_can_be_read_on_paper_also_from_a_dark_screen(
    published: Path, browser: Any, artefacts: Path
) -> None:
    opened = Opened(browser, published / "report.html", *WIDTHS["desktop"])
    page = opened.page
    page.emulate_media(color_scheme="dark", media="print")
    ink, paper = page.evaluate(
        "['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name])"
    )
    assert paper == "rgb(255, 255, 255)" and ink == "rgb(27, 31, 36)"
    assert page.evaluate(CONTRAST) == []
    sizes = "['.value', '.ends'].map((name) => parseFloat(getComputedStyle(document.querySelector(name)).fontSize))"
    value, ends = page.evaluate(sizes)
    assert ends < value, "an interval is not set larger than its number"
    assert not page.locator("nav").is_visible() and not page.locator(".explorer .panel").is_visible()
    content = page.pdf(path=artefacts / "town.pdf", format="A4")
    pypdf = pytest.importorskip("pypdf")
    sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(content)).pages]
    text = "\n".join(sheets)
    for words in (*CHAPTERS, "At a glance", "Hashes and versions", "Total", "n 1", "Where the budget went"):
        assert words in text, words
    total = ht.Release.load(published).table().to_dicts()[0]
    assert f"{total['estimate']:,.0f}" in sheets[0]
    assert re.search(r"25 of \d+ shown", text), "a list that is cut says so on paper too"
    assert len(sheets[0]) > 800, (
        "the first chart begins below the opening words and is not moved to a sheet of its own"
    )
    assert len(sheets) < 30 and all(len(sheet) > 20 for sheet in sheets), "no sheet is empty"
    page.close()


def test_charts_are_drawn_for_paper_and_not_shrunk_to_it(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", *WIDTHS["wide"])
    page = opened.page
    widths = "[...document.querySelectorAll('.chart svg')].map((drawing) => drawing.clientWidth)"
    on_screen = page.evaluate(widths)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert set(page.evaluate(widths)) == {680}
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_timeout(100)
    assert page.evaluate(widths) == on_screen and min(on_screen) > 680
    assert opened.complaints == []
    page.close()


def test_tables_can_be_searched_and_data_saved(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", *WIDTHS["desktop"])
    page = opened.page
    assert page.locator("#table-marginals tbody tr").count() == 4
    page.fill("#marginals-search", "EDUCATION employ")
    assert page.locator("#table-marginals tbody tr").count() == 1
    assert "education" in page.inner_text("#table-marginals tbody tr th")
    page.click("#table-marginals tbody tr th a")
    page.wait_for_selector("#explorer[data-table='education,employment']")
    page.fill("#marginals-search", "nothing like it")
    assert page.inner_text("#marginals-status") == "0 of 0 shown"
    rows, more = page.locator("#table-groups tbody tr"), page.locator("#groups-status + button")
    groups = int(page.inner_text("#groups-status").split()[2])
    assert rows.count() == 25 and more.inner_text() == f"Show {groups - 25} more"
    more.click()
    assert rows.count() == groups and not more.is_visible()
    assert page.inner_text("#groups-status") == f"{groups} of {groups} shown"
    with page.expect_download() as saving:
        page.click("button[data-csv=error-map]")
    beside = published / "report-data" / "error-map.csv"
    assert Path(saving.value.path()).read_bytes() == beside.read_bytes()
    assert opened.complaints == []
    page.close()


def test_the_confidential_report_says_so_on_every_printed_page(
    published: Path, browser: Any, artefacts: Path
) -> None:
    file = published.with_name("out-confidential.html")
    opened = Opened(browser, file, *WIDTHS["desktop"])
    opened.page.screenshot(path=artefacts / "confidential.png", full_page=True)
    assert opened.complaints == [] and opened.requests == [file.as_uri()]
    assert opened.page.evaluate(CONTRAST) == []
    opened.page.emulate_media(media="print")
    place = opened.page.evaluate("getComputedStyle(document.querySelector('.stamp')).position")
    assert place == "fixed", "fixed elements are repeated on every page of paper"
    opened.page.close()


def test_the_checks_notice_pale_text_and_missing_names(browser: Any, tmp_path: Path) -> None:
    """Mutants of the accessibility check itself."""
    file = tmp_path / "bad.html"
    file.write_text(
        "<html><body style='background:#fff'><p style='color:#bbb'>pale</p><img src='data:,'>"
        "<button></button><input id='x'><a href='#nowhere'>there</a><div role='img'></div></body></html>"
    )
    page = browser.new_page()
    page.goto(file.as_uri())
    assert len(page.evaluate(CONTRAST)) == 1
    assert len(page.evaluate(NAMELESS)) >= 5
    assert page.evaluate(REFERENCES) == ["#nowhere"]
    page.close()


@pytest.mark.slow
def test_the_report_of_adult_is_small_and_quick(tmp_path: Path, browser: Any, artefacts: Path) -> None:
    """15 attributes, all 3-way tables, records, ten verdicts: below 15 MB, made and drawn within 10 s each."""
    schema = ht.Schema.from_domain(data_file("adult_full-domain.json"))
    data = data_file("adult_full.csv.gz")
    budget = ht.ApproxDP(epsilon=3, delta="1e-9", pure=1)
    session = ht.Session.open(data, schema=schema, ledger=tmp_path / "a.ledger", budget=budget)
    workload = ht.Workload.all_marginals(schema, order=3)
    release = session.release(workload, budget=ht.ApproxDP(epsilon=1, delta="1e-9"))
    release.save(tmp_path / "out")
    made = make_microdata(release)
    made.frame.write_csv(tmp_path / "records.csv")
    add_explanation(tmp_path / "out", made.explanation)
    queries = [f"COUNT WHERE age >= {age}" for age in range(1, 11)]
    session.check(queries, made.frame, tau="3%", budget=ht.PureDP("0.5"))
    start = time.process_time()
    file = write_report(
        tmp_path / "out", ledger=tmp_path / "a.ledger", microdata=tmp_path / "records.csv"
    ).path
    assert time.process_time() - start < 10
    assert file.stat().st_size < 15_000_000
    for device, size in WIDTHS.items():
        opened = Opened(browser, file, *size)
        opened.page.screenshot(path=artefacts / f"adult-{device}.png", full_page=True)
        assert opened.seconds < 10
        assert_readable(opened)
        opened.page.close()
