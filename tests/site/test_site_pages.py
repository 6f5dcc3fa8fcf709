"""The built site: complete, without a broken link, the same words as on GitHub, and nothing from another host."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("object", "data"),
}
LOADING_LINKS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload", "manifest"}


class Page(HTMLParser):
    """What a page links to, loads and names, and the words of its article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.loads, self.ids, self.words = list[str](), list[str](), set[str](), list[str]()
        self._article = self._silent = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += [given[name] for kind, name in LOADS if kind == tag and name in given]
        if tag == "link" and LOADING_LINKS & set(given.get("rel", "").split()):
            self.loads.append(given["href"])
        self._article += tag == "article"
        self._silent += tag in ("script", "style") or given.get("class", "") == "headerlink"

    def handle_endtag(self, tag: str) -> None:
        self._article -= tag == "article"
        self._silent -= bool(self._silent) and tag in ("script", "style", "a")

    def handle_data(self, data: str) -> None:
        if self._article and not self._silent:
            self.words += data.split()


@cache
def parsed(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def html_pages(site: Path) -> list[Path]:
    return sorted(p for p in site.rglob("*.html") if p.name != "404.html")


def test_no_link_is_broken(site: Path) -> None:
    broken = []
    for page in html_pages(site):
        for link in parsed(page).links:
            parts = urlsplit(link)
            if parts.scheme or link in ("", "#"):
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            named = unquote(parts.fragment)
            whole = file.exists() and (
                not named or file.suffix != ".html" or named.startswith("table=") or named in parsed(file).ids
            )
            broken += [] if whole else [f"{page.relative_to(site)} -> {link}"]
    assert broken == []


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    foreign = [
        f"{page.relative_to(site)}: {load}"
        for page in html_pages(site)
        for load in parsed(page).loads
        if re.match(r"(https?:)?//", load)
    ]
    styles = [
        f"{style.relative_to(site)}: {found}"
        for style in site.rglob("*.css")
        for found in re.findall(
            r"(?:url\(|@import )[\"']?((?:https?:)?//[^)\"']+)", style.read_text(encoding="utf-8")
        )
    ]
    assert foreign + styles == []


def test_every_page_of_the_repository_is_there_with_all_its_words(site: Path) -> None:
    from site_pages import MARKDOWN, ROOT, html_of, repository_pages

    for page in repository_pages():
        place = page.relative_to(ROOT).as_posix()
        shown = parsed(site / html_of(place)).words
        wanted = Page(f"<article>{MARKDOWN.render(page.read_text(encoding='utf-8'))}</article>").words
        lost = set(wanted) - set(shown)
        # highlighting sets words of code apart, so those are looked for in the text without its spaces
        everything = "".join(shown)
        assert [word for word in lost if word not in everything] == [], place


def test_every_page_is_in_the_navigation(site: Path) -> None:
    from site_pages import ROOT, html_of, repository_pages

    reached = {(site / "index.html").resolve()}
    todo = list(reached)
    while todo:
        page = todo.pop()
        for link in parsed(page).links:
            parts = urlsplit(link)
            file = (page.parent / unquote(parts.path)).resolve()
            if (
                not parts.scheme
                and parts.path
                and file.suffix == ".html"
                and file.exists()
                and file not in reached
            ):
                reached.add(file)
                todo.append(file)
    missing = [p for p in repository_pages() if site / html_of(p.relative_to(ROOT).as_posix()) not in reached]
    assert missing == []


def test_the_reference_has_every_public_name_with_its_whole_docstring(site: Path) -> None:
    import inspect
    from types import ModuleType

    import hushtable

    for name in hushtable.__all__:
        value = getattr(hushtable, name)
        if name.startswith("_"):
            continue
        page = "ht" if not isinstance(value, ModuleType) else name
        found = parsed(site / "docs" / "reference" / "api" / f"{page}.html")
        if isinstance(value, ModuleType):
            assert {n.lower() for n in getattr(value, "__all__", ())} <= found.ids
        else:
            assert name.lower() in found.ids
            last = re.sub(r":[a-z]+:|[`~]", "", (inspect.getdoc(value) or "").split("\n")[-1]).split()[-3:]
            assert all(word in "".join(found.words) for word in last), (name, last)


def test_source_files_are_not_found_before_the_pages_that_explain_them(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert '"location":"docs/howto/preflight.html"' in index.replace(" ", "")
    assert '"location":"source/' not in index.replace(" ", "")


def test_the_gallery_says_what_the_reports_are(site: Path) -> None:
    from site_reports import GALLERY, REPORTS, ROOT

    text = (ROOT / GALLERY).read_text(encoding="utf-8")
    assert [r.name for r in REPORTS if f"## {r.summary}\n" not in text] == []
    for report in REPORTS:
        page = (site / "docs" / "gallery" / report.name / "report.html").read_text(encoding="utf-8")
        assert ("not differentially private" in page.lower()) == (report.name == "confidential")
        assert f"gallery/{report.name}/report.html" in parsed(site / "docs" / "gallery.html").links


@pytest.mark.parametrize("name", ["README.md", "docs/howto/report.md", "docs/adr/0001-one-kernel.md"])
def test_a_page_leads_where_its_file_leads(name: str, site: Path) -> None:
    """A page's links on the site, back to files of the repository, are the links of the file."""
    from site_pages import MARKDOWN, ROOT, html_of

    source = Page(MARKDOWN.render((ROOT / name).read_text(encoding="utf-8"))).links
    page = site / html_of(name)
    shown = {
        (page.parent / unquote(urlsplit(link).path)).resolve()
        for link in parsed(page).links
        if not urlsplit(link).scheme
    }
    for link in source:
        if urlsplit(link).scheme or link.startswith("#"):
            continue
        wanted = (ROOT / name).parent / urlsplit(link).path
        place = wanted.resolve().relative_to(ROOT).as_posix()
        ways = (html_of(place), f"{place}/index.html", f"source/{place}.html")
        assert any((site / way).resolve() in shown for way in ways), link
