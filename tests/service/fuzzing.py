"""Two services that can be sent anything: one whose people and roles stay, and one to throw away.

Both run in this process, on a socket of loopback, with one connection that is kept, so that thousands of requests take
minutes and travel as bytes all the same.
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import uvicorn
from inside import Inside
from providers import Answer, Provider
from sites import SCHEMA, Site, people
from test_roles import CHOICE, MEMBERS, RELEASE, P, Things, thing_of

import hushtable as ht
from hushtable.service import ROUTES, Audience, Reach, Role
from hushtable.service.roles import Route
from hushtable.service.started import LogLines
from hushtable.service.web.listening import socket_at
from hushtable.service.web.pages import PAGES

ROW_SECRET = "Zyzzyva31337"
"""A value of a row that no schema declares: only a leak of the data shows it."""
SENT = "planted-4f1c9"
"""Part of values that requests carry: no log may repeat it."""
SCRIPT = "<script>alert(1)</script>"
"""A value that no page may show as it is."""
PASSWORD = "a password that nobody types"
SETTLED = 400
"""Requests after which jobs are done and logs are looked at."""
NAMES = (*MEMBERS, "amir", "olga", "nobody")
"""Everybody who asks: each role, another analyst, somebody without a role, and nobody."""
SHARE = "epsilon=50,delta=1e-9,pure=20"
BUDGET = ht.ApproxDP(epsilon=500, delta="1e-9", pure=200)

CHANGES = {
    *(
        "schema_change",
        "raise_budget",
        "grant",
        "member_set",
        "member_remove",
        "publish",
        "approve",
        "reject",
    ),
    *("schema_form", "raise_form", "grant_form", "member_form", "publish_form", "proposal_form"),
    *("dataset_create", "new_dataset_form"),
}
"""What changes what all others see: a curator does it where it can be thrown away."""
OWN = {
    *("sign_in", "sign_out", "password", "token_create", "token_revoke", "oidc_start", "oidc_end"),
    *("sign_in_form", "sign_out_form", "token_form", "revoke_form"),
}
"""What ends, or begins, that somebody can ask at all: done there as well."""


class Babbler(Provider):
    """A provider of sign-ins that describes itself well and then gives tokens of all sorts."""

    rng = random.Random(11)

    def create_token_response(self, request: Any = None) -> Answer:
        good = {"access_token": "a", "token_type": "Bearer", "expires_in": 60}
        token = self.rng.choice(["", "x", "a.b.c", "e30.e30.", [], {}, None, 7, SENT, "é" * 300])
        told = self.rng.choice([{}, {"error": SENT}, {"error": []}, good, {**good, "id_token": token}])
        return 200, told, []


@dataclass
class Fuzzed:
    """A service with something of everything, and whoever asks it."""

    things: Things
    http: httpx.Client
    throwaway: bool
    browsers: dict[str, dict[str, str]] = field(default_factory=dict)
    proposal: str = "none"
    token: str = "none"
    last: str = ""
    sent: int = 0

    @property
    def service(self) -> Any:
        return self.things.inside.service

    def role(self, name: str) -> Role | None:
        """What somebody is in the dataset at this moment."""
        person = self.service.users.named(name)
        return None if person is None else self.service.users.role(person, "people")

    def headers(self, name: str, browser: bool) -> dict[str, str]:
        """How somebody says who they are."""
        if name == "nobody":
            return {}
        if browser:
            return dict(self.browsers[name])
        return {"authorization": f"Bearer {self.things.inside.site.tokens[name]}"}

    def refresh(self) -> list[str]:
        """New things in the places of those that were used up; secrets that came about."""
        inside, site = self.things.inside, self.things.inside.site
        if self.throwaway:
            self._repair()
        for name in ("anna", "amir"):
            self.things.release[name] = inside.made(name, f"{P}/releases", RELEASE)
            self.things.choice[name] = inside.made(name, f"{P}/choices", CHOICE)
            self.things.job[name] = inside.spend(name, f"{P}/releases", RELEASE).json()["id"]
        for name in ("anna", "amir", "clara"):
            self.things.upload[name] = site.upload(name)
        return [*site.tokens.values()]

    def _repair(self) -> None:
        """Give everybody back what they were, and let two curators decide in turns."""
        site, users = self.things.inside.site, self.service.users
        with self.service.storage.writing() as rows:
            rows.run("DELETE FROM failure")
            rows.run("DELETE FROM member")
            rows.run("UPDATE dataset SET two_curators = 1 - two_curators")
        self.service.catalogue.set_schema("people", self.service.catalogue.named("other").schema_yaml)
        for name, role in {**MEMBERS, "amir": Role.ANALYST, "carl": Role.CURATOR}.items():
            site.let_in(name, role, grant=SHARE if role is Role.ANALYST else None)
        site.let_in("olga", None)
        anna = users.named("anna")
        users.set_password(anna, PASSWORD)
        self.token = users.tokens(anna)[-1]["id"]
        self.things.inside.worker.open_data()
        asked = self.things.inside.ask("carl", "PUT", f"{P}/schema", json={"schema": SCHEMA})
        self.proposal = asked.json().get("proposal", "none")
        self.sign_everybody_in()

    def sign_everybody_in(self) -> None:
        """A browser for everybody."""
        users = self.service.users
        for name in (*NAMES, "carl"):
            person = users.named(name)
            if person is not None:
                secret, csrf = users.sign_in(person)
                self.browsers[name] = {"cookie": f"hush={secret}", "x-csrf-token": csrf}


@dataclass
class Campaign:
    """All that is sent, to whom, and what holds for every answer."""

    kept: Fuzzed
    thrown: Fuzzed
    log: io.StringIO
    secrets: list[str]
    seen: Counter[int] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each route was asked by each person."""
    good: Counter[str] = field(default_factory=Counter)
    """How often each route was answered with what was asked."""

    @property
    def sent(self) -> int:
        return self.kept.sent + self.thrown.sent

    def at(self, route: str, name: str) -> Fuzzed:
        """Where somebody may try a route."""
        curator = MEMBERS.get(name) is Role.CURATOR
        return self.thrown if route in OWN or (route in CHANGES and curator) else self.kept

    def send(
        self, at: Fuzzed, name: str, route: str, asked: Mapping[str, Any], owner: str | None = None
    ) -> httpx.Response | None:
        """Send a request; None where no client can send it.

        ``owner`` is whose thing it asks about, where its address was not changed.
        """
        role = at.role(name)
        try:
            answer = at.http.request(**asked, follow_redirects=False)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError, TypeError, ValueError):
            return None
        at.http.cookies.clear()
        at.sent += 1
        self.seen[answer.status_code] += 1
        self.pairs[route, name] += 1
        self.check(at, name, role, route, asked, answer, owner)
        if at.sent % SETTLED == 0:
            self.settle(at)
        return answer

    def check(
        self,
        at: Fuzzed,
        name: str,
        role: Role | None,
        route: str,
        asked: Mapping[str, Any],
        answer: httpx.Response,
        owner: str | None,
    ) -> None:
        """What holds for every answer."""
        body = answer.content.decode("utf-8", "replace") + str(dict(answer.headers))
        where = (name, str(role), answer.request.method, str(answer.request.url)[:300], answer.status_code)
        where = (*where, asked.get("content"), body[:600])
        assert answer.status_code != 500 and "internal.unexpected" not in body, where
        assert not [one for one in self.secrets if one in body], where
        html = answer.headers.get("content-type", "").startswith("text/html")
        assert not (html and SCRIPT in body), where
        row = ROUTES.get(route) or PAGES[route]
        refused = answer.status_code >= 400 or (html and 'class="refused"' in body)
        away = "/sign-in" in (answer.headers.get("location"), answer.headers.get("hx-redirect"))
        if refused or away or answer.request.method != row.method or not _same(row, answer.request.url.path):
            return
        self.good[route] += 1
        if row.audience is not Audience.EVERYBODY:
            assert name != "nobody", where
        if row.audience is Audience.FOUNDERS:
            assert name == "clara", where
        if row.audience is Audience.MEMBERS:
            assert role in row.reach, where
            if owner is not None and not at.throwaway and thing_of(row):
                reach = row.reach[role]
                assert reach is Reach.ALL or (reach is not Reach.RELEASED and owner == name), where

    def settle(self, at: Fuzzed) -> None:
        """Do the jobs that came about, look at what they gave and at the log, and make new things."""
        at.things.inside.work()
        with at.service.storage.reading() as rows:
            asked = "SELECT id, result FROM job WHERE result IS NOT NULL AND id > ? ORDER BY id"
            told = rows.all(asked, at.last)
        for row in told:
            assert "internal.unexpected" not in row["result"]
            assert not [one for one in self.secrets if one in row["result"]]
        at.last = told[-1]["id"] if told else at.last
        said = self.log.getvalue()
        self.log.seek(0)
        self.log.truncate(0)
        found = [one for one in (*self.secrets, SENT, "Traceback") if one in said]
        assert not found, [line for line in said.splitlines() if any(one in line for one in found)][:3]
        self.secrets += [one for one in at.refresh() if one not in self.secrets]


def _same(row: Route, path: str) -> bool:
    """Whether an address is one of a route's, in our dataset."""
    wanted, found = row.path.split("/"), path.split("/")
    alike = len(wanted) == len(found) and all(
        one == other or one.startswith("{") for one, other in zip(wanted, found, strict=True)
    )
    return alike and ("{dataset}" not in row.path or found[wanted.index("{dataset}")] == "people")


@contextlib.contextmanager
def on_loopback(app: Any) -> Iterator[httpx.Client]:
    """An application on a socket of its own, and the one connection to it."""
    listening = socket_at("127.0.0.1", 0)
    settings = {"log_config": None, "access_log": False, "server_header": False, "timeout_keep_alive": 3600}
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", **settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
        yield client
    server.should_exit = True
    thread.join(10)


def site_in(folder: Path, **settings: object) -> Site:
    """A site with a row that must not be seen, and everybody in it."""
    folder.mkdir()
    hidden = people(400).with_columns(
        pl.when(pl.int_range(pl.len()) % 50 == 0).then(pl.lit(ROW_SECRET)).otherwise("town").alias("town")
    )
    site = Site(
        folder,
        budget=BUDGET,
        settings={"slots": False, **settings},
        tables={"people": hidden, "other": hidden},
    )
    site.service.users.add("clara", founder=True)
    for name, role in {**MEMBERS, "amir": Role.ANALYST}.items():
        site.let_in(name, role, grant=SHARE if role is Role.ANALYST else None)
    site.let_in("olga", None)
    site.service.users.add("victor", PASSWORD)
    site.let_in("victor", Role.CURATOR, dataset="other")
    return site


@contextlib.contextmanager
def fuzzed_at(site: Site, throwaway: bool) -> Iterator[Fuzzed]:
    """A site with something of everything, which listens."""
    inside = Inside(site)
    inside.app.state.limiter.take = lambda asker: None
    with on_loopback(inside.app) as http:
        made = Fuzzed(Things(inside), http, throwaway)
        if throwaway:
            site.let_in("carl", Role.CURATOR)
        made.sign_everybody_in()
        made.refresh()
        yield made


@contextlib.contextmanager
def campaign_in(folder: Path) -> Iterator[Campaign]:
    """Both services, and all that they log."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setFormatter(LogLines())
    listened = [logging.getLogger(name) for name in ("hushtable", "uvicorn")]
    for one in listened:
        one.addHandler(handler)
    listened[0].setLevel("INFO")
    provider = Babbler()
    oidc = {"issuer": provider.url, "client": "hush"}
    sites = [site_in(folder / "kept"), site_in(folder / "thrown", oidc=oidc, address="http://127.0.0.1:9")]
    secrets = [ROW_SECRET, PASSWORD, *(str(site.folder / "data") for site in sites)]
    with fuzzed_at(sites[0], False) as kept, fuzzed_at(sites[1], True) as thrown:
        secrets += [token for site in sites for token in site.tokens.values()]
        yield Campaign(kept, thrown, log, secrets)
    provider.close()
    for one in listened:
        one.removeHandler(handler)
