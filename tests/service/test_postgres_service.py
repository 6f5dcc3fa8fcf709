"""A service on PostgreSQL: several web processes, several workers, one ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from inside import Inside
from sites import Site
from test_load import MANY, run

import hushtable as ht
from hushtable.service import Role
from hushtable.service.hidden_spends import HiddenSpends
from hushtable.service.storage import ColumnValue, PostgresReading, Record


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


def test_a_text_that_no_row_can_hold_is_refused_and_the_database_answers(
    server: object, tmp_path: Path
) -> None:
    site = site_on(server, tmp_path, "odd", slots=False)
    site.let_in("anna", Role.ANALYST)
    inside = Inside(site)
    people = "/v1/datasets/people"
    for place in (
        "/v1/datasets/%00",
        f"{people}/jobs/%00",
        f"{people}/jobs?cursor=%00",
        f"{people}/releases/%00",
    ):
        told = inside.ask("anna", "GET", place)
        assert (told.status_code, told.json()["code"]) == (422, "request.text"), place
    signed = {"name": "a\0b", "password": "x" * 12}
    assert inside.ask(None, "POST", "/v1/sign-in", json=signed).status_code == 422
    assert inside.ask("anna", "GET", people).status_code == 200


def test_tables_of_another_version_are_refused(server: object, tmp_path: Path) -> None:
    from hushtable.errors import RefusedError
    from hushtable.service import Service

    site = site_on(server, tmp_path, "other")
    with site.service.storage.writing() as rows:
        rows.run("UPDATE setting SET value = '99' WHERE name = 'format'")
    with pytest.raises(RefusedError) as caught:
        Service.open(site.service.config)
    assert caught.value.code == "serve.database-format"


def test_a_job_that_is_begun_while_what_is_left_is_added_up_counts_once(
    server: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question of PostgreSQL sees the tables as they are then; here a worker takes the job after the first."""
    site = site_on(server, tmp_path, "once", slots=False)
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    body = {
        "query": "COUNT",
        "synthetic": {"upload": site.upload("anna")},
        "tau": 40,
        "budget": "epsilon=0.1",
    }
    inside = Inside(site)
    assert inside.spend("anna", "/v1/datasets/people/checks", body).status_code == 202
    ledger = ht.Ledger.open(site.ledger_of("people"))
    hidden = HiddenSpends(site.service.storage, "people", ledger)
    before = hidden.left("anna")
    assert before == ht.PureDP("0.9").limit
    taken, asking = [], PostgresReading.all

    def ask(rows: PostgresReading, question: str, *values: ColumnValue) -> list[Record]:
        found = asking(rows, question, *values)
        if not taken:
            taken.append(None)
            taken[:] = site.service.jobs.take("a worker")
        return found

    monkeypatch.setattr(PostgresReading, "all", ask)
    assert hidden.left("anna") == before
    assert len(taken) == 1 and hidden.left("anna") == before
