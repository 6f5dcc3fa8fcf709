"""How a page comes about: its guard, its frame, and a page instead of a traceback when something is refused.

A part that htmx fetched is answered with a sentence in its place; the browser's console stays empty.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError

from hushtable.errors import HushtableError, RefusedError, UsageError
from hushtable.report import environment, script_json
from hushtable.service.problems import status_of, without_place
from hushtable.service.roles import Role
from hushtable.service.web.guard import admit, caller_of, service_of
from hushtable.service.web.pages.page_routes import PAGES
from hushtable.service.web.pages.page_texts import spoken
from hushtable.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
TABS = (
    ("explore", "explore_page", ""),
    ("check", "check_page", "/check"),
    ("choose", "choose_page", "/choose"),
    ("release", "new_release_page", "/release"),
    ("budget", "budget_page", "/budget"),
    ("schema", "schema_page", "/schema"),
)
"""Key, page and end of the address of each part of a dataset."""


class PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with refusals turned into pages."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                _require_same_site(request)
                return await handler(request)
            except RequestValidationError as error:
                return refused(request, not_a_form(str(error.errors()[0]["loc"][-1])))
            except ValidationError as error:
                return refused(request, not_a_form(".".join(map(str, error.errors()[0]["loc"]))))
            except HushtableError as error:
                return refused(request, error)

        return shown


def add_page(router: APIRouter, endpoint: Callable[..., Any]) -> None:
    """Add a page of the table by the name of its function; its guard comes with it."""
    route = PAGES[endpoint.__name__]
    router.add_api_route(
        route.path,
        endpoint,
        methods=[route.method],
        name=route.name,
        dependencies=[Depends(admit(route))],
        include_in_schema=False,
        response_model=None,
    )


def page_router(*endpoints: Callable[..., Any]) -> APIRouter:
    """A router of pages."""
    made = APIRouter(route_class=PageRoute)
    for endpoint in endpoints:
        add_page(made, endpoint)
    return made


def page(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A template with what every page knows: texts, who asks, the dataset and the parts that their role may see."""
    service = service_of(request)
    caller = getattr(request.state, "caller", None)
    access = getattr(request.state, "access", None)
    role: Role | None = None if access is None else access.role
    text = spoken(request.headers.get("accept-language", ""))
    made = environment(TEMPLATES).get_template(template)
    html = made.render(
        t=text,
        caller=caller,
        csrf=script_json({"x-csrf-token": caller.csrf or ""}) if caller is not None else "{}",
        dataset=None if access is None else access.dataset,
        role=role,
        tabs=[(key, end) for key, name, end in TABS if role in PAGES[name].reach],
        oidc=service.config.oidc,
        version=__version__,
        key=secrets.token_urlsafe(24),
        json=script_json,
        **context,
    )
    return Response(html, status, media_type="text/html; charset=utf-8")


def is_part(request: Request) -> bool:
    """Whether htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true"


def elsewhere(request: Request, place: str) -> Response:
    """Lead the browser to another page."""
    if is_part(request):
        return Response(None, 200, {"hx-redirect": place})
    return Response(None, 303, {"location": place})


def after(request: Request, done: dict[str, Any], dataset: str, place: str) -> Response:
    """Lead to a page of a dataset once something was done, or to what waits for a second curator."""
    end = "/budget#proposals" if "proposal" in done else place
    return elsewhere(request, f"/datasets/{dataset}{end}")


def refused(request: Request, error: HushtableError) -> Response:
    """A refusal as a page, or as a sentence in the place of a part; whoever is not signed in is asked to."""
    if error.code == "auth.required":
        return elsewhere(request, "/sign-in")
    status, error = status_of(error), without_place(error)
    if is_part(request):
        return page(request, "refused-part.html.j2", error=error)
    if not hasattr(request.state, "caller"):
        request.state.caller = caller_of(request)
    return page(request, "refused.html.j2", status, error=error)


def not_a_form(field: str) -> UsageError:
    """The refusal of a form with a field that is missing or cannot be read."""
    return UsageError(
        "request.invalid", f"The field {field[:60]!r} is missing or cannot be read.", "Correct it."
    )


def _require_same_site(request: Request) -> None:
    """A form of another site is refused before anything is looked at, also where nobody is signed in yet."""
    if request.method == "GET" or request.headers.get("sec-fetch-site", "same-origin") in (
        "same-origin",
        "none",
    ):
        return
    raise RefusedError(
        "auth.csrf", "The request did not come from a form of this service.", "Load the page again."
    )
