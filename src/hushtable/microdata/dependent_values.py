"""Values of attributes that follow from one another: drawn once, so that a record does not contradict itself.

A day is drawn among those of its period that have the record's weekday, an age that two attributes read among those of
both bands.  Where released tables and dependencies leave nothing, what follows gives way to what it follows from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Codes
from hushtable.microdata import seeded
from hushtable.schema import Attribute, Binned, Dependency, Schema


def settle(schema: Schema, codes: Codes, *, seed: object = 0) -> tuple[Codes, dict[str, NDArray[Any]]]:
    """Records whose attributes agree, and the numbers or days that were drawn for some of them on the way."""
    settled, values = codes.copy(), dict[str, NDArray[Any]]()
    attributes = schema.attributes
    following = schema.following
    for name in _parents_first(following):
        after = [one for one in following if one.on == name]
        for one in after:
            if one.map:
                _take(settled, schema, one, one.mapped(attributes)[settled[:, _place(schema, name)]])
        by_value = [one for one in after if not one.map]
        parent = attributes[name]
        if not by_value or not isinstance(parent, Binned):
            continue
        drawn = values.get(name)
        if drawn is None:
            state = seeded.seeded("value", name, seed)
            drawn = _drawn(schema, parent, by_value, settled, seeded.uniforms(state, len(codes)))
            values[name] = drawn
        for one in by_value:
            _take(settled, schema, one, one.codes_of(attributes, drawn))
            if one.part is None:
                values[one.attribute] = drawn
    return settled, values


def _place(schema: Schema, name: str) -> int:
    return list(schema.attributes).index(name)


def _parents_first(following: Sequence[Dependency]) -> list[str]:
    """Attributes that others follow from, none before one that it follows from itself."""
    above = {one.attribute: one.on for one in following}
    depth: dict[str, int] = {}
    for one in following:
        name, steps = one.on, 0
        while name in above:
            name, steps = above[name], steps + 1
        depth[one.on] = steps
    return sorted(depth, key=lambda name: depth[name])


def _take(settled: Codes, schema: Schema, one: Dependency, codes: NDArray[Any]) -> None:
    """Give records the codes that follow, where both attributes have a value."""
    made, parent = schema.attributes[one.attribute], schema.attributes[one.on]
    mine, others = settled[:, _place(schema, one.attribute)], settled[:, _place(schema, one.on)]
    follows = (codes >= 0) & (mine < made.regular) & (others < parent.regular)
    mine[follows] = codes[follows]


def _drawn(
    schema: Schema, parent: Binned, after: Sequence[Dependency], codes: Codes, share: NDArray[np.float64]
) -> NDArray[Any]:
    """A number or day of each record inside its bin, that has what the record says of it where one does."""
    columns = [_place(schema, parent.name), *(_place(schema, one.attribute) for one in after)]
    combined, which = np.unique(codes[:, columns], axis=0, return_inverse=True)
    values = np.zeros(len(codes), parent.edges.dtype)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(combined) + 1))
    for k, (own, *others) in enumerate(combined.tolist()):
        rows = order[ends[k] : ends[k + 1]]
        if own < parent.regular:
            low: Any = parent.starts[own]
            end: Any = parent.starts[own + 1]
            if parent.kind == "real":
                values[rows] = low + share[rows] * (end - low)
            else:
                steps = _agreeing(schema.attributes, after, others, np.arange(int(low), int(end)))
                values[rows] = steps[np.minimum((share[rows] * len(steps)).astype(np.int64), len(steps) - 1)]
    return values


def _agreeing(attributes: Any, after: Sequence[Dependency], codes: Sequence[int], steps: NDArray[Any]) -> Any:
    """The steps of a bin that have the codes of what follows; those that contradict all others are left out."""
    for one, code in zip(after, codes, strict=True):
        made: Attribute = attributes[one.attribute]
        if code < made.regular:
            kept = steps[one.codes_of(attributes, steps) == code]
            steps = kept if len(kept) else steps
    return steps
