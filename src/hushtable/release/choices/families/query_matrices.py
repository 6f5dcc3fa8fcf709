"""Options given by matrices, and options of different families together: any linear queries over a small domain.

Matrices are rounded to integers before they are measured, and the price is that of what is really measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.linear import (
    LinearGaussian,
    OptionMechanism,
    Signal,
    estimates,
    query_variances,
    recreate,
    residual,
    signal_to_noise,
    stack,
)
from hushtable.measurement import MatrixPart, Part
from hushtable.release.card import Card
from hushtable.release.choices.families.family import AnyRelease, Family, MeasuredChoice
from hushtable.release.query_release import QueryRelease

ROUNDING = Fraction(1, 10**5)
"""Share of a matrix option's price that is set aside for the rounding of its matrices."""


class QueryMatrices(Family):
    """Linear queries with any Gaussian noise."""

    name = "matrices"
    mechanism = LinearGaussian
    rounding = ROUNDING

    def text(self, option: LinearGaussian, names: Sequence[str]) -> str:
        return f"{len(option.queries):,} linear queries"

    def adjustable(self, option: LinearGaussian) -> bool:
        return True

    def at_share(self, option: LinearGaussian, share: Fraction) -> LinearGaussian:
        return option.scaled(rho=option.rho * float(share) * (1 - float(ROUNDING)))

    def missing(
        self,
        sizes: tuple[int, ...],
        target: OptionMechanism,
        before: OptionMechanism | None,
        drawn: Sequence[Part],
    ) -> Part | None:
        rest = residual(target.dense(), None if before is None else before.dense())
        return None if rest is None else MatrixPart.rounded(sizes, rest.dense())

    def frozen_rho(self, target: OptionMechanism, drawn: Sequence[Part]) -> Fraction:
        profiles = [p.profile for p in drawn if isinstance(p, MatrixPart)]
        return max(np.sum(profiles, axis=0).tolist()) / 2

    def signal(self, measured: MeasuredChoice, option: int) -> Signal:
        step = measured.step.dense()
        asked = measured.primary.dense().queries
        answered = np.isfinite(query_variances(step, asked)) & asked.any(
            axis=1
        )  # a query of nothing has no noise
        rows = asked[answered] if answered.any() else step.queries[step.queries.any(axis=1)]
        noise = query_variances(measured.options[option].dense(), rows)
        known = estimates(step, _recreated(measured, step), rows)
        return signal_to_noise(known, query_variances(step, rows), noise)

    def released(self, measured: MeasuredChoice, option: int | None, card: Card) -> AnyRelease:
        target = (measured.step if option is None else measured.options[option]).dense()
        labels = pl.DataFrame({"query": np.arange(len(target.queries))})
        answers = _recreated(measured, target)
        return QueryRelease(labels, answers, query_variances(target, target.queries), card)

    def evidence(self, measured: MeasuredChoice) -> tuple[LinearGaussian, Floats]:
        step = measured.step.dense()
        return step, _recreated(measured, step)


def _recreated(measured: MeasuredChoice, target: LinearGaussian) -> Floats:
    """Answers of ``target``, which the measured matrices add up to but for their rounding."""
    parts = [(m.part, m.values) for m in measured.parts if isinstance(m.part, MatrixPart)]
    stacked = stack([part.mechanism() for part, _ in parts])
    output = np.concatenate([np.ldexp(v.astype(np.float64), -p.scale) for p, v in parts])
    return np.asarray(recreate(target, None, stacked, None, output))
