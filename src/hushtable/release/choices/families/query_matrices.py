"""Options given by matrices, and options of different families together: any linear queries over a small domain.

Matrices are rounded to integers before they are measured, and the price is that of what is really measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hushtable import linear, measurement, release
from hushtable.lazily import Later
from hushtable.release.choices.families.family import AnyRelease, Family, MeasuredChoice

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from hushtable.arrays import Floats
    from hushtable.linear import LinearGaussian, OptionMechanism, Signal
    from hushtable.measurement import Part
    from hushtable.release import Card
    from hushtable.schema import Schema
else:
    np, pl = Later("numpy"), Later("polars")

ROUNDING = Fraction(1, 10**5)
"""Share of a matrix option's price that is set aside for the rounding of its matrices."""


class QueryMatrices(Family):
    """Linear queries with any Gaussian noise."""

    name = "matrices"
    example = "queries: [[1, 1, 0, 0], [0, 0, 1, 1]]"
    rounding = ROUNDING

    @property
    def mechanism(self) -> type[OptionMechanism]:
        return linear.LinearGaussian

    def text(self, option: LinearGaussian, names: Sequence[str]) -> str:
        return f"{len(option.queries):,} linear {'query' if len(option.queries) == 1 else 'queries'}"

    def from_file(self, schema: Schema, wanted: Any) -> OptionMechanism | None:
        """Rows of numbers, one for each cell of the full table in C order; equal independent noise, scaled later."""
        rows: list[Any] = [*wanted] if isinstance(wanted, list) else []
        if not rows or not all(_is_row(row, schema.domain_cells) for row in rows):
            return None
        matrix = np.array(rows, np.float64)
        return linear.LinearGaussian(matrix, np.ones(len(matrix))) if np.isfinite(matrix).all() else None

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
        rest = linear.residual(target.dense(), None if before is None else before.dense())
        return None if rest is None else measurement.MatrixPart.rounded(sizes, rest.dense())

    def frozen_rho(self, target: OptionMechanism, drawn: Sequence[Part]) -> Fraction:
        profiles = [p.profile for p in drawn if isinstance(p, measurement.MatrixPart)]
        return max(np.sum(profiles, axis=0).tolist()) / 2

    def signal(self, measured: MeasuredChoice, option: int) -> Signal:
        step = measured.step.dense()
        asked = measured.primary.dense().queries
        answered = np.isfinite(linear.query_variances(step, asked)) & asked.any(
            axis=1
        )  # a query of nothing has no noise
        rows = asked[answered] if answered.any() else step.queries[step.queries.any(axis=1)]
        noise = linear.query_variances(measured.options[option].dense(), rows)
        known = linear.estimates(step, _recreated(measured, step), rows)
        return linear.signal_to_noise(known, linear.query_variances(step, rows), noise)

    def released(self, measured: MeasuredChoice, option: int | None, card: Card) -> AnyRelease:
        target = (measured.step if option is None else measured.options[option]).dense()
        labels = pl.DataFrame({"query": np.arange(len(target.queries))})
        answers = _recreated(measured, target)
        return release.QueryRelease(labels, answers, linear.query_variances(target, target.queries), card)

    def evidence(self, measured: MeasuredChoice) -> tuple[LinearGaussian, Floats]:
        step = measured.step.dense()
        return step, _recreated(measured, step)


def _is_row(row: Any, cells: int) -> bool:
    """Numbers, as many as the table has cells, not all zero."""
    if not isinstance(row, list):
        return False
    values: list[Any] = [*row]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and len(values) == cells and any(values)


def _recreated(measured: MeasuredChoice, target: LinearGaussian) -> Floats:
    """Answers of ``target``, which the measured matrices add up to but for their rounding."""
    parts = [(m.part, m.values) for m in measured.parts if isinstance(m.part, measurement.MatrixPart)]
    stacked = linear.stack([part.mechanism() for part, _ in parts])
    output = np.concatenate([np.ldexp(v.astype(np.float64), -p.scale) for p, v in parts])
    return np.asarray(linear.recreate(target, None, stacked, None, output))
