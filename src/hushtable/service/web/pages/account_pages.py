"""One's own account: tokens for programs."""

from __future__ import annotations

import json
import time
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from hushtable.service import bodies
from hushtable.service.roles import Scope
from hushtable.service.web import signing
from hushtable.service.web.guard import caller_in, service_of
from hushtable.service.web.pages.frame import elsewhere, page, page_router


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(account_page, token_form, revoke_form)


def account_page(request: Request) -> Response:
    return _shown(request)


def token_form(
    request: Request,
    label: Annotated[str, Form(min_length=1, max_length=100)],
    scopes: Annotated[list[Scope], Form()],
    days: Annotated[float, Form()] = 30,
) -> Response:
    made = signing.token_create(request, bodies.TokenBody(label=label, scopes=scopes, days=days))
    return _shown(request, json.loads(bytes(made.body)), part=True)


def revoke_form(request: Request, token: str) -> Response:
    signing.token_revoke(request, token)
    return elsewhere(request, "/account")


def _shown(request: Request, made: dict[str, object] | None = None, *, part: bool = False) -> Response:
    tokens = service_of(request).users.tokens(caller_in(request).person)
    alive = [one for one in tokens if not one["revoked"] and one["expires"] > time.time()]
    template = "tokens-part.html.j2" if part else "account.html.j2"
    return page(request, template, tokens=alive, made=made, scopes=list(Scope))
