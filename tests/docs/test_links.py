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


def test_files_and_targets_named_in_the_text_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    missing = []
    for page in pages():
        for words in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
            target = re.fullmatch(r"make ([a-z-]+)", words)
            file = re.fullmatch(r"(?:python |pytest )?((?:tests|docs|bench|proofs|src)/[\w./-]+)", words)
            if target and not re.search(rf"^{target[1]}:", makefile, re.MULTILINE):
                script = any((ROOT / "bench").glob(f"*/{target[1].removeprefix('bench-')}.py"))
                missing += [] if target[1].startswith("bench-") and script else [f"{page.name}: {words}"]
            elif file and not (ROOT / file[1].partition("::")[0]).exists() and "NAME" not in file[1]:
                missing.append(f"{page.name}: {words}")
    assert missing == []


def test_every_explanation_has_a_light_picture_with_a_description() -> None:
    for page in sorted((ROOT / "docs" / "explanation").glob("*.md")):
        (picture,) = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
        assert len(picture[0]) > 60
        assert (page.parent / picture[1]).stat().st_size < 60_000
