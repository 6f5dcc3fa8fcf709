"""Reads a workload file: YAML, one level of lists, nothing else.

Two forms are understood: a list of attribute lists, or a mapping with ``marginals`` and, if wanted, ``weights``.  The
text is read event by event, so attribute names stay texts (``yes`` and ``2020`` are names), aliases and tags are
refused, and every complaint names its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, cast

import yaml

from hushtable.errors import WorkloadError

MAX_BYTES = 16 * 2**20
"""A file is read whole, and its YAML takes many times its size: 400,000 marginals of forty letters.  More take
memory."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


ListedMarginals = tuple[list[list[str]], list[str] | None]
"""Marginals and their weights, not yet checked against a schema."""


def parse_workload(text: str, name: str) -> ListedMarginals:
    """Parse a text of one of the two forms; complaints call it by its ``name``."""
    return _Reader(name, text).document()


def read_workload_text(path: str | PathLike[str]) -> str:
    """The text of the file at ``path``."""
    file = Path(path)
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise WorkloadError(
                "workload.file-too-large",
                f"{file.name} has more than {MAX_BYTES:,} bytes.",
                "Use --order for all marginals of one order.",
            )
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WorkloadError(
            "workload.syntax", f"{file.name} is not UTF-8 text.", "Save it as UTF-8."
        ) from None
    except (OSError, ValueError):
        raise WorkloadError(
            "workload.unreadable",
            f"The workload file {file.name} cannot be read.",
            "Check the path of --workload.",
        ) from None


class _Reader:
    """A walk over parser events, one look ahead at a time."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._events = self._parse(text)
        self._line = 1

    def document(self) -> ListedMarginals:
        found: ListedMarginals = [], None
        event = self._next()
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = self._next()
        if isinstance(event, yaml.MappingStartEvent):
            found = self._mapping()
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self._marginals(), None
        elif not (
            isinstance(event, yaml.StreamEndEvent)
            or (isinstance(event, yaml.ScalarEvent) and not event.value)
        ):
            raise self._wrong("a list of marginals is expected")
        if not isinstance(self._next(), yaml.DocumentEndEvent | yaml.StreamEndEvent):
            raise self._wrong("the file goes on after the workload")
        if isinstance(self._next(), yaml.DocumentStartEvent):
            raise self._wrong("a second document begins")
        return found

    def _mapping(self) -> ListedMarginals:
        marginals: list[list[str]] | None = None
        weights: list[str] | None = None
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if key == "marginals" and marginals is None:
                self._open_list("marginals")
                marginals = self._marginals()
            elif key == "weights" and weights is None:
                self._open_list("weights")
                weights = self._scalars("weights")
            elif key in ("marginals", "weights"):
                raise self._wrong(f"{key} occurs twice")
            else:
                raise self._wrong("only the fields marginals and weights are known")
        if marginals is None:
            raise self._wrong("the field marginals is missing")
        return marginals, weights

    def _marginals(self) -> list[list[str]]:
        rows: list[list[str]] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            if not isinstance(event, yaml.SequenceStartEvent):
                raise self._wrong("a marginal is a list of attributes, such as [age, sex]")
            rows.append(self._scalars("marginals"))
        return rows

    def _scalars(self, field: str) -> list[str]:
        values: list[str] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or not event.value:
                raise self._wrong(f"{field} holds something that is neither a name nor a number")
            values.append(event.value)
        return values

    def _open_list(self, field: str) -> None:
        if not isinstance(self._next(), yaml.SequenceStartEvent):
            raise self._wrong(f"{field} must be a list")

    def _next(self) -> Any:
        return next(self._events, yaml.StreamEndEvent())

    def _parse(self, text: str) -> Iterator[Any]:
        try:
            parse = cast("Any", yaml).parse
            for event in parse(text, Loader=_LOADER):
                self._line = event.start_mark.line + 1
                if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                    raise self._wrong("anchors and aliases are not allowed")
                if getattr(event, "tag", None):
                    raise self._wrong("tags are not allowed")
                yield event
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            self._line = mark.line + 1 if mark is not None else self._line
            raise self._wrong("the text is not YAML") from None

    def _wrong(self, what: str) -> WorkloadError:
        return WorkloadError(
            "workload.syntax",
            f"{self._name}, line {self._line}: {what}.",
            "Write a list of attribute lists, such as - [age, sex], or marginals: and weights: with one list each.",
        )
