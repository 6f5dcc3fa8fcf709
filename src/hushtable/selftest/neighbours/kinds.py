"""Every kind of source that rows are read from, each with the way to write a world as one.

A new engine joins by one line in KINDS and a layout that writes its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from hushtable.selftest.neighbours import pandas_frames
from hushtable.selftest.neighbours.layouts import SourceLayout
from hushtable.selftest.neighbours.pandas_frames import ObjectFrameLayout, TypedFrameLayout
from hushtable.selftest.neighbours.text_files import TextLayout
from hushtable.selftest.neighbours.typed_tables import (
    NULL_ENTRY,
    LazyLayout,
    ParquetLayout,
    PolarsLayout,
    TypedLayout,
)
from hushtable.selftest.neighbours.worlds import World, draw_world

MakeDialect = Callable[[Random], Mapping[str, Any]]


def _plain(chance: Random) -> Mapping[str, Any]:
    return {}


def _declared(chance: Random) -> Mapping[str, Any]:
    """Any dialect that a schema may declare."""
    quote = chance.choice(('"', "'", ""))
    made: dict[str, Any] = {"delimiter": chance.choice(",;|\t"), "quote": quote}
    if quote and chance.random() < 0.4:
        made["escape"] = "\\"
    if chance.random() < 0.4:
        made["encoding"] = chance.choice(("latin-1", "windows-1252", "koi8-r", "cp850"))
    if chance.random() < 0.4:
        made["nulls"] = chance.sample(("N/A", "?", "-9", "..", "n.a."), 2)
    if chance.random() < 0.4:
        made["dates"] = chance.choice(("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d%b%Y", "%d-%m-%y"))
    if chance.random() < 0.4:
        decimal = chance.choice(".,")
        marks = [mark for mark in (".", ",", "'", " ", "") if mark != decimal]
        given = {"decimal": decimal, "thousands": chance.choice(marks)}
        if quote or made["delimiter"] not in given.values():
            made |= {name: mark for name, mark in given.items() if mark}
    if chance.random() < 0.3:
        made["header"] = False
    return made


@dataclass(frozen=True)
class SourceKind:
    """A kind of source: its name, how a world is laid out in it, and the dialects that its schemas declare."""

    name: str
    layout: Callable[[World, Random], SourceLayout]
    dialect: MakeDialect = _plain

    def draw(self, chance: Random) -> SourceLayout:
        """A world and how it is laid out."""
        return self.layout(draw_world(chance, self.dialect(chance)), chance)


_SECONDS = frozenset({"timestamp[s]", "date64[ms]"})  # written in other units, where the far ends do not fit
_NOT_IN_PARQUET = _SECONDS | {str(NULL_ENTRY)}
_UUIDS = frozenset({"extension<arrow.uuid>"})
_NOT_IN_POLARS = _SECONDS | _UUIDS | {"decimal256(76, 2)", "decimal256(76, 0)"}
_NOT_IN_PANDAS = _UUIDS | {"string_view"}

_ALWAYS = (
    SourceKind("csv", TextLayout),
    SourceKind("csv, declared dialects", TextLayout, _declared),
    SourceKind("csv.gz", partial(TextLayout, ending=".csv.gz"), _declared),
    SourceKind("tsv", partial(TextLayout, ending=".tsv")),
    SourceKind("csv, several files", partial(TextLayout, several=True), _declared),
    SourceKind("parquet", partial(ParquetLayout, without=_NOT_IN_PARQUET)),
    SourceKind("parquet, several files", partial(ParquetLayout, parts=3, without=_NOT_IN_PARQUET)),
    SourceKind("arrow", TypedLayout),
    SourceKind("polars", partial(PolarsLayout, without=_NOT_IN_POLARS)),
    SourceKind("polars, lazy", partial(LazyLayout, without=_NOT_IN_POLARS)),
)
_WITH_PANDAS = (
    SourceKind("pandas, typed columns", partial(TypedFrameLayout, without=_NOT_IN_PANDAS)),
    SourceKind("pandas, columns of objects", ObjectFrameLayout),
)
KINDS: tuple[SourceKind, ...] = _ALWAYS + (_WITH_PANDAS if pandas_frames.INSTALLED else ())
