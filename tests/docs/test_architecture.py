"""The picture of the house is that of the import contracts, and the names on its pages exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest
from pages import ROOT

PAGES = [ROOT / "docs" / name for name in ("architecture.md", "glossary.md")]
NAME = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`")


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "write_architecture", ROOT / "docs" / "write_architecture.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_up_to_date(writer: ModuleType) -> None:
    assert writer.PICTURE.read_text(encoding="utf-8") == writer.picture(), "run `make docs`"


def test_every_module_and_package_is_in_the_picture(writer: ModuleType) -> None:
    here = {path.stem for path in (ROOT / "src" / "hushtable").iterdir() if not path.name.startswith("_")}
    drawn = {name for row in writer.layers() for name in row}
    assert drawn <= here
    assert here - drawn == {"py"}
    assert writer.may_see_the_kernel() == ["selftest", "session"]


def found(name: str) -> Any:
    """What a dotted name below the package stands for."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(["hushtable", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            thing = getattr(thing, part)
        return thing
    raise AttributeError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_of_the_pages_exist(page: Any) -> None:
    packages = {path.stem for path in (ROOT / "src" / "hushtable").iterdir()}
    missing = []
    for name in NAME.findall(page.read_text(encoding="utf-8")):
        if name.partition(".")[0] in packages - {"session"}:
            try:
                found(name)
            except AttributeError:
                missing.append(name)
    assert missing == []
