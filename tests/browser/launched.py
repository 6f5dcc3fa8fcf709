"""Debian's chromium, started for tests of pages, and where their screenshots go."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    *(f"--disable-{what}" for what in ("gpu", "dev-shm-usage", "quic", "sync")),
    *(f"--disable-{what}" for what in ("background-networking", "component-update")),
]


@contextmanager
def launched() -> Iterator[Any]:
    """A browser without a window; tests that ask for one are skipped where it is absent (`make browser`)."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: make browser")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


def shots(factory: pytest.TempPathFactory) -> Path:
    """The folder for screenshots: the one that HUSHTABLE_ARTEFACTS names, or a temporary one."""
    folder = Path(os.environ.get("HUSHTABLE_ARTEFACTS") or factory.mktemp("artefacts"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
