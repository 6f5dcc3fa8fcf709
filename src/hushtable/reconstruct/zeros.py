"""Cells of marginals that cannot hold anyone, from what a schema declares impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet, closure, subsets
from hushtable.schema import Schema

Mask = NDArray[np.bool_]
ZeroRule = dict[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Zeros:
    """Masks (True: impossible) of the marginals that decide it: those of up to two attributes, and those of a rule.

    Any larger marginal has its zeros from these.  A cell is also impossible when everything below it is; rules that
    leave nothing possible, or that have more attributes than any marginal, are ignored.
    """

    masks: dict[AttributeSet, Mask] = field(default_factory=dict[AttributeSet, Mask])

    @staticmethod
    def of(schema: Schema, sets: Sequence[AttributeSet]) -> Zeros:
        """The zeros of a closure under a schema."""
        return Zeros.by_rules(schema.sizes, [dict(rule.codes) for rule in schema.impossible], sets)

    @staticmethod
    def by_rules(sizes: tuple[int, ...], rules: Sequence[ZeroRule], sets: Sequence[AttributeSet]) -> Zeros:
        """The zeros under rules: a cell with one of the listed codes on every axis of a rule is impossible."""
        largest = max(map(len, sets), default=0)
        rules = [rule for rule in rules if len(rule) <= largest]
        axes = {tuple(sorted(rule)) for rule in rules}
        wanted = {s for s in sets if len(s) <= 2} | axes.intersection(sets)
        everything = sorted({*wanted, *closure(axes)}, key=len)
        masks = {s: _ruled(sizes, rules, s) for s in everything}
        for s in reversed(everything):
            for axis in range(len(s)):
                below = s[:axis] + s[axis + 1 :]
                if below in masks:
                    masks[below] |= masks[s].all(axis=axis)
        if masks.get((), np.array(False)).all():
            return Zeros()
        for s in everything:
            for axis in range(len(s)):
                below = s[:axis] + s[axis + 1 :]
                if below in masks:
                    masks[s] |= _widened(masks[below], below, s)
        return Zeros({s: masks[s] for s in everything if s in wanted and masks[s].any()})

    def clear(self, attributes: AttributeSet, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The table with its impossible cells set to 0, in place."""
        for below in subsets(attributes):
            if below in self.masks:
                mask = _widened(self.masks[below], below, attributes)
                table[np.broadcast_to(mask, table.shape)] = 0.0
        return table

    def whole(self, attributes: AttributeSet, shape: tuple[int, ...]) -> Mask:
        """The mask of any marginal."""
        return self.clear(attributes, np.ones(shape)) == 0.0

    def __bool__(self) -> bool:
        return bool(self.masks)


def _ruled(sizes: tuple[int, ...], rules: Sequence[ZeroRule], attributes: AttributeSet) -> Mask:
    mask = np.zeros([sizes[a] for a in attributes], bool)
    for rule in rules:
        if set(rule) <= set(attributes):
            mask[np.ix_(*(rule.get(a, range(sizes[a])) for a in attributes))] = True
    return mask


def _widened(mask: Mask, below: AttributeSet, above: AttributeSet) -> Mask:
    """A mask with an axis of length 1 for every attribute it lacks."""
    lengths = dict(zip(below, mask.shape, strict=True))
    return mask.reshape([lengths.get(a, 1) for a in above])
