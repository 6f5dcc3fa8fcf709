"""Mechanisms made of marginals, by residuals: any domain size, no matrices.

A marginal with independent noise of variance ``s`` per cell tells about residual ``tau`` with precision
``n_tau / (s n_gamma)``, n the cells of each.  All such mechanisms share the residuals as eigenspaces, so everything is
arithmetic on one exact precision per residual; ``proofs/common-by-residuals.md`` has the argument.

On levels a marginal is told by the same precisions.  Where all blocks of a level are equally long that is independent
noise of variance ``s`` again; where they are not, it is noise that has the residuals as eigenspaces, and cells differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations
from math import comb, lcm, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hushtable import linear
from hushtable.arrays import Floats, is_whole
from hushtable.axes import Axes
from hushtable.errors import BudgetError, WorkloadError
from hushtable.linear.checks import checked_order, not_common
from hushtable.marginals import AttributeSet, Workload, kinds_of, spreads_of, subsets
from hushtable.privacy import Number, ResidualNoise, exact_number, total_price

if TYPE_CHECKING:  # what has no residuals needs scipy
    from hushtable.linear.dense import LinearGaussian

DENSE_CELLS = 4096
"""Largest domain for which a matrix is built: 128 MB, and the time of a decomposition grows with the cube."""

TABLE_LIMIT = 2_000_000
"""Largest number of tables in one option, half of ``marginals.sets.MAX_SETS``.  It bounds memory; not measured."""


@dataclass(frozen=True)
class MarginalMechanism:
    """A Gaussian mechanism that knows each residual with one precision.

    ``precisions[tau]`` is ``1/s2``: the residual is as if ``centre(mu_tau)`` had been measured with noise of variance
    ``s2`` per cell.  Residuals that are absent are unknown.  ``tables`` are the marginals asked for and their
    variance per cell, when the mechanism is an option (empty for common and residual parts).  ``fixed`` says that the
    noise was given; otherwise it is meant to be scaled to a budget.
    """

    kinds: ClassVar[tuple[str, ...]] = ("marginals", "residuals")
    """What ``to_dict`` calls an option, and a part of options."""

    sizes: tuple[int, ...]
    precisions: Mapping[AttributeSet, Fraction]
    tables: Mapping[AttributeSet, Fraction] = field(default_factory=dict[AttributeSet, Fraction])
    fixed: bool = True

    def __post_init__(self) -> None:
        sizes = checked_sizes(self.sizes)
        axes = Axes.of(sizes)
        object.__setattr__(self, "sizes", sizes)
        for name, what in (("precisions", "precision"), ("tables", "variance")):
            given: Mapping[AttributeSet, Fraction] = getattr(self, name)
            checked = {checked_set(s, sizes): positive(what, amount) for s, amount in given.items()}
            if len(checked) < len(given):
                raise _twice()
            _require_one_level(axes, checked)
            if name == "precisions":
                checked = {tau: p for tau, p in checked.items() if axes.real(tau)}
            object.__setattr__(self, name, MappingProxyType(checked))

    @classmethod
    def from_tables(
        cls, sizes: Sequence[int], variances: Mapping[AttributeSet, Number], *, fixed: bool = True
    ) -> MarginalMechanism:
        """Marginals with independent noise of the given variance per cell.

        >>> m = MarginalMechanism.from_tables((3, 3), {(0,): 1})
        >>> {tau: str(p) for tau, p in m.precisions.items()}, m.rho
        ({(): '1/3', (0,): '1'}, Fraction(1, 2))
        """
        lengths = checked_sizes(sizes)
        tables = {checked_set(s, lengths): positive("variance", v) for s, v in variances.items()}
        if not tables:
            raise WorkloadError("linear.empty", "There is no marginal.", "Give at least one marginal.")
        if len(tables) < len(variances):
            raise _twice()
        _require_one_level(Axes.of(lengths), tables)
        return _unchecked(lengths, _table_precisions(lengths, tables), tables, fixed)

    @cached_property
    def axes(self) -> Axes:
        """The axes with their levels."""
        return Axes.of(self.sizes)

    @property
    def cells(self) -> int:
        """Cells of the domain, each attribute on its finest level."""
        return prod(self.sizes[a] for a in self.axes.finest)

    @property
    def variances(self) -> dict[AttributeSet, Fraction]:
        """Variance per cell of each residual in centred form: what to measure."""
        return {tau: 1 / p for tau, p in self.precisions.items()}

    @cached_property
    def row_costs(self) -> tuple[Fraction, ...]:
        """``sum p_tau / s2_tau`` of the dearer kinds of records, exact: one kind, but for uneven levels."""
        widest = self.axes.widest
        noises = {tau: ResidualNoise(tuple(widest[i] for i in tau), p) for tau, p in self.precisions.items()}
        if not self.axes.has_levels:
            return (2 * total_price(noises.values()).rho,)
        kinds = self.axes.row_classes({a for tau in noises for a in tau})
        paid = ([noise for tau, noise in noises.items() if kind.issuperset(tau)] for kind in kinds)
        return tuple(2 * total_price(one).rho for one in paid)

    @property
    def profile(self) -> Fraction:
        """Cost of the dearest record, exact; without levels that of every record."""
        return max(self.row_costs)

    @property
    def rho(self) -> Fraction:
        """zCDP parameter, exact."""
        return self.profile / 2

    @property
    def mu(self) -> float:
        """Gaussian DP parameter."""
        return float(self.profile) ** 0.5

    def delta(self, epsilon: float) -> float:
        """Smallest delta with which the mechanism is (epsilon, delta)-differentially private."""
        from hushtable.linear.curve import gaussian_delta  # scipy, which takes longer to load than most plans

        return float(gaussian_delta(float(self.profile), epsilon))

    def scaled(self, *, rho: Number) -> MarginalMechanism:
        """The same mechanism with all noise multiplied so that it costs exactly ``rho``."""
        factor = positive("rho", rho) / self.rho
        return _unchecked(
            self.sizes,
            {tau: p * factor for tau, p in self.precisions.items()},
            {gamma: s / factor for gamma, s in self.tables.items()},
        )

    def cell_variance(self, gamma: Sequence[int]) -> float:
        """Variance of a cell of the marginal over ``gamma``, by least squares; infinite when it is not answered.

        On levels, where cells differ, that of the widest one.
        """
        attributes, axes = checked_set(gamma, self.sizes), self.axes
        wanted = [tau for tau in subsets(attributes, axes) if axes.real(tau)]
        if any(tau not in self.precisions for tau in wanted):
            return float("inf")
        if axes.has_levels:
            return float(self._level_variances(attributes, wanted).max())
        total = Fraction(0)
        for tau in wanted:
            spread = Fraction(
                prod(self.sizes[i] - 1 for i in tau),
                prod(self.sizes[i] for i in tau) * prod(self.sizes[i] for i in gamma if i not in tau) ** 2,
            )
            total += spread / self.precisions[tau]
        return float(total)

    def _level_variances(self, gamma: AttributeSet, wanted: Sequence[AttributeSet]) -> Floats:
        """Of each kind of cells of a marginal: ``sum (s2 / p) prod v`` (proofs/levels.md)."""
        axes, ways = self.axes, spreads_of(self.axes)
        kinds = [kinds_of(axes, a).first for a in gamma]
        total = np.zeros([len(k) for k in kinds])
        for tau in wanted:
            starts = [ways.starts[ways.number[a, axes.level_in(tau, a)]] for a in gamma]
            noise = [ways.noise[at + first] for at, first in zip(starts, kinds, strict=True)]
            scale = float(self.precisions[tau]) * prod(1.0 - 1.0 / axes.widest[i] for i in tau)
            total += reduce(np.multiply.outer, noise, np.ones(())) / scale
        return total

    def dense(self) -> LinearGaussian:
        """The same mechanism with explicit matrices; small domains only."""
        require_small(self.cells)
        if self.axes.has_levels:
            return self._dense_levels()
        basis, noise = (np.eye, self.tables) if self.tables else (_helmert, self.variances)
        factors = [[basis(n) if i in s else np.ones((1, n)) for i, n in enumerate(self.sizes)] for s in noise]
        rows = [reduce(np.kron, parts, np.ones((1, 1))) for parts in factors]
        variances = [np.full(len(r), float(v)) for r, v in zip(rows, noise.values(), strict=True)]
        return linear.LinearGaussian(np.vstack(rows), np.concatenate(variances))

    def _dense_levels(self) -> LinearGaussian:
        """Orthonormal contrasts inside every block, with the block's noise."""
        rows: list[Floats] = []
        variances: list[Floats] = []
        for tau, variance in self.variances.items():
            parts = [_contrasts(self.axes, leaf, tau) for leaf in self.axes.finest]
            rows.append(
                np.asarray(reduce(np.kron, [matrix for matrix, _ in parts], np.ones((1, 1))), np.float64)
            )
            noise = reduce(np.kron, [share for _, share in parts], np.ones(1))
            variances.append(np.asarray(noise * float(variance), np.float64))
        return linear.LinearGaussian(np.vstack(rows), np.concatenate(variances))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, exact.

        >>> marginals((2, 3), order=1, rho=1).to_dict()
        {'kind': 'marginals', 'sizes': [2, 3], 'tables': {'1': [[0], [1]]}}
        """
        tables: dict[str, list[list[int]]] = {}
        for attributes, variance in (self.tables or self.variances).items():
            tables.setdefault(str(variance), []).append(list(attributes))
        kind = "marginals" if self.tables else "residuals"
        return {"kind": kind, "sizes": list(self.sizes), "tables": tables}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], sizes: Sequence[int] = ()) -> MarginalMechanism:
        """The mechanism that ``to_dict`` described; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else.

        ``sizes`` may say which axes are levels.
        """
        pairs = {tuple(s): Fraction(variance) for variance, sets in values["tables"].items() for s in sets}
        lengths = sizes if list(sizes) == values["sizes"] else tuple(values["sizes"])
        if values["kind"] == "marginals":
            return cls.from_tables(lengths, pairs)
        return cls(Axes.kept(lengths), {s: 1 / v for s, v in pairs.items()})

    def shared_with(self, others: Sequence[MarginalMechanism]) -> MarginalMechanism | None:
        """The smallest precision of each residual that all of them know."""
        shared = {
            tau: min(p, *(m.precisions[tau] for m in others)) if others else p
            for tau, p in self.precisions.items()
            if all(tau in m.precisions for m in others)
        }
        return _unchecked(self.sizes, shared) if shared else None

    def answerable(self, from_: MarginalMechanism) -> bool:
        """Whether it knows no residual better; exact."""
        known = from_.precisions
        return all(tau in known and p <= known[tau] for tau, p in self.precisions.items())

    def beyond(self, common: MarginalMechanism) -> MarginalMechanism | None:
        """The difference of the precisions, or None when nothing is missing."""
        if not common.answerable(self):
            raise not_common()
        known = common.precisions
        left = {
            tau: p - known[tau] if tau in known else p
            for tau, p in self.precisions.items()
            if tau not in known or p > known[tau]
        }
        return _unchecked(self.sizes, left) if left else None

    def stacked(self, others: Sequence[MarginalMechanism]) -> MarginalMechanism:
        """All of them with independent noise: the precisions add."""
        total = dict(self.precisions)
        for m in others:
            for tau, p in m.precisions.items():
                total[tau] = total[tau] + p if tau in total else p
        return _unchecked(self.sizes, total)


def marginals(
    domain: Any,
    order: int | None = None,
    *,
    sets: Iterable[Sequence[int | str]] | None = None,
    rho: Number | None = None,
) -> MarginalMechanism:
    """All marginals of exactly ``order`` attributes (or the given ``sets``), equal independent noise in every cell.

    Attributes with levels are taken on the finest one, unless ``sets`` name others.
    ``domain`` is a schema or its sizes; with a schema, ``sets`` may use names.  With ``rho`` the noise is scaled to
    it; without, the mechanism is scaled to rho = 1 for now and marked as not ``fixed``.

    >>> marginals((2,) * 7, order=2, rho=1).tables[0, 1]
    Fraction(21, 2)
    """
    sizes = checked_sizes(getattr(domain, "sizes", domain))
    if sets is not None and hasattr(domain, "names"):
        sets = Workload(sets).resolve(domain).sets
    chosen = _chosen_sets(sizes, order, sets)
    wanted = positive("rho", 1 if rho is None else rho)
    tables = dict.fromkeys(chosen, Fraction(len(chosen)) / (2 * wanted))
    made = _unchecked(sizes, _table_precisions(sizes, tables), tables, rho is not None)
    if not made.axes.has_levels:  # tables with independent noise cost what their cells do
        return made
    exact = made.scaled(rho=wanted)
    return _unchecked(sizes, dict(exact.precisions), dict(exact.tables), rho is not None)


def require_small(cells: int) -> None:
    """Refuse to build a matrix over so many cells."""
    if cells > DENSE_CELLS:
        raise WorkloadError(
            "linear.too-large",
            f"A matrix over {cells} cells would be needed; the limit is {DENSE_CELLS}.",
            "Give all options as marginals, or all as one table each over buckets, or a smaller schema.",
        )


def checked_sizes(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Sizes as a tuple of positive integers, or an error."""
    try:
        lengths = tuple(sizes)
    except TypeError:
        lengths = ()
    if not lengths or not all(is_whole(n) and n >= 1 for n in lengths):
        raise WorkloadError(
            "linear.sizes",
            "The sizes must be whole numbers of at least 1.",
            "Give a schema or for example (3, 101, 2).",
        )
    return Axes.kept(sizes) if isinstance(sizes, Sequence) else tuple(int(n) for n in lengths)


def _unchecked(
    sizes: tuple[int, ...],
    precisions: dict[AttributeSet, Fraction],
    tables: dict[AttributeSet, Fraction] | None = None,
    fixed: bool = True,
) -> MarginalMechanism:
    """A mechanism from parts that are known to be right; checking them again takes longer than the arithmetic."""
    made = MarginalMechanism.__new__(MarginalMechanism)
    for name, value in (
        ("sizes", sizes),
        ("precisions", MappingProxyType(precisions)),
        ("tables", MappingProxyType(tables or {})),
        ("fixed", fixed),
    ):
        object.__setattr__(made, name, value)
    return made


def _table_precisions(
    sizes: tuple[int, ...], tables: Mapping[AttributeSet, Fraction]
) -> dict[AttributeSet, Fraction]:
    """Sum of ``n_tau / (s_gamma n_gamma)``, in integers over one denominator."""
    axes, width = Axes.of(sizes), max(map(len, tables))
    base = lcm(*(sizes[i] for gamma in tables for i in gamma))
    noise = lcm(*{s.numerator for s in tables.values()})
    powers = [base**k for k in range(width + 1)]
    total: dict[AttributeSet, int] = {}
    for gamma, s in tables.items():
        weight = s.denominator * (noise // s.numerator) * powers[width - len(gamma)]
        share = weight * (powers[len(gamma)] // prod(sizes[i] for i in gamma))
        for tau in axes.below(gamma):
            total[tau] = total.get(tau, 0) + share * prod(sizes[i] for i in tau)
    whole = noise * powers[width]
    trivial = {i for i in range(len(sizes)) if axes.widest[i] == 1}
    return {tau: Fraction(n, whole) for tau, n in total.items() if trivial.isdisjoint(tau)}


def _contrasts(axes: Axes, leaf: int, tau: AttributeSet) -> tuple[Floats, Floats]:
    """Orthonormal contrasts of an attribute on the level that ``tau`` has, and their shares of the noise."""
    level = axes.level_in(tau, leaf)
    if level < 0:
        return np.ones((1, axes[leaf])), np.ones(1)
    lengths = [int(n) for n in np.diff(axes.blocks[level])]
    sums = np.equal.outer(np.arange(axes[level]), axes.codes_above(leaf, level)).astype(np.float64)
    rows = [np.empty((0, axes[leaf]))]
    share = [np.empty(0)]
    for start, n in zip(axes.blocks[level], lengths, strict=False):
        if n > 1:
            rows.append(_helmert(n) @ sums[start : start + n])
            share.append(np.full(n - 1, (1.0 - 1.0 / n) / (1.0 - 1.0 / axes.widest[level])))
    return np.vstack(rows), np.concatenate(share)


def _chosen_sets(
    sizes: tuple[int, ...], order: int | None, sets: Iterable[Sequence[int | str]] | None
) -> list[AttributeSet]:
    if (order is None) == (sets is None):
        raise WorkloadError(
            "linear.order", "Give either an order or sets of attributes.", "For example order=2."
        )
    if sets is not None:
        chosen = list(dict.fromkeys(checked_set(s, sizes) for s in sets))
        if not chosen:
            raise WorkloadError("linear.empty", "There is no marginal.", "Give at least one marginal.")
        _require_one_level(Axes.of(sizes), chosen)
        return chosen
    finest = Axes.of(sizes).finest
    order = checked_order(order, len(finest))
    if comb(len(finest), order) > TABLE_LIMIT:
        raise WorkloadError(
            "linear.too-large",
            f"There are {comb(len(finest), order)} marginals of order {order}; the limit is {TABLE_LIMIT}.",
            "Choose a smaller order or name the sets.",
        )
    return list(combinations(finest, order))


def checked_set(attributes: Iterable[Any], sizes: Sequence[int]) -> AttributeSet:
    """A set of axes, sorted, or an error."""
    axes = tuple(attributes)
    whole = all(map(is_whole, axes))
    if not whole or len(set(axes)) != len(axes) or any(not 0 <= i < len(sizes) for i in axes):
        raise WorkloadError(
            "linear.attributes",
            f"A set of attributes must hold distinct axis numbers from 0 to {len(sizes) - 1}.",
            "Give for example (0, 2).",
        )
    return tuple(sorted(int(i) for i in axes))


def _require_one_level(axes: Axes, sets: Iterable[AttributeSet]) -> None:
    if axes.has_levels and not all(map(axes.is_set, sets)):
        raise WorkloadError(
            "linear.attributes",
            "A set of attributes holds two levels of one of them.",
            "Name the finer level: the coarser one is a sum of it.",
        )


def _twice() -> WorkloadError:
    return WorkloadError("linear.attributes", "A set of attributes is given twice.", "Give each set once.")


def positive(name: str, amount: Number) -> Fraction:
    """Like ``privacy.positive``, with the refusal of this package."""
    try:
        exact = exact_number(amount, name)
    except BudgetError:
        exact = Fraction(0)
    if exact <= 0:
        raise WorkloadError(
            f"linear.{name}", f"The {name} must be a positive number.", f"Give for example {name}=0.1."
        )
    return exact


def _helmert(n: int) -> Floats:
    from scipy.linalg import helmert  # takes longer to load than most plans

    return helmert(n)
