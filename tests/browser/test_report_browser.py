"""The report in a real browser: draws everything, asks nobody, fits a phone, and can be read without seeing.

Needs Debian's chromium (`make browser`); skipped where it is absent.  Screenshots are kept in a temporary folder, or
in the one that HUSHTABLE_ARTEFACTS names.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_checks import CONTRAST, NAMELESS, REFERENCES

import hushtable as ht
from hushtable.cli.simulate import town
from hushtable.release import add_explanation, make_microdata
from hushtable.report import write_confidential_report, write_report
from hushtable.session import evaluate_release
from shared_data import data_file

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    *(f"--disable-{what}" for what in ("gpu", "dev-shm-usage", "quic", "sync")),
    *(f"--disable-{what}" for what in ("background-networking", "component-update")),
]
WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}
TOWN = Path(ht.__file__).parent / "cli" / "town.yaml"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: make browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("HUSHTABLE_ARTEFACTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("artefacts")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Opened:
    """A page that has drawn all its charts, with everything it complained about or asked for."""

    def __init__(self, browser: Any, file: Path, width: int, height: int) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        start = time.monotonic()
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=30_000)
        self.seconds = time.monotonic() - start


def assert_readable(opened: Opened, file: Path) -> None:
    """No complaint, no request, no scrolling sideways, and readable by eye and by ear."""
    page = opened.page
    assert opened.complaints == []
    assert opened.requests == [file.as_uri()]
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(REFERENCES) == []
    assert page.locator(".chart svg").count() == page.locator(".chart").count() > 3


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of a small town, two verdicts and a choice in its ledger, and the curator's own report."""
    folder = tmp_path_factory.mktemp("town")
    people = town(3000)
    schema = ht.Schema.load(TOWN)
    session = ht.Session.open(
        people,
        schema=schema,
        ledger=folder / "town.ledger",
        budget=ht.ApproxDP(epsilon=9, delta="1e-9", pure=2),
    )
    pairs = ht.Workload([("age", "sex"), ("employment", "education"), ("district", "car"), ("health",)])
    session.release(pairs, budget=ht.ApproxDP(epsilon=2, delta="1e-9")).save(folder / "out")
    synthetic = people.head(1500).select(schema.names)
    session.check(
        ["COUNT WHERE sex = 'F'", "COUNT WHERE age >= 30"], synthetic, tau="20%", budget=ht.PureDP(1)
    )
    options = [ht.linear.marginals(schema, order=1), ht.linear.marginals(schema, order=2)]
    session.choose(options, budget=ht.ZCDP("0.01")).finish(0)
    write_report(folder / "out", ledger=folder / "town.ledger")
    release = ht.Release.load(folder / "out")
    frames = evaluate_release(people, release, confidential=True)
    write_confidential_report(folder / "out", frames, release.card)
    return folder / "out"


@pytest.mark.parametrize("device", WIDTHS)
def test_the_report_draws_everything_and_asks_nobody(
    device: str, published: Path, browser: Any, artefacts: Path
) -> None:
    file = published / "report.html"
    opened = Opened(browser, file, *WIDTHS[device])
    opened.page.screenshot(path=artefacts / f"town-{device}.png", full_page=True)
    assert_readable(opened, file)
    opened.page.close()


def test_tables_can_be_searched_and_data_saved(published: Path, browser: Any) -> None:
    opened = Opened(browser, published / "report.html", *WIDTHS["desktop"])
    page = opened.page
    assert page.locator("#table-marginals tbody tr").count() == 4
    page.fill("#marginals-search", "EDUCATION employ")
    assert page.locator("#table-marginals tbody tr").count() == 1
    assert "education" in page.inner_text("#table-marginals tbody tr th")
    page.fill("#marginals-search", "nothing like it")
    assert page.inner_text("#marginals-status") == "0 of 0 shown"
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
        assert_readable(opened, file)
        opened.page.close()
