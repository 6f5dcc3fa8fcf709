"""Datasets that are consistent with what the common mechanism released (common-mechanism, section 6.2).

Samples the nonnegative vectors ``x`` with ``(B x - w)' Sigma^-1 (B x - w) <= z`` uniformly by hit-and-run, ``z`` being
a chi-squared quantile.  Real vectors, not records; small domains only.  Post-processing of released numbers, with a
source of random bits that the caller passes in.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.linear.cone import Cone, minimise
from hushtable.linear.dense import LinearGaussian
from hushtable.linear.uniform import normals, uniforms
from hushtable.privacy import BitSource


def consistent_datasets(
    common: LinearGaussian,
    output: ArrayLike,
    count: int,
    bits: BitSource,
    *,
    confidence: float = 0.95,
    steps: int | None = None,
) -> Floats:
    """``count`` independent walks of ``steps`` hit-and-run steps, (count, cells).

    ``steps`` defaults to ten per cell.  Fails when no nonnegative vector is consistent, or when consistent vectors can
    be arbitrarily large (the total must be among the common queries).
    """
    answers = np.asarray(output, np.float64)
    if answers.shape != (len(common.queries),) or not 0 < confidence < 1 or count < 1:
        raise WorkloadError(
            "linear.output",
            "The output, the confidence or the count does not fit.",
            "Give one number per common query.",
        )
    centre = common.whiten(answers)
    radius = float(np.sqrt(2 * gammaincinv(len(answers) / 2, confidence)))
    points = np.tile(_deep_point(common.whitened, centre, radius), (count, 1))
    for _ in range(10 * common.cells if steps is None else steps):
        points = _step(points, common.whitened, centre, radius, bits)
    return points


def _step(points: Floats, rows: Floats, centre: Floats, radius: float, bits: BitSource) -> Floats:
    """Every walk moves to a uniform point of the chord through it in a random direction."""
    directions = normals(bits, points.shape)
    with np.errstate(divide="ignore"):
        walls = -points / directions
    low = np.where(directions > 0, walls, -np.inf).max(axis=1)
    high = np.where(directions < 0, walls, np.inf).min(axis=1)
    offset, slope = points @ rows.T - centre, directions @ rows.T
    a = np.einsum("ij,ij->i", slope, slope)
    b = np.einsum("ij,ij->i", slope, offset)
    c = np.einsum("ij,ij->i", offset, offset) - radius**2
    half = np.sqrt(np.maximum(b * b - a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(low, np.where(a > 0, (-b - half) / a, -np.inf))
        high = np.minimum(high, np.where(a > 0, (-b + half) / a, np.inf))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise _unbounded()
    share = uniforms(bits, len(points))
    move = np.where(high > low, low + share * (high - low), 0.0)
    return np.maximum(points + move[:, None] * directions, 0.0)


def _deep_point(rows: Floats, centre: Floats, radius: float) -> Floats:
    """A point well inside: the smallest cell is as large as the ellipsoid, slightly shrunk, allows.

    A first program asks for the largest total, to learn whether the region has an end at all.
    """
    m, d = rows.shape
    walls = sp.hstack([-sp.identity(d), np.ones((d, 1))])
    cone = sp.vstack([sp.csc_matrix((1, d + 1)), sp.hstack([-sp.csc_matrix(rows), sp.csc_matrix((m, 1))])])
    offsets = np.concatenate([np.zeros(d), [0.9 * radius], -centre])
    cones: list[Cone] = [("nonnegative", d), ("second-order", m + 1)]
    largest, deepest = np.append(-np.ones(d), 0.0), np.append(np.zeros(d), -1.0)
    floor = sp.csc_matrix(np.append(np.zeros(d), -1.0))
    constraints = sp.vstack([floor, walls, cone])
    reach, _ = minimise(
        largest, constraints, np.append(0.0, offsets), [("nonnegative", d + 1), cones[1]], tolerance=1e-8
    )
    if reach == "unbounded":
        raise _unbounded()
    status, solution = minimise(deepest, sp.vstack([walls, cone]), offsets, cones, tolerance=1e-8)
    point = solution[:d]
    inside = np.linalg.norm(rows @ point - centre) <= radius
    if status != "solved" or not inside or point.min(initial=np.inf) <= 0:
        raise WorkloadError(
            "linear.inconsistent",
            "No nonnegative dataset is consistent with the common answers at this confidence.",
            "Raise the confidence.",
        )
    return point


def _unbounded() -> WorkloadError:
    return WorkloadError(
        "linear.unbounded",
        "The common answers do not bound the counts, so consistent datasets cannot be sampled.",
        "Use options that share the total.",
    )
