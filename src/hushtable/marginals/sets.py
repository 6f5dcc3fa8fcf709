"""Attribute sets, strictly increasing tuples of axis numbers, and sets of them; needs no arrays.

Where an attribute has levels, each of them is an axis, and no set has two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from hushtable.axes import AttributeSet as AttributeSet
from hushtable.axes import Axes
from hushtable.errors import WorkloadError

MAX_SETS = 4_000_000
"""More attribute sets than this are refused: even their names would not fit in memory."""


def is_attribute_set(attributes: Sequence[Any], axes: int) -> bool:
    """Whether a sequence holds rising numbers of ``axes`` axes.

    >>> is_attribute_set((0, 2), 3), is_attribute_set((2, 0), 3), is_attribute_set((3,), 3)
    (True, False, False)
    """
    return not attributes or (
        attributes[0] >= 0 and attributes[-1] < axes and all(a < b for a, b in pairwise(attributes))
    )


def sorted_sets(sets: Sequence[AttributeSet]) -> tuple[AttributeSet, ...]:
    """Distinct sets, small before large, then in order of their axes."""
    return tuple(sorted(set(sets), key=lambda s: (len(s), s)))


def subsets(attributes: AttributeSet, sizes: Sequence[int] = ()) -> Iterable[AttributeSet]:
    """All sets that one tells, small before large; ``sizes`` say which axes are levels of one attribute, if any are."""
    return Axes.of(sizes).below(attributes)


def largest_sets(sets: Sequence[AttributeSet], sizes: Sequence[int] = ()) -> tuple[AttributeSet, ...]:
    """The sets that no other one tells."""
    axes = Axes.of(sizes)
    return tuple(s for s in sets if not any(s != other and axes.tells(s, other) for other in sets))


def closure(sets: Iterable[AttributeSet], sizes: Sequence[int] = ()) -> tuple[AttributeSet, ...]:
    """All sets that the given ones tell (the downward closure), small before large, then in order of their axes.

    >>> closure([(0, 2), (1,)])
    ((), (0,), (1,), (2,), (0, 2))
    """
    axes, distinct = Axes.of(sizes), {tuple(sorted(s)) for s in sets}
    if sum(map(axes.number_below, distinct)) > 8 * MAX_SETS:
        raise WorkloadError(
            "workload.too-large",
            f"The marginals have more than {MAX_SETS:,} sub-marginals.",
            "Lower --order, or ask for fewer or smaller marginals.",
        )
    found: set[AttributeSet] = set()
    for attributes in distinct:
        found.update(axes.below(attributes))
    return sorted_sets(tuple(found))
