"""Linear Gaussian mechanisms with explicit matrices.

``M(x) = B x + N(0, Sigma)`` for a vector ``x`` of counts (common-mechanism, Definition 2.3).  For mechanisms made of
marginals over a large domain use ``residuals``, which never builds a matrix.  Nothing here sees data or draws noise.
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
from hushtable.linear.curve import gaussian_delta
from hushtable.linear.spaces import Standard, standardise

SYMMETRY = 1e-10
"""Largest difference between a covariance and its transpose, relative to the two standard deviations."""


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
        return {
            "kind": "matrix",
            "queries": self.queries.tolist(),
            "covariance": self.covariance.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LinearGaussian:
        """The mechanism that ``to_dict`` described; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
        return cls(values["queries"], values["covariance"])

    @cached_property
    def whitened(self) -> Floats:
        """Queries of the same mechanism with unit noise: ``L^-1 B`` where ``Sigma = L L'``."""
        if self.root.ndim == 1:
            return self.queries / self.root[:, None]
        return sl.solve_triangular(self.root, self.queries, lower=True)

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

    @property
    def personal_rho(self) -> Floats:
        """zCDP parameter of each record type."""
        return self.profile / 2

    @property
    def personal_mu(self) -> Floats:
        """Gaussian DP parameter of each record type."""
        return np.sqrt(self.profile)

    def personal_delta(self, epsilon: float) -> Floats:
        """Smallest delta at ``epsilon`` of each record type."""
        return gaussian_delta(self.profile, epsilon)

    def scaled(self, *, rho: float | Fraction) -> LinearGaussian:
        """The same queries with all noise multiplied so that the mechanism costs ``rho``."""
        if not (np.isfinite(float(rho)) and rho > 0):
            raise WorkloadError("linear.rho", "rho must be a positive number.", "Give for example rho=0.1.")
        if self.rho == 0:
            raise WorkloadError(
                "linear.no-cost", "The queries are all zero and cost nothing.", "Give at least one query."
            )
        return LinearGaussian(self.queries, self.covariance * (self.rho / float(rho)))


def stack_dense(mechanisms: Sequence[LinearGaussian]) -> LinearGaussian:
    """One mechanism that runs them all with independent noise (common-mechanism, section 3.5)."""
    rows = np.vstack([m.queries for m in mechanisms])
    if all(m.covariance.ndim == 1 for m in mechanisms):
        return LinearGaussian(rows, np.concatenate([m.covariance for m in mechanisms]))
    blocks = [np.diag(m.covariance) if m.covariance.ndim == 1 else m.covariance for m in mechanisms]
    return LinearGaussian(rows, np.asarray(sl.block_diag(*blocks)))


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
