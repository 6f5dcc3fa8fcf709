"""The reference of the library for the site: every public name with its signature and its whole docstring.

``docs/reference/library.md`` has the first sentence of each, on one page.  Names are loaded when they are first used,
so the objects are asked, not the source.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from site_pages import ROOT, Stage

import hushtable

sys.path.insert(0, str(ROOT / "docs"))
import write_reference as plain

PLACE = "docs/reference/api"
LONG = 88
"""Characters of a signature on one line: what a code block of a 1280 pixel page shows without scrolling."""


def stage_reference(stage: Stage) -> list[str]:
    """Write the pages; their places, the first names first."""
    names = [name for name in hushtable.__all__ if not name.startswith("_")]
    objects = {name: getattr(hushtable, name) for name in names}
    packages = {name: value for name, value in sorted(objects.items()) if isinstance(value, ModuleType)}
    first = {name: value for name, value in objects.items() if name not in packages}
    stage.write(f"{PLACE}/ht.md", page("ht", hushtable, sorted(first.items())))
    for name, module in packages.items():
        members = [(member, getattr(module, member)) for member in plain.public_names(module)]
        stage.write(f"{PLACE}/{name}.md", page(f"ht.{name}", module, members))
    return [f"{PLACE}/{name}.md" for name in ("ht", *packages)]


def page(title: str, module: ModuleType, members: list[tuple[str, Any]]) -> str:
    """The names of a package."""
    parts = [f"# {title}", markdown(inspect.getdoc(module) or "")]
    parts += [part for name, value in members for part in entry(title, name, value)]
    return "\n\n".join(part for part in parts if part) + "\n"


def entry(owner: str, name: str, value: Any) -> Iterator[str]:
    """A heading, the signature, what the docstring says, and the same for what a class defines."""
    yield f"## {name}"
    if not callable(value) or plain.is_alias(value):
        yield plain.constant(value)
        return
    yield call(f"{owner}.{name}", value)
    yield markdown(inspect.getdoc(value) or "")
    if inspect.isclass(value) and not issubclass(value, BaseException | enum.Enum):
        for member, raw in vars(value).items():
            if not member.startswith("_"):
                yield from method(name, member, raw, value)


def method(owner: str, name: str, raw: Any, kind: type) -> Iterator[str]:
    """A method or property that says what it is for."""
    if isinstance(raw, property) or type(raw).__name__ == "cached_property":
        doc = inspect.getdoc(raw.fget if isinstance(raw, property) else raw.func)
        text = f"{owner}.{name}"
    elif inspect.isfunction(raw) or isinstance(raw, classmethod | staticmethod):
        doc, text = inspect.getdoc(getattr(kind, name)), ""
    else:
        return
    if doc:
        yield f"### {owner}.{name}"
        yield fenced(text) if text else call(f"{owner}.{name}", getattr(kind, name))
        yield markdown(doc)


def call(name: str, value: Any) -> str:
    """How it is called, with types as they are written."""
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return fenced(name)
    if inspect.isclass(value):
        given = given.replace(return_annotation=inspect.Signature.empty)
    own = [p for p in given.parameters.values() if p.name != "self"]
    text = name + _clean(str(given.replace(parameters=own)))
    if len(text) > LONG and own:
        tail = _clean(str(given.replace(parameters=[])))[2:]
        text = f"{name}(\n" + "".join(f"    {line},\n" for line in _one_each(own)) + f"){tail}"
    return fenced(text)


def _one_each(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield _clean(str(p))


def _clean(text: str) -> str:
    """Without the modules of types and the addresses of defaults."""
    text = re.sub(r"<factory>|<[^<>]* at 0x[0-9a-f]+>", "...", text)
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    text = (
        re.sub(r"'([\w.\[\], |]+)'(?=[,)=\]]| =| \||$)", r"\1", text)
        if "->" in text or ": '" in text
        else text
    )
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)


def fenced(text: str) -> str:
    return f"```python\n{text}\n```"


def markdown(doc: str) -> str:
    """A docstring's paragraphs, doctests and literal blocks."""
    doc = re.sub(r":[a-z]+:`~?\.?([^`]+)`", lambda m: f"`{m[1].split('.')[-1]}`", doc).replace("``", "`")
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", doc) if part.strip())


def _paragraph(part: str) -> str:
    if part.lstrip().startswith(">>>"):
        return fenced(inspect.cleandoc(part))
    if all(line.startswith("    ") for line in part.splitlines()):
        return "```text\n" + inspect.cleandoc(part) + "\n```"
    return re.sub(r"::$", ":", part)
