"""People at a browser: what they see is kept as pictures, and read by axe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opened import WIDTHS, axe_findings
from page_checks import CONTRAST, NAMELESS, REFERENCES
from running import Running

SIZES = [(device, scheme) for device in ("phone", "desktop") for scheme in ("light", "dark")]
PATIENCE = 90_000
"""Milliseconds for a job or a page, on a busy machine."""
DRAWN = "() => [...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg'))"
"""Whether each chart is drawn; one that is drawn again for another number is gone for a moment."""


class Person:
    """Somebody at a browser, and everything that it complained about or asked for."""

    def __init__(
        self,
        browser: Any,
        running: Running,
        name: str,
        size: tuple[str, str],
        artefacts: Path,
        *,
        provider: str | None = None,
    ) -> None:
        device, scheme = size
        width, height = WIDTHS[device]
        self._context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        self.url, self._shots, self._mark = running.url, artefacts, f"{name}-{device}-{scheme}"
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._context.set_default_timeout(PATIENCE)
        self.page = self._context.new_page()
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self._hosts = (self.url, "data:", "blob:")
        self.page.goto(self.url)
        if provider is None:
            self.page.fill("#name", name)
            self.page.fill("#password", running.password)
            self.page.keyboard.press("Enter")
        else:
            self._hosts += (provider,)
            self.looks("sign-in")
            self.page.click("text=Sign in by")
            self.page.click(f"text=Sign in as {name}")
        self.page.wait_for_selector(".who")

    def goes(self, place: str) -> Any:
        """Open a page and wait until it is drawn."""
        self.page.goto(f"{self.url}{place}")
        return self.ready()

    def ready(self) -> Any:
        """Wait until a page is drawn."""
        self.page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=PATIENCE)
        return self.page

    def looks(self, what: str) -> None:
        """Keep a picture of what is shown, and find nothing wrong with it."""
        page = self.page
        page.wait_for_timeout(150)
        page.wait_for_function(DRAWN)
        page.screenshot(path=self._shots / f"{what}-{self._mark}.png", full_page=True)
        assert self.complaints == []
        assert all(url.startswith(self._hosts) for url in self.requests)
        wide, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= window, what
        for check in (CONTRAST, NAMELESS, REFERENCES):
            assert page.evaluate(check) == [], what
        page.wait_for_function(DRAWN)  # a change of a field asks for a chart once more
        assert axe_findings(page) == [], what

    def takes(self, link: str) -> Path:
        """Download what a link leads to; the file."""
        with self.page.expect_download() as saving:
            self.page.click(link)
        kept = Path(saving.value.path())
        return kept.rename(kept.with_name(f"{kept.name}-{saving.value.suggested_filename}"))

    def leaves(self) -> None:
        """Sign out."""
        self.page.click("text=Sign out")
        self.page.wait_for_selector("#password")
        self._context.close()


Sitting = Callable[..., Person]


Sitting = Callable[..., Person]


def sized(cases: list[tuple[str, str]]) -> Any:
    """A journey at these sizes and schemes by default, and at all others where slow tests are asked for."""
    rest = [pytest.param(*one, marks=pytest.mark.slow) for one in SIZES if one not in cases]
    return pytest.mark.parametrize(("device", "scheme"), [*cases, *rest])
