"""Linear Gaussian mechanisms with explicit matrices, and their common and residual parts.

``M(x) = B x + N(0, Sigma)`` for a vector ``x`` of counts (common-mechanism, Definition 2.3).  For mechanisms made of
marginals over a large domain use ``lattice``, which never builds a matrix.  Nothing here sees data.

Algorithms 1 to 4 of common-mechanism, in the coordinates of the standardised mechanisms so that every tolerance is
relative.  The common mechanism is computed in an orthonormal basis of the shared row space: of the equally maximal
answers this is the one with the smallest total variance there, whatever orthonormal basis is used.

In floating point, the common and residual parts together can cost more than their target by a relative error of about
1e-16 times the ratio of its largest to its smallest variance: who charges must price the matrices actually used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.linear.checks import not_common
from hushtable.linear.curve import gaussian_delta
from hushtable.linear.loewner import least_upper_bound
from hushtable.linear.spaces import ANGLE, Standard, intersection, standardise
from hushtable.linear.uniform import normals
from hushtable.privacy import BitSource

DROPPED = 1e-9
"""Share of the target's precision below which a direction of a residual is left out: rounding leaves as much, and a
variance rises by no more than this part."""

SYMMETRY = 1e-10
"""Largest difference between a covariance and its transpose, relative to the two standard deviations: far above
rounding, far below a mistake."""


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    """Linear queries (rows) answered with Gaussian noise of the given covariance.

    ``queries`` is (m, d).  ``covariance`` is (m, m), or a vector of m variances when the noise is independent.

    >>> m = LinearGaussian([[1, 1], [1, 0], [0, 1]], [4, 4, 4])
    >>> m.cost.tolist(), m.rho
    ([[0.5, 0.25], [0.25, 0.5]], 0.25)
    """

    queries: Floats
    covariance: Floats
    root: Floats = field(init=False, repr=False)
    """Lower Cholesky factor of the covariance, or the standard deviations when it is a vector."""

    def __init__(self, queries: ArrayLike, covariance: ArrayLike) -> None:
        rows = _finite("queries", queries)
        if rows.ndim != 2 or 0 in rows.shape:
            raise WorkloadError(
                "linear.shape",
                f"The queries have shape {rows.shape}, they must be a matrix with a row per query.",
                "Give an array of shape (queries, cells).",
            )
        noise = _finite("covariance", covariance)
        root = _checked_root(noise, len(rows))
        if noise.ndim == 2:
            noise = (noise + noise.T) / 2
        for name, value in (("queries", rows), ("covariance", noise), ("root", root)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    kinds: ClassVar[tuple[str, ...]] = ("matrix",)
    """What ``to_dict`` calls it."""

    @property
    def sizes(self) -> None:
        """Its columns are cells of no particular table."""

    @property
    def fixed(self) -> bool:
        """Its noise was given."""
        return True

    @property
    def cells(self) -> int:
        """Length of the data vector."""
        return self.queries.shape[1]

    def dense(self) -> LinearGaussian:
        """Itself."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, exact."""
        return {"kind": "matrix", "queries": self.queries.tolist(), "covariance": self.covariance.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LinearGaussian:
        """The mechanism that ``to_dict`` described; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
        return cls(values["queries"], values["covariance"])

    @cached_property
    def whitened(self) -> Floats:
        """Queries of the same mechanism with unit noise: ``L^-1 B`` where ``Sigma = L L'``."""
        return self.whiten(self.queries)

    def whiten(self, values: Floats) -> Floats:
        """``L^-1 values``, for one value per query or rows of them."""
        if self.root.ndim == 1:
            return values / self.root.reshape(-1, *[1] * (values.ndim - 1))
        return sl.solve_triangular(self.root, values, lower=True)

    @cached_property
    def cost(self) -> Floats:
        """The privacy cost matrix ``B' Sigma^-1 B``, (d, d)."""
        return self.whitened.T @ self.whitened

    @cached_property
    def standard(self) -> Standard:
        """The equivalent mechanism with unit noise and independent queries (common-mechanism, Algorithm 2)."""
        return standardise(self.whitened)

    @cached_property
    def profile(self) -> Floats:
        """Cost of each record type: the diagonal of ``cost``."""
        return np.einsum("ij,ij->j", self.whitened, self.whitened)

    @property
    def rho(self) -> float:
        """zCDP parameter: half of the largest cost."""
        return float(self.profile.max()) / 2

    @property
    def mu(self) -> float:
        """Gaussian DP parameter: the root of the largest cost."""
        return float(np.sqrt(self.profile.max()))

    def delta(self, epsilon: float) -> float:
        """Smallest delta with which the mechanism is (epsilon, delta)-differentially private."""
        return float(gaussian_delta(self.profile.max(), epsilon))

    def scaled(self, *, rho: float | Fraction) -> LinearGaussian:
        """The same queries with all noise multiplied so that the mechanism costs ``rho``."""
        if not (np.isfinite(float(rho)) and rho > 0):
            raise WorkloadError("linear.rho", "rho must be a positive number.", "Give for example rho=0.1.")
        if self.rho == 0:
            raise WorkloadError(
                "linear.no-cost", "The queries are all zero and cost nothing.", "Give at least one query."
            )
        return LinearGaussian(self.queries, self.covariance * (self.rho / float(rho)))

    def shared_with(self, others: Sequence[LinearGaussian]) -> LinearGaussian | None:
        """The maximal mechanism answerable from each of them, or None when their row spaces share nothing."""
        standards = [m.standard for m in (self, *others)]
        tolerance = ANGLE + sum(s.rounding() for s in standards)
        shared = intersection([s.basis for s in standards], tolerance)
        if not len(shared):
            return None
        parts = [s.coordinates(shared) for s in standards]
        return LinearGaussian(shared, least_upper_bound([a @ a.T for a in parts]))

    def answerable(self, from_: LinearGaussian) -> bool:
        """Whether ``cost(self) <= cost(from_)`` in the Loewner order (Theorem 3.5), up to rounding."""
        shares = _shares(self.standard, from_.standard)
        if shares is None:
            return False
        limit = 1 + self.standard.slack() + from_.standard.slack()
        return shares.size == 0 or float(np.linalg.norm(shares, 2)) ** 2 <= limit

    def beyond(self, common: LinearGaussian) -> LinearGaussian | None:
        """What completes ``common`` to this mechanism, or None when nothing is missing (Algorithm 3).

        With ``cost(self) = Q'Q`` for independent ``Q``, ``cost(common) = Q' K Q``; the residual has cost ``Q'(I-K)Q``.
        Directions whose share ``1 - K`` of the target's own precision is rounding are dropped.
        """
        target = self.standard
        shares = _shares(common.standard, target)
        if shares is None:
            raise not_common()
        values, vectors = np.linalg.eigh(shares.T @ shares)
        missing = 1.0 - values
        if missing.size and missing.min() < -(target.slack() + common.standard.slack()):
            raise not_common()
        kept = missing > DROPPED
        if not kept.any():
            return None
        rows = (vectors[:, kept] * np.sqrt(missing[kept])).T @ (target.scales[:, None] * target.basis)
        return LinearGaussian(rows, np.ones(len(rows)))

    def stacked(self, others: Sequence[LinearGaussian]) -> LinearGaussian:
        """One mechanism that runs them all with independent noise (common-mechanism, section 3.5)."""
        every = (self, *others)
        rows = np.vstack([m.queries for m in every])
        if all(m.covariance.ndim == 1 for m in every):
            return LinearGaussian(rows, np.concatenate([m.covariance for m in every]))
        blocks = [np.diag(m.covariance) if m.covariance.ndim == 1 else m.covariance for m in every]
        return LinearGaussian(rows, np.asarray(sl.block_diag(*blocks)))


def dense_recreate(
    mechanism: LinearGaussian, parts: Sequence[tuple[LinearGaussian, ArrayLike]], bits: BitSource | None
) -> Floats:
    """Answers of ``mechanism`` from the outputs of its parts: generalised least squares (Algorithm 4).

    Outputs are (m,) or (m, draws).  With ``bits``, the noise that consistency removed is put back, so that the result
    has the distribution of ``mechanism`` even when its queries depend on each other (Theorem 5.5).
    """
    target = mechanism.standard
    outputs = [_output(part, output) for part, output in parts]
    evidence = sum(_whiten(part, output) for (part, _), output in zip(parts, outputs, strict=True))
    answers = _fitted(mechanism, target, np.asarray(evidence))
    if bits is None:
        return answers
    noise = normals(bits, (len(mechanism.queries), *answers.shape[1:]))
    noise = (mechanism.root * noise.T).T if mechanism.root.ndim == 1 else mechanism.root @ noise
    return answers + noise - _fitted(mechanism, target, _whiten(mechanism, noise))


def query_variances(mechanism: LinearGaussian, queries: ArrayLike) -> Floats:
    """Variance of the least-squares answer of each query; infinite for queries the mechanism cannot answer."""
    rows = np.atleast_2d(np.asarray(queries, np.float64))
    require_cells(rows.shape[1], mechanism.cells)
    target = mechanism.standard
    norms = np.linalg.norm(rows, axis=1)
    beyond = np.linalg.norm(rows - (rows @ target.basis.T) @ target.basis, axis=1)
    variances = np.sum(target.coordinates(rows) ** 2, axis=1)
    return np.where(beyond <= (ANGLE + target.rounding()) * norms, variances, np.inf)


def estimates(mechanism: LinearGaussian, output: ArrayLike, queries: ArrayLike) -> Floats:
    """Least-squares answers to ``queries`` from the mechanism's output; meaningful where the variance is finite."""
    rows = np.atleast_2d(np.asarray(queries, np.float64))
    require_cells(rows.shape[1], mechanism.cells)
    target = mechanism.standard
    evidence = _whiten(mechanism, _output(mechanism, output))
    return target.coordinates(rows) @ ((target.basis @ evidence).T / target.scales).T


def require_cells(*counts: int) -> None:
    """All mechanisms must be about the same data vector."""
    if len(set(counts)) > 1:
        raise WorkloadError(
            "linear.cells",
            f"The queries are over data vectors of different lengths: {', '.join(map(str, sorted(set(counts))))}.",
            "Write all options over the same schema.",
        )


def _shares(part: Standard, target: Standard) -> Floats | None:
    """Queries of ``part`` in the coordinates of ``target``, or None when they leave its space."""
    if target.outside(part.basis) > ANGLE + part.rounding() + target.rounding():
        return None
    return target.coordinates(part.scales[:, None] * part.basis)


def _whiten(mechanism: LinearGaussian, output: Floats) -> Floats:
    """``B' Sigma^-1 output``."""
    return mechanism.whitened.T @ mechanism.whiten(output)


def _fitted(mechanism: LinearGaussian, target: Standard, evidence: Floats) -> Floats:
    """``B C^+ evidence``."""
    return target.coordinates(mechanism.queries) @ ((target.basis @ evidence).T / target.scales).T


def _output(mechanism: LinearGaussian, output: ArrayLike) -> Floats:
    array = np.asarray(output, np.float64)
    if array.ndim not in (1, 2) or len(array) != len(mechanism.queries):
        raise WorkloadError(
            "linear.output",
            f"The output has shape {array.shape} and its mechanism answers {len(mechanism.queries)} queries.",
            "Give one number per query, in the order of the queries.",
        )
    return array


def _finite(name: str, values: ArrayLike) -> Floats:
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise WorkloadError(
            "linear.shape", f"The {name} are not a rectangular array of numbers.", "Give an array of numbers."
        ) from None
    if not np.isfinite(array).all():
        raise WorkloadError(
            "linear.not-finite", f"The {name} hold a number that is not finite.", "Remove it."
        )
    return array


def _checked_root(noise: Floats, rows: int) -> Floats:
    """Cholesky factor of a covariance (or standard deviations of a vector), or an error that says what is wrong."""
    if noise.shape not in ((rows,), (rows, rows)):
        raise WorkloadError(
            "linear.shape",
            f"The covariance has shape {noise.shape} and there are {rows} queries.",
            f"Give an array of shape ({rows}, {rows}), or {rows} variances.",
        )
    variances = noise if noise.ndim == 1 else np.diagonal(noise)
    if (variances <= 0).any():
        raise WorkloadError(
            "linear.covariance-not-positive",
            f"The variance of query {int(np.argmax(variances <= 0))} is not positive.",
            "Give every query a positive variance.",
        )
    deviations = np.sqrt(variances)
    if noise.ndim == 1:
        return deviations
    correlation = noise / deviations[:, None] / deviations[None, :]
    if np.abs(correlation - correlation.T).max() > SYMMETRY:
        raise WorkloadError(
            "linear.covariance-not-symmetric",
            "The covariance is not symmetric.",
            "Give a matrix that equals its transpose.",
        )
    return deviations[:, None] * _correlation_root((correlation + correlation.T) / 2)


def _correlation_root(correlation: Floats) -> Floats:
    limit = 8 * len(correlation) * float(np.finfo(np.float64).eps)
    factorise, condition = sl.get_lapack_funcs(("potrf", "pocon"), (correlation,))
    factor, info = factorise(correlation, lower=1, clean=1)
    if info == 0:
        norm = float(np.abs(correlation).sum(axis=0).max())
        if float(condition(factor, norm, uplo="L")[0]) > limit:
            return factor
    if float(np.linalg.eigvalsh(correlation)[0]) < -limit * len(correlation):
        raise WorkloadError(
            "linear.covariance-not-positive",
            "The covariance has a negative eigenvalue.",
            "Give a positive definite matrix.",
        )
    raise WorkloadError(
        "linear.covariance-singular",
        "The covariance is singular: some combination of the answers would have no noise.",
        "Give a positive definite matrix, or drop the queries that repeat others.",
    )
