"""The ways to read tables from noisy residuals, by name.

mle     unbiased and consistent; cells may be negative; what was never measured counts as zero
maxent  nonnegative, of the noisy total, smooth where little was measured; overlapping tables agree approximately
nonneg  tables of maximum entropy made to agree exactly where they overlap; nonnegative; not the most likely such
        tables, which follow the noise and lie farther from the truth
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from hushtable import reconstruct
from hushtable.errors import WorkloadError
from hushtable.plugins import Registry

if TYPE_CHECKING:  # a list of names loads none of the fits
    import numpy as np
    from numpy.typing import NDArray

    from hushtable.marginals import AttributeSet, Layout
    from hushtable.planning import Refit, State
    from hushtable.reconstruct.level_tables import LevelTables
    from hushtable.reconstruct.maxent import MaxentTables
    from hushtable.reconstruct.mle import ResidualEstimates
    from hushtable.reconstruct.zeros import Zeros
    from hushtable.schema import Schema

    Fit = Callable[[ResidualEstimates, Sequence[AttributeSet], Zeros | None], "Fitted"]


class Fitted(Protocol):
    """Estimates of marginals, whatever the method."""

    def estimate_all(self, layout: Layout) -> NDArray[np.float64]:
        """All marginals of ``layout`` in one flat array."""
        ...


@dataclass(frozen=True)
class Reconstruction:
    """A way to read tables: its name, what its estimates are in words, and the fit from pooled residuals.

    Cells that cannot hold anyone are 0 where the method can say so.
    """

    name: str
    estimate: str
    fit: Fit
    levels: bool = True
    """Whether it reads tables of attributes with levels."""
    unbiased: bool = False
    """Whether its estimates are the noisy answers as they are: bounds of the noise hold, and they can be negative."""
    cell_bytes: int = 0
    """Memory per cell of the closure that the fit takes beside the estimates."""
    guides: bool = False
    """Whether adaptive rounds may be scored against tables of its kind (``planning.scorers.TableScorer``)."""


def _unbiased(estimates: ResidualEstimates, sets: Sequence[AttributeSet], zeros: Zeros | None) -> Fitted:
    return estimates


def _smooth(estimates: ResidualEstimates, sets: Sequence[AttributeSet], zeros: Zeros | None) -> Fitted:
    return reconstruct.fit_smooth(estimates, sets, zeros)


def _agreeing(estimates: ResidualEstimates, sets: Sequence[AttributeSet], zeros: Zeros | None) -> Fitted:
    return reconstruct.fit_nonneg(estimates, sets, zeros)


RECONSTRUCTIONS = Registry(
    (made.name, made)
    for made in (
        Reconstruction(
            "maxent",
            "nonnegative model of the count (maximum entropy); overlapping tables agree approximately",
            _smooth,
            guides=True,
        ),
        Reconstruction(
            "mle",
            "unbiased noisy count; it can be negative, and sums of cells stay right because of it",
            _unbiased,
            unbiased=True,
        ),
        Reconstruction(
            "nonneg",
            "nonnegative model of the count (maximum entropy made to agree); overlapping tables agree exactly",
            _agreeing,
            cell_bytes=64,
        ),
    )
)
"""Every way by its name: what an error lists, a bundle says of its estimates and a release is read by."""


def register(way: Reconstruction) -> None:
    """Offer a way to read tables under its name."""
    RECONSTRUCTIONS[way.name] = way


def fit_tables(
    method: str, estimates: ResidualEstimates, sets: Sequence[AttributeSet], zeros: Zeros | None = None
) -> Fitted:
    """Fit the tables of a closure by one of ``RECONSTRUCTIONS``; ``zeros`` are impossible cells."""
    return reconstruction_named(method).fit(estimates, sets, zeros)


@dataclass(frozen=True)
class StateFits:
    """The maximum-entropy tables of a loop's public state; ``zeros`` are impossible cells."""

    zeros: Zeros | None = None

    def __call__(self, state: State, small: bool) -> MaxentTables:
        """Of attributes without levels; ``small``: one-way tables alone."""
        if small:
            return reconstruct.start_tables(state, state.layout.sets, self.zeros)
        return reconstruct.fit_maxent(state, state.layout.sets, self.zeros, agree=False)

    def levels(self, state: State) -> LevelTables:
        """Of attributes with levels."""
        return reconstruct.fit_levels(state, state.layout.sets, self.zeros)


def fit_for(schema: Schema, sets: Sequence[AttributeSet]) -> StateFits:
    """Fits that know what a schema declares impossible."""
    return StateFits(reconstruct.Zeros.of(schema, sets))


def refit_for(schema: Schema, layout: Layout) -> Refit:
    """Tables of maximum entropy that follow a loop."""
    zeros = reconstruct.Zeros.of(schema, layout.sets)
    if layout.has_levels:
        return partial(reconstruct.refit_levels, layout=layout, zeros=zeros)
    return reconstruct.LocalTables(layout, zeros).refit


def reconstruction_named(name: str) -> Reconstruction:
    """A registered reconstruction; refuses a name that there is not."""
    if name not in RECONSTRUCTIONS:
        raise WorkloadError(
            "release.reconstruct",
            "The reconstruction is not known.",
            f"Choose one of {', '.join(RECONSTRUCTIONS)}.",
        )
    return RECONSTRUCTIONS[name]


def require_levels(name: str) -> None:
    """Refuse a reconstruction that does not read tables of attributes with levels."""
    if not reconstruction_named(name).levels:
        able = " or ".join(way.name for way in RECONSTRUCTIONS.values() if way.levels)
        raise WorkloadError(
            "release.no-levels",
            f"The reconstruction {name} does not read attributes with levels.",
            f"Use --reconstruct {able}.",
        )
