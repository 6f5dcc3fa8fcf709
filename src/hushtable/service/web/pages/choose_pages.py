"""Choose an analysis: options, what they have in common, signal and noise of each, taking one or none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from hushtable import release, report
from hushtable.errors import HushtableError
from hushtable.service import bodies
from hushtable.service.desk import AbsentError, Desk
from hushtable.service.roles import ROUTES
from hushtable.service.web.guard import desk_of
from hushtable.service.web.pages.form_fields import FormKey, FormLines, FormText
from hushtable.service.web.pages.frame import page, page_router
from hushtable.service.web.pages.job_parts import shown_job

if TYPE_CHECKING:
    import polars as pl

    from hushtable.release import ChoiceView
    from hushtable.report import BarTable

STEPS = ("finish", "abandon", "advance")


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(choose_page, choose_form, choice_page, step_form)


def choose_page(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    return page(
        request,
        "choose.html.j2",
        tab="choose",
        names=list(desk.schema.names),
        remaining=desk.remaining(),
        listed=_listed(desk.reaching("choices")),
    )


def choose_form(
    request: Request,
    dataset: str,
    budget: FormText,
    key: FormKey,
    coarse: FormLines = "",
    fine: FormLines = "",
    orders: Annotated[tuple[int, ...], Form()] = (),
) -> Response:
    desk = desk_of(request)
    options = [_option(text) for text in (coarse, fine) if text.strip()]
    body = bodies.ChooseBody.model_validate(
        {"orders": [] if options else list(orders), "options": options, "budget": budget}
    )
    return shown_job(request, desk.noted("choose", lambda: desk.ask_choice(body, key)[0]))


def choice_page(request: Request, dataset: str, choice: str) -> Response:
    desk = desk_of(request)
    view = desk.choice(choice)
    open_now = view.state not in ("finished", "abandoned")
    figure = report.signal_figure(view) if open_now and view.standings else None
    return page(
        request,
        "choice.html.j2",
        tab="choose",
        view=view,
        told=desk.choice_told(choice),
        open_now=open_now,
        figure=figure,
        charts={} if figure is None else report.drawn_figures([figure]),
        common=_common(view),
        may=desk.access.only in (None, desk.access.caller.person.id)
        and desk.access.role in ROUTES["finish"].reach,
        result=_result(desk, choice),
    )


def step_form(
    request: Request, dataset: str, choice: str, step: str, key: FormKey, option: Annotated[int, Form()] = 0
) -> Response:
    if step not in STEPS:
        raise AbsentError("page")
    desk = desk_of(request)
    body = bodies.FinishBody(option=option) if step == "finish" else bodies.NoBody()
    return shown_job(request, desk.noted(step, lambda: desk.ask_step(step, choice, body, key)[0]))


def _option(text: str) -> str:
    """Lines of attributes as the list of marginals that a file of options has."""
    lines = [
        [name.strip() for name in line.split(",") if name.strip()]
        for line in text.splitlines()
        if line.strip()
    ]
    return "".join(f"- [{', '.join(_quoted(name) for name in line)}]\n" for line in lines)


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _common(view: ChoiceView) -> list[BarTable]:
    """A table or two of what the options have in common, where that is tables."""
    common = view.common
    if not isinstance(common, release.Release):
        return []
    tables: list[BarTable] = []
    for names in common.marginals[:2]:
        one = common.released_table(*names)
        name = " x ".join(one.attributes) or "total"
        cells = one.frame.select(one.attributes).rows() or [(name,)] * one.frame.height
        data = one.frame.select("estimate", "lower", "upper").with_columns(cell=_cells(cells))
        tables.append(report.BarTable(f"common-{len(tables)}", name, name, one.promise, data, one.alpha))
    return tables


def _cells(rows: list[tuple[Any, ...]]) -> pl.Series:
    import polars as pl

    return pl.Series([" · ".join("–" if v is None else str(v) for v in row) for row in rows], dtype=pl.String)


def _listed(desk: Desk) -> list[dict[str, Any]]:
    """Choices within reach, newest first, with how they stand."""
    found: list[dict[str, Any]] = []
    for one in desk.choices("").rows[:20]:
        told: dict[str, Any] = {**one, "options": 0, "charged": ""}
        if one["state"] == "done":
            try:
                view = desk.choice(one["id"])
                told |= {"state": view.state, "options": len(view.options), "charged": str(view.charged)}
            except HushtableError:
                told["state"] = "waiting"
        found.append(told)
    return found


def _result(desk: Desk, choice: str) -> str | None:
    """The release that was made of a choice, if one was."""
    now = time.time()
    for job in desk.service.jobs.listed(desk.dataset.name, desk.access.only, "", 100, "finish"):
        if job.shown(now) == "done" and choice in job.stands:
            return job.made
    return None
