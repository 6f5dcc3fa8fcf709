"""The guard at every route: who asks, whether the table of routes lets them, and how far they reach.

A route gets its path, its method and its guard from ``roles.ROUTES`` by its name; there is no other way to add one.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Depends, Request

from hushtable.errors import RefusedError, UsageError
from hushtable.service.desk import AbsentError, Access, Desk
from hushtable.service.roles import ROUTES, Audience, Reach, Role, Route
from hushtable.service.service import Service
from hushtable.service.users import Caller
from hushtable.version import __version__

SAFE = ("GET", "HEAD", "OPTIONS")
BURST, PER_SECOND = 600, 60.0
"""Requests that one person or address may send at once, and each second after: more than a page or a program that polls
its jobs needs, less than would keep others waiting."""
KEY_LENGTH = 200
"""Letters of an idempotency key."""
MOST_BUCKETS = 20_000
"""Askers that are remembered; the memory of a process stays flat however many addresses there are."""


class Limiter:
    """A bucket of requests for each asker, filled again as time goes by."""

    def __init__(self, burst: float = BURST, per_second: float = PER_SECOND) -> None:
        self._burst, self._per_second = burst, per_second
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, asker: str) -> None:
        """Take one; refused where none is left."""
        now = time.monotonic()
        with self._lock:
            left, at = self._left.get(asker, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._per_second)
            if len(self._left) >= MOST_BUCKETS and asker not in self._left:
                self._left.clear()
            self._left[asker] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise RefusedError(
                "serve.too-many-requests", "There were too many requests at once.", "Wait a second."
            )


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    return request.app.state.service


def cookie_name(service: Service, end: str = "") -> str:
    """The cookie of sign-ins, or one beside it; under TLS its prefix keeps other sites of a domain from setting it."""
    return f"{'__Host-hush' if service.config.secure else 'hush'}{end}"


def address_of(request: Request) -> str:
    """Where a request comes from; uvicorn puts a client's address there if a trusted proxy forwarded it."""
    return request.client.host if request.client is not None else "unknown"


def caller_of(request: Request) -> Caller | None:
    """Who asks, by a program's token or by a browser's cookie."""
    service = service_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return service.users.by_token(token.strip()) if scheme.lower() == "bearer" else None
    cookie = request.cookies.get(cookie_name(service))
    return None if cookie is None else service.users.by_cookie(cookie)


def admit(route: Route) -> Callable[[Request], None]:
    """What runs before a route: it refuses, or leaves what the route needs in ``request.state``."""

    def guard(request: Request) -> None:
        caller = caller_of(request)
        asker = address_of(request) if caller is None else caller.person.id
        request.app.state.limiter.take(asker)
        request.state.caller = caller
        _require_same_version(request)
        if route.audience is Audience.EVERYBODY:
            return
        if caller is None:
            raise RefusedError("auth.required", "You are not signed in.", "Sign in, or send a token.")
        _require_own_form(request, caller)
        if route.scope not in caller.scopes:
            raise RefusedError(
                "auth.scope", f"The token may not {route.scope}.", f"Make one with the scope {route.scope}."
            )
        if route.audience is Audience.FOUNDERS and not caller.person.founder:
            raise not_for_role()
        if route.audience is Audience.MEMBERS:
            request.state.access = access_to(request, caller, route.reach)

    return guard


def access_to(request: Request, caller: Caller, reach: Mapping[Role, Reach]) -> Access:
    """Somebody's access to the dataset of the path; both of its lookups are made whatever the first one says."""
    service, name = service_of(request), request.path_params["dataset"]
    dataset, role = service.catalogue.named(name), service.users.role(caller.person, name)
    if dataset is None or role is None:
        raise AbsentError("dataset")
    if role not in reach:
        raise not_for_role()
    return Access(service, caller, dataset, role, reach[role])


def not_for_role() -> RefusedError:
    """The refusal of what a role may not do."""
    return RefusedError("auth.role", "Your role does not allow this.", "Ask a curator of the dataset.")


def _require_own_form(request: Request, caller: Caller) -> None:
    """A change that a browser sends carries the token of its own forms: other sites do not know it."""
    if request.method in SAFE or caller.csrf is None:
        return
    if not hmac.compare_digest(request.headers.get("x-csrf-token", "").encode(), caller.csrf.encode()):
        raise RefusedError(
            "auth.csrf", "The request did not come from a form of this service.", "Load the page again."
        )


def _require_same_version(request: Request) -> None:
    """Refuse a client of another version, which says so: it may mean something else by the same words."""
    named = request.headers.get("hushtable-client")
    if named is not None and named.split(".")[:2] != __version__.split(".")[:2]:
        raise UsageError(
            "serve.client-version",
            f"The client is of another version than this service, which is {__version__}.",
            f"Type pip install 'hushtable-client=={__version__}'.",
        )


def desk_of(request: Request) -> Desk:
    """The verbs of whoever was admitted to the dataset of the path."""
    return Desk(request.state.access)


def caller_in(request: Request) -> Caller:
    """Whoever was admitted."""
    return request.state.caller


def key_of(request: Request) -> str:
    """The idempotency key of a request that spends."""
    key = request.headers.get("idempotency-key", "")
    if not 0 < len(key) <= KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise UsageError(
            "request.no-key",
            "A request that spends needs an Idempotency-Key of up to 200 letters.",
            "Send a new random one, and the same again when you repeat the request.",
        )
    return key


def add_route(router: APIRouter, name: str, endpoint: Callable[..., Any], **settings: Any) -> None:
    """Add a route of the table; its guard comes with it."""
    route = ROUTES[name]
    described: dict[str, Any] = {
        "methods": [route.method],
        "name": name,
        "operation_id": name,
        "summary": route.summary,
        "dependencies": [Depends(admit(route))],
        "tags": [route.path.split("/")[-1] if route.audience is not Audience.MEMBERS else "datasets"],
        "responses": {
            "default": {
                "description": "A problem, with our code",
                "content": {"application/problem+json": {}},
            }
        },
    }
    if route.spends:
        described["status_code"] = 202
        described["openapi_extra"] = {
            "parameters": [
                {
                    "name": "Idempotency-Key",
                    "in": "header",
                    "required": True,
                    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH},
                }
            ]
        }
    router.add_api_route(route.path, endpoint, **described | settings)
