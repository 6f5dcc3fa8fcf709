"""The fitted tables of a closure, small ones kept, larger ones made when asked for or agreed on together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, centre
from hushtable.measurement import Residuals
from hushtable.reconstruct import maxent_loops as loops
from hushtable.reconstruct.triples import Small, Triples
from hushtable.reconstruct.zeros import Zeros

SWEEPS = 100
"""Most sweeps of proportional fitting that make a table of its sub-tables, or follow a move by its own residual; fewer
where the sums are right before (``maxent_loops.TOLERANCE``).  Most tables take three to six.  Where attributes depend
on each other strongly, six leave half as much error again as the measurements have."""
NO_MASS = 1e-280
"""A sum at or below this is no mass: the largest counts divided by it are still numbers."""


@dataclass
class MaxentTables:
    """Tables of maximum entropy.

    ``products`` are of independent attributes, ``prior`` the means that pairs were drawn to, ``pairs`` the fitted ones,
    ``agreed`` all three-way tables where they were made to agree.
    """

    residuals: Residuals
    total: float
    ones: dict[int, Floats]
    products: dict[AttributeSet, Floats]
    zeros: Zeros
    prior: dict[AttributeSet, Floats] = field(default_factory=dict[AttributeSet, Floats])
    pairs: dict[AttributeSet, Floats] = field(default_factory=dict[AttributeSet, Floats])
    dispersion: dict[AttributeSet, float] = field(default_factory=dict[AttributeSet, float])
    agreed: Triples | None = None
    _faces: dict[AttributeSet, Floats] = field(default_factory=dict[AttributeSet, Floats], repr=False)

    def table(self, attributes: AttributeSet) -> Floats:
        """The estimate of one marginal, shaped."""
        if len(attributes) == 0:
            return np.array(self.total)
        if len(attributes) == 1:
            return self.ones[attributes[0]]
        if len(attributes) == 2:
            return self.pairs.get(attributes, self.products[attributes])
        if len(attributes) == 3:
            made = self._triples([attributes])
            return made.layout.view(made.tables, attributes)
        table = self._spread(attributes)
        if attributes in self.dispersion:
            move = self.residuals.value(attributes) - centre(table)
            strength = 1.0 / (self.residuals.precision(attributes) * self.dispersion[attributes])
            loops.shrink_cells(table.reshape(-1), np.ascontiguousarray(move).reshape(-1), strength)
            self._fit_faces(table, attributes, SWEEPS)
        return table

    def spread(self, sets: Sequence[AttributeSet], sweeps: int = SWEEPS) -> Floats:
        """The most random tables with the fitted sub-tables, flat, ignoring the marginals' own residuals."""
        layout = Layout(self.residuals.layout.sizes, tuple(sets))
        flat = np.empty(layout.cells)
        self._put(layout, flat, self.made_of_pairs(self._three(layout), sweeps))
        for s in layout.sets:
            if len(s) > 3:
                layout.view(flat, s)[...] = self._spread(s, sweeps)
        return flat

    def estimate_all(self, layout: Layout) -> Floats:
        """The estimates of all marginals of ``layout`` in one flat array."""
        flat = np.empty(layout.cells)
        three = self._three(layout)
        if three:
            self._put(layout, flat, self._triples(three))
        for s in layout.sets:
            if len(s) != 3:
                layout.view(flat, s)[...] = self.table(s)
        return flat

    def agree(self, sets: Sequence[AttributeSet]) -> None:
        """Make three-way tables that share a pair agree, and take over the pairs they agree on."""
        self.agreed = self._made(sets)
        self.pairs |= self.agreed.agree()

    def _three(self, layout: Layout) -> list[AttributeSet]:
        return [s for s in layout.sets if len(s) == 3]

    def _put(self, layout: Layout, flat: Floats, triples: Triples) -> None:
        """Copy three-way tables into a flat array."""
        if triples.layout.sets == layout.sets:
            flat[:] = triples.tables
            return
        for s in self._three(layout):
            layout.view(flat, s)[...] = triples.layout.view(triples.tables, s)

    def _triples(self, sets: Sequence[AttributeSet]) -> Triples:
        """Three-way tables that contain ``sets``."""
        if self.agreed is not None and all(s in self.agreed.layout.index for s in sets):
            return self.agreed
        return self._made(sets)

    def made_of_pairs(self, sets: Sequence[AttributeSet], sweeps: int = SWEEPS) -> Triples:
        """The most random three-way tables with the fitted pairs."""
        return Triples.spread(self.small, sets, self.zeros, sweeps)

    def _made(self, sets: Sequence[AttributeSet]) -> Triples:
        made = self.made_of_pairs(sets)
        made.move(self.residuals, self.dispersion, SWEEPS)
        return made

    @cached_property
    def small(self) -> Small:
        """The fitted tables of up to two attributes, once they no longer change."""
        pairs = {s: self.pairs.get(s, product) for s, product in self.products.items()}
        return Small.of(self.residuals.layout.sizes, self.total, self.ones, pairs)

    def _spread(self, attributes: AttributeSet, sweeps: int = SWEEPS) -> Floats:
        table = np.ones(())
        for axis in attributes:
            table = np.multiply.outer(table, self.ones[axis] / self.total)
        table = self.zeros.clear(attributes, table * self.total)
        self._fit_faces(table, attributes, sweeps)
        return table

    def _fit_faces(self, table: Floats, attributes: AttributeSet, sweeps: int) -> None:
        faces = [self._face(s) for s in combinations(attributes, len(attributes) - 1)]
        for _ in range(sweeps):
            gap = 0.0
            for axis, face in zip(range(len(attributes) - 1, -1, -1), faces, strict=True):
                sums = table.sum(axis=axis)
                gap += float(np.abs(face - sums).sum())
                factor = np.divide(face, sums, out=np.zeros_like(sums), where=sums > NO_MASS)
                table *= np.expand_dims(factor, axis)
            if gap <= loops.TOLERANCE * self.total:
                break
        if self.zeros and table.any():
            table *= self.total / table.sum()

    def _face(self, attributes: AttributeSet) -> Floats:
        if attributes not in self._faces:
            self._faces[attributes] = self.table(attributes)
        return self._faces[attributes]
