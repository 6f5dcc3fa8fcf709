"""What people ask of a dataset: plans, which cost nothing, and jobs, which spend."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from hushtable.errors import UsageError
from hushtable.service import bodies
from hushtable.service.jobs import ServiceJob
from hushtable.service.web.guard import add_route, caller_in, desk_of, key_of
from hushtable.service.web.replies import about_job, result_of, told


def router() -> APIRouter:
    """The routes of this module."""
    made = APIRouter()
    free = (
        plan,
        plan_check,
        remaining,
        jobs,
        job,
        job_result,
        job_cancel,
        upload,
        uploads,
        choices,
        choice_show,
    )
    for endpoint in (*free, release, check, choose, finish, advance, refine, abandon):
        add_route(made, endpoint.__name__, endpoint)
    return made


def plan(request: Request, dataset: str, body: bodies.ReleaseBody) -> Response:
    return told(desk_of(request).plan(body).to_dict())


def plan_check(request: Request, dataset: str, body: bodies.CheckPlanBody) -> Response:
    return told(desk_of(request).plan_check(body).to_dict(body.beta, body.distances))


def remaining(request: Request, dataset: str) -> Response:
    return told(desk_of(request).remaining().to_dict())


def release(request: Request, dataset: str, body: bodies.ReleaseBody) -> Response:
    key = key_of(request)
    return _handed_in(request, "release", desk_of(request).ask_release(body, key))


def check(request: Request, dataset: str, body: bodies.CheckBody) -> Response:
    key = key_of(request)
    return _handed_in(request, "check", desk_of(request).ask_check(body, key))


def choose(request: Request, dataset: str, body: bodies.ChooseBody) -> Response:
    key = key_of(request)
    return _handed_in(request, "choose", desk_of(request).ask_choice(body, key))


def finish(request: Request, dataset: str, choice: str, body: bodies.FinishBody) -> Response:
    return _step(request, "finish", choice, body)


def advance(request: Request, dataset: str, choice: str, body: bodies.NoBody) -> Response:
    return _step(request, "advance", choice, body)


def refine(request: Request, dataset: str, choice: str, body: bodies.RefineBody) -> Response:
    return _step(request, "refine", choice, body)


def abandon(request: Request, dataset: str, choice: str, body: bodies.NoBody) -> Response:
    return _step(request, "abandon", choice, body)


def _step(request: Request, kind: str, choice: str, body: bodies.RequestBody) -> Response:
    key = key_of(request)
    return _handed_in(request, kind, desk_of(request).ask_step(kind, choice, body, key))


def _handed_in(request: Request, action: str, handed: tuple[ServiceJob, bool]) -> Response:
    found, fresh = handed
    if fresh:
        access = request.state.access
        access.service.deeds.note(
            action, "handed in", person=access.caller.person.id, dataset=access.dataset.name
        )
    return about_job(found, fresh)


def choices(request: Request, dataset: str, cursor: str = "") -> Response:
    return told(desk_of(request).choices(cursor).to_dict())


def choice_show(request: Request, dataset: str, choice: str) -> Response:
    return told(desk_of(request).choice_told(choice))


def jobs(request: Request, dataset: str, cursor: str = "", kind: str | None = None) -> Response:
    return told(desk_of(request).jobs(cursor, kind).to_dict())


def job(request: Request, dataset: str, job: str) -> Response:
    now = time.time()
    found = desk_of(request).job(job)
    headers = {"retry-after": str(max(1, int(found.slot - now) + 1))} if found.shown(now) == "waiting" else {}
    return told(found.to_dict(now), headers=headers)


def job_result(request: Request, dataset: str, job: str) -> Response:
    return result_of(desk_of(request).job(job), time.time())


def job_cancel(request: Request, dataset: str, job: str) -> Response:
    desk = desk_of(request)
    return told(desk.noted("job_cancel", lambda: desk.cancel(job)).to_dict(time.time()))


async def upload(request: Request, dataset: str) -> Response:
    """The body is the file: text/csv or application/vnd.apache.parquet."""
    from asyncio import to_thread

    kinds = {"text/csv": "csv", "application/vnd.apache.parquet": "parquet"}
    ending = kinds.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())
    if ending is None:
        raise UsageError("upload.format", "A synthetic file is CSV or Parquet.", "Send it as text/csv.")
    content = await request.body()
    desk = desk_of(request)
    made = await to_thread(lambda: desk.noted("upload", lambda: desk.upload(content, ending)))
    return told({"id": made, "bytes": len(content)}, 201)


def uploads(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    found = desk.service.shelf.uploads(desk.dataset.name, caller_in(request).person.id)
    return told({"items": [{k: row[k] for k in ("id", "digest", "bytes")} for row in found], "next": None})
