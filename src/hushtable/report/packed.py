"""Tables as whole numbers of a small step, which take little room in a page.

The step is a small part of a table's noise, so that rounding adds next to nothing to it.  A table is kept in one of
three kinds: its unbiased estimates; a model's estimates with the unbiased ones, whose errors are known; or a model's
estimates with their bounds, rounded outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints
from hushtable.marginals import AttributeSet
from hushtable.reconstruct import DERIVED, FULLY, PARTLY
from hushtable.release import quality_codes
from hushtable.report.cells import Cells
from hushtable.report.deflated import LARGEST, deflated_numbers

UNBIASED, FITTED, BOUNDED = 0, 1, 2
COLUMNS = (2, 3, 4)
"""Columns of each kind: number of the flag, estimate; and unbiased less estimate; or estimate less lower, and upper
less estimate.  A flag is that of the number before it was rounded, as files and exports have it."""
STEPS_IN_STD = 5.0
"""The step that numbers are shown in is at most a fifth of the standard error: rounding then adds 0.2% to it."""
FINEST, COARSEST = 0.01, 1.0
"""Steps of counts: none is coarser than a whole record, and hundredths of one say nothing."""
FINER = 100
"""Parts of that step that are kept, so that ends, which are made of two kept numbers, are shown as files have them."""
MANY_CELLS = 200_000
"""Cells from which on numbers are kept as they are shown: finer ones would take half as much room again."""
_KEPT = ((0, 1), (0, 1, 2), (0, 1, 3, 4))
"""Places of the columns of each kind in ``Packed.columns``."""
_MEASURED = (FULLY, PARTLY, DERIVED)


@dataclass(frozen=True, eq=False)
class Packed:
    """All cells of some tables as whole numbers of steps; ``kinds`` and ``steps`` are by table."""

    cells: Cells
    kinds: NDArray[np.int64]
    steps: Floats
    columns: tuple[Ints, ...]
    """By cell: flag, estimate, unbiased less estimate, estimate less lower, upper less estimate."""
    finer: int = 1
    """Steps in the step that is shown."""

    @classmethod
    def of(cls, cells: Cells, alpha: float, *, unbiased: bool) -> Packed:
        """Round the cells of intervals at ``1 - alpha``; ``unbiased`` says that estimates are the unbiased ones."""
        lengths = cells.layout.lengths
        kinds = np.where(cells.known, UNBIASED if unbiased else FITTED, BOUNDED)
        finer = FINER if cells.layout.cells < MANY_CELLS else 1
        steps = _steps(cells, finer)
        step = np.repeat(steps, lengths)
        estimate = _kept(cells.estimate / step, finer)
        known = np.repeat(cells.known, lengths)
        columns = (
            quality_codes(cells.estimate, cells.lower, cells.upper, alpha),
            estimate,
            np.where(known, _kept(np.where(known, cells.unbiased, 0.0) / step, finer) - estimate, 0.0),
            estimate - np.floor(np.minimum(cells.lower / step, estimate)),
            np.ceil(np.maximum(cells.upper / step, estimate)) - estimate,
        )
        return cls(cells, kinds, steps, tuple(column.astype(np.int64) for column in columns), finer)

    @property
    def asked(self) -> list[AttributeSet]:
        """The tables that were asked for, small ones first."""
        return [s for s in self.cells.layout.sets if s in self.cells.asked]

    def numbers_of(self, attributes: AttributeSet) -> int:
        """How many whole numbers a table takes."""
        k = self.cells.layout.index[attributes]
        columns = COLUMNS[int(self.kinds[k])] + (self._classes(k) is not None)
        return columns * int(self.cells.layout.lengths[k])

    def piece(self, sets: Sequence[AttributeSet]) -> str:
        """Tables in one piece: the columns of the first, of the second, and so on."""
        parts: list[Ints] = []
        for attributes in sets:
            k, span = self.cells.layout.index[attributes], self.cells.span(attributes)
            parts += [self.columns[place][span] for place in _KEPT[int(self.kinds[k])]]
            classes = self._classes(k)
            parts += [] if classes is None else [classes[1]]
        return deflated_numbers(np.concatenate(parts))

    def index(self, sets: Sequence[AttributeSet]) -> dict[str, Any]:
        """What a reader must know to find and read the tables: attributes, kinds, steps and errors."""
        at = [self.cells.layout.index[attributes] for attributes in sets]
        errors: dict[tuple[float, ...], int] = {}
        told = [[errors.setdefault(error, len(errors)) for error in self._errors(k)] for k in at]
        return {
            "sets": [list(attributes) for attributes in sets],
            "asked": "".join("1" if attributes in self.cells.asked else "0" for attributes in sets),
            "kinds": "".join(str(self.kinds[k]) for k in at),
            "measured": "".join(str(_MEASURED.index(self.cells.measured[k])) for k in at),
            "finer": self.finer,
            "steps": [float(f"{self.steps[k]:.3g}") for k in at],
            "errors": [list(error) for error in errors],
            "error": [one[0] if len(one) == 1 else one for one in told],
        }

    def _errors(self, k: int) -> list[tuple[float, ...]]:
        """Standard error, half-width and the wide one of a table's cells, or of each class of them."""
        if self.kinds[k] == BOUNDED:
            return [(0.0, 0.0, 0.0)]
        first = int(self.cells.layout.offsets[k])
        classes = self._classes(k)
        places = [first] if classes is None else (first + classes[0]).tolist()
        numbers = (self.cells.std, self.cells.reach, self.cells.far)
        return [tuple(float(f"{values[place]:.6g}") for values in numbers) for place in places]

    def _classes(self, k: int) -> tuple[Ints, Ints] | None:
        """Where cells of a table differ in their errors: a cell of each class, and the class of each cell."""
        if self.kinds[k] == BOUNDED or not self.cells.layout.has_levels:
            return None
        stds = self.cells.layout.at(self.cells.std, k)
        if np.ptp(stds) <= 1e-9 * stds[0]:
            return None
        _, places, classes = np.unique(np.round(stds, 9), return_index=True, return_inverse=True)
        return places.astype(np.int64), classes.astype(np.int64)


def _kept(values: Floats, finer: int) -> Floats:
    """The nearest whole numbers, but never half of a shown step: which way that is rounded, the true value says."""
    whole = np.rint(values)
    halves = (np.mod(2.0 * whole, 2.0 * finer) == finer) & (finer > 1)
    return whole + np.where(halves, np.sign(values - whole), 0.0)


def _steps(cells: Cells, finer: int) -> Floats:
    """A power of ten for each table: small beside its noise, and large enough for its largest number."""
    layout = cells.layout
    starts = layout.offsets[:-1]
    noise = np.where(np.repeat(cells.known, layout.lengths), cells.std, (cells.upper - cells.lower) / 4.0)
    typical = np.add.reduceat(noise, starts) / layout.lengths
    largest = np.maximum.reduceat(np.maximum(np.abs(cells.estimate), cells.upper) + 1.0, starts)
    with np.errstate(divide="ignore"):
        fine = 10.0 ** np.floor(np.log10(typical / STEPS_IN_STD))
    room = 10.0 ** np.ceil(np.log10(4.0 * largest / LARGEST))
    return np.maximum(np.clip(fine, FINEST, COARSEST) / finer, room)
