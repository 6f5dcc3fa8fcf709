"""Requests that nobody meant: none ends in a 500, tells what it must not, or gets past the tables of routes and pages.

Half are ours, as somebody would send them and with something changed; a quarter are forms of pages, changed in the same
way; a quarter are made by schemathesis from the OpenAPI document.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from fuzzing import CHANGES, NAMES, OWN, PASSWORD, SCRIPT, SENT, Campaign, Fuzzed, campaign_in
from sites import SCHEMA
from test_roles import QUERIES, RELEASE, bodies

from hushtable.service import ROUTES, Role
from hushtable.service.roles import Route
from hushtable.service.web.pages import PAGES

REQUESTS = int(os.environ.get("HUSH_FUZZ", "50000"))
ODD = [
    *(None, True, -1, 0, 10**400, 1e308, -0.0, "", "\x00", [], {}, [[[[[[]]]]]], {SENT: SENT}, ["x"] * 300),
    "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    *("../../../etc/passwd", "' OR 1=1 --", "{{7*7}}", SCRIPT, f'">{SCRIPT}', "%s%n%x", "٣", "a" * 3000),
    *(SENT, f"rho={SENT}", "epsilon=1e-400", "rho=1e400", "epsilon=nan", "9" * 5000, "2026-13-99T99:99"),
]
QUERY_WORDS = ["COUNT", "SUM(age)", "MEDIAN(age)", "WHERE", "AND", "OR", "NOT", "age", ">=", "=", "'F'", "("]
QUERY_WORDS += [")", "sex", "IN", "-9e99", "BETWEEN", ";", "town", f"'{SENT}'", "9" * 400]
BUDGETS = ["rho=0.0001", "epsilon=0.001", "epsilon=0.001,delta=1e-12", "rho=-1", "rho=0", "epsilon=inf", "1"]
PLACES = [
    "other",
    "nothing",
    "..",
    SENT,
    "a" * 300,
    "%00",
    "people",
    "ä",
    "%3Cscript%3Ealert(1)%3C/script%3E",
]
WORDS_OF_ADDRESSES = [
    "cursor",
    "alpha",
    "attribute",
    "format",
    "number",
    "kind",
    "head",
    "code",
    "state",
    SENT,
]
HEADERS = [
    "idempotency-key",
    "content-type",
    "accept-language",
    "if-none-match",
    "cookie",
    "hushtable-client",
]
HEADERS += ["hx-request", "sec-fetch-site", "x-csrf-token", "accept", "range"]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
FILES = [
    b"",
    b"age,sex\n",
    b"age,sex,town\n1,F,Ash\n",
    b"age,sex,town\n1,F,Ash,9\n",
    b"PAR1" * 9,
    b"\xff\xfe" * 20,
]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    with campaign_in(tmp_path_factory.mktemp("fuzz")) as made:
        yield made


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
        return value[:place] + rng.choice(["", "\x07", "é", SENT, "{", "'", SCRIPT]) + value[place + 1 :]
    return rng.choice(ODD)


class Asked:
    """A request as somebody would send it, before anything is changed."""

    def __init__(self, at: Fuzzed, rng: random.Random, route: str, row: Route, name: str) -> None:
        self.at, self.rng, self.row, self.method = at, rng, row, row.method
        self.owner: str | None = rng.choice(["anna", "amir"])
        things = at.things
        self.values = {kind: getattr(things, kind)[self.owner] for kind in ("release", "choice", "job")}
        self.values |= {"dataset": "people", "person": "olga", "proposal": at.proposal, "token": at.token}
        self.values |= {
            "file": "style.css",
            "page": "tables-1.html",
            "step": rng.choice(["finish", "abandon"]),
        }
        self.values |= {"answer": rng.choice(["approve", "reject"])}
        self.params: dict[str, Any] = dict(QUERIES.get(route, {}))
        self.headers = {"idempotency-key": f"{rng.random()}"} if row.spends else {}
        self.upload = things.upload.get(name, things.upload["anna"])

    def change_address(self) -> None:
        """Another place, parameter, header or method."""
        rng, what = self.rng, self.rng.random()
        if what < 0.3:
            key = rng.choice([key for key in self.values if f"{{{key}}}" in self.row.path] or ["dataset"])
            self.values[key], self.owner = rng.choice(PLACES), None
        elif what < 0.62:
            self.params[rng.choice(WORDS_OF_ADDRESSES)] = rng.choice(
                ["", "-1", "nan", "1e999", SENT, SCRIPT, "age", "~", "x" * 500]
            )
        elif what < 0.94:
            self.headers[rng.choice(HEADERS)] = rng.choice(
                ["", "a" * 500, "text/csv", SENT, "hush=x", "true", "W/*", "cross-site", "0.0.1", "bytes=9-1"]
            )
        else:
            self.method = rng.choice(METHODS)

    def request(self, name: str, browser: bool) -> dict[str, Any]:
        """What the client is told to send."""
        headers = {**self.at.headers(name, browser), **self.headers}
        url = self.row.path.format(**self.values)
        return {"method": self.method, "url": url, "params": self.params, "headers": headers}


def more_bodies(asked: Asked, route: str) -> Any:
    """What a route takes, as it should be."""
    rng = asked.rng
    name, password = rng.choice(["anna", "victor", "nobody"]), rng.choice([PASSWORD, "guessed, and wrong"])
    others: dict[str, Any] = {
        "sign_in": {"name": name, "password": password},
        "password": {"old": password, "new": f"{PASSWORD} at all"},
        "sign_out": {},
        "token_create": {"label": "x", "scopes": ["read"], "days": 1},
        "dataset_create": {
            "name": f"d{rng.randrange(10**6)}",
            "schema": SCHEMA,
            "budget": "rho=1",
            "largest_rows": 9,
        },
    }
    return others.get(route, bodies(asked.at.things, asked.upload).get(route))


def ask_route(campaign: Campaign, rng: random.Random, route: str, name: str) -> None:
    """A request to a route of ``/v1``, with up to three things changed."""
    at = campaign.at(route, name)
    asked = Asked(at, rng, route, ROUTES[route], name)
    body = more_bodies(asked, route)
    if route == "oidc_end":
        begun = campaign.send(at, name, "oidc_start", {"method": "GET", "url": "/v1/sign-in/oidc"})
        if begun is not None and begun.status_code == 303:
            state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
            asked.params = {"state": state, "code": "x"}
            asked.headers["cookie"] = begun.headers["set-cookie"].partition(";")[0]
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        if rng.random() < 0.65 and body is not None:
            body = mutated(rng, body)
        else:
            asked.change_address()
    browser = name != "nobody" and rng.random() < 0.2
    sent = asked.request(name, browser)
    if route == "upload":
        sent["content"] = rng.choice([*FILES, rng.randbytes(60)])
        sent["headers"].setdefault("content-type", rng.choice(["text/csv", "application/vnd.apache.parquet"]))
    elif ROUTES[route].method in ("POST", "PUT") and body is not None:
        sent["headers"].setdefault("content-type", "application/json")
        text = json.dumps(body).encode()
        if rng.random() < 0.05:
            text = text[: rng.randrange(len(text) + 1)] + rng.randbytes(3)
        sent["content"] = text
    campaign.send(at, name, route, sent, asked.owner)


def fields_of(asked: Asked, page: str) -> dict[str, Any]:
    """What the form of a page sends, as it should be."""
    rng, key = asked.rng, f"key-{asked.rng.random()}"
    question = {"query": "COUNT WHERE age >= 30", "synthetic": f"upload:{asked.upload}", "tau": "5"}
    question |= {"epsilon": "0.001", "decider": "auto"}
    tables = {"budget": RELEASE["budget"], "order": "1", "strategy": "auto", "marginals": ""}
    known: dict[str, dict[str, Any]] = {
        "sign_in_form": {"name": "anna", "password": PASSWORD, "next": "/"},
        "token_form": {"label": "x", "scopes": ["read"], "days": "1"},
        "new_dataset_review": {"document": SCHEMA, "accept": ["age"]},
        "new_dataset_form": {
            "name": f"d{rng.randrange(10**6)}",
            "document": SCHEMA,
            "budget": "rho=1",
            "largest_rows": "9",
            "two_curators": "true",
        },
        "publish_form": {"at": rng.choice(["", "2031-01-01T00:00"])},
        "new_release_plan": tables,
        "new_release_form": {**tables, "key": key},
        "check_plan": question,
        "check_form": {**question, "key": key},
        "upload_form": {"file": rng.choice([*FILES, rng.randbytes(60)])},
        "choose_form": {"budget": "rho=0.002", "key": key, "orders": ["1", "2"], "coarse": "", "fine": ""},
        "step_form": {"key": key, "option": "0"},
        "grant_form": {"person": "anna", "budget": "epsilon=10,delta=1e-9,pure=5"},
        "raise_form": {"budget": "epsilon=600,delta=1e-9,pure=200"},
        "member_form": {"person": "olga", "role": rng.choice([*Role, ""])},
        "schema_review": {"document": SCHEMA, "accept": ["age"]},
        "schema_form": {"document": SCHEMA},
    }
    return known.get(page, {})


def text_of(value: Any) -> Any:
    """A field as a form has it."""
    if isinstance(value, list):
        return [text_of(one) for one in value]
    return value if isinstance(value, bytes) else str("" if value is None else value)


def ask_page(campaign: Campaign, rng: random.Random, page: str, name: str) -> None:
    """A page that is looked at, or its form that is sent, with up to three things changed."""
    at = campaign.at(page, name)
    asked = Asked(at, rng, page, PAGES[page], name)
    fields = fields_of(asked, page)
    for _ in range(rng.randint(0, 3)):
        if fields and rng.random() < 0.75:
            changed = mutated(rng, fields)
            fields = changed if isinstance(changed, dict) else {SENT: changed}
        else:
            asked.change_address()
    sent = asked.request(name, browser=True)
    if rng.random() < 0.4:
        sent["headers"]["hx-request"] = "true"
    if PAGES[page].method == "POST":
        pairs = {str(key): text_of(value) for key, value in fields.items()}
        whole = page == "upload_form" or rng.random() < 0.1
        if whole and "content-type" not in sent["headers"]:
            boundary = "b" * 20
            file = (
                f'; filename="{rng.choice(["x.csv", "x.parquet", "", SENT])}"'
                if page == "upload_form"
                else ""
            )
            parts = b""
            for key, value in pairs.items():
                head = f'--{boundary}\r\ncontent-disposition: form-data; name="{key}"{file}\r\n\r\n'
                content = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
                parts += head.encode("utf-8", "replace") + content + b"\r\n"
            ending = b"" if rng.random() < 0.05 else f"--{boundary}--\r\n".encode()
            sent["content"] = parts + ending
            sent["headers"]["content-type"] = f"multipart/form-data; boundary={boundary}"
        else:
            sent["content"] = urlencode(pairs, doseq=True, errors="replace").encode()
            sent["headers"].setdefault("content-type", "application/x-www-form-urlencoded")
    campaign.send(at, name, page, sent, asked.owner)


def pairs_of(rng: random.Random, names: list[str], often: Callable[[str], int]) -> Iterator[tuple[str, str]]:
    """Every route with everybody, again and again in another order; some routes several times."""
    asking = [*NAMES, "anna", "amir", "clara"]
    every = [(one, name) for one in names for name in asking for _ in range(often(one))]
    while True:
        rng.shuffle(every)
        yield from every


def _often(route: str) -> int:
    return 4 if ROUTES[route].spends or route.startswith("plan") else 1


def mutate(campaign: Campaign, number: int, seed: int) -> None:
    """So many requests to ``/v1``, every route with everybody's token."""
    rng, before = random.Random(seed), campaign.sent
    pairs = pairs_of(rng, list(ROUTES), _often)
    while campaign.sent - before < number:
        ask_route(campaign, rng, *next(pairs))
    finish(campaign, "mutated", before, number)


def browse(campaign: Campaign, number: int, seed: int) -> None:
    """So many pages and forms, each by everybody."""
    rng, before = random.Random(seed), campaign.sent
    pairs = pairs_of(rng, list(PAGES), lambda page: 2 if PAGES[page].method == "POST" else 1)
    while campaign.sent - before < number:
        ask_page(campaign, rng, *next(pairs))
    finish(campaign, "forms", before, number)


def finish(campaign: Campaign, what: str, before: int, number: int) -> None:
    """All jobs are done, all logs looked at, and no request is missing."""
    for at in (campaign.kept, campaign.thrown):
        campaign.settle(at)
    sent = campaign.sent - before
    print(f"{what}: {sent} requests, {dict(sorted(campaign.seen.items()))}", flush=True)
    assert sent >= number


def generated(campaign: Campaign, number: int, seed: int) -> None:
    """So many requests that schemathesis makes from the OpenAPI document, good ones and bad ones.

    It ends early where a route takes little that differs; rounds go on until so many were sent.
    """
    schemathesis = pytest.importorskip("schemathesis")
    document = schemathesis.openapi.from_asgi("/v1/openapi.json", campaign.kept.things.inside.app)
    operations = [one.ok() for one in document.get_all_operations()]
    named = {operation.definition.raw["operationId"]: operation for operation in operations}
    modes = list(schemathesis.GenerationMode)
    strategies = [
        (route, operation.as_strategy(generation_mode=mode))
        for route, operation in named.items()
        for mode in modes
    ]
    rng, before, round_ = random.Random(seed), campaign.sent, 0
    each = max(2, min(100, number // len(strategies)))
    asked: set[str] = set()
    while campaign.sent - before < number:
        round_ += 1
        for route, strategy in list(strategies):
            if campaign.sent - before >= number and round_ > 1:
                break
            earlier = campaign.sent
            made_by(strategy, each, seed=1000 * seed + round_, send=sender(campaign, rng, route))
            if campaign.sent > earlier:
                asked.add(route)
            else:
                strategies.remove((route, strategy))  # such as a bad request to a route that takes anything
        assert strategies, "nothing more can be made"
    assert asked == set(named)
    finish(campaign, "of the document", before, number)


def made_by(strategy: Any, each: int, seed: int, send: Callable[[Any], None]) -> None:
    """Send up to so many cases of a strategy."""
    import hypothesis
    from hypothesis import HealthCheck, Phase, given, settings

    quiet = settings(
        max_examples=each, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        hypothesis.seed(seed)(given(strategy)(quiet(send)))()
    except Exception as error:
        if type(error).__name__ not in ("Unsatisfiable", "SkipTest"):
            raise


def sender(campaign: Campaign, rng: random.Random, route: str) -> Callable[[Any], None]:
    """What sends a case to a route, as somebody chosen by chance."""

    def send(case: Any) -> None:
        name = rng.choice(NAMES)
        at = campaign.at(route, name)
        case.headers = {k: v for k, v in (case.headers or {}).items() if k.lower() != "authorization"}
        case.headers |= at.headers(name, browser=False)
        if "dataset" in (case.path_parameters or {}):
            case.path_parameters["dataset"] = "people"
        try:
            asked = case.as_transport_kwargs(base_url=str(at.http.base_url))
        except (UnicodeError, TypeError, ValueError):
            return  # no client can send it
        if "data" in asked:
            asked["content"] = asked.pop("data")
        cookies = asked.pop("cookies", None) or {}
        if cookies:
            asked["headers"] = {
                **asked["headers"],
                "cookie": "; ".join(f"{k}={v}" for k, v in cookies.items()),
            }
        campaign.send(at, name, route, asked)

    return send


def test_some_mutated_requests_fail_well(campaign: Campaign) -> None:
    mutate(campaign, 300, seed=1)


def test_some_changed_forms_fail_well(campaign: Campaign) -> None:
    browse(campaign, 300, seed=1)


@pytest.mark.long
def test_some_requests_of_the_document_fail_well(campaign: Campaign) -> None:
    generated(campaign, 400, seed=1)


@pytest.mark.slow
def test_fifty_thousand_requests_fail_well(campaign: Campaign) -> None:
    """All of one campaign; every route and page was tried by everybody, and nearly each was answered as was asked."""
    campaign.pairs.clear()
    begun, before = time.perf_counter(), campaign.sent
    mutate(campaign, REQUESTS // 2, seed=2)
    assert {(one, name) for one in ROUTES for name in NAMES} <= set(campaign.pairs)
    browse(campaign, REQUESTS // 4, seed=3)
    assert {(one, name) for one in PAGES for name in NAMES} <= set(campaign.pairs)
    generated(campaign, REQUESTS - REQUESTS // 2 - REQUESTS // 4, seed=4)
    sent, seconds = campaign.sent - before, time.perf_counter() - begun
    every = {*ROUTES, *PAGES}
    never = sorted(every - set(campaign.good))
    print(f"{sent} requests in {seconds:.0f} s; never answered as asked: {never}")
    assert sent >= REQUESTS
    if REQUESTS >= 50_000:
        assert len(never) < len(every) / 8, (
            "such as what needs a worker that beats, or a provider's good word"
        )


def test_what_changes_and_what_ends_are_routes_and_pages() -> None:
    assert {*CHANGES, *OWN} <= {*ROUTES, *PAGES}
