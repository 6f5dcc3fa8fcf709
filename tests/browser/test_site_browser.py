"""A static site in a real browser: from a disk and from a server, with links that lead back to what was shown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from opened import WIDTHS, Opened, axe_findings
from page_checks import CONTRAST, NAMELESS, REFERENCES

import hushtable as ht
from hushtable.report import write_site

HOSTILE = "</script><img src=x onerror=alert(1)>"


DRAWN = """async (column) => {
  const button = document.querySelectorAll("#explorer thead .sort")[column];
  const begun = performance.now();
  button.click();
  while (button.isConnected) await new Promise((next) => setTimeout(next));
  document.querySelector("#explorer table").offsetHeight;
  return performance.now() - begun;
}"""
"""Milliseconds until all cells are drawn anew, in another order, and laid out, by the page's own clock."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The town and a table of 10,000 cells by a stranger, in a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("site")
    schema = {
        "about": {"title": HOSTILE},
        "attributes": {
            "a": {"type": "integer", "bounds": [0, 99], "width": 1},
            "b": {"type": "integer", "bounds": [0, 99], "width": 1},
            "c": {"type": "categorical", "values": [HOSTILE, "x"]},
        },
    }
    rows = pl.DataFrame({"a": [r % 100 for r in range(2000)], "b": [r // 20 for r in range(2000)], "c": "x"})
    session = ht.Session.open(rows, schema=schema, ledger=folder / "l", budget=ht.ZCDP(1))
    session.release(ht.Workload([("a", "b"), ("c",)]), budget=ht.ZCDP(1), strategy="residual-planner").save(
        folder / "large"
    )
    write_site([published, folder / "large"], folder / "our site", title="Our tables", formats=["csv"])
    return folder / "our site"


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site.parent)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/our%20site"
    server.shutdown()
    thread.join()


def whole(opened: Opened) -> None:
    """No complaint, nothing asked for beyond the site, no scrolling sideways, readable by eye and by ear."""
    page = opened.page
    assert opened.complaints == []
    assert all("/our%20site/" in url or url.startswith(("data:", "blob:")) for url in opened.requests)
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    for check in (CONTRAST, NAMELESS, REFERENCES):
        assert page.evaluate(check) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reader_goes_from_the_list_to_a_table_at_any_width(
    scheme: str, site: Path, browser: Any, artefacts: Path
) -> None:
    for device in ("phone", "desktop"):
        opened = Opened(browser, site / "index.html", *WIDTHS[device], drawn=False)
        page = opened.page
        page.emulate_media(color_scheme=scheme)
        assert page.locator(".cards li").count() == 2
        page.screenshot(path=artefacts / f"site-list-{device}-{scheme}.png", full_page=True)
        whole(opened)
        page.click("text=Explore >> nth=0")
        opened.ready()
        page.screenshot(path=artefacts / f"site-release-{device}-{scheme}.png", full_page=True)
        whole(opened)
        if device == "desktop":
            assert axe_findings(page) == []
        page.close()


@pytest.mark.parametrize("place", ["disk", "server"])
def test_a_link_leads_back_to_the_table_and_its_view(
    place: str, site: Path, served: str, browser: Any
) -> None:
    start = site / "out" / "index.html"
    opened = Opened(browser, start if place == "disk" else f"{served}/out/index.html")
    page = opened.page
    page.select_option("#explorer-1-pick-0", label="age")
    page.select_option("#explorer-1-pick-1", label="sex")
    page.select_option("#explorer-1-view", "bars")
    page.select_option("#explorer-1-show", "row")
    page.select_option("#explorer-1-order", "down")
    page.fill("#explorer-1-search", "F")
    page.wait_for_function("location.hash.includes('find=F')")
    expected = "#table=age,sex&view=bars&show=row&order=down&find=F"
    assert page.evaluate("location.hash") == page.get_attribute("a.permalink", "href") == expected
    rows = page.locator("#explorer tbody th").all_inner_texts()
    address = page.url
    page.close()
    again = browser.new_page()
    again.goto(address)
    again.wait_for_selector("html[data-drawn=yes]", state="attached")
    assert again.locator("#explorer tbody th").all_inner_texts() == rows
    assert again.input_value("#explorer-1-show") == "row"
    again.goto(f"{address.split('#')[0]}#table=age,sex,car&only.car=1&sort=-1,up")
    again.wait_for_function("document.querySelector('#explorer')?.dataset.table === 'age,sex,car'")
    assert again.input_value("#explorer-1-fixed-14") == "1"
    assert again.locator("th[aria-sort=ascending]").inner_text().startswith("Total")
    again.goto(f"{address.split('#')[0]}#table=age,nothing&view=%ff&only.x=9")
    assert again.locator("#explorer tbody tr").count() > 0
    assert opened.complaints == []
    again.close()


def test_a_stranger_s_title_and_labels_are_shown_as_text(site: Path, browser: Any) -> None:
    opened = Opened(browser, site / "large" / "index.html", after="#table=c")
    assert opened.page.inner_text("h1") == HOSTILE
    assert HOSTILE in opened.page.inner_text("#explorer tbody")
    assert opened.complaints == []
    opened.page.close()


@pytest.mark.slow  # a clock: on a machine that does nothing else
def test_a_table_of_ten_thousand_cells_is_drawn_within_a_second(site: Path, browser: Any) -> None:
    opened = Opened(browser, site / "large" / "index.html", after="#table=a,b")
    page = opened.page
    page.click("#explorer[data-table='a,b'] .more")
    page.wait_for_function("document.querySelectorAll('#explorer td.cell').length === 10000")
    drawn = sorted(page.evaluate(DRAWN, column) for column in (3, 4, 5, 6, 7))
    print(f"ten thousand cells drawn and laid out in {drawn[2]:.0f} ms, the median of five")
    assert page.locator("#explorer td.cell").count() == 10_000
    assert drawn[2] < 1000
    assert opened.complaints == []
    page.close()


def test_a_file_is_told_apart_from_one_with_a_changed_byte(site: Path, browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, site / "out" / "index.html")
    page = opened.page
    archive = site / "out" / "downloads" / "out-csv.zip"
    page.set_input_files("#check-file", archive)
    page.wait_for_selector("#check-said:text('This is out-csv.zip, as it was published here')")
    content = bytearray(archive.read_bytes())
    content[100] ^= 1
    (tmp_path / "out-csv.zip").write_bytes(content)
    page.set_input_files("#check-file", tmp_path / "out-csv.zip")
    page.wait_for_selector("#check-said:text('none of the files')")
    with page.expect_download() as saving:
        page.click("text=out-csv.zip")
    assert Path(saving.value.path()).read_bytes() == archive.read_bytes()
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("nav").is_visible() and not page.locator(".check-file").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.complaints == []
    page.close()
