"""Disjoint counts and their sum: what the two mechanisms of Theorem 4 measure.

"point" measures the counts alone, "sum" also their sum, with the same noise.  Either is turned into records by
sequential fitting: counts below zero become zero, or the counts are projected onto those with the measured sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Literal

from hushtable.errors import WorkloadError
from hushtable.marginals import Workload
from hushtable.schema import Schema

Accurate = Literal["point", "sum"]


def counts_workload(schema: Schema, attributes: Sequence[str] | None, accurate: str) -> Workload:
    """The marginal of ``attributes`` (all by default), with the total beside it for "sum".

    The weights make the noise of both equal: independent noise goes as the cells times the weight.
    """
    names = schema.names if attributes is None else tuple(attributes)
    if accurate == "point":
        return Workload([names])
    if accurate != "sum":
        raise WorkloadError(
            "microdata.accurate", "Counts can be accurate one by one or in their sum.", "Give point or sum."
        )
    cells = prod(schema.sizes[axis] for axis in schema.axes(names))
    return Workload([(), names], weights=[Fraction(cells), Fraction(1)])
