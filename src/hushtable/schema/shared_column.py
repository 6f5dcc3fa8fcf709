"""Attributes that read one column: which of their categories a value of it has together.

Public: what the schema declares decides it, no row.  A county is in one hospital's area and in one region, so that
categories of the two attributes go together only where some county has both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.schema.attribute import Attribute, Binned, Boolean, Categorical

if TYPE_CHECKING:  # a schema is read without arrays
    import numpy as np

    from hushtable.arrays import Ints
else:
    np = Later("numpy")


@dataclass(frozen=True, eq=False)
class SharedColumn:
    """Numbers of the attributes that read one column in the same way, and the codes that its values have in them.

    ``codes`` has a row for each combination that some value has, a column for each attribute, on its finest level.
    """

    attributes: tuple[int, ...]
    codes: Ints


def shared_columns(attributes: Mapping[str, Attribute]) -> tuple[SharedColumn, ...]:
    """Where two or more attributes read one column as the same type, written in the same way."""
    groups: dict[tuple[str, ...], list[tuple[int, Attribute]]] = {}
    for number, attribute in enumerate(attributes.values()):
        groups.setdefault(_way(attribute), []).append((number, attribute))
    return tuple(
        SharedColumn(tuple(number for number, _ in group), _codes([a for _, a in group]))
        for group in groups.values()
        if len(group) > 1
    )


def _way(attribute: Attribute) -> tuple[str, ...]:
    """What two attributes must have alike for each value of the column to mean the same to both."""
    if isinstance(attribute, Binned):
        return attribute.column, attribute.kind, attribute.decimal, attribute.thousands, attribute.pattern
    return attribute.column, attribute.kind


def _codes(group: Sequence[Attribute]) -> Ints:
    """Codes of every kind of value; a value that one of the attributes drops has none."""
    numbers = [a for a in group if isinstance(a, Binned)]
    every = [*_nothing(group), *(_of_numbers(numbers) if numbers else _of_texts(group))]
    kept = {row for row in every if None not in row}
    return np.array(sorted(kept), np.int64).reshape(len(kept), len(group))  # type: ignore[type-var]


def _nothing(group: Sequence[Attribute]) -> Iterator[tuple[int | None, ...]]:
    """An empty field, and a value that no attribute knows."""
    yield tuple(a.null_code for a in group)
    yield tuple(a.other_code for a in group)


def _of_texts(group: Sequence[Attribute]) -> Iterator[tuple[int | None, ...]]:
    texts: dict[str, None] = {}
    for a in group:
        known = a.texts if isinstance(a, Categorical) else ()
        words = (*a.true_texts, *a.false_texts) if isinstance(a, Boolean) else ()
        texts |= dict.fromkeys((*known, *words, *a.nulls))
    for text in texts:
        yield tuple(a.code_of(text) for a in group)


def _of_numbers(group: Sequence[Binned]) -> Iterator[tuple[int | None, ...]]:
    """One number of every stretch on which no attribute changes its code, and words that mean a null to some."""
    for word in dict.fromkeys(word for a in group for word in a.null_words):
        yield tuple(a.null_code if word in a.nulls else a.other_code for a in group)
    edges: set[Any] = {edge for a in group for edge in a.starts}
    nulls: set[Any] = {number for a in group for number in a.null_numbers}
    found = sorted(edges | nulls | {number + a.step for a in group for number in nulls})
    between = [(low + high) / 2 for low, high in pairwise(found)] if group[0].step == 0 else []
    for number in (found[0] - 1, *found, *between, found[-1] + 1):
        yield tuple(a.null_code if number in a.null_numbers else _at(a, number) for a in group)


def _at(attribute: Binned, number: Any) -> int | None:
    code = attribute.code_at(number)
    return attribute.other_code if code is None else code
