"""A service on PostgreSQL: several web processes, several workers, one ledger."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sites import Site
from test_load import MANY, run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engines"))


@pytest.fixture(scope="module")
def server() -> Iterator[object]:
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


def site_on(server: object, folder: Path, name: str, **settings: object) -> Site:
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = server.url(database=name)
    return Site(folder, database=url, ledger=url + "?ledger={name}", settings=settings)


def test_several_processes_and_workers_stay_within_the_grants(server: object, tmp_path: Path) -> None:
    run(site_on(server, tmp_path, "small", processes=2, workers=2), analysts=6, each=5, paid=3, patience=60)


@pytest.mark.slow
def test_two_hundred_analysts_at_once_on_postgresql(server: object, tmp_path: Path) -> None:
    run(site_on(server, tmp_path, "large", processes=4, workers=2), **MANY)


def test_tables_of_another_version_are_refused(server: object, tmp_path: Path) -> None:
    from hushtable.errors import RefusedError
    from hushtable.service import Service

    site = site_on(server, tmp_path, "other")
    with site.service.storage.writing() as rows:
        rows.run("UPDATE setting SET value = '99' WHERE name = 'format'")
    with pytest.raises(RefusedError) as caught:
        Service.open(site.service.config)
    assert caught.value.code == "serve.database-format"
