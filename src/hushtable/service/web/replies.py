"""Responses: JSON that says ``to_dict()``, jobs, problems, and what must stand in every header."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from hushtable.errors import HushtableError, RefusedError, UsageError, unexpected
from hushtable.service.desk import AbsentError
from hushtable.service.jobs import ServiceJob
from hushtable.service.problems import RETRY, problem, status_of
from hushtable.version import __version__

log = logging.getLogger("hushtable.web")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: files of this service, and no script or style inside a page."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "hushtable-version": __version__,
}
LARGEST = 4 * 1024 * 1024
"""Bytes of a body that is no upload: a schema or a workload is smaller."""


def told(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(json.dumps(value), status, headers, "application/json")


def refusal(error: HushtableError) -> Response:
    """An error as a problem."""
    status = status_of(error)
    headers = {"retry-after": str(RETRY)} if status in (429, 503) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(json.dumps(problem(error)), status, headers, "application/problem+json")


def about_job(job: ServiceJob, fresh: bool) -> Response:
    """The answer to a request that spends: where its job is, or what came of it when it is repeated.

    Repeated while the job waits it is a conflict; afterwards it gets the bytes of the result.
    """
    place = f"/v1/datasets/{job.dataset}/jobs/{job.id}"
    now = time.time()
    wait = {"location": place, "retry-after": str(max(1, int(job.slot - now) + 1))}
    if fresh:
        return Response(json.dumps(job.to_dict(now)), 202, wait, "application/json")
    if job.shown(now) == "waiting":
        error = RefusedError(
            "job.waiting", "This request is still being worked on.", "Ask for its job again."
        )
        return Response(
            json.dumps({**problem(error), "job": job.to_dict(now)}), 409, wait, "application/problem+json"
        )
    answer = result_of(job, now)
    answer.headers["location"] = place
    return answer


def result_of(job: ServiceJob, now: float) -> Response:
    """The bytes that a job gave, or its refusal; nothing before its slot has ended."""
    state = job.shown(now)
    if state == "cancelled":
        return refusal(RefusedError("job.cancelled", "The job was cancelled before any charge.", ""))
    if state == "waiting" or job.result is None:
        wait = {"retry-after": str(max(1, int(job.slot - now) + 1))}
        error = RefusedError(
            "job.waiting", "This request is still being worked on.", "Ask for its job again."
        )
        return Response(json.dumps(problem(error)), 409, wait, "application/problem+json")
    kind = "application/json" if state == "done" else "application/problem+json"
    headers = {"cache-control": "private, no-store"}
    if state == "refused" and job.status in (429, 503):
        headers["retry-after"] = str(RETRY)
    return Response(job.result, job.status or 200, headers, kind)


def install(app: FastAPI) -> None:
    """Problems for every error, and the headers of every response."""
    app.add_exception_handler(HushtableError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(OuterMiddleware)


async def _ours(_: Request, error: HushtableError) -> Response:
    return refusal(error)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    """What is wrong with a body or a parameter: where, and of which kind; never what it was."""
    places = [(".".join(str(part)[:60] for part in one["loc"]), one["type"]) for one in error.errors()[:5]]
    said = "; ".join(f"{where} ({kind})" for where, kind in places)
    return refusal(
        UsageError("request.invalid", f"The request is not as it should be: {said}.", "See /v1/openapi.json.")
    )


async def _http(_: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return refusal(AbsentError("page"))
    known = {405: ("request.method", "This address does not take this method.")}
    code, message = known.get(error.status_code, ("request.invalid", "The request cannot be read."))
    made = refusal(RefusedError(code, message, "See /v1/openapi.json."))
    made.status_code = error.status_code
    return made


class OuterMiddleware:
    """Around everything: headers, the size of bodies, one line of log, and a refusal for what nobody foresaw."""

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state: dict[str, Any] = {"status": 0, "taken": 0}
        largest = _largest(scope)

        async def limited() -> Any:
            message = await receive()
            state["taken"] += len(message.get("body", b""))
            if state["taken"] > largest:
                raise too_large()
            return message

        async def sealed(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                state["status"] = message["status"]
                own = {name for name, _ in message["headers"]}
                more = {k.encode(): v.encode() for k, v in HEADERS.items()}
                if scope["scheme"] == "https":
                    more[b"strict-transport-security"] = b"max-age=31536000"
                if b"cache-control" not in own:
                    more[b"cache-control"] = b"no-store"
                kept = [(k, v) for k, v in more.items() if k not in own]
                message = {**message, "headers": [*message["headers"], *kept]}
            await send(message)

        try:
            announced = dict(scope["headers"]).get(b"content-length", b"0")
            if announced.isdigit() and int(announced) > largest:
                raise too_large()
            await self._app(scope, limited, sealed)
        except HushtableError as error:
            await self._refuse(error, state, scope, receive, sealed)
        except Exception as error:
            found = unexpected(error)
            log.error("%s", found.message)
            await self._refuse(found, state, scope, receive, sealed)
        finally:
            route = scope.get("route")
            name = getattr(route, "name", None) or "-"
            log.info("%s %s %s", scope["method"], name, state["status"])
            scope["app"].state.counts.note(name, state["status"])

    @staticmethod
    async def _refuse(
        error: HushtableError, state: dict[str, Any], scope: Any, receive: Any, send: Any
    ) -> None:
        if not state["status"]:
            answer: Any = refusal(error)
            await answer(scope, receive, send)


def too_large() -> RefusedError:
    """The refusal of a body that fills the memory."""
    return RefusedError("request.too-large", "The request is too large.", "Send less.")


def _largest(scope: dict[str, Any]) -> int:
    uploads = scope["path"].endswith("/synthetic") and scope["method"] == "POST"
    return scope["app"].state.service.config.upload_megabytes * 1024 * 1024 if uploads else LARGEST
