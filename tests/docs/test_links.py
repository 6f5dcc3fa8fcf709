"""Links between pages, and from pages to files, lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import ROOT, pages

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Targets of the links of a page, outside code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return LINK.findall(text)


def anchors(page: Path) -> set[str]:
    """The names that headings get when the page is shown."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    broken = []
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        inside = file.is_relative_to(ROOT)
        if not inside or not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_map() -> None:
    seen, todo = set[Path](), [ROOT / "docs" / "index.md", ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in links(page):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.exists():
                todo.append(file)
            elif file.is_dir() and file.is_relative_to(ROOT):
                todo += file.glob("*.md")
    assert [str(p.relative_to(ROOT)) for p in pages() if p not in seen] == []
