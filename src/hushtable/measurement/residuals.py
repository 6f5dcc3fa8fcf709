"""Centred residual estimates with their precisions: what every fit of nonnegative tables starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout


@dataclass
class Residuals:
    """Centred residual estimates with their precisions (0: never measured)."""

    layout: Layout
    values: Floats
    precisions: Floats

    def known(self, attributes: AttributeSet) -> bool:
        """Whether the residual was measured."""
        k = self.layout.index.get(attributes)
        return k is not None and self.precisions[k] > 0 and math.isfinite(self.precisions[k])

    def value(self, attributes: AttributeSet) -> Floats:
        """The centred estimate, shaped."""
        return self.layout.view(self.values, attributes)

    def precision(self, attributes: AttributeSet) -> float:
        """1 / s2."""
        return float(self.precisions[self.layout.index[attributes]])

    def price(self, attributes: AttributeSet) -> float:
        """``prod (1 - 1/n)``, the free part of a table's cells; on levels the mean over those with neighbours."""
        return math.prod(self.layout.axes.free_share(axis) for axis in attributes)

    def relative_noise(self, attributes: AttributeSet, total: float) -> float:
        """``block_noise`` over the mean count of a cell when all add up to ``total``."""
        cells = math.prod(self.layout.sizes[a] for a in attributes)
        return self.block_noise(attributes) * cells / total

    def block_noise(self, attributes: AttributeSet) -> float:
        """Variance of the noise of a cell before it was centred; on levels the mean over those that have any."""
        return math.prod(map(self.layout.axes.relative_share, attributes)) / self.precision(attributes)
