"""The server to try things with: what its file passes exists, and what it sets up does what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from servers import Server

import hushtable as ht
from hushtable.cli.app import run

ROOT = Path(__file__).parents[2]
TOP = {"services", "configs", "networks", "volumes", "secrets", "x-hush"}
ENTRYPOINT = {"POSTGRES_DB", "POSTGRES_PASSWORD", "POSTGRES_PASSWORD_FILE", "POSTGRES_INITDB_ARGS"}
"""Variables that the image's entry point reads; one with another name would be ignored without a word."""
SERVICE = {"image", "environment", "ports", "tmpfs", "configs", "healthcheck"}
SERVICE |= {"profiles", "secrets", "networks", "volumes"}
CHECK = {"test", "interval", "timeout", "retries", "start_period"}


@pytest.fixture
def town() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def test_every_option_of_the_file_exists(town: dict[str, Any], server: Server) -> None:
    assert set(town) == TOP and set(town["services"]) == {"town", "web", "worker", "store"}
    given = town["services"]["town"]["configs"]
    assert all(set(one) == {"source", "target"} for one in given)
    assert {one["source"] for one in given} == set(town["configs"])
    assert all(set(config) == {"content"} for config in town["configs"].values())
    assert all("$" not in config["content"] for config in town["configs"].values())  # it would be replaced
    for name in ("town", "store"):
        service = town["services"][name]
        assert set(service) <= SERVICE and set(service["environment"]) <= ENTRYPOINT
        assert set(service["healthcheck"]) <= CHECK and service["healthcheck"]["test"][0] == "CMD-SHELL"
        known = shown_by(server, "initdb")
        for option in shlex.split(service["environment"]["POSTGRES_INITDB_ARGS"]):
            assert option.partition("=")[0] in known
        program, *options = shlex.split(service["healthcheck"]["test"][1])
        known = shown_by(server, program)
        assert all(re.search(rf"^ *{option},", known, re.M) for option in options if option[0] == "-")


def shown_by(server: Server, program: str) -> str:
    """The help of a program of the server."""
    asked = [server.programs / program, "--help"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def test_the_page_can_be_followed_with_what_the_file_sets_up(
    town: dict[str, Any], server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "howto" / "prepare-postgresql.md").read_text(encoding="utf-8")
    (typed,) = re.findall(r"^\$ PGPASSWORD=(\S+) hush (.*)$", page, re.M)
    port = town["services"]["town"]["ports"][0].split(":")[1]
    address = f"127.0.0.1:{port}/{town['services']['town']['environment']['POSTGRES_DB']}"
    assert address in typed[1]
    with server.connect(database) as link:
        link.execute("DROP ROLE IF EXISTS hush_reader")
        for config in town["configs"].values():
            link.execute(config["content"])
    try:
        monkeypatch.setenv("PGPASSWORD", typed[0])
        command = shlex.split(typed[1].replace(address, f"127.0.0.1:{server.port}/{database}"))
        assert run([*command, "--out", str(tmp_path / "s.yaml")]) == 0
        drafted = ht.Schema.load(tmp_path / "s.yaml")
        assert {"sex", "age", "member"} <= set(drafted.names)
        with psycopg.connect(server.url(database, user="hush_reader")) as link:
            assert link.execute("SELECT count(*), count(DISTINCT id) FROM people").fetchone() == (
                20000,
                10001,
            )
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                link.execute("DELETE FROM people")
    finally:
        with server.connect(database) as link:
            link.execute("DROP OWNED BY hush_reader; DROP ROLE hush_reader")
