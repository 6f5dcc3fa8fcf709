"""Check a number: a question about synthetic rows, price and error profile before paying, verdict and history."""

from __future__ import annotations

import time
from asyncio import to_thread
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from pydantic import BaseModel, Field

from hushtable import deciders, report
from hushtable.errors import UsageError
from hushtable.schema import Binned, Schema
from hushtable.service import bodies
from hushtable.service.desk import Desk
from hushtable.service.web.guard import caller_in, desk_of
from hushtable.service.web.pages.frame import page, page_router
from hushtable.service.web.pages.job_parts import shown_job, told


class CheckFields(BaseModel):
    """The form of a question."""

    query: Annotated[str, Field(max_length=20_000)]
    synthetic: Annotated[str, Field(max_length=200)]
    tau: Annotated[str, Field(max_length=200)]
    epsilon: Annotated[str, Field(max_length=200)]
    decider: Annotated[str, Field(max_length=200)] = "auto"

    def body(self) -> bodies.CheckBody:
        """The body that the same request under ``/v1`` would have."""
        kind, _, name = self.synthetic.partition(":")
        place = {"upload" if kind == "upload" else "release": name}
        spent = f"epsilon={self.epsilon}"
        asked = {"query": self.query, "synthetic": place, "tau": self.tau, "budget": spent}
        return bodies.CheckBody.model_validate({**asked, "decider": self.decider})


class KeyedCheckFields(CheckFields):
    """The same once its plan was shown, which brings the key of this one question."""

    key: Annotated[str, Field(min_length=8, max_length=200)]


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(check_page, check_plan, check_form, check_history, upload_form)


def check_page(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    return page(
        request,
        "check.html.j2",
        tab="check",
        sources=_sources(desk, caller_in(request).person.id),
        attributes=_attributes(desk.schema),
        deciders=["auto", *deciders.DECIDERS],
        remaining=desk.remaining(),
        history=_history(desk),
    )


def check_plan(request: Request, dataset: str, asked: Annotated[CheckFields, Form()]) -> Response:
    desk = desk_of(request)
    plan = desk.plan_check(asked.body())
    [one] = plan.planned
    figure = report.profile_figure(one)
    return page(
        request,
        "check-plan.html.j2",
        plan=plan,
        one=one,
        told=one.to_dict(),
        chance=deciders.chance_text,
        number=deciders.number_text,
        profile=figure,
        charts=report.drawn_figures([figure]),
        remaining=desk.remaining(),
    )


def check_form(request: Request, dataset: str, asked: Annotated[KeyedCheckFields, Form()]) -> Response:
    desk = desk_of(request)
    return shown_job(request, desk.noted("check", lambda: desk.ask_check(asked.body(), asked.key)[0]))


def check_history(request: Request, dataset: str) -> Response:
    return page(request, "check-history.html.j2", history=_history(desk_of(request)))


async def upload_form(request: Request, dataset: str) -> Response:
    """A file of a form: CSV or Parquet, by its name."""
    form = await request.form()
    file: Any = form.get("file")
    if file is None or not getattr(file, "filename", ""):
        raise UsageError("upload.format", "No file was chosen.", "Choose a CSV or Parquet file.")
    ending = "parquet" if str(file.filename).endswith(".parquet") else "csv"
    content = await file.read()
    desk, person = desk_of(request), caller_in(request).person.id
    made = await to_thread(lambda: desk.noted("upload", lambda: desk.upload(content, ending)))
    return await to_thread(
        lambda: page(request, "sources-part.html.j2", sources=_sources(desk, person), chosen=f"upload:{made}")
    )


def _sources(desk: Desk, person: str) -> list[tuple[str, str, float]]:
    """Synthetic rows that can be asked about: value, kind and time or size."""
    releases = [one for one in desk.reaching("releases").releases("").rows if one["kind"] == "tables"]
    uploads = desk.service.shelf.uploads(desk.dataset.name, person)
    return [
        *((f"release:{one['id']}", "release", float(one["made"])) for one in releases),
        *((f"upload:{one['id']}", "upload", float(one["bytes"])) for one in uploads),
    ]


def _attributes(schema: Schema) -> list[dict[str, Any]]:
    """What the builder of questions offers: names, values or numbers."""
    found: list[dict[str, Any]] = []
    for name, what in schema.attributes.items():
        numbers = isinstance(what, Binned) and what.kind in ("integer", "real")
        kind = "number" if numbers else what.kind
        values = list(what.texts) if what.kind == "categorical" else []  # pyright: ignore
        found.append({"name": name, "label": what.label or name, "kind": kind, "values": values})
    return found


def _history(desk: Desk) -> list[dict[str, Any]]:
    """Checks within reach, newest first, with their verdicts or refusals."""
    now = time.time()
    only = desk.reaching("jobs").access.only
    jobs = desk.service.jobs.listed(desk.dataset.name, only, "", 50, "check")
    return [{"job": one, "state": one.shown(now), "told": told(one, now)} for one in jobs]
