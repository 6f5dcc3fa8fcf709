"""Sign-in at a real provider on loopback: authlib's own server classes, and what must be refused."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from inside import Inside
from joserfc import jwk, jwt
from sites import Site

from hushtable.service import Role


class Provider:
    """A small provider: it describes itself, gives codes, and gives tokens for codes to whoever has the verifier."""

    def __init__(self) -> None:
        self.key = jwk.RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
        self.signing = self.key
        self.codes: dict[str, dict[str, str]] = {}
        self.claims: dict[str, Any] = {}
        self.server = make_server("127.0.0.1", 0, self, handler_class=Quiet)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __call__(self, environ: dict[str, Any], start: Any) -> list[bytes]:
        path = environ["PATH_INFO"]
        if path == "/.well-known/openid-configuration":
            ends = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
            return self._say(start, {"issuer": self.url} | {k: self.url + v for k, v in ends.items()})
        if path == "/keys":
            return self._say(start, {"keys": [self.key.as_dict(private=False)]})
        if path == "/token":
            sent = parse_qs(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode())
            return self._token(start, {name: values[0] for name, values in sent.items()})
        start("404 Not Found", [])
        return [b""]

    def authorize(self, url: str) -> str:
        """What the person's browser does there: sign in, and come back with a code."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return code

    def _token(self, start: Any, sent: dict[str, str]) -> list[bytes]:
        asked = self.codes.pop(sent.get("code", ""), None)
        fits = (
            asked is not None and create_s256_code_challenge(sent["code_verifier"]) == asked["code_challenge"]
        )
        if not fits or asked is None or sent["redirect_uri"] != asked["redirect_uri"]:
            start("400 Bad Request", [("content-type", "application/json")])
            return [b'{"error": "invalid_grant"}']
        now = int(time.time())
        claims = {"iss": self.url, "aud": asked["client_id"], "sub": "s-1", "nonce": asked["nonce"]}
        claims |= {
            "iat": now,
            "exp": now + 300,
            "preferred_username": "olga",
            "hushtable": ["people:analyst"],
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.claims, self.signing)
        return self._say(start, {"access_token": "x", "token_type": "Bearer", "id_token": token})

    @staticmethod
    def _say(start: Any, value: dict[str, Any]) -> list[bytes]:
        start("200 OK", [("content-type", "application/json")])
        return [json.dumps(value).encode()]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.server.shutdown()


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Inside:
    folder: Path = tmp_path_factory.mktemp("oidc")
    site = Site(folder, settings={"address": "http://testserver"})
    text = (folder / "hush.toml").read_text()
    oidc = f'[serve.oidc]\nissuer = "{provider.url}"\nclient = "hush"\n'
    (folder / "hush.toml").write_text(text + oidc)
    from hushtable.service import ServeConfig, Service

    site.service = Service.open(ServeConfig.load(folder / "hush.toml"))
    return Inside(site)


def walk(inside: Inside, provider: Provider, **claims: Any) -> tuple[Any, httpx.Response]:
    """From the start to the way back."""
    provider.claims, provider.signing = claims, provider.signing
    client = inside.client(follow_redirects=False)
    begun = client.get("/v1/sign-in/oidc")
    assert begun.status_code == 303, begun.text
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    code = provider.authorize(begun.headers["location"])
    return client, client.get("/v1/sign-in/oidc/done", params={"state": state, "code": code})


def test_a_person_signs_in_and_has_the_roles_that_are_claimed(inside: Inside, provider: Provider) -> None:
    client, answer = walk(inside, provider)
    assert answer.status_code == 200, answer.text
    assert 'url=/"' in answer.text and "location" not in answer.headers
    assert client.get("/v1/me").json()["roles"] == {"people": "analyst"}
    client, _ = walk(inside, provider, hushtable=["people:reader", "nothing:curator", "people:king", 3])
    assert client.get("/v1/me").json()["roles"] == {"people": "reader"}
    client, _ = walk(inside, provider, hushtable="people:curator")
    assert client.get("/v1/me").json()["roles"] == {}


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "http://127.0.0.1:1"},
        {"aud": "another client"},
        {"nonce": "another sign-in"},
        {"nonce": None},
        {"exp": 1},
        {"sub": None},
    ],
)
def test_a_token_for_others_of_others_or_of_yesterday_is_refused(
    inside: Inside, provider: Provider, claims: dict[str, Any]
) -> None:
    client, answer = walk(inside, provider, **claims)
    assert (answer.status_code, answer.json()["code"]) == (409, "user.not-signed-in")
    assert client.get("/v1/me").status_code == 401


def test_a_token_that_somebody_else_signed_is_refused(inside: Inside, provider: Provider) -> None:
    provider.signing = jwk.RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
    try:
        _, answer = walk(inside, provider)
    finally:
        provider.signing = provider.key
    assert answer.json()["code"] == "user.not-signed-in"


def test_a_code_that_another_browser_began_is_refused(inside: Inside, provider: Provider) -> None:
    provider.claims = {}
    victim, attacker = (inside.client(follow_redirects=False) for _ in range(2))
    begun = attacker.get("/v1/sign-in/oidc")
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    code = provider.authorize(begun.headers["location"])
    done = {"state": state, "code": code}
    assert victim.get("/v1/sign-in/oidc/done", params=done).json()["code"] == "user.not-signed-in"
    victim.get("/v1/sign-in/oidc")
    assert victim.get("/v1/sign-in/oidc/done", params=done).json()["code"] == "user.not-signed-in"


def test_the_way_back_leads_nowhere_else(inside: Inside, provider: Provider) -> None:
    client = inside.client(follow_redirects=False)
    begun = client.get(
        "/v1/sign-in/oidc", params={"next": "https://evil.example", "redirect_uri": "https://evil"}
    )
    assert urlsplit(begun.headers["location"]).netloc == urlsplit(provider.url).netloc
    assert "evil" not in begun.headers["location"]


def test_a_local_name_cannot_be_taken_by_a_claim(inside: Inside, provider: Provider) -> None:
    users = inside.service.users
    users.set_role(users.add("clara", "correct horse battery"), "people", Role.CURATOR)
    client, answer = walk(inside, provider, sub="s-2", preferred_username="clara")
    assert answer.json()["code"] == "user.exists" and client.get("/v1/me").status_code == 401
