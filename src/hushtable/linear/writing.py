"""Mechanisms as plain JSON values, exact and back: what a choice keeps so that it survives a restart."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from hushtable.linear.dense import LinearGaussian
from hushtable.linear.lattice import MarginalMechanism
from hushtable.linear.mechanisms import Mechanism
from hushtable.linear.partitions import BucketTable


def written(mechanism: Mechanism) -> dict[str, Any]:
    """A mechanism as JSON values; ``read_written`` gives it back.

    >>> from hushtable.linear.lattice import marginals
    >>> written(marginals((2, 3), order=1, rho=1))
    {'kind': 'marginals', 'sizes': [2, 3], 'tables': {'1': [[0], [1]]}}
    """
    if isinstance(mechanism, LinearGaussian):
        return {
            "kind": "matrix",
            "queries": mechanism.queries.tolist(),
            "covariance": mechanism.covariance.tolist(),
        }
    if isinstance(mechanism, BucketTable):
        return {
            "kind": "buckets",
            "partitions": [list(p) for p in mechanism.partitions],
            "variances": [str(v) for v in mechanism.variances.flat],
        }
    given = mechanism.tables or mechanism.variances
    tables: dict[str, list[list[int]]] = {}
    for attributes, variance in given.items():
        tables.setdefault(str(variance), []).append(list(attributes))
    kind = "marginals" if mechanism.tables else "residuals"
    return {"kind": kind, "sizes": list(mechanism.sizes), "tables": tables}


def read_written(values: Mapping[str, Any]) -> Mechanism:
    """The mechanism that ``written`` described; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
    match values["kind"]:
        case "matrix":
            return LinearGaussian(values["queries"], values["covariance"])
        case "buckets":
            partitions = tuple(tuple(p) for p in values["partitions"])
            shape = tuple(max(p) + 1 for p in partitions)
            noise = np.array([Fraction(v) for v in values["variances"]], object)
            return BucketTable(partitions, noise.reshape(shape))
        case "marginals" | "residuals" as kind:
            pairs = {
                tuple(s): Fraction(variance) for variance, sets in values["tables"].items() for s in sets
            }
            if kind == "marginals":
                return MarginalMechanism.from_tables(values["sizes"], pairs)
            return MarginalMechanism(tuple(values["sizes"]), {s: 1 / v for s, v in pairs.items()})
        case _:
            raise ValueError("kind")
