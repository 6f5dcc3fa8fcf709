"""What an adaptive loop proves about whole tables: bounds on their L1 distance from the truth.

Noisy distances bound the tables they were asked about.  A selection bounds every candidate: had another table been much
worse than the chosen one, it would hardly have been passed over (AIM's argument).  A claim is about the tables of that
moment; a reader moves it to other tables by the triangle inequality.

Levels: a published bound fails with probability BETA at most.  It is the least of several, so BETA is shared out over
the kinds, and CLAIMS over all claims that a loop could come to make, however many it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log, sqrt

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import Incidence, Layout, assemble
from hushtable.measurement import GRID, Claim, Compare, Select
from hushtable.planning.error_model import ErrorModel
from hushtable.planning.l1_noise import l1_limit
from hushtable.planning.problem import prices
from hushtable.planning.state import Changes

BETA = 0.05
"""The bound of a table fails with this probability at most."""
CLAIMS = 0.4 * BETA
"""Of it: all claims of a loop together."""
NOISE = 0.3 * BETA
"""Of it: the noise of a table that was measured in full."""
CELLS = 0.2 * BETA
"""Of it: the cells of all sub-tables that bound a table which was not."""
TOTAL = 0.1 * BETA
"""Of it: the number of records.  The four parts are chosen, not optimised: with more of one, the bounds that need it
are lower and the others higher."""

PART = 2**24
"""Cells of the tables that are looked at together: 128 MB for each of their numbers.  It bounds memory."""


def claim_of_distances(request: Compare, noisy: Floats, beta: float) -> Claim:
    """From noisy distances, in records: a normal quantile shared out over the tables, and the rounding of the grid."""
    from scipy.special import ndtri  # takes longer to load than to plan

    reach = -float(ndtri(beta / len(request.sets))) * sqrt(request.variance) / GRID
    rounding = request.layout.lengths / (2.0 * GRID)
    return Claim(request.sets, request.tables, np.maximum(noisy + reach, 0.0) + rounding)


@dataclass(frozen=True, eq=False)
class _Proof:
    """What a selection proves: before its measurement marginal r was wrong by at most ``worst / w_r + penalty n_r``.

    ``noise`` bounds the L1 error of the chosen marginal after it, ``away`` is how far the measurement moved it.
    """

    chosen: int
    worst: float
    penalty: float
    noise: float
    away: float


class SelectionClaims:
    """The claims of a loop of selections: of the round that proves most, and of the last one.

    With weights w, sensitivity max w and n cells: ``w_r (e_r - penalty n_r) <= w_g (e_g - penalty n_g) + slack`` for
    the chosen g and all others r, where e is the L1 error before the measurement.  Half of a round's level is for that,
    half for the noise of g.  The last round has half of CLAIMS; ``rounds``, more than any run can make, share the rest.
    """

    def __init__(self, layout: Layout, weights: Ints, below: Incidence, rounds: int) -> None:
        self._layout, self._below = layout, below
        self._cells, self._price = layout.lengths.astype(np.float64), prices(layout)
        self._weights = weights.astype(np.float64)
        self._rated = np.flatnonzero(weights)
        self._heaviest = float(self._weights.max(initial=0.0))
        rated = self._weights[self._rated]
        self._mean_share = float((1.0 / rated).mean()) if len(rated) else 0.0
        self._mean_cells = float(self._cells[self._rated].mean()) if len(rated) else 0.0
        self._beta = 0.5 * CLAIMS / rounds
        self._best: tuple[float, _Proof, Floats | None] | None = None
        self._since: list[Changes] = []

    def add(self, select: Select, chosen: int, away: float, precisions: Floats, changes: Changes) -> None:
        """A round that was measured; kept if it proves more, on average over the tables, than any before.

        ``away`` is the L1 distance of the chosen marginal's estimate after the measurement from that before.
        """
        proof = self._proof(select, chosen, away, precisions, self._beta)
        if proof is not None:
            score = proof.worst * self._mean_share + proof.penalty * self._mean_cells
            if self._best is None or score < self._best[0]:
                tables = None if select.tables is None else select.tables.copy()
                self._best, self._since = (score, proof, tables), []
        if self._best is not None and self._best[2] is None:
            self._since.append(changes)

    def end(
        self, select: Select, chosen: int, away: float, precisions: Floats, changes: Changes
    ) -> list[Claim]:
        """The last round, which is not added before, and the claims of the loop."""
        found: list[Claim] = []
        last = self._proof(select, chosen, away, precisions, 0.5 * CLAIMS)
        if last is not None:
            tables = None if select.tables is None else select.tables.copy()
            found.append(self._claim(last, tables, [changes]))
        if self._best is not None:
            _, proof, tables = self._best
            found.append(self._claim(proof, tables, [*self._since, changes]))
        return found

    def _proof(
        self, select: Select, chosen: int, away: float, precisions: Floats, beta: float
    ) -> _Proof | None:
        noise = self._noise(chosen, precisions, beta / 2.0)
        if noise is None:
            return None
        slack = 2.0 * self._heaviest / float(select.epsilon) * log(2.0 * max(len(self._rated), 1) / beta)
        reached = away + noise - select.penalty * float(self._cells[chosen])
        return _Proof(chosen, float(self._weights[chosen]) * reached + slack, select.penalty, noise, away)

    def _noise(self, chosen: int, precisions: Floats, beta: float) -> float | None:
        """A bound on the L1 noise of the unbiased estimate; None when the marginal is not known in full."""
        if self._layout.has_levels:
            return self._level_noise(chosen, precisions, beta)
        cells, variance, largest = float(self._cells[chosen]), 0.0, 0.0
        for k in self._below.members[self._below.starts[chosen] : self._below.starts[chosen + 1]].tolist():
            price, span = float(self._price[k]), float(self._cells[k])
            if price > 0.0:
                if precisions[k] <= 0.0:
                    return None
                share = span / cells / float(precisions[k])
                variance += price * span * share / cells
                largest = max(largest, share)
        return l1_limit(cells, variance, largest, beta)

    def _level_noise(self, chosen: int, precisions: Floats, beta: float) -> float | None:
        """The same where cells differ: every cell by itself, ``beta`` shared out over them."""
        with np.errstate(divide="ignore"):
            model = ErrorModel(self._layout, 1.0 / precisions)
        limit = float(model.l1_limits([self._layout.sets[chosen]], beta)[0])
        return limit if isfinite(limit) else None

    def _claim(self, proof: _Proof, tables: Floats | None, changes: Sequence[Changes]) -> Claim:
        """The limits of a proof: of its ``tables``, or of what the estimates became by the ``changes`` since."""
        limits, rated, cells = np.full(len(self._cells), np.inf), self._rated, self._cells
        limits[rated] = np.maximum(proof.worst / self._weights[rated] + proof.penalty * cells[rated], 0.0)
        if tables is not None:
            limits[proof.chosen] = proof.away + proof.noise
        else:
            limits += moved(self._layout, pooled(changes))
            if len(changes) == 1:
                limits[proof.chosen] = proof.noise
        return Claim(self._layout.sets, tables, limits + cells / GRID)


def pooled(changes: Sequence[Changes]) -> Changes:
    """Several changes as one."""
    summed: dict[int, Floats] = {}
    for k, change in (entry for part in changes for entry in part):
        summed[k] = summed[k] + change if k in summed else change
    return tuple(summed.items())


def moved(layout: Layout, changes: Changes) -> Floats:
    """L1 norm of what the changes add to every marginal; only those above a change are looked at, a part at a time."""
    changed = Layout(layout.sizes, tuple(layout.sets[k] for k, _ in changes))
    values = np.concatenate([change.reshape(-1) for _, change in changes])
    norms = np.zeros(len(layout.sets))
    axes = layout.axes
    above = np.array(
        [k for k, s in enumerate(layout.sets) if any(axes.tells(tau, s) for tau in changed.sets)]
    )
    cuts = np.flatnonzero(np.diff(np.cumsum(layout.lengths[above]) // PART)) + 1
    for numbers in np.split(above, cuts):
        part = Layout(layout.sizes, tuple(layout.sets[int(k)] for k in numbers))
        flat = assemble(changed, values, part)
        norms[numbers] = np.add.reduceat(np.abs(flat, out=flat), part.offsets[:-1])
    return norms
