"""A new release: pick tables and a budget, see price and errors, hand it in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from hushtable import planning
from hushtable.service import bodies
from hushtable.service.web.guard import desk_of
from hushtable.service.web.pages.form_fields import FormKey, FormLines, FormText
from hushtable.service.web.pages.frame import page, page_router
from hushtable.service.web.pages.job_parts import shown_job

MOST_SHOWN = 30
"""Tables of a plan that a page lists: about a screen; the plan under /v1 has all."""


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(new_release_page, new_release_plan, new_release_form)


def _asked(
    budget: FormText, order: FormText = "", marginals: FormLines = "", strategy: FormText = "auto"
) -> bodies.ReleaseBody:
    """The body that the same request under ``/v1`` would have."""
    lines = [line for line in marginals.splitlines() if line.strip()]
    tables: dict[str, Any] = {"marginals": [[n.strip() for n in line.split(",")] for line in lines]}
    if not lines:
        tables = {"order": order}
    return bodies.ReleaseBody.model_validate({**tables, "budget": budget, "strategy": strategy})


ReleaseFields = Annotated[bodies.ReleaseBody, Depends(_asked)]
"""What the fields of a form ask for."""


def new_release_page(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    return page(
        request,
        "new-release.html.j2",
        tab="release",
        names=list(desk.schema.names),
        remaining=desk.remaining(),
        strategies=list(planning.STRATEGIES),
    )


def new_release_plan(request: Request, dataset: str, asked: ReleaseFields) -> Response:
    plan = desk_of(request).plan(asked)
    return page(request, "new-release-plan.html.j2", plan=plan, told=plan.to_dict(), most=MOST_SHOWN)


def new_release_form(request: Request, dataset: str, asked: ReleaseFields, key: FormKey) -> Response:
    desk = desk_of(request)
    return shown_job(request, desk.noted("release", lambda: desk.ask_release(asked, key)[0]))
