"""The way in: signing in, the list of datasets, and the files that pages are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from hushtable import report
from hushtable.errors import HushtableError
from hushtable.service import bodies
from hushtable.service.desk import AbsentError
from hushtable.service.roles import Role
from hushtable.service.web import signing
from hushtable.service.web.guard import caller_in, caller_of, service_of
from hushtable.service.web.pages.frame import elsewhere, page, page_router

STATIC = Path(__file__).parent / "static"
STYLES = ("page.css", "explorer.css", "site.css")


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(home, sign_in_page, sign_in_form, sign_out_form, asset)


def home(request: Request) -> Response:
    caller = caller_of(request)
    if caller is None:
        return elsewhere(request, "/sign-in")
    service = service_of(request)
    known = {one.name: one for one in service.catalogue.all()}
    roles = service.users.roles(caller.person)
    listed = [(known[name], role) for name, role in roles.items() if name in known]
    return page(request, "datasets.html.j2", listed=listed, Role=Role)


def sign_in_page(request: Request) -> Response:
    if caller_of(request) is not None:
        return elsewhere(request, "/")
    return page(
        request, "sign-in.html.j2", error=None, name="", passwords=service_of(request).config.passwords
    )


def sign_in_form(
    request: Request, name: Annotated[str, Form()], password: Annotated[str, Form()]
) -> Response:
    try:
        answer = signing.sign_in(request, bodies.SignInBody(name=name, password=password))
    except HushtableError as error:
        passwords = service_of(request).config.passwords
        return page(request, "sign-in.html.j2", 401, error=error, name=name[:100], passwords=passwords)
    return _with_cookies(Response(None, 303, {"location": "/"}), answer)


def sign_out_form(request: Request) -> Response:
    caller_in(request)
    return _with_cookies(elsewhere(request, "/sign-in"), signing.sign_out(request))


def _with_cookies(made: Response, answer: Response) -> Response:
    """A page that takes over the cookies of an answer."""
    for cookie in answer.headers.getlist("set-cookie"):
        made.headers.append("set-cookie", cookie)
    return made


ASSETS: dict[str, tuple[str, Callable[[], str]]] = {
    "style.css": ("text/css", lambda: report.style_text(STYLES) + _static("pages.css")),
    "explorer.js": ("text/javascript", lambda: report.explorer_text()),
    "vega.js": ("text/javascript", lambda: report.vega_text()),
    "htmx.js": ("text/javascript", lambda: _static("htmx.js")),
    "pages.js": ("text/javascript", lambda: _static("pages.js")),
}


def asset(request: Request, file: str) -> Response:
    if file not in ASSETS:
        raise AbsentError("page")
    content, tag = _asset(file)
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return Response(content, 200, headers, f"{ASSETS[file][0]}; charset=utf-8")


@cache
def _asset(file: str) -> tuple[bytes, str]:
    content = ASSETS[file][1]().encode()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
