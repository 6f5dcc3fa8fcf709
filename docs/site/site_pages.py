"""The repository's pages in a folder that MkDocs reads, laid out as in the repository, so that links hold in both.

GitHub reads Markdown by CommonMark, MkDocs by rules of its own (how deep a list is, where it begins).  So everything
but headings and blocks of code is turned into HTML here, by CommonMark, and MkDocs passes it on.  What a link names and
is no page gets one: a folder the list of its pages, a source file its text.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
TOP = (
    "README.md",
    "CONTRIBUTING.md",
    "RELEASING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.md",
)
COPIED = (".svg", ".png", ".json", ".html")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".cff": "yaml"}
FOLDERS = {"docs/adr": "Decisions", "proofs": "Proofs"}
UNFOUND = "---\nsearch: {exclude: true}\nhide: [toc]\n---\n\n"
"""Source files are read by those who follow a link; a search would find them before the page that explains."""
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def github_slug(heading: str, separator: str = "-") -> str:
    """The name that a heading gets on GitHub.

    >>> github_slug("What `auto` does, and when")
    'what-auto-does-and-when'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


@dataclass
class Stage:
    """The folder, and the pages in it that were made for a link."""

    folder: Path
    made: set[str] = field(default_factory=set[str])

    def write(self, place: str, text: str, *, above: str = "") -> None:
        """A page of Markdown at a place of the repository, as MkDocs shall read it; ``above`` tells MkDocs more."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(above + self.for_mkdocs(text, place), encoding="utf-8")

    def for_mkdocs(self, text: str, place: str) -> str:
        """Headings and code as they are, all else as HTML with links of the site."""
        lines, tokens = text.splitlines(), MARKDOWN.parse(text)
        for link, name in _links(tokens):
            link.attrSet(name, self.link(place, str(link.attrGet(name))))
        parts: list[str] = []
        for block in _blocks(tokens):
            first, span = block[0], block[0].map or (0, 0)
            if first.type == "html_block" and first.content.startswith("<!--"):
                continue
            as_written = first.type == "heading_open" or (first.type == "fence" and first.level == 0)
            shown = "\n".join(lines[slice(*span)]) if as_written else _html(block)
            parts.append(shown.rstrip())
        return "\n\n".join(parts) + "\n"

    def link(self, page: str, target: str) -> str:
        """Where a link of a page leads on the site; makes the page that it needs."""
        path, mark, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return target
        named = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        return posixpath.relpath(self._shown(named), posixpath.dirname(page) or ".") + mark + anchor

    def _shown(self, named: str) -> str:
        file = ROOT / named
        if file.is_dir():
            return html_of(self._folder_page(file, named))
        if file.suffix in (".md", ".ipynb"):
            return html_of(named)
        return named if file.suffix in COPIED else html_of(self._source_page(file, named))

    def _folder_page(self, folder: Path, named: str) -> str:
        """A list of the pages of a folder, or of its source files."""
        place = f"{named}/index.md"
        if place in self.made or (folder / "index.md").exists():
            return place
        self.made.add(place)
        found = sorted(folder.glob("*.md")) or sorted(folder.rglob("*.py"))
        lines = [f"- [{_name_of(file)}]({file.relative_to(folder).as_posix()})" for file in found]
        self.write(place, f"# {FOLDERS.get(named, f'`{named}`')}\n\n" + "\n".join(lines))
        return place

    def _source_page(self, file: Path, named: str) -> str:
        """A file that is no page, to read."""
        place = f"source/{named}.md"
        if place not in self.made:
            self.made.add(place)
            text = file.read_text(encoding="utf-8")
            fence = "`" * (1 + max((len(ticks) for ticks in re.findall(r"`{2,}", text)), default=2))
            language = LANGUAGES.get(file.suffix, "text")
            self.write(place, f"# `{named}`\n\n{fence}{language}\n{text.rstrip()}\n{fence}", above=UNFOUND)
        return place


def repository_pages() -> list[Path]:
    """Every page for readers."""
    return [
        *(ROOT / name for name in TOP),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "proofs").glob("*.md")),
    ]


def stage_pages(stage: Stage) -> None:
    """Every page with its pictures, and the pages that their links need."""
    for page in repository_pages():
        stage.write(page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "docs").rglob("*")):
        if file.suffix in COPIED:
            copy = stage.folder / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)


def html_of(place: str) -> str:
    """The file of the site that a page becomes.

    >>> html_of("README.md"), html_of("docs/howto/report.md")
    ('index.html', 'docs/howto/report.html')
    """
    folder, name = posixpath.split(posixpath.splitext(place)[0])
    return posixpath.join(folder, "index" if name == "README" else name) + ".html"


def title_of(text: str) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _name_of(file: Path) -> str:
    return title_of(file.read_text(encoding="utf-8")) if file.suffix == ".md" else f"`{file.name}`"


def _links(tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """Every link and picture, with the attribute that says where."""
    for token in tokens:
        if token.type in ("link_open", "image"):
            yield token, "href" if token.type == "link_open" else "src"
        yield from _links(token.children or ())


def _blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each block at the top."""
    block: list[Token] = []
    depth = 0
    for token in tokens:
        block.append(token)
        depth += token.nesting
        if depth == 0:
            yield block
            block = []


def _html(block: Sequence[Token]) -> str:
    """HTML that MkDocs leaves alone; a line of blanks would end it."""
    return MARKDOWN.renderer.render(block, MARKDOWN.options, {})
