"""How to cite the software says what the software says of itself."""

from __future__ import annotations

import tomllib

import yaml
from pages import ROOT

import hushtable as ht

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_version_and_licence_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert CITATION["version"] == ht.__version__
    assert CITATION["license"] == project["license"]


def test_what_the_format_requires_is_there() -> None:
    assert {"cff-version", "title", "message", "authors"} <= CITATION.keys()
    for work in CITATION["references"]:
        assert {"type", "title", "authors"} <= work.keys()
        assert all({"family-names", "given-names"} <= author.keys() for author in work["authors"])


def test_the_changelog_has_the_version_or_what_comes_next() -> None:
    heads = [
        line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if line[:3] == "## "
    ]
    assert any(head.startswith(f"## {ht.__version__}") for head in heads)


def test_a_version_has_each_heading_once() -> None:
    """Whoever looks for what concerns privacy finds all of it in one place."""
    for version in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        heads = [line for line in version.splitlines() if line.startswith("### ")]
        assert len(heads) == len(set(heads)), version.splitlines()[0]
