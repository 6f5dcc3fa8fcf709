"""The site in a browser, opened from a disk: no request, no message, search without a server, readable."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_checks import CONTRAST

LOOKED_AT = (
    "index.html",
    "docs/index.html",
    "docs/tutorial.html",
    "docs/gallery.html",
    "docs/coming-from.html",
    "docs/notebooks/publish-a-survey.html",
    "docs/reference/command-line.html",
    "docs/reference/api/ht.html",
    "proofs/index.html",
    "source/src/hushtable/session.py.html",
)
READ = (
    *("index.html", "docs/notebooks/publish-a-survey.html", "docs/howto/report.html"),
    *("docs/reference/command-line.html", "docs/coming-from.html"),
)


@pytest.fixture
def opened(chromium: Any, request: pytest.FixtureRequest) -> Any:
    width, scheme = request.param
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda asked: page.asked.append(asked.url))
    yield page
    context.close()


@pytest.mark.parametrize("opened", [(390, "dark"), (1280, "light")], indirect=True, ids=["phone", "desk"])
def test_pages_ask_for_nothing_and_say_nothing(site: Path, opened: Any) -> None:
    for name in LOOKED_AT:
        opened.goto((site / name).as_uri())
        opened.wait_for_load_state()
        wide = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, f"{name} is wider than the screen"
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.said == []


@pytest.mark.parametrize("opened", [(1280, "dark")], indirect=True, ids=["dark"])
def test_the_search_works_without_a_server(site: Path, opened: Any) -> None:
    opened.goto((site / "index.html").as_uri())
    opened.locator("input[name=query]").press_sequentially("ledger.moved")
    opened.wait_for_selector(".md-search-result__item", timeout=20_000)
    assert "error" in opened.inner_text(".md-search-result__list").lower()
    opened.fill("input[name=query]", "")
    opened.locator("input[name=query]").press_sequentially("preflight")
    opened.wait_for_function(
        "document.querySelectorAll('.md-search-result__item a[href*=preflight]').length > 0"
    )
    opened.click(".md-search-result__item a[href*='preflight']")
    opened.wait_for_function("location.href.includes('preflight')")
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("opened", [(1280, "light")], indirect=True, ids=["light"])
def test_the_search_takes_every_letter(site: Path, opened: Any) -> None:
    """The library behind it gave up at first letters of words with digits, such as hashes."""
    opened.goto((site / "index.html").as_uri())
    field = opened.locator("input[name=query]")
    for letter in [*string.ascii_lowercase, *string.digits, "-9", "rho=0.1", "epsilon:", "*"]:
        opened.fill("input[name=query]", "")
        field.press_sequentially(letter)
        opened.wait_for_timeout(80)
    opened.fill("input[name=query]", "")
    field.press_sequentially("microdata")
    opened.wait_for_function(
        "document.querySelectorAll('.md-search-result__item a[href*=microdata]').length > 0"
    )
    assert opened.said == []


MODES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.mark.parametrize("opened", MODES, indirect=True, ids=["light", "dark", "phone", "dark phone"])
def test_pages_can_be_read_by_everybody(site: Path, opened: Any) -> None:
    for name in READ:
        opened.goto((site / name).as_uri())
        opened.wait_for_timeout(500)
        found = Axe().run(opened).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"][:160]) for v in found] == [], name
        words = opened.evaluate(
            CONTRAST.replace(
                '"body *"', '"article p, article li, article td, article th, article h1, article h2"'
            )
        )
        assert words == [], name
