"""What the open options of a choice would teach beyond what is known: for options that are not nested.

Two views of the same question (common-mechanism, section 6.2): counts thought of as independent beforehand with a
variance of the analyst's, and datasets that are consistent with the common part, drawn by hit-and-run.  Post-processing
of released answers over small domains; nothing is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hushtable.arrays import Floats
from hushtable.linear import (
    LinearGaussian,
    OptionMechanism,
    consistent_datasets,
    posterior,
    query_variances,
    variance_reduction,
)
from hushtable.notebook import html_card
from hushtable.privacy import system_bits
from hushtable.texts import counted


@dataclass(frozen=True)
class QueryOutlook:
    """One query of an option: what is thought of it now, with its spread, and the noise that the option would add."""

    mean: float
    std_now: float
    std_then: float


@dataclass(frozen=True)
class OptionOutlook:
    """The mean share of the present variance of an option's queries that taking it would remove, by both views."""

    option: int
    gain: float | None
    gain_over_datasets: float | None
    queries: tuple[QueryOutlook, ...]


@dataclass(frozen=True, repr=False)
class ChoiceOutlook:
    """Of every open option."""

    prior_variance: float | None
    datasets: int
    options: tuple[OptionOutlook, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<ChoiceOutlook of {counted(len(self.options), 'open option')}>"

    def _repr_html_(self) -> str:
        facts = {"prior variance": self.prior_variance, "consistent datasets": self.datasets}
        columns = ["option", "gain", "gain over datasets", "queries"]
        rows = [
            (one.option, *map(_share, (one.gain, one.gain_over_datasets)), len(one.queries))
            for one in self.options
        ]
        return html_card(repr(self).strip("<>"), facts, columns, rows)


def _share(part: float | None) -> str | None:
    return None if part is None else f"{part:.1%}"


def outlook_of(
    options: Sequence[tuple[int, OptionMechanism]],
    evidence: tuple[LinearGaussian, Floats],
    *,
    prior_variance: float | None,
    datasets: int,
) -> ChoiceOutlook:
    """Posterior and, with ``datasets``, hit-and-run for the queries of each option."""
    mechanism, output = evidence
    points = consistent_datasets(mechanism, output, datasets, system_bits()) if datasets else None
    told: list[OptionOutlook] = []
    for number, option in options:
        wanted = option.dense()
        then = query_variances(wanted, wanted.queries)
        mean, now, gain = np.zeros(len(then)), np.full(len(then), np.nan), None
        if prior_variance is not None:
            mean, now = posterior(mechanism, output, wanted.queries, prior_variance=prior_variance)
            gain = variance_reduction(now, then)
        over = None
        if points is not None:
            answers = points @ wanted.queries.T
            over = variance_reduction(answers.var(axis=0), then)
            if prior_variance is None:
                mean, now = answers.mean(axis=0), answers.var(axis=0)
        rows = zip(mean.tolist(), np.sqrt(now).tolist(), np.sqrt(then).tolist(), strict=True)
        told.append(OptionOutlook(number, gain, over, tuple(QueryOutlook(*row) for row in rows)))
    return ChoiceOutlook(prior_variance, datasets, tuple(told))
