"""Signing in and out, and tokens: ``/v1/sign-in``, ``/v1/me``, ``/v1/tokens``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from hushtable.errors import RefusedError
from hushtable.service import bodies
from hushtable.service.desk import AbsentError
from hushtable.service.service import Service
from hushtable.service.users import SIGNED_IN, User
from hushtable.service.web.guard import add_route, address_of, caller_in, cookie_name, service_of
from hushtable.service.web.replies import told
from hushtable.service.wrong_passwords import REMEMBERED, SignInPlace


def router() -> APIRouter:
    """The routes of this module."""
    made = APIRouter()
    for endpoint in (sign_in, me, sign_out, password, tokens, token_create, token_revoke):
        add_route(made, endpoint.__name__, endpoint)
    return made


def sign_in(request: Request, body: bodies.SignInBody) -> Response:
    service = service_of(request)
    if not service.config.passwords:
        raise RefusedError("user.no-passwords", "Passwords are off here.", "Sign in at the provider.")
    try:
        person = service.users.with_password(body.name, body.password, _place(request))
    except RefusedError as error:
        service.deeds.note("sign_in", error.code)
        raise
    service.deeds.note("sign_in", "done", person=person.id)
    answer = signed_in(request, person, told(_described(service, person)))
    secret = service.users.known_browser(person, _place(request))
    if secret is not None:
        answer.set_cookie(cookie_name(service, "-known"), secret, max_age=int(REMEMBERED), **_kept(service))
    return answer


def _place(request: Request) -> SignInPlace:
    return SignInPlace(address_of(request), request.cookies.get(cookie_name(service_of(request), "-known")))


def _kept(service: Service) -> dict[str, Any]:
    """How a browser keeps our cookies: for this host, out of reach of scripts and other sites."""
    return {"path": "/", "secure": service.config.secure, "httponly": True, "samesite": "strict"}


def signed_in(request: Request, person: User, answer: Response) -> Response:
    """Put a new sign-in into a response; what the browser had before ends, so nobody can plant one."""
    service = service_of(request)
    name = cookie_name(service)
    before = request.cookies.get(name)
    if before is not None:
        service.users.sign_out(before)
    secret, _ = service.users.sign_in(person)
    answer.set_cookie(name, secret, max_age=int(SIGNED_IN), **_kept(service))
    return answer


def me(request: Request) -> Response:
    caller = caller_in(request)
    described = _described(service_of(request), caller.person)
    return told({**described, "scopes": sorted(caller.scopes), "csrf": caller.csrf})


def _described(service: Service, person: User) -> dict[str, Any]:
    roles = {name: role.value for name, role in service.users.roles(person).items()}
    return {**person.to_dict(), "roles": roles}


def sign_out(request: Request, body: bodies.NoBody | None = None) -> Response:
    service = service_of(request)
    name = cookie_name(service)
    cookie = request.cookies.get(name)
    if cookie is not None:
        service.users.sign_out(cookie)
    answer = told({})
    answer.delete_cookie(name, **_kept(service))
    return answer


def password(request: Request, body: bodies.PasswordBody) -> Response:
    service, caller = service_of(request), caller_in(request)
    service.users.with_password(caller.person.name, body.old, _place(request))
    service.users.set_password(caller.person, body.new)
    service.deeds.note("password", "done", person=caller.person.id)
    return told({})


def tokens(request: Request) -> Response:
    service, caller = service_of(request), caller_in(request)
    found = service.users.tokens(caller.person)
    shown = [{**row, "scopes": row["scopes"].split(), "revoked": bool(row["revoked"])} for row in found]
    return told({"items": shown, "next": None})


def token_create(request: Request, body: bodies.TokenBody) -> Response:
    service, caller = service_of(request), caller_in(request)
    if caller.csrf is None:  # one that leaked would outlive its end, and its being ended
        raise RefusedError("auth.scope", "A token makes no other token.", "Sign in by password or provider.")
    made = service.users.new_token(caller.person, body.label, body.scopes, body.days * 86400)
    service.deeds.note("token_create", "done", person=caller.person.id)
    return told(made.to_dict(), 201)


def token_revoke(request: Request, token: str) -> Response:
    service, caller = service_of(request), caller_in(request)
    if not service.users.revoke(caller.person, token):
        raise AbsentError("token")
    service.deeds.note("token_revoke", "done", person=caller.person.id)
    return told({})
