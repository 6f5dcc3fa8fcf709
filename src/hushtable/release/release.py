"""A release: noisy answers, how they were made, and the tables that follow from them.

Everything here is post-processing of answers that were charged and stored; nothing can be spent by reading a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, prod
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, closure, marginal_label
from hushtable.measurement import Answers, Claim
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.planning import BETA
from hushtable.reconstruct import (
    Fitted,
    KnownFitted,
    ResidualEstimates,
    Zeros,
    fit_tables,
    from_answers,
    intervals,
    l1_bounds,
    measured_flags,
    published_ends,
    reconstruction_named,
    with_known,
)
from hushtable.release import bundle, sums
from hushtable.release.adding_up import level_gaps_of
from hushtable.release.area_maps import AreaMap
from hushtable.release.benchmarked import adjusts
from hushtable.release.card import Card, L1Bounds
from hushtable.release.exports import Exported, export_columns, write_export
from hushtable.release.frames import long_frame
from hushtable.release.loading import Bundle
from hushtable.release.outline import Origin, Outline
from hushtable.release.promise import approximate, interval_promise
from hushtable.release.record_fits import Priorities, RecordColumns, make_microdata
from hushtable.release.replicates import replicates_of
from hushtable.release.sample_errors import sampling_of, with_sampling
from hushtable.release.table_value import COUNT, TableValue
from hushtable.release.tables import CellNumbers, ReleasedTable, columns_named, tidy
from hushtable.release.value_tables import benchmarked_counts, value_table
from hushtable.release.whole_numbers import WholeNumbers, whole_numbers_of
from hushtable.schema import DrawnSample, Schema, total_of
from hushtable.texts import counted


@dataclass(frozen=True, eq=False)
class Release:
    """Released marginals of a table.

    ``workload`` lists the marginals that were asked for; any marginal inside one of them can be read as well.  ``card``
    is the privacy card.  ``history`` lists the rounds of an adaptive release.
    """

    schema: Schema
    workload: tuple[AttributeSet, ...]
    answers: Answers
    card: Card
    history: pl.DataFrame | None = None
    quantities: Mapping[str, Answers] = field(default_factory=dict[str, Answers])
    """What was measured of other quantities than rows."""

    @cached_property
    def totals(self) -> Mapping[str, ResidualEstimates]:
        """Of each column that is summed, by its name: estimates of its sums about the middle, in its ``unit``."""
        names = {total_of(name): name for name in self.schema.sums}
        unit = self.schema.count_unit
        return {names[of]: from_answers(a, unit) for of, a in self.quantities.items() if of in names}

    @cached_property
    def estimates(self) -> ResidualEstimates:
        """Unbiased estimates of the residuals that were measured, with their variances."""
        return with_known(self.paid, self.schema.free_tables)

    @cached_property
    def paid(self) -> ResidualEstimates:
        """The same from what was paid for alone, without tables that are known from elsewhere."""
        return from_answers(self.answers, self.schema.count_unit)

    @property
    def sampling(self) -> DrawnSample | None:
        """What is known of the error of sampling."""
        return sampling_of(self)

    @cached_property
    def outline(self) -> Outline:
        """What can be asked of the release, known without its numbers."""
        stamp, reused = self.card.ledger, self.card.reuse is not None
        origin = Origin(stamp.name, stamp.request, stamp.head, self.card.plan.strategy, reused)
        return Outline(self.schema, self.workload, origin)

    @property
    def reconstruction(self) -> str:
        """How the tables are read from the measurements: mle, maxent or nonneg."""
        return self.card.reconstruct

    @cached_property
    def fitted(self) -> Fitted:
        """The tables by that reconstruction."""
        zeros = Zeros.of(self.schema, self._closure)
        made = fit_tables(self.reconstruction, self.estimates, self._closure, zeros)
        if made is self.estimates or not self.schema.free_tables:
            return made
        return KnownFitted(made, self.estimates, self.schema.free_tables)

    @cached_property
    def _closure(self) -> tuple[AttributeSet, ...]:
        return closure(self.workload, self.schema.sizes)

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The marginals that were asked for, by attribute names."""
        return self.outline.marginals

    def table(
        self, *attributes: str, alpha: float = 0.05, simultaneous: bool = False, value: str = COUNT
    ) -> pl.DataFrame:
        """One marginal as a tidy frame: attributes, estimate, std, lower, upper, measured, and three columns more.

        The attributes come in the order asked for; none gives the total.  An interval is meant to hold the true count
        with probability ``1 - alpha`` or more; it never reaches below 0.  With ``simultaneous`` all intervals of the
        table are meant to hold together.  ``std`` is null where no variance is known.
        ``unbiased``, ``unbiased_lower``, ``unbiased_upper``: the unbiased estimate with its own interval, which may
        reach below 0; null where not all was measured.  Where the schema has benchmarks, ``benchmarked``,
        ``benchmarked_lower`` and ``benchmarked_upper`` are the counts adjusted to them.

        ``value``: sum(X), mean(X), share(A), share(A, X) or rate(X, Y), with X and Y columns that the schema sums; the
        frame then has a ``note`` where a group may be empty, in the place of the unbiased columns.
        """
        if value != COUNT:
            return self.released_table(*attributes, alpha=alpha, simultaneous=simultaneous, value=value).frame
        axes = self.check_table(attributes)
        numbers = self.columns((tuple(sorted(axes)),), alpha, simultaneous=simultaneous)
        frame = tidy(self.schema, axes, numbers)
        if adjusts(self.schema):
            level = alpha / max(frame.height, 1) if simultaneous else alpha
            adjusted = benchmarked_counts(self, tuple(sorted(axes)), level)
            frame = frame.with_columns(adjusted.columns(self.schema, axes))
        return with_sampling(self, frame, TableValue(COUNT), frame["estimate"].to_list())

    def check_table(self, attributes: Sequence[str]) -> tuple[int, ...]:
        """The axes of a table that can be read; refuses others."""
        axes = self.outline.table_axes(attributes)
        key = tuple(sorted(axes))
        if key not in self._inside and not self.estimates.measured(key):
            raise self.outline.not_released(key)
        return axes

    def range(
        self, attribute: str, low: Any, high: Any = None, *, by: Sequence[str] = (), alpha: float = 0.05
    ) -> pl.DataFrame:
        """The count of an interval of an ordered attribute, with its own error bar, in every cell of ``by``.

        Both ends belong to it and must be ends of bins; ``low`` alone may be a text such as "18-64".
        """
        return sums.range_of(self, attribute, low, high, by, alpha).frame

    def share(
        self, attribute: str, low: Any, high: Any = None, *, by: Sequence[str] = (), alpha: float = 0.05
    ) -> pl.DataFrame:
        """The share of the records that such an interval holds."""
        return sums.shares_of(self, attribute, low, high, by, alpha)

    def quantile(
        self,
        attribute: str,
        at: float | Sequence[float] = 0.5,
        *,
        by: Sequence[str] = (),
        alpha: float = 0.05,
    ) -> pl.DataFrame:
        """Quantiles of an ordered attribute with intervals, in every cell of ``by``: 0.5 is the median."""
        wanted = [float(at)] if isinstance(at, int | float) else list(at)
        return sums.quantiles_of(self, attribute, wanted, by, alpha).frame

    def area(
        self,
        leaves: Sequence[Any],
        attribute: str | None = None,
        *,
        by: Sequence[str] = (),
        alpha: float = 0.05,
    ) -> pl.DataFrame:
        """The count of some categories together, of the one attribute with a tree unless another is named."""
        return sums.area_of(self, leaves, attribute, by, alpha).frame

    def areas(
        self,
        areas: AreaMap,
        attribute: str | None = None,
        *,
        by: Sequence[str] = (),
        alpha: float = 0.05,
    ) -> pl.DataFrame:
        """All areas of another tree over the same categories: a mapping, or a CSV file, from category to area."""
        return sums.areas_of(self, areas, attribute, by, alpha).frame

    def combine(self, weights: Any, *, alpha: float = 0.05) -> pl.DataFrame:
        """Any sum of released cells with its exact error, unbiased.

        ``weights`` is a frame, or what makes one: a row names a cell by its columns that are not null, and has a
        ``weight``; rows with the same ``name``, if there are names, are one sum.
        """
        return sums.combination_of(self, weights, alpha).frame

    def replicates(self, number: int = 80, *attributes: str, seed: object = 0) -> pl.DataFrame:
        """One table with ``replicate_1``, ... beside its unbiased estimates: estimate plus fresh noise of the same law.

        The standard deviation of a function over the replicates is its standard error.  The same ``seed`` gives the
        same noise in all tables of a release, so that functions of several tables have theirs; other releases have
        noise of their own.
        """
        return replicates_of(self, number, attributes, seed).frame

    def holds(self, attributes: AttributeSet) -> bool:
        """Whether a marginal lies inside those that were asked for."""
        return attributes in self._inside

    def released_table(
        self, *attributes: str, alpha: float = 0.05, simultaneous: bool = False, value: str = COUNT
    ) -> ReleasedTable:
        """The same with the sentence about its intervals, for those who show it."""
        if value != COUNT:
            self.outline.check_value(value, simultaneous=simultaneous)
            return value_table(self, attributes, value, alpha)
        frame = self.table(*attributes, alpha=alpha, simultaneous=simultaneous)
        shown = columns_named(self.schema, attributes)
        return ReleasedTable(shown, frame, alpha, self.promise(alpha, simultaneous=simultaneous))

    def promise(self, alpha: float = 0.05, *, simultaneous: bool = False) -> str:
        """What the intervals at ``1 - alpha`` hold for, in a sentence: exact for a batch, approximate otherwise."""
        return interval_promise(self.card, alpha, simultaneous=simultaneous)

    def tables(self, alpha: float = 0.05) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
        """Every marginal of the workload with its frame."""
        for names in self.marginals:
            yield names, self.table(*names, alpha=alpha)

    def accuracy(self, alpha: float = 0.05) -> pl.DataFrame:
        """One row per marginal: cells, what was measured, and where it is known std, half-width and expected L1.

        ``l1_bound``: with probability 95% the table's absolute errors add up to no more, for each table on its own;
        null where nothing is proved.
        """
        errors = self.estimates.errors(self.workload, alpha)
        known, bounds = np.isfinite(errors.std), self._l1_bounds
        return pl.DataFrame(
            {
                "marginal": [marginal_label(s, self.schema.names) for s in self.workload],
                "cells": [prod(self.schema.sizes[i] for i in s) for s in self.workload],
                "measured": measured_flags(self.estimates, self.workload),
                "std": np.where(known, errors.std, np.nan),
                "half_width": np.where(known, errors.half_width, np.nan),
                "expected_l1": np.where(known, errors.l1, np.nan),
                "l1_bound": bounds,
            },
            nan_to_null=True,
        )

    def level_gaps(self) -> pl.DataFrame:
        """For each table on a level that has one above it: how far its numbers are from adding up to those, at most."""
        return level_gaps_of(self)

    @property
    def reads_roughly(self) -> bool:
        """Whether tables that a strategy measured for a model are read without one."""
        return reconstruction_named(self.reconstruction).unbiased and approximate(self.card)

    @property
    def drowned(self) -> int:
        """Tables whose noise is expected to add up to more than all records, where no model reads them.

        Adaptive strategies measure some larger tables roughly, for a model that takes from them what they tell; read
        without it, nothing at all would lie nearer to the truth.  Sums over their cells are as good as ever.
        """
        if not reconstruction_named(self.reconstruction).unbiased:
            return 0
        total = max(float(self.estimates.marginal(())), 0.0)
        return int((self.estimates.errors(self.workload).l1 > total).sum())

    def published(self, sets: Sequence[AttributeSet], alpha: float = 0.05) -> tuple[Floats, Floats, Floats]:
        """Estimates, lower and upper ends of all cells of some marginals, flat, cells in C order."""
        columns = self.columns(sets, alpha)
        return columns.estimates, columns.lower, columns.upper

    def to_polars(self, *attributes: str, alpha: float = 0.05) -> pl.DataFrame:
        """One table as a polars frame; without attributes all tables in one long frame."""
        return self.table(*attributes, alpha=alpha) if attributes else long_frame(self, alpha)

    def to_pandas(self, *attributes: str, alpha: float = 0.05) -> Any:
        """The same as a pandas frame (needs pandas)."""
        return self.to_polars(*attributes, alpha=alpha).to_pandas()

    def to_arrow(self, *attributes: str, alpha: float = 0.05) -> pa.Table:
        """The same as an Arrow table."""
        return self.to_polars(*attributes, alpha=alpha).to_arrow()

    def microdata(
        self,
        fit: str = "reweighted",
        *,
        priorities: Priorities | None = None,
        rows: int | None = None,
        seed: object = 0,
        levels: Sequence[str] = (),
        labels: bool = False,
    ) -> pl.DataFrame:
        """Whole nonnegative records made from the released answers; nothing is spent.

        ``fit``: reweighted, nnls, max, sequential or ols; large domains are generated from the released tables.
        ``priorities`` (sequential): levels of marginals by name, most important first.  ``rows``: by default what
        the fit adds up to.  The same ``seed`` gives the same records.  Attributes with levels are on their finest one;
        ``levels`` names coarser ones to add.  With ``labels`` numbers and dates are given as their bands, as in tables.
        """
        columns = RecordColumns(tuple(levels), labels)
        how: dict[str, Any] = {"priorities": priorities, "rows": rows, "seed": seed, "columns": columns}
        return make_microdata(self, fit=fit, **how).frame

    def whole_numbers(self, tables: Sequence[Sequence[str]] = (), *, alpha: float = 0.05) -> WholeNumbers:
        """Whole numbers, zero or more, that add up on every level and across tables, by default all asked for.

        Some file of rows has exactly these tables, also those of attributes that read one column in the same way.  Near
        to the estimates, each with an interval that covers the true count at least as often as the released one.
        """
        return whole_numbers_of(self, tables, alpha)

    def export(
        self,
        folder: str | PathLike[str],
        format: str = "csv",
        *,
        tables: Sequence[Sequence[str]] = (),
        alpha: float = 0.05,
        raw: bool = False,
        publish: bool = False,
        value: str = COUNT,
    ) -> Exported:
        """Write tables, by default all that were asked for, into a new folder for others: csv, xlsx, sdmx-csv, ...

        With ``publish`` whole numbers that add up stand first, the noisy ones beside.  ``value``: as :meth:`table`.
        """
        columns = export_columns(value, publish=publish)
        return write_export(self, folder, format, tables=tables, alpha=alpha, columns=columns, raw=raw)

    def save(self, folder: str | PathLike[str], *, also: bundle.Also | None = None) -> None:
        """Write the bundle: Parquet and JSON, all at once or not at all; ``also`` may add to it before it appears."""
        bundle.write(self, folder, also)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Release:
        """Read a bundle that :meth:`save` wrote."""
        return cls.of(Bundle.open(folder))

    @classmethod
    def of(cls, kept: Bundle) -> Release:
        """The release that a bundle holds."""
        manifest = kept.manifest
        return cls(kept.schema, manifest.sets, kept.answers, manifest.card, kept.history, kept.quantities)

    def in_language(self, language: str) -> Release:
        """The same release with the labels of a language that its schema has words of."""
        return replace(self, schema=self.schema.in_language(language))

    def with_l1_bounds(self, claims: Sequence[Claim]) -> Release:
        """The same release, its card holding one bound per marginal of the workload (None where nothing is proved).

        Each holds for its own table with probability 1 - BETA.  What was fitted is kept.
        """
        told = [claim.scaled(float(self.schema.count_unit)) for claim in claims]
        bounds = l1_bounds(told, self.workload, self.fitted, self.estimates)
        records = tuple(round(b, 3) if isfinite(b) else None for b in bounds.tolist())
        return self.with_card(l1_bounds=L1Bounds(confidence=1.0 - BETA, records=records))

    def with_card(self, **told: Any) -> Release:
        """The same release with more on its card; what was computed is kept."""
        card = self.card.model_copy(update=told)
        made = replace(self, card=card)
        made.__dict__.update({**self.__dict__, "card": card})
        return made

    def to_dict(self) -> dict[str, Any]:
        """The card, the marginals by name, how exact each is, and the rounds of an adaptive release."""
        return {
            "card": self.card.to_dict(),
            "marginals": [list(names) for names in self.marginals],
            "accuracy": self.accuracy().to_dicts(),
            "history": None if self.history is None else self.history.to_dicts(),
        }

    def __repr__(self) -> str:
        cells = sum(prod(self.schema.sizes[i] for i in s) for s in self.workload)
        largest = np.max(self.estimates.errors(self.workload).std)
        worst = f", std of a cell up to {largest:,.1f}" if isfinite(largest) else ""
        return f"<Release of {counted(len(self.workload), 'marginal')}, {counted(cells, 'cell')}{worst}>"

    def _repr_html_(self) -> str:
        shown = self.accuracy().select("marginal", "cells", "measured", "std", "half_width").head(MOST_ROWS)
        facts = {"price": self.card, "unit": self.card.unit, "intervals": self.promise()}
        more = len(self.workload) - shown.height
        return html_card(repr(self).strip("<>"), facts, shown.columns, shown.rows(), more)

    @cached_property
    def _inside(self) -> frozenset[AttributeSet]:
        return frozenset(self._closure)

    @cached_property
    def _l1_bounds(self) -> Sequence[float | None]:
        """Bounds on the L1 errors of the tables: those of the card, or what the noise and the fit say."""
        if self.card.l1_bounds is not None:
            return self.card.l1_bounds.records
        limits = (
            self.estimates.model.l1_limits(self.workload, BETA)
            if reconstruction_named(self.reconstruction).unbiased
            else l1_bounds((), self.workload, self.fitted, self.estimates)
        )
        return [limit if isfinite(limit) else None for limit in limits.tolist()]

    def columns(
        self, sets: Sequence[AttributeSet], alpha: float, *, simultaneous: bool = False
    ) -> CellNumbers:
        """The numbers of several marginals, flat; what lies outside the workload is read without a fit."""
        layout = Layout(self.schema.sizes, tuple(sets))
        fitted = self.fitted if self._inside.issuperset(sets) else self.estimates
        values = fitted.estimate_all(layout)
        same = values if fitted is self.estimates else None
        found = intervals(self.estimates, layout, alpha, simultaneous=simultaneous, estimated=same)
        lower, upper = published_ends(found.lower, found.upper, values)
        return CellNumbers(values, lower, upper, found.unbiased, found.reach, found.stds, found.measured)
