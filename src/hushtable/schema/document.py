"""A strict reader of the YAML that schemas are written in.

Gives plain values and the line of every field.  It is a small, safe part of YAML 1.2 (and so of JSON):

* only ``true`` and ``false`` are booleans: ``no``, ``yes``, ``on``, ``NO`` (Norway) and ``True`` stay text;
* only plain decimal numbers are numbers: ``010``, ``0x10``, ``1_000``, ``12:30``, ``.nan``, ``2020-01-01`` stay text;
* a key is always text; a repeated key is an error;
* anchors, aliases, merge keys, tags and several documents are refused, and so are files above 1 MB.

It knows nothing about attributes; ``build`` gives the values their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from hushtable.errors import SchemaError

MAX_BYTES = 1_000_000
MAX_STORED_BYTES = 64 * 2**20
"""Of the schema of a release: a million values of sixty letters."""
MAX_DEPTH = 16
MAX_NODES = 2_000_000
"""Levels and values of a document: they bound the time and memory of a hostile one.  Far above what a schema has."""
_LARGEST_BITS = 128  # bounds and values end at 10^18, the reader of YAML at 31 digits
_PLAIN = (None, "")  # how the two parsers of PyYAML mark a scalar without quotes

DocumentPlace = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,30})\Z", re.ASCII)
_REAL = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+|(?:0|[1-9][0-9]*)(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?\Z",
    re.ASCII,
)
_loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Document:
    """Plain values (dict, list, str, int, float, bool, None) and where they were written.

    Files that it names are looked for in ``folder``; with None it may name none.
    """

    value: Any
    lines: dict[DocumentPlace, int] = field(default_factory=dict[DocumentPlace, int])
    folder: Path | None = None

    def where(self, address: DocumentPlace) -> str:
        """``Line 3: `` of a field, or of the nearest field around it; nothing for a schema that is not a text."""
        for end in range(len(address), -1, -1):
            if address[:end] in self.lines:
                return f"Line {self.lines[address[:end]]}: "
        return ""


def read(path: str | Path) -> str:
    """The text of a schema file."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        raise SchemaError(
            "schema.missing-file",
            f"The schema file {str(path)!r} cannot be read.",
            "Check the path, or draft one with `hush init DATA --out schema.yaml`.",
        ) from None
    return decode(data)


def decode(data: bytes, most: int = MAX_BYTES) -> str:
    """UTF-8 text of at most ``most`` bytes."""
    if len(data) > most:
        raise SchemaError(
            "schema.too-large",
            f"The schema has more than {most:,} bytes.",
            "Bin long lists of values, or build the schema with Schema.from_dict.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SchemaError(
            "schema.not-utf8", f"Line {line}: the schema is not UTF-8 text.", "Save it as UTF-8."
        ) from None


def parse(text: str, most: int = MAX_BYTES) -> Document:
    """Values and lines of one YAML document of at most ``most`` bytes."""
    require_plain(text)
    if len(text) > most:
        decode(text.encode(), most)
    try:
        return _Composer(text).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"Line {mark.line + 1}: " if mark is not None else ""
        raise SchemaError(
            "schema.not-yaml",
            f"{where}the schema is not valid YAML.",
            "Check indentation, brackets and quotes; tabs cannot indent.",
        ) from None


def require_plain(value: Any) -> None:
    """Refuses what no file can hold, anywhere in a schema: half of a surrogate pair, numbers of hundreds of digits."""
    left: list[Any] = [value]
    seen = 0
    while left:
        item = left.pop()
        seen += 1
        if isinstance(item, dict):
            inside = cast("dict[Any, Any]", item)
            left += [*inside.keys(), *inside.values()]
        elif isinstance(item, list | tuple):
            left += item
        elif isinstance(item, str) and not item.isascii() and any("\ud800" <= c <= "\udfff" for c in item):
            raise SchemaError(
                "schema.not-utf8",
                "The schema has half of a surrogate pair, which is no character.",
                "Write the whole character, or leave it out; check how the text was decoded.",
            )
        elif isinstance(item, int) and item.bit_length() > _LARGEST_BITS:
            raise SchemaError(
                "schema.too-large",
                "The schema has a whole number of more than 38 digits.",
                "Quote it as text, or use closer bounds.",
            )
        if seen > MAX_NODES:
            raise SchemaError(
                "schema.too-large", f"The schema has more than {MAX_NODES:,} values.", "Bin them."
            )


def scalar(text: str) -> Any:
    """Value of an unquoted scalar."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.match(text):
        return int(text)
    if _REAL.match(text):
        return float(text)
    return text


class _Composer:
    """Builds values from parser events, without recursion into the library."""

    def __init__(self, text: str) -> None:
        parse = cast("Any", yaml).parse
        self._events: Iterator[Any] = parse(text, Loader=_loader)
        self._lines: dict[DocumentPlace, int] = {}
        self._nodes = 0

    def document(self) -> Document:
        next(self._events)  # stream start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise SchemaError("schema.empty", "The schema is empty.", "Start with `attributes:`.")
        value = self._node(next(self._events), ())
        next(self._events)  # document end
        last = next(self._events)
        if not isinstance(last, yaml.StreamEndEvent):
            raise _refuse(last, "a second document", "Keep one schema per file, without `---` between parts.")
        return Document(value, self._lines)

    def _node(self, event: Any, address: DocumentPlace) -> Any:
        self._check(event, address)
        self._lines.setdefault(address, event.start_mark.line + 1)
        if isinstance(event, yaml.ScalarEvent):
            return scalar(event.value) if event.style in _PLAIN else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(address)
        return self._mapping(address)

    def _check(self, event: Any, address: DocumentPlace) -> None:
        self._nodes += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _refuse(
                event,
                "an anchor or alias (& or *)",
                "Write the value out; quote text that starts with & or *.",
            )
        if event.tag is not None:
            raise _refuse(event, "a tag (!)", "Remove it; quote text that starts with !.")
        if len(address) > MAX_DEPTH or self._nodes > MAX_NODES:
            raise _refuse(
                event,
                "too many nested or listed values",
                "See docs/reference/schema.md for the shape of a schema.",
            )

    def _sequence(self, address: DocumentPlace) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*address, len(items))))
        return items

    def _mapping(self, address: DocumentPlace) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, address)
            if key in items:
                raise SchemaError(
                    "schema.duplicate-key",
                    f"Line {event.start_mark.line + 1}: {key!r} is written twice in the same place.",
                    "Keep one of the two.",
                )
            self._lines[(*address, key)] = event.start_mark.line + 1
            items[key] = self._node(next(self._events), (*address, key))
        return items

    def _key(self, event: Any, address: DocumentPlace) -> str:
        self._check(event, address)
        if not isinstance(event, yaml.ScalarEvent):
            raise _refuse(event, "a list or mapping as a key", "Use plain names as keys.")
        if event.value == "<<" and event.style in _PLAIN:
            raise _refuse(event, "a merge key (<<)", "Write the fields out.")
        return event.value


def _refuse(event: Any, what: str, fix: str) -> SchemaError:
    return SchemaError(
        "schema.yaml-feature", f"Line {event.start_mark.line + 1}: {what} is not allowed in a schema.", fix
    )
