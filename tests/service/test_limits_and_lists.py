"""How many requests one asker may send, lists that are longer than a page, and whose forwarded headers are believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from inside import Inside
from running import started
from sites import Site

from hushtable.errors import RefusedError
from hushtable.service import Role
from hushtable.service.desk import MOST_LISTED
from hushtable.service.jobs import FREE, JobOrder
from hushtable.service.storage import new_id
from hushtable.service.web import guard
from hushtable.service.web.guard import Limiter
from hushtable.service.wrong_passwords import MOST_WRONG

P = "/v1/datasets/people"


# How many requests


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(guard, "time", made)
    return made


def taken(limiter: Limiter, asker: str) -> int:
    """How many requests an asker gets through at this moment."""
    for number in range(10_000):
        try:
            limiter.take(asker)
        except RefusedError as error:
            assert error.code == "serve.too-many-requests"
            return number
    raise AssertionError("there is no limit")


def test_an_asker_has_a_burst_and_then_so_many_each_second(clock: Clock) -> None:
    limiter = Limiter(burst=20, per_second=4)
    assert taken(limiter, "anna") == 20
    assert taken(limiter, "amir") == 20, "nobody uses up what is somebody else's"
    clock.now += 2.5
    assert taken(limiter, "anna") == 10
    clock.now += 3600
    assert taken(limiter, "anna") == 20, "what was not used is not saved beyond a burst"


def test_asking_while_refused_does_not_push_the_next_request_away(clock: Clock) -> None:
    limiter = Limiter(burst=1, per_second=1)
    limiter.take("anna")
    for _ in range(9):
        clock.now += 0.1
        assert taken(limiter, "anna") == 0
    clock.now += 0.11
    assert taken(limiter, "anna") == 1


def test_the_memory_of_askers_is_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_BUCKETS", 50)
    limiter = Limiter()
    for number in range(500):
        limiter.take(f"10.0.0.{number}")
        assert len(limiter._left) <= 50


def test_requests_are_counted_by_person_and_where_nobody_is_signed_in_by_address(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for name in ("anna", "amir"):
        site.let_in(name, Role.ANALYST)
    inside = Inside(site)
    inside.app.state.limiter = Limiter(burst=5, per_second=0)

    def many(address: str, token: str | None, path: str) -> list[int]:
        client = inside.client(client=(address, 1))
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return [client.get(path, headers=headers).status_code for _ in range(7)]

    first = many("10.0.0.1", site.tokens["anna"], P)
    assert first == [200] * 5 + [429] * 2
    assert many("10.0.0.2", site.tokens["anna"], P) == [429] * 7, "another address is no other person"
    assert many("10.0.0.1", site.tokens["amir"], P) == [200] * 5 + [429] * 2, "nor one address one person"
    assert many("10.0.0.3", None, "/healthz") == [200] * 5 + [429] * 2
    assert many("10.0.0.3", "hush_guessed", P) == [429] * 7, "guesses count for their address"
    assert many("10.0.0.4", "hush_guessed", P) == [401] * 5 + [429] * 2
    refused = inside.client(client=("10.0.0.4", 1)).get(P)
    assert refused.json()["code"] == "serve.too-many-requests" and int(refused.headers["retry-after"]) > 0
    page = inside.client(client=("10.0.0.4", 1)).get("/sign-in")
    assert page.status_code == 429 and "too many requests" in page.text


def test_ten_programs_that_poll_their_jobs_are_not_refused(clock: Clock) -> None:
    """Of one person, five times a second each, for ten minutes."""
    limiter = Limiter()
    for _ in range(600 * 5):
        clock.now += 0.2
        for _ in range(10):
            limiter.take("anna")


# Lists


@pytest.fixture(scope="module")
def long_lists(tmp_path_factory: pytest.TempPathFactory) -> Inside:
    """A site with two and a half pages of everything, by two people in turns."""
    site = Site(tmp_path_factory.mktemp("lists"), settings={"slots": False})
    for name, role in {"clara": Role.CURATOR, "anna": Role.ANALYST, "amir": Role.ANALYST}.items():
        site.let_in(name, role)
    site.let_in("rosa", Role.READER)
    ids = {name: site.service.users.named(name).id for name in ("anna", "amir")}
    with site.service.storage.writing() as rows:
        for number in range(MOST_LISTED * 5 // 2):
            name = ("anna", "amir")[number % 2]
            for kind in ("choose", "release"):
                order = JobOrder("people", ids[name], name, kind, kind, f"{number}", "{}", FREE)
                job = new_id()
                facts = {"body_hash": order.body_hash, "request": order.request, "stands": "{}"}
                facts |= {"price": FREE, "state": "done", "submitted": 1.0, "slot": 1.0, "seconds": 0.0}
                facts |= {"factor": 1.0, "attempts": 1, "late": 0, "charged": FREE, "entries": 0}
                facts |= {"dataset": "people", "person": ids[name], "spender": name, "body": "{}"}
                assert rows.add("job", id=job, kind=kind, route=kind, key=f"{number}", **facts)
                made = {"dataset": "people", "person": ids[name], "kind": "tables", "digest": "0" * 64}
                if kind == "release":
                    shown = 1.0 if number % 5 == 0 else None
                    assert rows.add("kept_release", id=job, job=job, slot=1.0, published=shown, **made)
    for number in range(MOST_LISTED * 5 // 2):
        site.service.deeds.note("looked", "done", person=ids["anna"], dataset="people")
        site.service.deeds.note("looked", "done", person=ids["anna"], dataset=f"other-{number}")
    return Inside(site)


def walked(inside: Inside, name: str, path: str, between: Any = None) -> list[list[dict[str, Any]]]:
    """The pages of a list, by cursors."""
    pages, cursor = [], ""
    while True:
        told = inside.ask(name, "GET", path, params={"cursor": cursor} if cursor else {}).json()
        pages.append(told["items"])
        if told["next"] is None:
            return pages
        assert len(pages) < 20, "the cursor goes round in circles"
        cursor = told["next"]
        if between is not None:
            between()


@pytest.mark.parametrize(
    ("what", "name", "count"),
    [
        ("jobs", "clara", 500),
        ("jobs", "anna", 250),
        ("choices", "clara", 250),
        ("choices", "amir", 125),
        ("releases", "clara", 250),
        ("releases", "anna", 150),  # her own 125, and of his 125 the 25 that are published
        ("releases", "rosa", 50),
        ("deeds", "clara", 250),
    ],
)
def test_a_list_by_cursors_has_everything_once_newest_first(
    long_lists: Inside, what: str, name: str, count: int
) -> None:
    pages = walked(long_lists, name, f"{P}/{what}")
    found = [one["id"] for page in pages for one in page]
    key = "job" if what == "choices" else "id"
    order = [one[key] for page in pages for one in page]
    assert len(set(found)) == len(found) == count
    assert order == sorted(order, reverse=True)
    assert all(len(page) == MOST_LISTED for page in pages[:-1]) and len(pages) >= -(-count // MOST_LISTED)


def test_what_is_added_while_a_list_is_read_moves_nothing(long_lists: Inside) -> None:
    deeds = long_lists.service.deeds
    before = [one["id"] for page in walked(long_lists, "clara", f"{P}/deeds") for one in page]
    pages = walked(long_lists, "clara", f"{P}/deeds", lambda: deeds.note("looked", "done", dataset="people"))
    assert [one["id"] for page in pages for one in page] == before


# Forwarded headers


PASSWORD = "correct horse battery"


@pytest.mark.parametrize(
    ("proxies", "believed"),
    [(None, False), (["192.0.2.7"], False), (["127.0.0.1"], True), (["127.0.0.0/8"], True)],
)
def test_forwarded_headers_are_believed_from_proxies_alone(
    tmp_path: Path, proxies: list[str] | None, believed: bool
) -> None:
    """Where they are, wrong passwords count for the forwarded address, and TLS that ends at the proxy is TLS."""
    site = Site(tmp_path, settings={"workers": 0, **({} if proxies is None else {"proxies": proxies})})
    site.service.users.add("maria", PASSWORD)
    words = ["--config", str(site.folder / "hush.toml"), "--port", "0"]
    with (
        started(words, tmp_path / "log", ready="/healthz") as running,
        httpx.Client(base_url=running.url, trust_env=False) as http,
    ):

        def tried(password: str, address: str) -> httpx.Response:
            headers = {"x-forwarded-for": address, "x-forwarded-proto": "https"}
            return http.post("/v1/sign-in", json={"name": "maria", "password": password}, headers=headers)

        for _ in range(MOST_WRONG["pair"]):
            assert tried("wrong password", "203.0.113.5").status_code == 401
        assert tried(PASSWORD, "203.0.113.5").status_code == 429
        elsewhere = tried(PASSWORD, "203.0.113.6")
        assert elsewhere.status_code == (200 if believed else 429)
        assert ("strict-transport-security" in elsewhere.headers) == believed
        forged = tried(PASSWORD, "203.0.113.9, 203.0.113.5")
        assert forged.status_code == 429, "what a client writes before its proxy is its own word"
