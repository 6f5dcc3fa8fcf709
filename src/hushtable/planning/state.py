"""The public state of an adaptive loop: what its replies have told so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import Layout, centre_lifted
from hushtable.measurement import Claim, Reply, Residuals
from hushtable.planning.round_loops import pool_residuals

Changes = tuple[tuple[int, Floats], ...]
"""Numbers of residuals, and what was added to each."""


@dataclass
class State(Residuals):
    """The public state of a loop: pooled residuals, their precisions, and what was proved of tables."""

    claims: list[Claim] = field(default_factory=list[Claim])

    @classmethod
    def empty(cls, layout: Layout) -> State:
        """Nothing is known."""
        return cls(layout, np.zeros(layout.cells), np.zeros(len(layout.sets)))

    def learn(self, reply: Reply) -> Changes:
        """Pool new noisy residuals with what is known; gives the change of each."""
        answers = reply.answers
        part, layout = answers.part, answers.layout
        moves = centre_lifted(layout, np.asarray(answers.values, np.int64))
        numbers = [self.layout.index[s] for s in part.sets]
        new = np.array([float(p) for p in part.precisions])
        places = np.array(numbers, np.int64)
        self.precisions[places] += new
        gains = new / self.precisions[places]
        pool_residuals(places, self.layout.offsets, layout.offsets, gains, self.values, moves)
        cuts = layout.offsets.tolist()
        return tuple((k, moves[a:b]) for k, a, b in zip(numbers, cuts, cuts[1:], strict=False))
