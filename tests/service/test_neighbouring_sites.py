"""What a client sees of two sites whose tables differ by one person: the same but for what was drawn.

Both are asked the same, in the same order.  Of refusals every byte is compared; of what is handed in and waits, all but
ids and times, which no table decides about; of results, all but the verdicts and the noisy numbers.  The length of a
result is that of its numbers as they are printed, and so says no more than they do.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from inside import Inside
from sites import Site, people

import hushtable as ht
from hushtable.service import Role

P = "/v1/datasets/people"
RELEASE = {"order": 2, "budget": "rho=0.1", "strategy": "identity"}
SHARE = "epsilon=10,delta=1e-9,pure=5"
LESS = "epsilon=0.002,delta=1e-12,pure=0.001"


def site_of(folder: Path, table: pl.DataFrame, **settings: object) -> Inside:
    folder.mkdir()
    budget = ht.ApproxDP(epsilon=50, delta="1e-9", pure=20)
    site = Site(folder, tables={"people": table}, budget=budget, settings=settings)
    site.let_in("clara", Role.CURATOR)
    site.let_in("anna", Role.ANALYST, grant=SHARE)
    site.let_in("rosa", Role.READER)
    site.let_in("olga", None)
    site.tokens["nobody"] = "hush_wrong"
    inside = Inside(site)
    inside.app.state.limiter.take = lambda asker: None
    return inside


@pytest.fixture(scope="module", params=[False, True], ids=["at-once", "slots"])
def neighbours(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Inside, Inside]:
    """Two sites; the second has one more person, who is alone in her age."""
    folder = tmp_path_factory.mktemp("neighbours")
    rows = people(999).filter(pl.col("age") != 77)
    more = pl.concat([rows, pl.DataFrame({"age": [77], "sex": ["F"], "town": ["Oak"]})])
    return tuple(  # pyright: ignore
        site_of(folder / name, table, slots=request.param) for name, table in (("one", rows), ("two", more))
    )


def upload_of(inside: Inside) -> str:
    found = inside.service.shelf.uploads("people", None)
    return found[0]["id"] if found else inside.site.upload("anna")


def check(inside: Inside, body: dict[str, Any]) -> dict[str, Any]:
    place = {"upload": upload_of(inside)}
    return {"synthetic": place, "tau": 5, "budget": "epsilon=0.01", **body}


REFUSED: list[tuple[str, str, str, Any]] = [
    ("anna", "POST", "checks", {"query": "COUNT WHERE height > 2"}),
    ("anna", "POST", "checks", {"query": "SUM(sex)"}),
    ("anna", "POST", "checks", {"query": "COUNT WHERE ("}),
    ("anna", "POST", "checks", {"query": "COUNT WHERE town = 'Zug'"}),
    ("anna", "POST", "checks", {"query": "COUNT WHERE age = 77", "tau": -1}),
    ("anna", "POST", "checks", {"query": "COUNT WHERE age = 77", "budget": "epsilon=9"}),
    ("anna", "POST", "checks", {"query": "COUNT WHERE age = 77", "budget": "rho=none"}),
    ("anna", "POST", "checks", {"query": "COUNT", "synthetic": {"upload": "none"}}),
    ("anna", "POST", "releases", {**RELEASE, "budget": "rho=99"}),
    ("anna", "POST", "releases", {"marginals": [["age", "height"]], "budget": "rho=0.1"}),
    ("anna", "POST", "choices", {"orders": [1, 9], "budget": "rho=0.1"}),
    ("anna", "POST", "plan", {"order": 3, "budget": "rho=1", "strategy": "none"}),
    ("anna", "GET", "releases/none/table", None),
    ("anna", "GET", "jobs/none", None),
    ("anna", "GET", "ledger", None),
    ("rosa", "POST", "checks", {"query": "COUNT WHERE age = 77"}),
    ("rosa", "GET", "remaining", None),
    ("olga", "GET", "releases", None),
    ("nobody", "GET", "releases", None),
]
"""Requests that are refused at once."""


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_of_neighbouring_tables_are_the_same_bytes(
    neighbours: tuple[Inside, Inside], number: int
) -> None:
    name, method, path, body = REFUSED[number]
    answers = []
    for inside in neighbours:
        sent = check(inside, body) if body is not None and "query" in body else body
        headers = {"idempotency-key": f"refused-{number}"}
        answers.append(inside.ask(name, method, f"{P}/{path}", json=sent, headers=headers))
    one, two = answers
    assert one.status_code >= 400, one.text
    assert one.status_code == two.status_code and one.content == two.content
    assert dict(one.headers) == dict(two.headers), "all of them, with the length"


def plain(answer: httpx.Response) -> str:
    """A response without ids, hashes and times: they are drawn by chance or by the clock, on any table."""
    text = re.sub(r"[0-9a-f]{64}|job-[0-9a-f]{40}|[0-9a-f]{32}", "ID", answer.text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)?", "TIME", text)
    return re.sub(r'"(submitted|begins|ready|published)": \d+(\.\d+)?', r'"\1": TIME', text)


def assert_alike(one: httpx.Response, two: httpx.Response) -> None:
    """The same status, headers, code and bytes, but for ids and times."""
    assert one.status_code == two.status_code and plain(one) == plain(two)
    assert list(one.headers) == list(two.headers)
    vary = {"location", "content-length", "retry-after", "etag"}
    same = [{k: v for k, v in each.headers.items() if k not in vary} for each in (one, two)]
    assert same[0] == same[1]
    assert abs(len(one.content) - len(two.content)) <= 3 * 18, "digits of three times"
    waits = [int(each.headers.get("retry-after", 0)) for each in (one, two)]
    assert abs(waits[0] - waits[1]) <= 3, "both were asked one after the other"


SPENT: list[tuple[str, dict[str, Any]]] = [
    ("checks", {"query": "COUNT WHERE age = 77"}),
    ("checks", {"query": "COUNT", "tau": 700}),
    ("checks", {"query": ["COUNT WHERE age = 77 AND sex = 'F'", "COUNT WHERE town = 'Oak'"], "tau": 50}),
    ("releases", RELEASE),
    ("choices", {"orders": [1, 2], "budget": "rho=0.1"}),
    ("checks", {"query": "COUNT WHERE age = 77"}),  # asked before, and free
]


def done(inside: Inside, name: str, path: str, body: dict[str, Any]) -> list[httpx.Response]:
    """Handed in, waiting, asked too early, handed in again; and once it is done, how it stands and what it gave."""
    sent = check(inside, body) if "query" in body else body
    key = f"{name}-{time.time_ns()}"
    handed = inside.spend(name, f"{P}/{path}", sent, key)
    assert handed.status_code == 202, handed.text
    place = handed.headers["location"]
    seen = [handed, *(inside.ask(name, "GET", one) for one in (place, f"{place}/result"))]
    seen.append(inside.spend(name, f"{P}/{path}", sent, key))
    told = handed.json()
    while time.time() < told["ready"] or inside.ask(name, "GET", place).json()["state"] == "waiting":
        inside.work()
        time.sleep(0.05)
    return [*seen, *(inside.ask(name, "GET", one) for one in (place, f"{place}/result"))]


def test_what_is_paid_is_acknowledged_alike_and_results_differ_in_what_was_drawn_alone(
    neighbours: tuple[Inside, Inside],
) -> None:
    for path, body in SPENT:
        one, two = (done(inside, "anna", path, body) for inside in neighbours)
        for first, second in zip(one[:-1], two[:-1], strict=True):
            assert_alike(first, second)
        results = one[-1], two[-1]
        verdicts = [re.findall(r'"satisfied": (\w+)', each.text) for each in results]
        assert list(results[0].headers) == list(results[1].headers)
        bare = [
            re.sub(
                r'"satisfied": \w+|"sentence": "(Yes: the true .*? is|No: the true .*? is not) within',
                "V",
                text,
            )
            for text in map(plain, results)
        ]
        assert bare[0] == bare[1], "a release's own result has no number of a table"
        if verdicts[0] == verdicts[1]:
            assert plain(results[0]) == plain(results[1])
            assert len(results[0].content) == len(results[1].content), "the same verdicts are as long"


def test_tables_of_a_release_are_the_same_but_for_their_noisy_numbers(
    neighbours: tuple[Inside, Inside],
) -> None:
    ids = [
        inside.made("clara", f"{P}/releases", RELEASE)
        for inside in neighbours
        if not inside.service.config.slots
    ]
    if not ids:
        pytest.skip("they are read in the same way where slots are on")
    for end, params in (
        ("table", {"attribute": ["age", "sex"]}),
        ("table", {"attribute": ["town", "sex"]}),
        ("range", {"interval": "age=70-79"}),
        ("accuracy", {}),
        ("", {}),
    ):
        one, two = (
            inside.ask("clara", "GET", f"{P}/releases/{release}/{end}".rstrip("/"), params=params)
            for inside, release in zip(neighbours, ids, strict=True)
        )
        assert one.status_code == two.status_code == 200, one.text
        assert list(one.headers) == list(two.headers)
        bare = [re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", plain(each)) for each in (one, two)]
        assert _ungraded(bare[0]) == _ungraded(bare[1])
        if end in ("accuracy", ""):
            assert plain(one) == plain(two), "errors and cards are public"


def _ungraded(text: str) -> str:
    """Without what a noisy number is called: its grade, and whether zero is in its interval."""
    return re.sub(r'"(grade|quality|near_zero)": ("[^"]*"|\w+)', r'"\1": DRAWN', text)


def test_a_worker_refuses_neighbouring_tables_in_the_same_bytes(neighbours: tuple[Inside, Inside]) -> None:
    """The grant ends between handing in and the worker's charge."""
    answers = []
    for inside in neighbours:
        inside.site.let_in("amir", Role.ANALYST, grant=SHARE)
        sent = check(
            inside, {"query": "COUNT WHERE age = 77", "synthetic": {"upload": inside.site.upload("amir")}}
        )
        handed = inside.spend("amir", f"{P}/checks", sent, "late")
        ht.Ledger.open(inside.site.ledger_of("people")).grant("amir", ht.privacy.Budget.parse(LESS))
        while inside.ask("amir", "GET", handed.headers["location"]).json()["state"] == "waiting":
            inside.work()
            time.sleep(0.05)
        answers.append(inside.ask("amir", "GET", handed.headers["location"] + "/result"))
    one, two = answers
    assert one.status_code == two.status_code >= 400, one.text
    assert one.content == two.content and dict(one.headers) == dict(two.headers)
