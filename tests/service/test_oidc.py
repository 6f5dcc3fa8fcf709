"""Sign-in at a real provider on loopback, of authlib's own server classes, and what must be refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from inside import Inside
from joserfc import jwk
from providers import Provider
from sites import Site

from hushtable.service import Role


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


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


def authorized(url: str) -> tuple[str, str]:
    """What the person's browser does at the provider: sign in by its button, and come back with code and state."""
    asked = dict(parse_qs(urlsplit(url).query))
    assert asked["response_type"] == ["code"] and asked["code_challenge_method"] == ["S256"]
    place, fields = url.split("?")[0], {name: values[0] for name, values in asked.items()}
    assert "Sign in as olga" in httpx.get(url, trust_env=False).text
    answer = httpx.post(place, data=fields, trust_env=False)
    assert answer.status_code == 302, answer.text
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    return back["code"][0], back["state"][0]


def walk(inside: Inside, provider: Provider, **claims: Any) -> tuple[Any, httpx.Response]:
    """From the start to the way back."""
    provider.claims, provider.signing = claims, provider.signing
    client = inside.client(follow_redirects=False)
    begun = client.get("/v1/sign-in/oidc")
    assert begun.status_code == 303, begun.text
    code, state = authorized(begun.headers["location"])
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
    code, state = authorized(begun.headers["location"])
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


def test_a_code_is_worth_nothing_without_its_verifier_or_a_second_time(
    inside: Inside, provider: Provider
) -> None:
    """The provider itself says so: PKCE is checked there, and by us nothing is sent that it would not accept."""
    provider.claims = {}
    client = inside.client(follow_redirects=False)
    code, state = authorized(client.get("/v1/sign-in/oidc").headers["location"])
    sent = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": "hush",
        "redirect_uri": "http://testserver/v1/sign-in/oidc/done",
    }
    for verifier in ({}, {"code_verifier": "x" * 43}):
        answer = httpx.post(f"{provider.url}/token", data=sent | verifier, trust_env=False)
        assert answer.status_code == 400 and "id_token" not in answer.text
    done = {"state": state, "code": code}
    assert client.get("/v1/sign-in/oidc/done", params=done).status_code == 200
    assert client.get("/v1/sign-in/oidc/done", params=done).json()["code"] == "user.not-signed-in"
