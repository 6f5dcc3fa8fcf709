"""Explore: every release that one may see, and the explorer over each."""

from __future__ import annotations

import io
import time
import zipfile
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from hushtable import release as released
from hushtable import report
from hushtable.service import bodies
from hushtable.service.desk import AbsentError
from hushtable.service.managing import Manager
from hushtable.service.web.guard import desk_of
from hushtable.service.web.pages.frame import after, not_a_form, page, page_router

if TYPE_CHECKING:
    from hushtable.report import ReleaseShown

KEPT = 8
"""Releases whose pages stay in memory: what people look at in one morning; each takes some megabytes."""


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(explore_page, release_page, tables_page, bundle_file, publish_form)


@lru_cache(maxsize=KEPT)
def _read(folder: str, digest: str) -> ReleaseShown:
    return report.ReleaseShown.read(Path(folder))


def explore_page(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    kept = [desk.kept(one["id"]) for one in desk.releases("").rows]
    listed = [(one, _shown(desk, one) if one.kind == "tables" else None) for one in kept[:KEPT]]
    listed += [(one, None) for one in kept[KEPT:]]
    return page(request, "explore.html.j2", tab="explore", listed=listed, now=time.time())


def release_page(request: Request, dataset: str, release: str) -> Response:
    desk = desk_of(request)
    kept = desk.kept(release)
    if kept.kind != "tables":
        return page(request, "answers.html.j2", tab="explore", kept=kept)
    shown = _shown(desk, kept)
    explorer = None if shown.explorer is None else {**shown.explorer.to_dict(), "raw": False}
    return page(
        request,
        "release.html.j2",
        tab="explore",
        kept=kept,
        shown=shown,
        packed=explorer,
        first=shown.first,
        charts=report.drawn(*shown.about),
        now=time.time(),
    )


def tables_page(request: Request, dataset: str, release: str, page_name: str = "") -> Response:
    desk = desk_of(request)
    kept = desk.kept(release)
    found = _shown(desk, kept).others.get(request.path_params["page"]) if kept.kind == "tables" else None
    if found is None:
        raise AbsentError("page")
    shown = _shown(desk, kept)
    packed: dict[str, Any] = {**found.to_dict(), "raw": False}
    first = tuple(found.asked[0]) if found.asked else ()
    return page(request, "tables.html.j2", tab="explore", kept=kept, shown=shown, packed=packed, first=first)


def bundle_file(request: Request, dataset: str, release: str) -> Response:
    """The release itself, as ``hush`` reads it, in one archive."""
    desk = desk_of(request)
    desk.release(release)
    content = io.BytesIO()
    bundle = released.Bundle.open(desk.service.shelf.place(release))
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(bundle.files):
            archive.writestr(zipfile.ZipInfo(f"{release}/{name}"), (bundle.place / name).read_bytes())
    headers = {"content-disposition": f'attachment; filename="{release}.zip"'}
    return Response(content.getvalue(), 200, headers, "application/zip")


def publish_form(request: Request, dataset: str, release: str, at: Annotated[str, Form()] = "") -> Response:
    done = Manager(desk_of(request)).publish(release, bodies.PublishBody(at=_moment(at)))
    return after(request, done, dataset, f"/releases/{release}")


def _moment(written: str) -> float | None:
    """Seconds since 1970 of a time that a form gives in UTC, wherever browser and server are."""
    if not written:
        return None
    try:
        return datetime.fromisoformat(written[:16]).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise not_a_form("at") from None


def _shown(desk: Any, kept: Any) -> ReleaseShown:
    return _read(str(desk.service.shelf.place(kept.id)), kept.digest)
