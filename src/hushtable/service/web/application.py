"""The application: every route of the table, problems, headers and health."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request, Response

from hushtable.errors import HushtableError
from hushtable.service.service import Service
from hushtable.service.web import account, handing_in, oidc, released, signing
from hushtable.service.web.counts import RequestCounts
from hushtable.service.web.guard import Limiter, add_route, service_of
from hushtable.service.web.pages import all_pages
from hushtable.service.web.replies import install, told
from hushtable.version import __version__

SILENT = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""Nothing that FastAPI could tell an observer from outside: its spans carry what people ask."""


def application(service: Service) -> FastAPI:
    """The application of a service in this process."""
    app = FastAPI(
        title="Hushtable",
        version=__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        telemetry=SILENT,
        redirect_slashes=False,
    )
    app.state.service, app.state.counts, app.state.limiter = service, RequestCounts(), Limiter()
    app.state.provider = oidc.provider_of(service.config)
    for module in (signing, oidc, account, handing_in, released):
        app.include_router(module.router())
    app.include_router(_health())
    app.include_router(all_pages.router())
    install(app)
    return app


def _health() -> APIRouter:
    made = APIRouter()
    add_route(made, "health", health)
    add_route(made, "readiness", readiness)
    return made


def health(request: Request) -> Response:
    return told({"alive": True})


def readiness(request: Request) -> Response:
    """Whether requests can be served: the database answers, and a worker lives."""
    try:
        workers = service_of(request).jobs.workers()
    except HushtableError:
        workers = 0
    return told({"ready": workers > 0}, 200 if workers else 503)
