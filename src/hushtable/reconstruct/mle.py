"""From noisy answers to estimates of every residual and marginal (GReM-MLE; aim-grem, Algorithm 3).

Noisy residuals, or marginals with independent noise, become centred residual estimates.  Several estimates of a
residual are averaged with their precisions as weights; marginals are sums of residuals, hence consistent with each
other.  For Gaussian noise this is maximum likelihood, for other noise least squares.  All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.marginals import (
    AttributeSet,
    Layout,
    accumulate,
    assemble,
    centre_all,
    centre_lifted,
    sorted_sets,
)
from hushtable.measurement import Answers, MarginalPart, Residuals
from hushtable.planning import (
    CellErrors,
    ErrorModel,
    cell_cumulants,
    marginal_error_model,
    residual_error_model,
)
from hushtable.privacy import CountNoise


@dataclass(eq=False)
class ResidualEstimates(Residuals):
    """Centred estimates of residuals, flat, with what is known of their errors: ``model`` has the same residuals.

    A residual that is not in the layout was never measured: it counts as zero, and the variance of what contains it is
    infinite.
    """

    model: ErrorModel
    stated: frozenset[AttributeSet] = frozenset()
    """Tables that are known from elsewhere: their counts are whole."""

    @classmethod
    def of(cls, values: Floats, model: ErrorModel) -> ResidualEstimates:
        """The estimates of a model's residuals."""
        return cls(model.residuals, values, 1.0 / model.variances, model)

    def scaled(self, unit: float) -> ResidualEstimates:
        """The same where each measured integer is so many persons."""
        return self if unit == 1.0 else ResidualEstimates.of(self.values * unit, self.model.scaled(unit))

    def noise(self, attributes: AttributeSet) -> float:
        """s2 of a residual; 0 where it is known from elsewhere, infinite where it was never measured."""
        k = self.layout.index.get(attributes)
        return np.inf if k is None else float(self.model.variances[k])

    def marginal(self, attributes: AttributeSet) -> Floats:
        """The estimate of one marginal, shaped."""
        target = Layout(self.layout.sizes, (attributes,))
        return target.view(self.estimate_all(target), attributes)

    def estimate_all(self, layout: Layout) -> Floats:
        """The estimates of all marginals of ``layout`` in one flat array; those that are raw counts are on the grid."""
        flat = assemble(self.layout, self.values, layout)
        for attributes in {*self.model.raw, *self.stated}:
            if attributes in layout.index:
                counts, unit = layout.view(flat, attributes), self.model.unit
                counts[...] = np.rint(counts / unit) * unit
        return flat

    def measured(self, attributes: AttributeSet) -> bool:
        """Whether every residual below the marginal was measured (or is zero by its sizes)."""
        return bool(np.isfinite(self.model.variance(attributes)))

    def variance(self, attributes: AttributeSet) -> float:
        """Variance of a cell of a marginal; infinite when a residual below it was never measured."""
        return self.model.variance(attributes)

    def errors(self, sets: Sequence[AttributeSet], alpha: float = 0.05) -> CellErrors:
        """Standard deviation, half-width and expected L1 of each marginal."""
        return self.model.errors(sets, alpha)


def from_residuals(
    layout: Layout, answers: NDArray[np.int64], precisions: Sequence[Fraction]
) -> ResidualEstimates:
    """Estimates from lifted residuals with discrete Gaussian noise of variance ``n_tau^2 / precision``, each once."""
    _require_one_each(layout, precisions)
    values = centre_lifted(layout, answers)
    return ResidualEstimates.of(values, residual_error_model(layout, precisions))


def from_marginals(
    layout: Layout, answers: NDArray[np.int64], noises: Sequence[CountNoise]
) -> ResidualEstimates:
    """Estimates from marginals measured with independent noise in their cells.

    A marginal ``gamma`` with cell variance s gives, for every ``tau`` below it, an estimate of that residual with
    variance ``s n_gamma / n_tau``, independent of those for other ``tau``; they are averaged by precision.
    """
    _require_one_each(layout, noises)
    model = marginal_error_model(layout, noises)
    cells = layout.lengths.astype(np.float64)
    weights = 1.0 / (np.array([cell_cumulants(noise)[0] for noise in noises]) * cells)
    summed = accumulate(layout, answers, weights, model.residuals)
    span = model.residuals.lengths.astype(np.float64)
    values = centre_all(model.residuals, summed, 1.0 / (model.variances * span))
    return ResidualEstimates.of(values, model)


def from_answers(answers: Answers, unit: Fraction | int = 1) -> ResidualEstimates:
    """Estimates from what was measured, whichever form the measurement had; ``unit`` is what one integer counts."""
    return _in_integers(answers).scaled(float(unit))


def _in_integers(answers: Answers) -> ResidualEstimates:
    part = answers.part
    if isinstance(part, MarginalPart):
        return from_marginals(part.layout, answers.values, part.mechanisms)
    estimates = from_residuals(part.layout, answers.values, part.precisions)
    return estimates if len(part.layout.index) == len(part.sets) else _pooled(estimates)


def _pooled(repeated: ResidualEstimates) -> ResidualEstimates:
    """One estimate of each residual where some were measured several times, averaged by precision."""
    layout = Layout(repeated.layout.sizes, sorted_sets(repeated.layout.sets))
    precision, values = np.zeros(len(layout.sets)), np.zeros(layout.cells)
    offsets = repeated.layout.offsets
    for k, (attributes, own) in enumerate(
        zip(repeated.layout.sets, repeated.precisions.tolist(), strict=True)
    ):
        at = layout.index[attributes]
        precision[at] += own
        values[layout.offsets[at] : layout.offsets[at + 1]] += (
            own * repeated.values[offsets[k] : offsets[k + 1]]
        )
    values /= np.repeat(precision, layout.lengths)
    return ResidualEstimates.of(values, ErrorModel(layout, 1.0 / precision))


def _require_one_each(layout: Layout, parameters: Sequence[object]) -> None:
    if len(parameters) != len(layout.sets) or not parameters:
        raise WorkloadError(
            "reconstruct.noise",
            f"{len(layout.sets)} answers come with {len(parameters)} noise parameters.",
            "Give the noise of each measurement.",
        )
