"""Three-way tables of maximum entropy, all at once: spread over their pairs, moved to their residuals, made to agree.

Agreement: tables that share two attributes are drawn to one table of the two.  Each pair table takes an over-relaxed
step to the mean of what the tables above it say, and these are fitted to it; a few rounds of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import AttributeSet, Layout, accumulate, in_ranges
from hushtable.measurement import Residuals
from hushtable.reconstruct import triple_loops as loops
from hushtable.reconstruct.dispersion import DISPERSIONS
from hushtable.reconstruct.zeros import Zeros

AGREE_ROUNDS = 6
"""More rounds leave smaller differences and take longer; ADR 10 has what these leave."""


@dataclass(frozen=True, eq=False)
class Small:
    """Total, one-way and two-way tables in flat arrays."""

    total: float
    ones: loops.Ones
    layout: Layout
    """Of the pairs."""
    pairs: Floats

    @staticmethod
    def of(
        sizes: tuple[int, ...], total: float, ones: dict[int, Floats], pairs: dict[AttributeSet, Floats]
    ) -> Small:
        """From shaped tables; axes without a table count as empty."""
        flat = np.concatenate([np.empty(0), *(np.ascontiguousarray(q).reshape(-1) for q in pairs.values())])
        return Small(total, flat_ones(len(sizes), ones), Layout(sizes, tuple(pairs)), flat)


def flat_ones(axes: int, ones: dict[int, Floats]) -> loops.Ones:
    """One-way tables in one array; axes without a table count as empty."""
    each = [ones.get(axis, np.empty(0)) for axis in range(axes)]
    return loops.Ones(np.concatenate([np.empty(0), *each]), np.cumsum([0, *(len(one) for one in each)]))


@dataclass(frozen=True, eq=False)
class Triples:
    """Three-way tables, flat, over the pairs they are fitted to."""

    layout: Layout
    small: Small
    zeros: Zeros
    axes: Ints
    faces: Ints
    tables: Floats

    @staticmethod
    def of(small: Small, sets: Sequence[AttributeSet], zeros: Zeros, tables: Floats | None = None) -> Triples:
        """Given tables (flat, taken over), or tables to be filled."""
        layout = Layout(small.layout.sizes, tuple(sets))
        index = small.layout.index
        axes = np.array(layout.sets, np.int64).reshape(-1, 3)
        faces = np.array([(index[a, b], index[a, c], index[b, c]) for a, b, c in layout.sets], np.int64)
        flat = np.empty(layout.cells) if tables is None else tables
        return Triples(layout, small, zeros, axes, faces.reshape(-1, 3), flat)

    @staticmethod
    def spread(small: Small, sets: Sequence[AttributeSet], zeros: Zeros, sweeps: int) -> Triples:
        """The most random tables with the given pairs."""
        result = Triples.of(small, sets, zeros)
        layout, tables = result.layout, result.tables
        start = (result.axes, small.ones, small.total, layout.tables(tables))
        in_ranges(loops.multiply_ones, layout.lengths, *start)
        for s in zeros.masks:
            if s in layout.index:
                layout.view(tables, s)[zeros.masks[s]] = 0.0
        result.fit(np.arange(len(layout.sets)), sweeps)
        return result

    def fit(self, numbers: Ints, sweeps: int, pairs: Floats | None = None) -> None:
        """Fit some tables to their pairs."""
        small, layout = self.small, self.layout
        given = small.layout.tables(small.pairs if pairs is None else pairs)
        work = layout.lengths[numbers] * sweeps
        in_ranges(loops.fit_faces, work, numbers, self.faces, given, sweeps, layout.tables(self.tables))
        if self.zeros:
            in_ranges(loops.set_totals, layout.lengths, layout.offsets, small.total, self.tables)

    def likelihoods(self, residuals: Residuals) -> Floats:
        """For each measured table (rows) how likely each dispersion of its residual around the table is."""
        measured, noise, _ = self._measured(residuals)
        layout, out = self.layout, np.empty((len(noise), DISPERSIONS.size))
        what = (noise, DISPERSIONS, layout.tables(self.tables), out)
        in_ranges(loops.departure_likelihoods, layout.lengths[measured.numbers], measured, *what)
        return out

    def move(self, residuals: Residuals, dispersion: dict[AttributeSet, float], sweeps: int) -> None:
        """Move the measured tables towards their residuals, as far as their dispersion makes likely."""
        measured, _, precision = self._measured(residuals)
        numbers, layout = measured.numbers, self.layout
        if not len(numbers):
            return
        strength = 1.0 / (precision * np.array([dispersion[layout.sets[k]] for k in numbers]))
        in_ranges(loops.move_tables, layout.lengths[numbers], measured, strength, layout.tables(self.tables))
        self.fit(numbers, sweeps)

    def agree(self) -> dict[AttributeSet, Floats]:
        """Draw tables that share a pair together, in place; gives the pairs they agree on."""
        small, layout = self.small, self.layout
        above = np.bincount(self.faces.reshape(-1), minlength=len(small.layout.sets))
        shared, everything = np.flatnonzero(above), np.arange(len(layout.sets))
        axes = np.array(small.layout.sets, np.int64).reshape(-1, 2)
        pairs, even = small.pairs.copy(), np.ones(len(layout.sets))
        share = np.repeat(1.0 / np.maximum(above, 1), small.layout.lengths)
        for _ in range(AGREE_ROUNDS):
            mean = accumulate(layout, self.tables, even, small.layout) * share
            work = 8 * small.layout.lengths[shared]
            in_ranges(loops.relax_pairs, work, shared, axes, small.ones, mean, small.layout.tables(pairs))
            self.fit(everything, 1, pairs)
        return {s: small.layout.view(pairs, s) for s in small.layout.sets}

    def _measured(self, residuals: Residuals) -> tuple[loops.MeasuredResiduals, Floats, Floats]:
        """The measured tables with their residuals, noise of a cell before it was centred, and precision."""
        sets = self.layout.sets
        numbers = [k for k, s in enumerate(sets) if residuals.known(s)]
        measured = [sets[k] for k in numbers]
        starts = [int(residuals.layout.offsets[residuals.layout.index[s]]) for s in measured]
        noise = [residuals.block_noise(s) for s in measured]
        precision = [residuals.precision(s) for s in measured]
        found = loops.MeasuredResiduals(
            np.array(numbers, np.int64), np.array(starts, np.int64), residuals.values
        )
        return found, np.array(noise), np.array(precision)
