"""A page in a real browser, with everything it complained about or asked for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from page_checks import CONTRAST, NAMELESS, REFERENCES

WIDTHS = {"phone": (390, 844), "desktop": (1280, 900), "wide": (1920, 1080)}


class Opened:
    """A page that has drawn all its charts."""

    def __init__(
        self,
        browser: Any,
        file: Path | str,
        width: int = 1280,
        height: int = 900,
        after: str = "",
        *,
        drawn: bool = True,
    ) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        start = time.monotonic()
        self.page.goto((file if isinstance(file, str) else file.as_uri()) + after)
        if drawn:
            self.ready()
        self.seconds = time.monotonic() - start

    def ready(self) -> None:
        """Wait until everything is drawn."""
        self.page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=60_000)


def assert_readable(opened: Opened) -> None:
    """No complaint, no request, no scrolling sideways, and readable by eye and by ear."""
    page = opened.page
    assert opened.complaints == []
    assert opened.requests == [page.url.split("#")[0]]
    wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= window
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(REFERENCES) == []
    assert page.locator(".chart svg").count() == page.locator(".chart").count()


def axe_findings(page: Any) -> list[str]:
    """What axe-core finds wrong, by rule and first place; it is skipped where axe is not installed."""
    import pytest

    sync = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = sync.Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:160]}" for rule in found]
