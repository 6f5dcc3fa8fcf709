"""Signing in, and what protects it: cookies, forms, lock-outs, tokens, headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from inside import Inside
from sites import Site

from hushtable.service import Role, Scope
from hushtable.service.wrong_passwords import MOST_WRONG

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Inside:
    site = Site(tmp_path_factory.mktemp("sign-in"))
    for name in ("maria", "peter", "victim"):
        site.service.users.set_role(site.service.users.add(name, PASSWORD), "people", Role.CURATOR)
    return Inside(site)


def sign_in(inside: Inside, name: str = "maria", password: str = PASSWORD, address: str = "10.0.0.1"):
    client = inside.client(client=(address, 1234))
    return client, client.post("/v1/sign-in", json={"name": name, "password": password})


def test_a_browser_gets_a_cookie_that_scripts_and_other_sites_cannot_use(inside: Inside) -> None:
    client, answer = sign_in(inside)
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 200 and PASSWORD not in answer.text
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert client.get("/v1/me").json()["name"] == "maria"


def test_under_tls_the_cookie_is_secure_and_bound_to_the_host(inside: Inside) -> None:
    from hushtable.service.service import Service
    from hushtable.service.web.guard import cookie_name

    config = inside.service.config.model_copy(update={"proxies": ("127.0.0.1",)})
    service = Service(**{**vars(inside.service), "config": config})
    assert config.secure and cookie_name(service) == "__Host-hush"


def test_a_sign_in_that_was_planted_ends_when_its_victim_signs_in(inside: Inside) -> None:
    attacker, _ = sign_in(inside, "peter")
    planted = attacker.cookies["hush"]
    victim = inside.client()
    victim.cookies.set("hush", planted)
    answer = victim.post("/v1/sign-in", json={"name": "victim", "password": PASSWORD})
    assert answer.status_code == 200 and planted not in answer.headers["set-cookie"]
    assert attacker.get("/v1/me").status_code == 401


def test_a_browser_changes_nothing_without_the_token_of_its_own_forms(inside: Inside) -> None:
    client, _ = sign_in(inside)
    body = {"label": "x", "scopes": ["read"]}
    assert client.post("/v1/tokens", json=body).json()["code"] == "auth.csrf"
    assert (
        client.post("/v1/tokens", json=body, headers={"x-csrf-token": "guessed"}).json()["code"]
        == "auth.csrf"
    )
    other, _ = sign_in(inside, "peter")
    stolen = other.get("/v1/me").json()["csrf"]
    assert (
        client.post("/v1/tokens", json=body, headers={"x-csrf-token": stolen}).json()["code"] == "auth.csrf"
    )
    own = client.get("/v1/me").json()["csrf"]
    assert client.post("/v1/tokens", json=body, headers={"x-csrf-token": own}).status_code == 201


def test_wrong_passwords_lock_their_own_address_out_and_nobody_elsewhere(inside: Inside) -> None:
    answers = [
        sign_in(inside, "victim", "wrong password", "10.6.6.6")[1] for _ in range(MOST_WRONG["pair"] + 1)
    ]
    assert [one.status_code for one in answers] == [401] * MOST_WRONG["pair"] + [429]
    assert sign_in(inside, "victim", PASSWORD, "10.6.6.6")[1].json()["code"] == "user.too-many-attempts"
    assert sign_in(inside, "victim", PASSWORD, "10.0.0.2")[1].status_code == 200


def test_wrong_passwords_of_others_at_the_same_address_do_not_keep_a_known_browser_out(
    inside: Inside,
) -> None:
    shared = "10.7.7.7"
    known, first = sign_in(inside, "victim", PASSWORD, shared)
    assert first.status_code == 200 and "hush-known" in known.cookies
    for _ in range(MOST_WRONG["pair"]):
        sign_in(inside, "victim", "wrong password", shared)
    assert sign_in(inside, "victim", PASSWORD, shared)[1].status_code == 429, "an unknown browser waits"
    form = {"name": "victim", "password": PASSWORD}
    assert known.post("/v1/sign-in", json=form).status_code == 200
    stolen = inside.client(client=(shared, 1234))
    stolen.cookies.set("hush-known", known.cookies["hush-known"])
    assert stolen.post("/v1/sign-in", json={"name": "maria", "password": "wrong password"}).status_code == 401
    for _ in range(MOST_WRONG["pair"]):
        sign_in(inside, "maria", "wrong password", shared)
    assert stolen.post("/v1/sign-in", json={"name": "maria", "password": PASSWORD}).status_code == 429, (
        "a browser is known for its own person alone"
    )


def test_wrong_passwords_in_a_known_browser_are_counted_too(inside: Inside) -> None:
    known, _ = sign_in(inside, "maria", PASSWORD, "10.8.8.8")
    wrong = {"name": "maria", "password": "wrong password"}
    answers = [known.post("/v1/sign-in", json=wrong).status_code for _ in range(MOST_WRONG["browser"] + 1)]
    assert answers == [401] * MOST_WRONG["browser"] + [429]
    assert sign_in(inside, "maria", PASSWORD, "10.8.8.9")[1].status_code == 200


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(inside: Inside) -> None:
    wrong = sign_in(inside, "maria", "not the password", "10.1.1.1")[1]
    unknown = sign_in(inside, "nobody", "not the password", "10.1.1.2")[1]
    assert (wrong.status_code, wrong.content) == (unknown.status_code, unknown.content)


def test_signing_out_and_a_new_password_end_what_was_open(inside: Inside) -> None:
    client, _ = sign_in(inside, "peter")
    own = {"x-csrf-token": client.get("/v1/me").json()["csrf"]}
    kept = client.cookies["hush"]
    assert client.post("/v1/sign-out", headers=own).status_code == 200
    again = inside.client()
    again.cookies.set("hush", kept)
    assert again.get("/v1/me").status_code == 401
    one, _ = sign_in(inside, "peter")
    two, _ = sign_in(inside, "peter")
    own = {"x-csrf-token": one.get("/v1/me").json()["csrf"]}
    changed = one.post("/v1/password", json={"old": PASSWORD, "new": "another long sentence"}, headers=own)
    assert changed.status_code == 200
    assert two.get("/v1/me").status_code == 401
    assert sign_in(inside, "peter", PASSWORD)[1].status_code == 401


def test_tokens_are_shown_once_hashed_limited_and_revocable(inside: Inside) -> None:
    users = inside.service.users
    person = users.named("maria")
    token = users.new_token(person, "script", [Scope.READ], 60)
    inside.site.tokens["script"] = token.secret
    assert inside.ask("script", "GET", "/v1/datasets").status_code == 200
    assert inside.ask("script", "POST", "/v1/tokens", json={"label": "more"}).json()["code"] == "auth.scope"
    inside.site.tokens["all"] = users.new_token(person, "all", list(Scope), 60).secret
    child = inside.ask("all", "POST", "/v1/tokens", json={"label": "outlives me", "days": 366})
    assert (child.status_code, child.json()["code"]) == (403, "auth.scope")
    content = b"".join(file.read_bytes() for file in inside.site.folder.glob("service.db*"))
    assert token.secret.encode() not in content and PASSWORD.encode() not in content
    assert users.revoke(person, token.id)
    assert inside.ask("script", "GET", "/v1/datasets").status_code == 401
    expired = users.new_token(person, "old", [Scope.READ], 1e-9)
    inside.site.tokens["old"] = expired.secret
    assert inside.ask("old", "GET", "/v1/datasets").status_code == 401


@pytest.mark.parametrize("path", ["/v1/me", "/healthz", "/v1/openapi.json", "/nothing"])
def test_every_answer_forbids_frames_scripts_of_others_and_sniffing(inside: Inside, path: str) -> None:
    headers = inside.client().get(path).headers
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy and "unsafe" not in policy
    assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_a_client_of_another_version_is_refused_in_one_sentence(inside: Inside) -> None:
    answer = inside.client().get("/v1/me", headers={"hushtable-client": "99.0.1"})
    assert (answer.status_code, answer.json()["code"]) == (422, "serve.client-version")


def test_nothing_is_told_to_an_observer_outside(inside: Inside) -> None:
    assert not inside.app._native_telemetry.enabled()


def test_a_request_that_cannot_be_read_is_refused_without_its_values(inside: Inside) -> None:
    secret = "planted-value-31337"
    client = inside.client()
    answers = [
        client.post("/v1/sign-in", json={"name": [secret], "password": {"a": secret}}),
        client.post("/v1/sign-in", json={secret: 1, "name": "a", "password": "b"}),
        client.post(
            "/v1/sign-in", content=b"{" + secret.encode(), headers={"content-type": "application/json"}
        ),
        client.get(f"/{secret}"),
        client.request("PATCH", "/v1/sign-in"),
    ]
    assert [one.status_code for one in answers] == [422, 422, 422, 404, 405]
    assert all(one.headers["content-type"] == "application/problem+json" for one in answers)
    assert all(secret not in one.text for one in (*answers[:1], *answers[2:]))


def test_a_body_that_is_too_large_is_refused(inside: Inside, tmp_path: Path) -> None:
    answer = inside.client().post("/v1/sign-in", content=b'"' + b"x" * 5_000_000 + b'"')
    assert (answer.status_code, answer.json()["code"]) == (413, "request.too-large")
