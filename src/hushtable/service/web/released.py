"""What was released: tables, intervals, quantiles, records and the report, read from bundles that never change."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from hushtable import release as library
from hushtable.errors import UsageError
from hushtable.service import bodies
from hushtable.service.web.guard import add_route, desk_of
from hushtable.service.web.replies import told
from hushtable.spreadsheets import write_csv

Level = Annotated[float, Query(gt=0, lt=1)]
SeveralNames = Annotated[list[str], Query(max_length=100)]
"""Levels are probabilities; nobody asks for a table of more than a hundred attributes."""
NONE: list[str] = []
MEDIAN = [0.5]  # what a quantile is by default


def router() -> APIRouter:
    """The routes of this module."""
    made = APIRouter()
    reads = (
        releases,
        release_show,
        table,
        range_,
        quantile,
        area,
        replicates,
        combine,
        accuracy,
        microdata,
        report,
    )
    for endpoint in reads:
        add_route(made, endpoint.__name__.rstrip("_"), endpoint)
    return made


def releases(request: Request, cursor: str = "") -> Response:
    return told(desk_of(request).releases(cursor).to_dict())


def release_show(request: Request, dataset: str, release: str) -> Response:
    desk = desk_of(request)
    kept = desk.kept(release)

    def shown() -> dict[str, Any]:
        if kept.kind == "answers":
            return library.QueryRelease.load(desk.service.shelf.place(kept.id)).to_dict()
        return desk.release(release).to_dict()

    return _unchanged(request, kept.digest, shown)


def table(
    request: Request,
    dataset: str,
    release: str,
    attribute: SeveralNames = NONE,
    alpha: Level = 0.05,
    simultaneous: bool = False,
    value: str = "count",
) -> Response:
    """Attributes; none for the total.  ``value`` may be sum(X), mean(X), share(A) or rate(X, Y)."""
    how: dict[str, Any] = {"alpha": alpha, "simultaneous": simultaneous, "value": value}
    return _table(request, release, lambda found: found.released_table(*attribute, **how))


def range_(
    request: Request, dataset: str, release: str, interval: str, by: SeveralNames = NONE, alpha: Level = 0.05
) -> Response:
    """An interval is written ``age=18-64``."""
    return _table(request, release, lambda found: library.asked_table(found, [interval, *by], (), alpha))


def area(
    request: Request,
    dataset: str,
    release: str,
    leaf: SeveralNames,
    by: SeveralNames = NONE,
    attribute: str | None = None,
    alpha: Level = 0.05,
) -> Response:
    """Of the one attribute with a tree, unless another is named."""
    return _table(request, release, lambda found: library.asked_table(found, by, leaf, alpha, tree=attribute))


def quantile(
    request: Request,
    dataset: str,
    release: str,
    attribute: str,
    at: Annotated[list[float], Query(max_length=100)] = MEDIAN,
    by: SeveralNames = NONE,
    alpha: Level = 0.05,
) -> Response:
    return _table(request, release, lambda found: library.quantiles_of(found, attribute, at, by, alpha))


def replicates(
    request: Request, dataset: str, release: str, number: int = 80, attribute: SeveralNames = NONE
) -> Response:
    wanted = library.checked_replicates(number)
    return _table(request, release, lambda found: library.replicates_of(found, wanted, attribute))


def combine(request: Request, dataset: str, release: str, body: bodies.CombineBody) -> Response:
    columns = list(dict.fromkeys(name for row in body.weights for name in row))
    weights = {name: [row.get(name) for row in body.weights] for name in columns}
    return told(library.combination_of(desk_of(request).release(release), weights, body.alpha).to_dict())


def accuracy(request: Request, dataset: str, release: str, alpha: Level = 0.05) -> Response:
    found = desk_of(request).release(release)
    return _unchanged(
        request, f"{desk_of(request).kept(release).digest}-{alpha}", lambda: _rows(found, alpha)
    )


def _rows(found: Any, alpha: float) -> dict[str, Any]:
    return {"alpha": alpha, "tables": found.accuracy(alpha).to_dicts()}


def microdata(request: Request, dataset: str, release: str, format: str = "csv") -> Response:
    desk = desk_of(request)
    desk.release(release)
    kept = desk.kept(release)
    headers = {"etag": f'"{kept.digest}-{format}"', "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(None, 304, headers)
    if format == "parquet":
        content = desk.service.shelf.records(kept.id).read_bytes()
        return Response(content, 200, headers, "application/vnd.apache.parquet")
    if format != "csv":
        raise UsageError("microdata.format", "Records come as csv or parquet.", "Ask for format=csv.")
    file = io.BytesIO()
    write_csv(desk.service.shelf.frame(kept.id), file, raw=False)
    return Response(file.getvalue(), 200, headers, "text/csv; charset=utf-8")


def report(request: Request, dataset: str, release: str) -> Response:
    """The page of ``hush report``.  It carries its own scripts, so it is sent as a file to keep."""
    from hushtable.report import public_report

    desk = desk_of(request)
    desk.release(release)
    page = public_report(desk.service.shelf.place(release)).html()
    headers = {"content-disposition": f'attachment; filename="{release}.html"'}
    return Response(page, 200, headers, "text/html; charset=utf-8")


def _table(request: Request, release: str, made: Callable[[Any], Any]) -> Response:
    desk = desk_of(request)
    kept = desk.kept(release)
    return _unchanged(
        request, f"{kept.digest}-{request.url.query}", lambda: made(desk.release(release)).to_dict()
    )


def _unchanged(request: Request, facts: str, shown: Callable[[], dict[str, Any]]) -> Response:
    """A part of a release: it never changes, and whoever has it is told so."""
    headers = {
        "etag": f'"{hashlib.sha256(facts.encode()).hexdigest()[:40]}"',
        "cache-control": "private, no-cache",
    }
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(None, 304, headers)
    made = told(shown())
    made.headers.update(headers)
    return made
