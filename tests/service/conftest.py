"""Fixtures of the service's tests; all need the environment of `make test-service`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
for beside in (HERE.parents[1] / "client" / "src", HERE.parent / "browser", HERE):
    sys.path.insert(0, str(beside))
collect_ignore_glob = [] if find_spec("fastapi") else ["test_*.py"]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """`hush serve --demo`, shared by tests that leave it usable."""
    from running import started

    with started(["--demo", "--port", "0"], tmp_path_factory.mktemp("demo") / "log") as running:
        yield running
