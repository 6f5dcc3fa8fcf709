"""A release: noisy answers, how they were made, and the tables that follow from them.

Everything here is post-processing of answers that were charged and stored; nothing can be spent by reading a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, marginal_label
from hushtable.reconstruct import ResidualEstimates, from_answers
from hushtable.reconstruct.answers import Answers
from hushtable.release import bundle
from hushtable.release.tables import tidy
from hushtable.schema import Schema

FULLY = "fully"


@dataclass(frozen=True, eq=False)
class Release:
    """Released marginals of a table.

    ``workload`` lists the marginals that were asked for; any marginal inside one of them can be read as well.  ``card``
    is the privacy card as plain JSON values.
    """

    schema: Schema
    workload: tuple[AttributeSet, ...]
    answers: Answers
    card: dict[str, Any]

    @cached_property
    def estimates(self) -> ResidualEstimates:
        """Estimates of all residuals, with their variances."""
        return from_answers(self.answers)

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The marginals that were asked for, by attribute names."""
        return tuple(tuple(self.schema.names[i] for i in s) for s in self.workload)

    def table(self, *attributes: str, alpha: float = 0.05) -> pl.DataFrame:
        """One marginal as a tidy frame: attributes, estimate, std, lower, upper, measured.

        The attributes come in the order asked for; none gives the total.  Each interval holds the true count with
        probability ``1 - alpha``.
        """
        axes = self.schema.axes(attributes)
        if len(set(axes)) != len(axes):
            raise WorkloadError("table.repeated", "An attribute is named twice.", "Name each attribute once.")
        key = tuple(sorted(axes))
        if not self.estimates.measured(key):
            raise WorkloadError(
                "table.not-released",
                f"The marginal {marginal_label(key, self.schema.names)} was not part of this release.",
                f"Released are all marginals inside {self._listing()}.",
            )
        estimate = self.estimates.marginal(key).transpose([key.index(a) for a in axes])
        errors = self.estimates.errors([key], alpha)
        return tidy(self.schema, axes, estimate, float(errors.std[0]), float(errors.half_width[0]), FULLY)

    def tables(self, alpha: float = 0.05) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
        """Every marginal of the workload with its frame."""
        for names in self.marginals:
            yield names, self.table(*names, alpha=alpha)

    def accuracy(self, alpha: float = 0.05) -> pl.DataFrame:
        """One row per marginal: cells, std and half-width of a cell, expected L1."""
        errors = self.estimates.errors(self.workload, alpha)
        return pl.DataFrame(
            {
                "marginal": [marginal_label(s, self.schema.names) for s in self.workload],
                "cells": [prod(self.schema.sizes[i] for i in s) for s in self.workload],
                "std": errors.std,
                "half_width": errors.half_width,
                "expected_l1": errors.l1,
            }
        )

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the bundle: Parquet and JSON, all at once or not at all."""
        bundle.write(
            bundle.Contents(self.schema, self.workload, self.answers, self.card), folder, self.estimates
        )

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Release:
        """Read a bundle that :meth:`save` wrote."""
        contents = bundle.read(folder)
        return cls(contents.schema, contents.workload, contents.answers, contents.card)

    def __repr__(self) -> str:
        cells = sum(prod(self.schema.sizes[i] for i in s) for s in self.workload)
        largest = np.max(self.estimates.errors(self.workload).std)
        worst = f", std of a cell up to {largest:,.1f}" if isfinite(largest) else ""
        return f"<Release of {len(self.workload):,} marginals, {cells:,} cells{worst}>"

    def _listing(self) -> str:
        shown = ", ".join(" x ".join(names) or "the total" for names in self.marginals[:5])
        return shown + (f" and {len(self.marginals) - 5:,} more" if len(self.marginals) > 5 else "")
