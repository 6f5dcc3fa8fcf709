"""The modules of the source, read and parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hushtable"
FILES = sorted(SOURCE.rglob("*.py"))


@cache
def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def parsed(text: str) -> ast.Module:
    """The tree of some source; trees are shared, so nobody changes one."""
    return ast.parse(text)


@cache
def modules() -> dict[Path, ast.Module]:
    """Every module of the package by its place below the package."""
    return {file.relative_to(SOURCE): parsed(text_of(file)) for file in FILES}
