"""Requests that nobody meant: none ends in a 500, tells what it must not, or gets past the table of routes."""

from __future__ import annotations

import io
import json
import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import polars as pl
import pytest
from inside import Inside
from sites import Site, people
from test_roles import CHOICE, MEMBERS, QUERIES, RELEASE, P, Things, bodies

import hushtable as ht
from hushtable.service import ROUTES, Audience, Role
from hushtable.service.started import LogLines

ROW_SECRET = "Zyzzyva31337"
"""A value of a row that no schema declares: only a leak of the data shows it."""
SENT = "planted-4f1c9"
"""Part of values that requests carry: no log may repeat it."""
PASSWORD = "a password that nobody types"
REQUESTS = int(os.environ.get("HUSH_FUZZ", "50000"))
NAMES = [*MEMBERS, "amir", "olga", "nobody"]
ODD = [
    None,
    True,
    -1,
    0,
    10**400,
    1e308,
    -0.0,
    "",
    "\x00",
    "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "../../../etc/passwd",
    "' OR 1=1 --",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "%s%n%x",
    "٣",
    "a" * 3000,
    f"{SENT}",
    f"rho={SENT}",
    "epsilon=1e-400",
    "rho=1e400",
    "epsilon=nan",
    [],
    {},
    [[[[[[]]]]]],
    {SENT: SENT},
    ["x"] * 300,
]
QUERY_WORDS = ["COUNT", "SUM(age)", "MEDIAN(age)", "WHERE", "AND", "OR", "NOT", "age", ">=", "=", "'F'", "("]
QUERY_WORDS += [")", "sex", "IN", "-9e99", "BETWEEN", ";", "town", f"'{SENT}'", "9" * 400]
BUDGETS = ["rho=0.0001", "epsilon=0.001", "epsilon=0.001,delta=1e-12", "rho=-1", "rho=0", "epsilon=inf", "1"]


@dataclass
class Fuzzed:
    """A service with something of everything, a client that stays open, and all that was logged."""

    things: Things
    client: Any
    log: io.StringIO
    secrets: list[str]
    seen: Counter[int] = field(default_factory=Counter)
    sent: int = 0

    def check(self, name: str, answer: httpx.Response, route: str | None) -> None:
        """What holds for every answer."""
        self.sent += 1
        self.seen[answer.status_code] += 1
        body = answer.content.decode("utf-8", "replace") + str(dict(answer.headers))
        where = (name, answer.request.method, answer.request.url.path, answer.status_code, body[:300])
        assert answer.status_code != 500 and "internal.unexpected" not in body, where
        assert not [one for one in self.secrets if one in body], where
        row = None if route is None else ROUTES[route]
        if row is not None and answer.status_code < 400:
            assert row.audience is Audience.EVERYBODY or name != "nobody", where
            if row.audience is Audience.MEMBERS:
                assert name in MEMBERS or name == "amir", where
                assert MEMBERS.get(name, Role.ANALYST) in row.reach, where
        if self.sent % 500 == 0:
            self.settle()

    def settle(self) -> None:
        """Do the jobs that came about, look at what they gave, and at the log."""
        inside = self.things.inside
        inside.work()
        with inside.service.storage.reading() as rows:
            told = rows.all("SELECT result FROM job WHERE result IS NOT NULL")
        for row in told:
            assert "internal.unexpected" not in row["result"]
            assert not [one for one in self.secrets if one in row["result"]]
        said = self.log.getvalue()
        assert not [one for one in (*self.secrets, SENT, "Traceback") if one in said]
        self.log.truncate(0)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    hidden = people(400).with_columns(
        pl.when(pl.int_range(pl.len()) % 50 == 0).then(pl.lit(ROW_SECRET)).otherwise("town").alias("town")
    )
    budget = ht.ApproxDP(epsilon=500, delta="1e-9", pure=200)
    site = Site(
        tmp_path_factory.mktemp("fuzz"),
        budget=budget,
        settings={"slots": False},
        tables={"people": hidden, "other": hidden},
    )
    for name, role in MEMBERS.items():
        site.let_in(name, role, grant="epsilon=50,delta=1e-9,pure=20" if name == "anna" else None)
    site.let_in("amir", Role.ANALYST, grant="epsilon=50,delta=1e-9,pure=20")
    site.let_in("olga", None)
    site.service.users.add("victor", PASSWORD)
    site.let_in("victor", Role.CURATOR, dataset="other")
    inside = Inside(site)
    inside.app.state.limiter.take = lambda asker: None
    found = Things(inside)
    for name in ("anna", "amir"):
        found.release[name] = inside.made(name, f"{P}/releases", RELEASE)
        found.choice[name] = inside.made(name, f"{P}/choices", CHOICE)
        found.job[name] = inside.spend(name, f"{P}/releases", RELEASE).json()["id"]
        found.upload[name] = site.upload(name)
    found.upload["clara"] = site.upload("clara")
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setFormatter(LogLines())
    ours = logging.getLogger("hushtable")
    ours.addHandler(handler)
    ours.setLevel("INFO")
    secrets = [ROW_SECRET, PASSWORD, str(site.folder / "data"), *site.tokens.values()]
    with inside.client(raise_server_exceptions=False) as client:
        yield Fuzzed(found, client, log, secrets)
    ours.removeHandler(handler)


def odd_query(rng: random.Random) -> str:
    return " ".join(rng.choices(QUERY_WORDS, k=rng.randint(1, 12)))


def mutated(rng: random.Random, value: Any) -> Any:
    """A value with something odd in some place."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if key == "query" and rng.random() < 0.5:
            return {**value, key: odd_query(rng)}
        if key == "budget" and rng.random() < 0.5:
            return {**value, key: rng.choice(BUDGETS)}
        return {**value, key: mutated(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [*value[:place], mutated(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.4:
        place = rng.randrange(len(value))
        return value[:place] + rng.choice(["", "\x07", "é", SENT, "{", "'"]) + value[place + 1 :]
    return rng.choice(ODD)


def request_of(fuzzed: Fuzzed, rng: random.Random, route: str, name: str) -> dict[str, Any]:
    """A request to a route as somebody would send it, with one to three things changed."""
    row, things = ROUTES[route], fuzzed.things
    owner = rng.choice(["anna", "amir"])
    kinds = {"release": things.release, "choice": things.choice, "job": things.job}
    values = {kind: ids[owner] for kind, ids in kinds.items()}
    values |= {"dataset": "people", "person": "olga", "proposal": "none", "token": "none"}
    asked: dict[str, Any] = {"method": row.method, "params": dict(QUERIES.get(route, {})), "headers": {}}
    body = bodies(things, things.upload.get(name, things.upload["anna"])).get(route)
    if row.spends:
        asked["headers"]["idempotency-key"] = f"{rng.random()}"
    for _ in range(rng.randint(1, 3)):
        what = rng.random()
        if what < 0.65 and body is not None:
            body = mutated(rng, body)
        elif what < 0.73:
            key = rng.choice(list(values))
            values[key] = rng.choice(["other", "nothing", "..", SENT, "a" * 300, "%00", "people", "ä"])
        elif what < 0.83:
            asked["params"][
                rng.choice(["cursor", "alpha", "attribute", "format", "number", "kind", SENT])
            ] = rng.choice(["", "-1", "nan", "1e999", SENT, "age", "~", "x" * 500])
        elif what < 0.93:
            header = rng.choice(
                ["idempotency-key", "content-type", "accept-language", "if-none-match", "cookie"]
            )
            asked["headers"][header] = rng.choice(["", "a" * 500, "text/csv", SENT, "hush=x", "\t", "W/*"])
        else:
            asked["method"] = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
    if name != "nobody":
        asked["headers"]["authorization"] = f"Bearer {things.inside.site.tokens[name]}"
    asked["url"] = row.path.format(**values)
    if route == "upload":
        asked["content"] = rng.choice(
            [b"", b"age,sex\n", bytes(rng.randbytes(60)), b"age,sex,town\n1,F,Ash\n"]
        )
        asked["headers"].setdefault("content-type", "text/csv")
    elif row.method in ("POST", "PUT") and body is not None:
        asked["headers"].setdefault("content-type", "application/json")
        text = json.dumps(body).encode()
        if rng.random() < 0.05:
            text = text[: rng.randrange(len(text) + 1)] + rng.randbytes(3)
        asked["content"] = text
    return asked


SKIPPED = {"sign_in", "oidc_start", "oidc_end", "password", "dataset_create", "sign_out"}
"""Those that other tests go through, because each try takes long (a password) or ends what the others use."""


def mutate(fuzzed: Fuzzed, number: int, seed: int) -> None:
    rng = random.Random(seed)
    routes = [route for route in ROUTES if route not in SKIPPED]
    routes += 3 * [route for route in routes if ROUTES[route].spends or route.startswith("plan")]
    for _ in range(number):
        route, name = rng.choice(routes), rng.choice([*NAMES, "anna", "amir", "anna", "clara"])
        asked = request_of(fuzzed, rng, route, name)
        if (
            route in ("publish", "member_set", "member_remove", "schema_change", "grant")
        ) and name == "clara":
            continue  # they may change what the others see; test_curators.py and test_roles.py go through them
        answer = fuzzed.client.request(**asked, follow_redirects=False)
        same = (
            asked["method"] == ROUTES[route].method and "/people" in asked["url"] and ".." not in asked["url"]
        )
        fuzzed.check(name, answer, route if same else None)
    fuzzed.settle()


def generated(fuzzed: Fuzzed, number: int) -> None:
    """Requests that schemathesis makes from the OpenAPI document, good ones and bad ones."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    document = schemathesis.openapi.from_asgi("/v1/openapi.json", fuzzed.things.inside.app)
    operations = [one.ok() for one in document.get_all_operations()]
    named = {operation.definition.raw["operationId"]: operation for operation in operations}
    kept = {name: one for name, one in named.items() if name not in SKIPPED}
    each = -(-number // len(kept) // 2)
    rng = random.Random(5)

    def sender(route: str) -> Callable[[Any], None]:
        def send_one(case: Any) -> None:
            send(route, case)

        return send_one

    def send(route: str, case: Any) -> None:
        name = rng.choice(NAMES)
        if name == "clara" and ROUTES[route].method != "GET" and not ROUTES[route].spends:
            name = "anna"
        case.headers = {k: v for k, v in (case.headers or {}).items() if k.lower() != "authorization"}
        if name != "nobody":
            case.headers["authorization"] = f"Bearer {fuzzed.things.inside.site.tokens[name]}"
        if "dataset" in (case.path_parameters or {}):
            case.path_parameters["dataset"] = "people"
        try:
            asked = case.as_transport_kwargs(base_url="http://testserver")
            if "data" in asked:
                asked["content"] = asked.pop("data")
            answer = fuzzed.client.request(**asked, follow_redirects=False)
        except (httpx.InvalidURL, UnicodeError, TypeError, ValueError):
            return  # no client can send it
        fuzzed.check(name, answer, route)

    for route, operation in kept.items():
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            try:
                made = operation.as_strategy(generation_mode=mode)
                quiet = settings(
                    max_examples=each, deadline=None, database=None, phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck), derandomize=True,
                )  # fmt: skip
                given(made)(quiet(sender(route)))()
            except Exception as error:
                if type(error).__name__ not in ("Unsatisfiable", "SkipTest"):
                    raise
    fuzzed.settle()


def test_some_mutated_requests_fail_well(fuzzed: Fuzzed) -> None:
    mutate(fuzzed, 400, seed=1)


@pytest.mark.slow
def test_many_mutated_requests_fail_well(fuzzed: Fuzzed) -> None:
    mutate(fuzzed, REQUESTS * 6 // 10, seed=2)
    print(fuzzed.sent, dict(fuzzed.seen))


@pytest.mark.long
def test_some_requests_of_the_document_fail_well(fuzzed: Fuzzed) -> None:
    generated(fuzzed, 400)


@pytest.mark.slow
def test_many_requests_of_the_document_fail_well(fuzzed: Fuzzed) -> None:
    generated(fuzzed, REQUESTS * 6 // 10)
    print(fuzzed.sent, dict(fuzzed.seen))
