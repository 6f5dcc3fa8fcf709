"""Tables of maximum entropy that follow a loop: after a measurement only what lies above it is fitted again.

The fast fit of a loop: pairs are drawn to independence, without chains; three-way tables are scaled from where they
were (their own residual moves them afresh from the most random table); nothing is made to agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import AttributeSet, Layout
from hushtable.planning import State
from hushtable.reconstruct.maxent import disperse_three, start_tables
from hushtable.reconstruct.maxent_tables import SWEEPS, MaxentTables
from hushtable.reconstruct.pair_fit import shrink_to_products
from hushtable.reconstruct.triples import Triples
from hushtable.reconstruct.zeros import Zeros

WARM_SWEEPS = 2
"""Sweeps over a table that starts from its last fit, in each round of a loop.  On adult at epsilon 1 1, 2 and 4 had the
same error (0.116 to 0.117, four runs each); more only take longer."""


class LocalTables:
    """The current table of every marginal of a closure, flat."""

    def __init__(self, layout: Layout, zeros: Zeros | None = None) -> None:
        self.layout, self._zeros = layout, zeros
        self.tables = np.zeros(layout.cells)
        self._ones: dict[int, Floats] = {}
        self._pairs: dict[AttributeSet, Floats] = {}

    def refit(self, state: State, changed: Sequence[int]) -> tuple[Ints, Floats]:
        """Fit what lies above the changed residuals; gives the numbers of these marginals and all tables."""
        sets = self.layout.sets
        moved = [set(sets[k]) for k in changed]
        above = [k for k, s in enumerate(sets) if any(tau.issubset(s) for tau in moved)]
        fitted = self._fit([sets[k] for k in above], state)
        three = [sets[k] for k in above if len(sets[k]) == 3]
        for k in above:
            if len(sets[k]) < 3:
                self.layout.view(self.tables, sets[k])[...] = fitted.table(sets[k])
        self._fit_three(fitted, three)
        for k in above:
            if len(sets[k]) > 3:
                self.layout.view(self.tables, sets[k])[...] = fitted.table(sets[k])
        return np.array(above, np.int64), self.tables

    def _fit(self, above: list[AttributeSet], state: State) -> MaxentTables:
        """Total, one-way and two-way tables; those that do not lie above a change stay."""
        fresh = {s for s in above if len(s) <= 2}
        kept = {axis: table for axis, table in self._ones.items() if (axis,) not in fresh}
        fitted = start_tables(state, self.layout.sets, self._zeros, kept)
        self._ones = fitted.ones
        shrink_to_products(fitted, [s for s in fitted.products if s in fresh or s not in self._pairs])
        fitted.pairs = {s: fitted.pairs.get(s, self._pairs.get(s, q)) for s, q in fitted.products.items()}
        self._pairs = fitted.pairs
        return fitted

    def _fit_three(self, fitted: MaxentTables, sets: list[AttributeSet]) -> None:
        """Warm where only sub-tables moved; afresh where the table's own residual is known."""
        known = [s for s in sets if fitted.residuals.known(s)]
        warm = [s for s in sets if not fitted.residuals.known(s)]
        before = [self.layout.view(self.tables, s).reshape(-1) for s in warm]
        if warm and any(part.any() for part in before):
            made = Triples.of(fitted.small, warm, fitted.zeros, np.concatenate(before))
            made.fit(np.arange(len(warm)), WARM_SWEEPS)
        else:
            made = fitted.made_of_pairs(warm)
        for s in warm:
            self.layout.view(self.tables, s)[...] = made.layout.view(made.tables, s)
        if known:
            disperse_three(fitted, known)
            moved = fitted.made_of_pairs(known)
            moved.move(fitted.residuals, fitted.dispersion, SWEEPS)
            for s in known:
                self.layout.view(self.tables, s)[...] = moved.layout.view(moved.tables, s)
