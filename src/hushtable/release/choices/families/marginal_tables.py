"""Options made of marginals: measured residual by residual, exact, for domains of any size.

What is measured is stored as ``Answers``, which later releases reuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hushtable import linear, marginals, measurement, planning, reconstruct, release
from hushtable.lazily import Later
from hushtable.release.choices.families.family import AnyRelease, MeasuredChoice, Refinable
from hushtable.texts import counted

if TYPE_CHECKING:
    import numpy as np

    from hushtable.arrays import Floats
    from hushtable.linear import LinearGaussian, MarginalMechanism, OptionMechanism, Signal
    from hushtable.marginals import AttributeSet
    from hushtable.measurement import Answers, Part, ResidualPart
    from hushtable.release import Card
else:
    np = Later("numpy")


class MarginalTables(Refinable):
    """Sets of marginals with independent noise."""

    name = "marginals"
    levels = True

    @property
    def mechanism(self) -> type[OptionMechanism]:
        return linear.MarginalMechanism

    def read(self, values: Mapping[str, Any], sizes: tuple[int, ...]) -> MarginalMechanism:
        return linear.MarginalMechanism.from_dict(values, sizes)

    def even(self, options: Sequence[MarginalMechanism]) -> bool:
        """Without levels every record costs the same; uneven levels have kinds of rows that pay for different parts."""
        used = {axis for option in options for tau in option.precisions for axis in tau}
        return len(options[0].axes.row_classes(used)) == 1

    def frozen_rho(self, target: MarginalMechanism, drawn: Sequence[Part]) -> Fraction:
        """Of what all parts together know."""
        parts = [part for part in drawn if isinstance(part, measurement.ResidualPart)]
        known = known_precisions(parts)
        return measurement.ResidualPart.of(target.sizes, known).rho if known else Fraction(0)

    def text(self, option: MarginalMechanism, names: Sequence[str]) -> str:
        sets = list(option.tables)
        orders = sorted({len(s) for s in sets})
        shown = " x ".join(names[i] for i in sets[0]) or "the total"
        if len(sets) == 1:
            return f"the table {shown}" if sets[0] else shown
        return f"{counted(len(sets), 'table')} of {' and '.join(map(str, orders))} attribute{'s' * (orders != [1])}"

    def tables(self, option: MarginalMechanism) -> tuple[AttributeSet, ...]:
        return tuple(option.tables)

    def missing(
        self,
        sizes: tuple[int, ...],
        target: MarginalMechanism,
        before: MarginalMechanism | None,
        drawn: Sequence[Part],
    ) -> Part | None:
        parts = [part for part in drawn if isinstance(part, measurement.ResidualPart)]
        return missing_residuals(target.sizes, target.precisions, parts)

    def refined(self, step: MarginalMechanism, rho: Fraction) -> Part:
        return measurement.ResidualPart.of(step.sizes, step.scaled(rho=rho).precisions)

    def signal(self, measured: MeasuredChoice, option: int) -> Signal:
        sets = _primary(measured)
        layout = marginals.Layout(measured.schema.sizes, sets)
        known = reconstruct.from_answers(_pooled(measured))
        wanted: MarginalMechanism = measured.options[option]
        told = marginals.Layout(wanted.sizes, tuple(wanted.precisions))
        noise = planning.ErrorModel(told, np.array([float(v) for v in wanted.variances.values()]))
        return linear.signal_to_noise(
            known.estimate_all(layout), known.model.variances_of(layout), noise.variances_of(layout)
        )

    def released(self, measured: MeasuredChoice, option: int | None, card: Card) -> AnyRelease:
        sets = _primary(measured) if option is None else tuple(measured.options[option].tables)
        return release.Release(measured.schema, sets, _pooled(measured), card)

    def evidence(self, measured: MeasuredChoice) -> tuple[LinearGaussian, Floats]:
        known, sizes = reconstruct.from_answers(_pooled(measured)), measured.schema.sizes
        exact = {
            s: Fraction(float(p)) for s, p in zip(known.layout.sets, known.precisions.tolist(), strict=True)
        }
        mechanism = linear.MarginalMechanism(sizes, exact)
        dense = mechanism.dense()
        everything = marginals.Layout(sizes, (mechanism.axes.finest,))
        return dense, dense.queries @ known.estimate_all(everything)


def missing_residuals(
    sizes: tuple[int, ...], target: Mapping[AttributeSet, Fraction], drawn: Sequence[ResidualPart]
) -> ResidualPart | None:
    """The precision that residuals still lack, given the parts drawn; exact.

    A residual that is known better than the target asks for lacks nothing.
    """
    known = known_precisions(drawn)
    left = {
        tau: p - known[tau] if tau in known else p
        for tau, p in target.items()
        if tau not in known or p > known[tau]
    }
    return measurement.ResidualPart.of(sizes, left) if left else None


def known_precisions(drawn: Sequence[ResidualPart]) -> dict[AttributeSet, Fraction]:
    """The precision of each residual after these parts; exact."""
    known: dict[AttributeSet, Fraction] = {}
    for part in drawn:
        for tau, p in zip(part.sets, part.precisions, strict=True):
            known[tau] = known[tau] + p if tau in known else p
    return known


def _pooled(measured: MeasuredChoice) -> Answers:
    parts = [(m.part, m.values) for m in measured.parts if isinstance(m.part, measurement.ResidualPart)]
    return measurement.Answers.pooled(
        measured.schema.sizes, [measurement.Answers(part, values) for part, values in parts]
    )


def _primary(measured: MeasuredChoice) -> tuple[AttributeSet, ...]:
    """Tables of the primary analysis that the common part answers, else all that it answers fully."""
    option, step = measured.primary, measured.step
    answered = tuple(s for s in option.tables if np.isfinite(step.cell_variance(s)))
    return answered or marginals.largest_sets(
        [s for s in step.precisions if np.isfinite(step.cell_variance(s))], step.sizes
    )
