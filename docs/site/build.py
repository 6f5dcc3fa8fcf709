"""Build the site of the documentation: the pages, the library's reference, the notebooks and a gallery of reports.

    python docs/site/build.py [FOLDER]

The site needs no server and asks no other host for anything: fonts are the reader's own, the search's index and helper
lie in the folder.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import mkdocs.config
from mkdocs.commands.build import build
from site_notebooks import stage_notebooks
from site_pages import ROOT, Stage, github_slug, repository_pages, stage_pages, title_of
from site_reference import stage_reference
from site_reports import stage_gallery

HERE = Path(__file__).parent
SITE = ROOT / ".site"
TERMS = HERE / "assets" / "search-terms.js"
"""Put behind the theme's search, whose library takes some words for others."""
HELPER = "assets/iframe-worker.js"
"""Runs the search where pages are opened from a disk; the theme knows it by its name, and would load another's."""


def build_site(site: Path) -> None:
    """Write the whole site into a folder; a warning of MkDocs is an error."""
    with tempfile.TemporaryDirectory() as work:
        stage = Stage(Path(work))
        navigation = staged(stage)
        for asset in set((HERE / "assets").iterdir()) - {TERMS}:
            to = stage.folder / (HELPER if asset.name in HELPER else asset.name)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(asset, to)
        config = mkdocs.config.load_config(
            str(HERE / "mkdocs.yml"), docs_dir=work, site_dir=str(site), nav=navigation, strict=True
        )
        config.extra["polyfills"] = [HELPER]
        config.mdx_configs["toc"]["slugify"] = github_slug
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    for searcher in site.glob("assets/javascripts/workers/search.*.min.js"):
        searcher.write_text(
            searcher.read_text(encoding="utf-8") + TERMS.read_text(encoding="utf-8"), encoding="utf-8"
        )


def staged(stage: Stage) -> list[Any]:
    """Put every page into the stage; the navigation of the site."""
    stage_pages(stage)
    reference, notebooks = stage_reference(stage), stage_notebooks(stage)
    stage_gallery(stage)
    return [
        {"Start": ["README.md", "docs/tutorial.md", *notebooks, "docs/gallery.md", "docs/coming-from.md"]},
        {"How to": ["docs/index.md", *howto()]},
        {"Reference": [*folder("docs/reference"), {"Library, in full": reference}]},
        {
            "Ideas": [
                *folder("docs/explanation"),
                "docs/threat-model.md",
                "docs/known-limits.md",
                "docs/glossary.md",
            ]
        },
        {"Proofs": ["proofs/index.md", *folder("proofs")]},
        {"Benchmarks": sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("benchmarks*.md"))},
        {
            "Project": [
                "docs/architecture.md",
                {"Decisions": ["docs/adr/index.md", *folder("docs/adr")]},
                *(p.name for p in repository_pages() if p.parent == ROOT and p.name != "README.md"),
                "docs/duplicates.md",
            ]
        },
    ]


def folder(name: str) -> list[str]:
    """The pages of a folder of the repository, by title."""
    pages = sorted((ROOT / name).glob("*.md"), key=lambda p: p.name if name.endswith("adr") else _title(p))
    return [f"{name}/{page.name}" for page in pages]


def howto() -> list[str]:
    """The pages that do one thing each, in the order of the map."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    return [f"docs/{name}" for name in dict.fromkeys(re.findall(r"\((howto/[\w-]+\.md)\)", text))]


def _title(page: Path) -> str:
    return title_of(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    build_site(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else SITE)
