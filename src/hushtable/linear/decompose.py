"""Common and residual mechanisms of linear Gaussian mechanisms with explicit matrices.

Algorithms 1 to 4 of common-mechanism, in the coordinates of the standardised mechanisms so that every tolerance is
relative.  The common mechanism is computed in an orthonormal basis of the shared row space: of the equally maximal
answers this is the one with the smallest total variance there, whatever orthonormal basis is used.

In floating point, the common and residual parts together can cost more than their target by a relative error of about
1e-16 times the ratio of its largest to its smallest variance: who charges must price the matrices actually used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.linear.dense import LinearGaussian
from hushtable.linear.loewner import least_upper_bound
from hushtable.linear.spaces import ANGLE, Standard, intersection
from hushtable.linear.uniform import normals
from hushtable.privacy import BitSource

DROPPED = 1e-9
"""Share of the target's precision below which a direction of a residual is left out."""


def dense_answerable(b: LinearGaussian, from_: LinearGaussian) -> bool:
    """Whether ``cost(b) <= cost(from_)`` in the Loewner order (Theorem 3.5), up to rounding."""
    shares = _shares(b.standard, from_.standard)
    if shares is None:
        return False
    limit = 1 + b.standard.slack() + from_.standard.slack()
    return shares.size == 0 or float(np.linalg.norm(shares, 2)) ** 2 <= limit


def dense_common(mechanisms: Sequence[LinearGaussian]) -> LinearGaussian | None:
    """The maximal mechanism answerable from each of them, or None when their row spaces share nothing."""
    standards = [m.standard for m in mechanisms]
    tolerance = ANGLE + sum(s.rounding() for s in standards)
    shared = intersection([s.basis for s in standards], tolerance)
    if not len(shared):
        return None
    parts = [s.coordinates(shared) for s in standards]
    return LinearGaussian(shared, least_upper_bound([a @ a.T for a in parts]))


def dense_residual(mechanism: LinearGaussian, common: LinearGaussian) -> LinearGaussian | None:
    """What completes ``common`` to ``mechanism``, or None when nothing is missing (Algorithm 3).

    With ``cost(mechanism) = Q'Q`` for independent ``Q``, ``cost(common) = Q' K Q``; the residual has cost ``Q'(I-K)Q``.
    Directions whose share ``1 - K`` of the target's own precision is rounding are dropped.
    """
    target = mechanism.standard
    shares = _shares(common.standard, target)
    if shares is None:
        raise _not_common()
    values, vectors = np.linalg.eigh(shares.T @ shares)
    missing = 1.0 - values
    if missing.size and missing.min() < -(target.slack() + common.standard.slack()):
        raise _not_common()
    kept = missing > DROPPED
    if not kept.any():
        return None
    rows = (vectors[:, kept] * np.sqrt(missing[kept])).T @ (target.scales[:, None] * target.basis)
    return LinearGaussian(rows, np.ones(len(rows)))


def dense_recreate(
    mechanism: LinearGaussian,
    parts: Sequence[tuple[LinearGaussian, ArrayLike]],
    bits: BitSource | None,
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
    if mechanism.root.ndim == 1:
        return mechanism.whitened.T @ (output.T / mechanism.root).T
    return mechanism.whitened.T @ sl.solve_triangular(mechanism.root, output, lower=True)


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


def _not_common() -> WorkloadError:
    return WorkloadError(
        "linear.not-common",
        "The common mechanism cannot be answered from this mechanism.",
        "Give the result of common() over options that include this mechanism.",
    )
