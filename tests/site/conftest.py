"""The site, built once for all of its tests; where MkDocs or Jupyter is missing, all is skipped.

``make test-docs`` makes an environment that has them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NEEDED = ("mkdocs", "material", "nbclient", "ipykernel", "axe_playwright_python")
MISSING = [name for name in NEEDED if find_spec(name) is None]
collect_ignore_glob = ["test_site_*.py"] if MISSING else []
BUILDERS = Path(__file__).parents[2] / "docs" / "site"
sys.path += [str(BUILDERS), str(Path(__file__).parents[1] / "browser")]  # its launched and page_checks


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    from build import build_site

    folder = tmp_path_factory.mktemp("site") / "built"
    build_site(folder)
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from launched import launched

    with launched() as opened:
        yield opened
