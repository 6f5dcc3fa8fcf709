"""A static site of releases: folders of pages that any web server, or none, can show.  Made from bundles alone.

    index.html, releases.json   what is published here, for people and for programs
    NAME/index.html             a release: its tables, archives, citation and hashes
    NAME/report.html            its whole report
    NAME/downloads/             the archives
    assets/                     style and scripts, shared

Pages ask no other host for anything and work from any path, also from a disk.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

from hushtable.errors import BundleError, UsageError
from hushtable.notebook import html_card
from hushtable.outputs import can_make, is_occupied, whole_folder
from hushtable.release import Bundle, sha256
from hushtable.release.exports import EXPORT_FORMATS, format_named
from hushtable.report import javascript
from hushtable.report.downloads import Download, write_downloads
from hushtable.report.public import FILE as REPORT
from hushtable.report.public import lead, report_of, subtitle
from hushtable.report.site_page import ASSETS, FOOTER, INDEX, STYLES, release_pages
from hushtable.report.templates import HOME, render, style_text
from hushtable.report.view import View
from hushtable.texts import counted
from hushtable.version import __version__
from hushtable.watching import Progress, silent

FORMAT, LIST = "hushtable-site-1", "releases.json"
TITLE = "Published tables"


@dataclass(frozen=True)
class SiteRelease:
    """A release in a site, as ``releases.json`` lists it."""

    name: str
    title: str
    subtitle: str
    lead: str
    released: str
    price: str
    ledger: str
    entry: int
    head: str
    manifest: str
    downloads: tuple[Download, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "title": self.title,
            "page": f"{self.name}/{INDEX}",
            "released": self.released,
            "price": self.price,
            "ledger": {"name": self.ledger, "entry": self.entry, "head": self.head},
            "release_sha256": self.manifest,
            "downloads": [file.to_dict() | {"path": f"{self.name}/{file.path}"} for file in self.downloads],
        }


@dataclass(frozen=True, repr=False)
class Site:
    """A site that was written."""

    folder: Path
    title: str
    releases: tuple[SiteRelease, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"site": str(self.folder), **_listed(self.title, self.releases)}

    def __repr__(self) -> str:
        return f"<Site of {counted(len(self.releases), 'release')} in {self.folder}>"

    def _repr_html_(self) -> str:
        return html_card(f"Site {self.folder}", {"title": self.title, "releases": len(self.releases)})


def write_site(
    folders: Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    title: str = TITLE,
    formats: Sequence[str] | None = None,
    language: str | None = None,
    raw: bool = False,
    progress: Progress = silent,
) -> Site:
    """Write a site of releases; each is found under the name of its folder.

    ``formats`` are the exports to offer, by default all that are installed here.  A site that is there already is
    replaced as a whole, if every release that it has is given again: no address that somebody cites goes away.
    """
    wanted = tuple(EXPORT_FORMATS) if formats is None else tuple(dict.fromkeys(formats))
    for name in formats or ():
        format_named(name).check_installed()
    named = _named(folders)
    place, fresh = Path(out), _beside(Path(out))
    _check_place(place, named)
    try:
        shutil.rmtree(fresh, ignore_errors=True)  # of a process that was killed before the last step
        with whole_folder(fresh) as building:
            releases: list[SiteRelease] = []
            for k, (name, folder) in enumerate(named.items()):
                progress(f"drawing {name}", k, len(named))
                view = View.open(folder, language)
                releases.append(_write_release(building / name, folder, view, wanted, title, raw=raw))
            _write_front(building, title, releases)
        _exchange(fresh, place)
    except OSError:
        raise _not_written(place) from None
    return Site(place, title, tuple(releases))


def _named(folders: Sequence[str | PathLike[str]]) -> dict[str, Path]:
    """Releases by the names that their folders have, which become their addresses."""
    found: dict[str, Path] = {}
    for folder in map(Path, folders):
        name = folder.resolve().name
        if not name or name.startswith(".") or name in (ASSETS, FOOTER, INDEX, LIST):
            raise UsageError(
                "publish.name",
                f"{folder} cannot be the address of a release.",
                "Give its folder another name.",
            )
        if name in found:
            raise UsageError(
                "publish.same-name",
                f"Two releases are called {name}, and the name of a folder becomes its address.",
                "Give one of the folders another name.",
            )
        Bundle.open(folder)
        found[name] = folder
    if not found:
        raise UsageError("publish.nothing", "No release is given.", "Give the --out of a release.")
    return found


def _check_place(place: Path, named: dict[str, Path]) -> None:
    """Refuse a place that holds something else, or a release that would disappear."""
    if not can_make(place):
        raise _not_written(place)
    if not is_occupied(place):
        return
    try:
        known = json.loads((place / LIST).read_text(encoding="utf-8"))
        listed = cast("list[dict[str, str]]", known["releases"]) if known["format"] == FORMAT else None
        names = None if listed is None else [release["name"] for release in listed]
    except (OSError, ValueError, LookupError, TypeError):
        names = None
    if names is None:
        raise UsageError(
            "publish.occupied",
            f"{place} holds something that is not a site of releases.",
            "Give --out another folder.",
        )
    for name in names:
        if name not in named:
            raise UsageError(
                "publish.would-vanish",
                f"{place} has the release {name}, which would vanish from it.",
                "Give its folder too, or give --out another folder.",
            )


def _not_written(place: Path) -> BundleError:
    return BundleError("publish.not-written", f"{place} cannot be written.", "Give --out another folder.")


def _beside(place: Path) -> Path:
    return place.absolute().with_name(f".hush-site-{place.absolute().name}")


def _exchange(fresh: Path, place: Path) -> None:
    """Put a new site in the place of the old one, which is there until the new one can be."""
    old = fresh.with_name(f"{fresh.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    try:
        fresh.rename(place)
    except OSError:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write_release(
    place: Path, folder: Path, view: View, formats: Sequence[str], home: str, *, raw: bool
) -> SiteRelease:
    place.mkdir()
    card, name = view.card, place.name
    files = write_downloads(folder, place / "downloads", name, view.release, formats, raw=raw)
    manifest = sha256(Bundle.open(folder).place / "release.json")
    for page, made in release_pages(view, files, manifest, home=home, raw=raw).items():
        (place / page).write_text(made.html(), encoding="utf-8")
    report_of(view, REPORT, raw=raw).write(place / REPORT)
    return SiteRelease(
        name=name,
        title=view.schema.about.title or card.ledger.name,
        subtitle=subtitle(view),
        lead=lead(view),
        released=card.ledger.time[:10],
        price=f"{card.charged} per person",
        ledger=card.ledger.name,
        entry=card.ledger.entry,
        head=card.ledger.head,
        manifest=manifest,
        downloads=files,
    )


def _listed(title: str, releases: Sequence[SiteRelease]) -> dict[str, Any]:
    return {"format": FORMAT, "title": title, "releases": [release.to_dict() for release in releases]}


def _write_front(building: Path, title: str, releases: Sequence[SiteRelease]) -> None:
    text = json.dumps(_listed(title, releases), indent=1, ensure_ascii=False)
    (building / LIST).write_text(text, encoding="utf-8")
    latest = sorted(releases, key=lambda release: release.released, reverse=True)
    front = render("site-index.html.j2", title=title, releases=latest, version=__version__, footer=FOOTER)
    (building / INDEX).write_text(front, encoding="utf-8")
    assets = building / ASSETS
    assets.mkdir()
    (assets / "site.css").write_text(style_text(STYLES), encoding="utf-8")
    (assets / "explorer.js").write_text("".join(javascript.explorer_scripts()), encoding="utf-8")
    (assets / "site.js").write_text((HOME / "site.js").read_text(encoding="utf-8"), encoding="utf-8")
