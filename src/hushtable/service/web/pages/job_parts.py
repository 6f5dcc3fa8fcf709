"""A job in a page: that it waits, and what came of it once its slot has ended."""

from __future__ import annotations

import json
import time
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response

from hushtable.service.jobs import ServiceJob
from hushtable.service.web.guard import desk_of
from hushtable.service.web.pages.frame import page, page_router

SOON, LATEST = 1, 20
"""Seconds between two looks of a page at a job that waits: when its slot ends, and at least so often; a curator's page
looks all the time, because it shows the rounds."""


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(job_part, cancel_form, left_part)


def job_part(request: Request, dataset: str, job: str) -> Response:
    return shown_job(request, desk_of(request).job(job))


def cancel_form(request: Request, dataset: str, job: str) -> Response:
    desk = desk_of(request)
    return shown_job(request, desk.noted("job_cancel", lambda: desk.cancel(job)))


def left_part(request: Request, dataset: str) -> Response:
    """What one may still spend: pages ask again when a job was handed in, is done or was cancelled."""
    left = str(desk_of(request).remaining())
    return Response(escape(left), media_type="text/html; charset=utf-8")


def shown_job(request: Request, job: ServiceJob) -> Response:
    """A job as a part of a page, which asks again while it waits; the parts beside it hear when it is done."""
    now = time.time()
    state = job.shown(now)
    wait = max(SOON, min(LATEST, int(job.slot - now) + 1)) if job.spender is not None else SOON
    shown: dict[str, Any] = {
        "job": job,
        "state": state,
        "wait": wait,
        "told": told(job, now),
        "steps": job.steps(now),
    }
    answer = page(request, "job-part.html.j2", **shown, now=now)
    moved = ["job-done"] if state != "waiting" else []
    if moved or request.method == "POST":
        answer.headers["hx-trigger"] = ", ".join(["job-moved", *moved])
    return answer


def told(job: ServiceJob, now: float) -> dict[str, Any]:
    """What a job gave, or its refusal; nothing before its slot has ended."""
    return json.loads(job.result) if job.result and job.shown(now) in ("done", "refused") else {}
