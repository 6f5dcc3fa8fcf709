"""Fixtures of the service's tests; all need the environment of `make test-service`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
for beside in (HERE.parents[1] / "client" / "src", HERE.parent / "browser", HERE.parent / "engines", HERE):
    sys.path.insert(0, str(beside))
pytest.register_assert_rewrite("persons")
collect_ignore_glob = [] if find_spec("fastapi") else ["test_*.py"]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """`hush serve --demo`, shared by tests that leave it usable."""
    from running import started

    with started(["--demo", "--port", "0"], tmp_path_factory.mktemp("demo") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Closed with the module: its event loop would stand in the way of other tests."""
    from launched import launched

    with launched() as opened:
        yield opened


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures are kept."""
    from launched import shots

    return shots(tmp_path_factory)


@pytest.fixture
def sits(browser: object, demo: object, artefacts: Path) -> object:
    """Puts somebody of the demonstration at a browser."""
    from persons import Person
    from running import released_in

    rosa = demo.signed_in("rosa")
    released_in(rosa)
    rosa.http.get("/assets/vega.js")  # put together once, in some seconds
    return lambda name, device, scheme: Person(browser, demo, name, (device, scheme), artefacts)


@pytest.fixture(scope="module")
def server() -> Iterator[object]:
    """A real PostgreSQL, whose programs find it by the environment."""
    from servers import Server, installed

    found = installed()
    if not found:
        pytest.skip("no PostgreSQL is installed")
    made = Server(next(iter(found.values())), settings={"fsync": "on", "max_connections": "200"})
    before = dict(os.environ)
    os.environ.update(made.environment)
    try:
        yield made
    finally:
        made.remove()
        os.environ.clear()
        os.environ.update(before)
