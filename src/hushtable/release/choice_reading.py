"""What the parts of a choice say together: estimates of the primary analysis, and the tables of an option.

Post-processing of stored noisy integers.  The primary analysis of a stage is the coarsest option that is still open,
as far as the common part answers it (common-mechanism, section 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.linear import (
    BucketResidual,
    BucketTable,
    LinearGaussian,
    MarginalMechanism,
    Signal,
    as_dense,
    estimates,
    posterior,
    query_variances,
    recreate,
    signal_to_noise,
    stack,
    variance_reduction,
)
from hushtable.linear.partitions import bucket_recreate
from hushtable.marginals import AttributeSet, Layout
from hushtable.measurement import CellPart, DeviationPart, MatrixPart
from hushtable.planning.choice import ChoicePlan
from hushtable.reconstruct import from_answers
from hushtable.release.card import Card
from hushtable.release.choice_payload import Drawn, pooled
from hushtable.release.query_release import QueryRelease
from hushtable.release.release import Release
from hushtable.release.tables import attribute_at
from hushtable.schema import Schema

Released = Release | QueryRelease


@dataclass(frozen=True, eq=False)
class Reading:
    """Everything drawn so far in one choice; ``stage`` is the step that the parts add up to."""

    schema: Schema
    plan: ChoicePlan
    stage: int
    drawn: list[Drawn]

    def signal(self, option: int) -> Signal:
        """Signal-to-noise ratios of the primary analysis if ``option`` were taken."""
        return {"marginals": self._marginals, "buckets": self._buckets, "matrices": self._matrices}[
            self.plan.kind
        ](option)

    def released(self, option: int | None, card: Card) -> Released:
        """The answers of an option that was finished, or of the common part (None)."""
        target = self.plan.steps[self.stage] if option is None else self.plan.options[option]
        if isinstance(target, MarginalMechanism) and self.plan.kind == "marginals":
            sets = self._primary() if option is None else tuple(target.tables)
            return Release(self.schema, sets, pooled(self.drawn), card)
        if isinstance(target, BucketTable) and self.plan.kind == "buckets":
            cells = self._table(option)
            variances = target.variances.astype(np.float64).ravel()
            return QueryRelease(
                bucket_labels(self.schema, target), cells.ravel(), variances, card, counts=True
            )
        dense = as_dense(target)
        answers = self._recreated(dense)
        labels = pl.DataFrame({"query": np.arange(len(dense.queries))})
        return QueryRelease(labels, np.asarray(answers), query_variances(dense, dense.queries), card)

    def evidence(self) -> tuple[LinearGaussian, Floats]:
        """The common part as linear queries over all cells, and their answers."""
        step = self.plan.steps[self.stage]
        if self.plan.kind == "matrices":
            return as_dense(step), self._recreated(as_dense(step))
        if isinstance(step, BucketTable):
            return step.dense(), self._table(None).ravel()
        known = from_answers(pooled(self.drawn))
        exact = {
            s: Fraction(float(p)) for s, p in zip(known.layout.sets, known.precisions.tolist(), strict=True)
        }
        dense = MarginalMechanism(self.plan.sizes, exact).dense()
        everything = Layout(self.plan.sizes, (tuple(range(len(self.plan.sizes))),))
        return dense, dense.queries @ known.estimate_all(everything)

    def gain(self, option: int, prior_variance: float) -> float:
        """Mean share of the variance of an option's queries, given the common part, that the option would remove."""
        mechanism, output = self.evidence()
        wanted = as_dense(self.plan.options[option])
        _, now = posterior(mechanism, output, wanted.queries, prior_variance=prior_variance)
        return variance_reduction(now, query_variances(wanted, wanted.queries))

    def _marginals(self, option: int) -> Signal:
        sets = self._primary()
        layout = Layout(self.plan.sizes, sets)
        known = from_answers(pooled(self.drawn))
        lengths = layout.lengths
        wanted = self.plan.options[option]
        noise = [wanted.cell_variance(s) if isinstance(wanted, MarginalMechanism) else np.inf for s in sets]
        return signal_to_noise(
            known.estimate_all(layout),
            np.repeat(known.model.cell_variances(sets), lengths),
            np.repeat(noise, lengths),
        )

    def _primary(self) -> tuple[AttributeSet, ...]:
        """Tables of the coarsest open option that the common part answers, else all that it answers fully."""
        option, step = self.plan.options[self.stage], self.plan.steps[self.stage]
        if not isinstance(option, MarginalMechanism) or not isinstance(step, MarginalMechanism):
            return ()
        answered = tuple(s for s in option.tables if np.isfinite(step.cell_variance(s)))
        return answered or _largest([s for s in step.precisions if np.isfinite(step.cell_variance(s))])

    def _buckets(self, option: int) -> Signal:
        step, wanted = self.plan.steps[self.stage], self.plan.options[option]
        if not isinstance(step, BucketTable) or not isinstance(wanted, BucketTable):
            return signal_to_noise([], [], [])
        noise = wanted.coarse_variances(step.partitions).astype(np.float64)
        return signal_to_noise(
            self._table(None).ravel(), step.variances.astype(np.float64).ravel(), noise.ravel()
        )

    def _table(self, option: int | None) -> Floats:
        """Cells of the table that all parts add up to, each step recreated from the one before."""
        cells = np.empty(0)
        before: BucketTable | None = None
        for part, drawn, target in self._bucket_parts(option):
            if isinstance(part, CellPart):
                cells = drawn.values.reshape(part.table.variances.shape).astype(np.float64)
            elif isinstance(part, DeviationPart) and before is not None:
                residual: BucketResidual = part.residual
                cells = bucket_recreate(residual, before, cells, *part.outputs(drawn.values))
            before = target
        return cells

    def _bucket_parts(self, option: int | None) -> list[tuple[object, Drawn, BucketTable]]:
        """Every part with what was drawn for it and the table that it leads to."""
        found: list[tuple[object, Drawn, BucketTable]] = []
        for drawn in self.drawn:
            finish = drawn.note.get("option")
            if finish is not None and option is None:
                continue
            at = self.stage if finish is not None else int(drawn.note["step"])
            target = self.plan.steps[at] if finish is None else self.plan.options[finish]
            part = self.plan.step_part(at, ()) if finish is None else self.plan.finish_part(at, finish, ())
            if isinstance(target, BucketTable):
                found.append((part, drawn, target))
        return found

    def _matrices(self, option: int) -> Signal:
        rows, step = self._primary_queries(), as_dense(self.plan.steps[self.stage])
        noise = query_variances(as_dense(self.plan.options[option]), rows)
        known = estimates(step, self._recreated(step), rows)
        return signal_to_noise(known, query_variances(step, rows), noise)

    def _primary_queries(self) -> Floats:
        option, step = as_dense(self.plan.options[self.stage]), as_dense(self.plan.steps[self.stage])
        answered = np.isfinite(query_variances(step, option.queries))
        return option.queries[answered] if answered.any() else step.queries

    def _recreated(self, target: LinearGaussian) -> Floats:
        """Answers of ``target``, which the measured matrices add up to but for their rounding."""
        parts = [(d.part, d.values) for d in self.drawn if isinstance(d.part, MatrixPart)]
        measured = stack([part.mechanism() for part, _ in parts])
        output = np.concatenate([np.ldexp(v.astype(np.float64), -p.scale) for p, v in parts])
        return np.asarray(recreate(target, None, measured, None, output))


def bucket_labels(schema: Schema, table: BucketTable) -> pl.DataFrame:
    """One row per cell: for every attribute with buckets, the first and last value of the cell's bucket."""
    shape = table.variances.shape
    codes = np.indices(shape).reshape(len(shape), -1)
    columns = {
        schema.names[axis]: [
            _bucket_names(attribute_at(schema, axis).labels, buckets)[c] for c in codes[axis]
        ]
        for axis, buckets in enumerate(table.partitions)
        if max(buckets) > 0
    }
    return pl.DataFrame(columns) if columns else pl.DataFrame({"query": ["total"]})


def _bucket_names(labels: Sequence[str], buckets: Sequence[int]) -> list[str]:
    members: dict[int, list[str]] = {}
    for label, bucket in zip(labels, buckets, strict=True):
        members.setdefault(bucket, []).append(label)
    return [m[0] if len(m) == 1 else f"{m[0]} to {m[-1]}" for m in members.values()]


def _largest(sets: list[AttributeSet]) -> tuple[AttributeSet, ...]:
    """Sets that lie in no other."""
    return tuple(s for s in sets if not any(set(s) < set(t) for t in sets))
