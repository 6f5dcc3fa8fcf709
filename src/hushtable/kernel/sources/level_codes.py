"""Codes of every axis that a layout uses, from those of each attribute's finest level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.axes import Axes
from hushtable.marginals import Layout


class LevelCodes:
    """How the codes of one layout's axes follow from those of attributes."""

    def __init__(self, layout: Layout) -> None:
        axes = layout.axes
        self._levels = isinstance(layout.sizes, Axes)
        if not self._levels:
            return
        self._owners = axes.owners
        used = {a for s in layout.sets for a in s if a not in axes.finest}
        self._above = {
            a: axes.codes_above(axes.finest[axes.owners[a]], a).astype(np.min_scalar_type(axes[a] - 1))
            for a in used
        }

    def of(self, batch: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """One array for each axis."""
        if not self._levels:
            return batch
        return [
            self._above[a][batch[k]] if a in self._above else batch[k] for a, k in enumerate(self._owners)
        ]


def on_axes(batches: Iterable[Sequence[NDArray[Any]]], layout: Layout) -> Iterable[Sequence[NDArray[Any]]]:
    """All batches on the axes of a layout."""
    codes = LevelCodes(layout)
    return map(codes.of, batches)
