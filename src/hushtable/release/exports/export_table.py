"""One released table as every format sees it: dimensions with their categories, columns of numbers, a title."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hushtable.schema import Attribute, Categorical, text_of

if TYPE_CHECKING:
    import polars as pl

    from hushtable.release.exports.column_sets import CellColumn

LONGEST_STEM = 80
"""Letters of a file's name: with folder, number and suffix well below the 255 bytes that file systems take."""


@dataclass(frozen=True)
class Dimension:
    """An attribute, or a level of one, of a table: what its categories are called in data and by people."""

    name: str
    title: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, attribute: Attribute) -> Dimension:
        """The dimension of an axis; declared values are its texts, labels are what readers see."""
        labels = attribute.labels
        declared = (
            [text_of(value) for value in attribute.values] if isinstance(attribute, Categorical) else []
        )
        return cls(name, attribute.label or name, (*declared, *labels[len(declared) :]), labels)


@dataclass(frozen=True, eq=False)
class ExportTable:
    """A table to write: ``frame`` has a column for each dimension, then one for each measure, cells in C order."""

    number: int
    stem: str
    title: str
    dimensions: tuple[Dimension, ...]
    measures: tuple[CellColumn, ...]
    frame: pl.DataFrame

    @property
    def shape(self) -> tuple[int, ...]:
        """Categories of each dimension."""
        return tuple(len(dimension.labels) for dimension in self.dimensions)

    @cached_property
    def numeric(self) -> tuple[CellColumn, ...]:
        """The measures that are numbers."""
        return tuple(measure for measure in self.measures if measure.kind == "number")


def slug(text: str) -> str:
    """Small ASCII letters, digits and underscores of a text; "" when nothing is left.

    >>> slug("Année de naissance (5)"), slug("性別")
    ('ann_e_de_naissance_5', '')
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def file_stems(tables: Iterable[Sequence[str]]) -> list[str]:
    """A file name for each table, by its attributes; no two alike, also where letters have no case.

    >>> file_stems([("age", "sex"), ("Age", "Sex"), (), ("性別",)])
    ['age-sex', 'age-sex-2', 'total', 'table-4']
    """
    taken: set[str] = set()
    stems: list[str] = []
    for number, names in enumerate(tables, 1):
        parts = [slug(name) for name in names]
        stem = "-".join(parts)[:LONGEST_STEM] if all(parts) else "table"
        stem = stem or "total"
        if stem == "table" or stem in taken:
            stem = f"{stem}-{number}"
        taken.add(stem)
        stems.append(stem)
    return stems
