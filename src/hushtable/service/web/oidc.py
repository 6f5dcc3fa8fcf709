"""Sign-in at a provider of OpenID Connect: the code flow with PKCE, by authlib.

What the browser must bring back (state, nonce and verifier) lies in a cookie of its own for ten minutes, so a code that
somebody else obtained is of no use.  Issuer, audience, nonce, signature and times of the ID token are checked; roles
come from a configured claim.  The way back leads to ``/`` and nowhere else.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import secrets
import threading
import time
from typing import Any, cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from hushtable.errors import HushtableError, RefusedError
from hushtable.lazily import Later
from hushtable.service.config import OpenIdProvider, ServeConfig
from hushtable.service.desk import AbsentError
from hushtable.service.roles import Role
from hushtable.service.service import Service
from hushtable.service.users import User
from hushtable.service.web.guard import add_route, cookie_name, service_of
from hushtable.service.web.signing import signed_in

clients, claims_of = Later("authlib.integrations.httpx_client"), Later("authlib.oidc.core")
jwt, jwk, jose_errors = Later("joserfc.jwt"), Later("joserfc.jwk"), Later("joserfc.errors")
httpx = Later("httpx")
AT_HAND = 600
"""Seconds that somebody may take to sign in at the provider."""
KEYS_LAST = 3600.0
"""Seconds that the provider's description and keys are believed; a key that is not among them is asked for at once."""
PATIENCE = 10.0
"""Seconds to wait for the provider."""
LEEWAY = 60
"""Seconds by which clocks may differ."""
ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"]
"""Signatures that are believed: all with a public key, so nobody who knows the client can sign."""
BACK = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signed in</title>
<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url=/"></head>
<body><p><a href="/">Go on</a></p></body></html>"""


def router() -> APIRouter:
    """The routes of this module."""
    made = APIRouter()
    add_route(made, "oidc_start", oidc_start)
    add_route(made, "oidc_end", oidc_end)
    return made


class Provider:
    """A provider as this process knows it."""

    def __init__(self, config: OpenIdProvider, address: str) -> None:
        self.config, self.redirect = config, f"{address.rstrip('/')}/v1/sign-in/oidc/done"
        self._known: tuple[float, dict[str, Any], Any] | None = None
        self._lock = threading.Lock()

    def described(self, *, anew: bool = False) -> tuple[dict[str, Any], Any]:
        """The provider's description of itself, and its keys."""
        with self._lock:
            if self._known is None or anew or time.monotonic() - self._known[0] > KEYS_LAST:
                with httpx.Client(timeout=PATIENCE, follow_redirects=False) as http:
                    place = f"{self.config.issuer.rstrip('/')}/.well-known/openid-configuration"
                    told: dict[str, Any] = http.get(place).raise_for_status().json()
                    if told.get("issuer") != self.config.issuer:
                        raise ValueError("issuer")
                    keys = jwk.KeySet.import_key_set(http.get(told["jwks_uri"]).raise_for_status().json())
                self._known = (time.monotonic(), told, keys)
            return self._known[1:]

    def client(self) -> Any:
        """The client of authlib."""
        variable = self.config.secret_variable
        secret = None if variable is None else os.environ.get(variable)
        return clients.OAuth2Client(
            self.config.client,
            secret,
            scope="openid profile",
            redirect_uri=self.redirect,
            code_challenge_method="S256",
            token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
            timeout=PATIENCE,
        )

    def checked(self, token: str, nonce: str) -> dict[str, Any]:
        """The claims of an ID token that was signed by the provider, for us, now, for this sign-in."""
        told, keys = self.described()
        try:
            found = jwt.decode(token, keys, algorithms=ALGORITHMS)
        except (jose_errors.JoseError, ValueError):
            told, keys = self.described(anew=True)
            found = jwt.decode(token, keys, algorithms=ALGORITHMS)
        options = {
            "iss": {"essential": True, "value": told["issuer"]},
            "aud": {"essential": True, "value": self.config.client},
            "exp": {"essential": True},
            "sub": {"essential": True},
        }
        claims = claims_of.CodeIDToken(
            found.claims, found.header, options, {"nonce": nonce, "client_id": self.config.client}
        )
        claims.validate(leeway=LEEWAY)
        if not hmac.compare_digest(str(found.claims.get("nonce", "")), nonce):
            raise ValueError("nonce")
        return found.claims


def provider_of(config: ServeConfig) -> Provider | None:
    """The configured provider, if there is one."""
    return None if config.oidc is None or config.address is None else Provider(config.oidc, config.address)


def _provider(request: Request) -> Provider:
    found: Provider | None = request.app.state.provider
    if found is None:
        raise AbsentError("page")
    return found


def _cookie(service: Service) -> dict[str, Any]:
    return {
        "key": cookie_name(service, "-oidc"),
        "path": "/",
        "secure": service.config.secure,
        "httponly": True,
        "samesite": "lax",
    }


def oidc_start(request: Request) -> Response:
    provider, service = _provider(request), service_of(request)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    try:
        told, _ = provider.described()
        with provider.client() as client:
            url, _ = client.create_authorization_url(
                told["authorization_endpoint"], state=state, code_verifier=verifier, nonce=nonce
            )
    except (httpx.HTTPError, ValueError, KeyError):
        raise _no_provider() from None
    answer = RedirectResponse(url, 303)
    kept = base64.urlsafe_b64encode(json.dumps([state, nonce, verifier]).encode()).decode()
    answer.set_cookie(value=kept, max_age=AT_HAND, **_cookie(service))
    return answer


def oidc_end(request: Request, state: str = "", code: str = "") -> Response:
    provider, service = _provider(request), service_of(request)
    cookie = _cookie(service)
    try:
        wanted, nonce, verifier = json.loads(base64.urlsafe_b64decode(request.cookies[cookie["key"]]))
        if not state or not hmac.compare_digest(state, str(wanted)):
            raise ValueError("state")
        told, _ = provider.described()
        with provider.client() as client:
            token = client.fetch_token(told["token_endpoint"], code=code, code_verifier=str(verifier))
        claims = provider.checked(token["id_token"], str(nonce))
        person = _person(service, provider.config, claims)
    except HushtableError as error:
        service.deeds.note("oidc", error.code)
        raise
    except Exception:  # whatever a stranger's answer makes of libraries: it is no sign-in
        service.deeds.note("oidc", "user.not-signed-in")
        raise RefusedError(
            "user.not-signed-in", "The provider's answer could not be trusted.", "Sign in again."
        ) from None
    service.deeds.note("oidc", "done", person=person.id)
    answer = signed_in(request, person, HTMLResponse(BACK))
    answer.delete_cookie(**cookie)
    return answer


def _person(service: Service, config: OpenIdProvider, claims: dict[str, Any]) -> User:
    """Whom the claims speak of, with the roles that they claim."""
    subject, name = str(claims["sub"]), str(claims.get(config.name_claim) or claims["sub"])
    found = service.users.known_to(config.issuer, subject)
    person = found or service.users.add(name, issuer=config.issuer, subject=subject)
    listed = claims.get(config.roles_claim, [])
    roles: dict[str, Role] = {}
    for word in cast("list[Any]", listed) if isinstance(listed, list) else []:
        dataset, _, role = str(word).partition(":")
        if role in set(Role) and service.catalogue.named(dataset) is not None:
            roles[dataset] = Role(role)
    service.users.take_claimed(person, roles)
    return person


def _no_provider() -> RefusedError:
    return RefusedError(
        "serve.no-provider", "The provider of sign-ins does not answer.", "Try again in a while."
    )
