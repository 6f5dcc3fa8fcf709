"""What the tables of a release leave out, with error bars, from its noisy counters."""

from __future__ import annotations

from math import sqrt

from hushtable.measurement import Answers
from hushtable.reconstruct import from_answers
from hushtable.release.card import LossCount
from hushtable.release.promise import ALPHA
from hushtable.schema import Schema


def loss_counts(schema: Schema, answers: Answers) -> tuple[LossCount, ...]:
    """One for each counter of the schema, in its order; no count is below 0."""
    model = from_answers(answers).model
    (every,) = answers.part.sets
    std, reach = sqrt(model.variance(every)), float(model.half_widths([every], ALPHA)[0])
    return tuple(
        LossCount(
            field=loss.field,
            reason=loss.reason,
            rows=float(max(noisy, 0)),
            std=std,
            lower=max(noisy - reach, 0.0),
            upper=max(noisy + reach, 0.0),
        )
        for loss, noisy in zip(schema.losses, answers.values.tolist(), strict=True)
    )
