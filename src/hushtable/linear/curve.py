"""What a Gaussian mechanism's cost means: zCDP, the exact (epsilon, delta) curve, Gaussian DP.

The cost of a record type is the diagonal entry of the privacy cost matrix ``B' Sigma^-1 B``
(common-mechanism, Lemma 2.4).  These formulas are for continuous noise: they describe a mechanism, they never price a
draw.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from hushtable.errors import WorkloadError


def gaussian_delta(cost: Any, epsilon: float) -> NDArray[np.float64]:
    """Smallest delta at ``epsilon`` for mechanisms of the given cost (a number or an array).

    ``Phi(a) - e^epsilon Phi(b)`` with ``a = mu/2 - epsilon/mu``, ``b = a - mu``, ``mu = sqrt(cost)``.  For ``a < 0``
    it is ``phi(a) (R(-a) - R(-b))`` with the Mills ratio ``R``, which keeps its relative accuracy when delta is tiny.
    """
    if not (
        isinstance(cast("object", epsilon), int | float | np.number)
        and math.isfinite(epsilon)
        and epsilon >= 0
    ):
        raise WorkloadError(
            "linear.epsilon", "epsilon must be a finite number of at least 0.", "Give for example delta(1.0)."
        )
    mu = np.sqrt(np.atleast_1d(np.asarray(cost, np.float64)))
    delta = np.zeros_like(mu)
    spent = mu > 0
    scale = mu[spent]
    with np.errstate(over="ignore", under="ignore"):
        upper = scale / 2 - epsilon / scale
        below = -np.minimum(upper, 0.0)
        tail = np.exp(-below * below / 2) * (_mills(below) - _mills(below + scale))
        direct = ndtr(upper) - np.exp(-upper * upper / 2) * _mills(np.maximum(scale - upper, 0.0))
    delta[spent] = np.clip(np.where(upper < 0, tail, direct), 0.0, 1.0)
    return delta.reshape(np.shape(cost))


def _mills(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``Phi(-x) / exp(-x^2/2)`` for ``x >= 0``: the Mills ratio over ``sqrt(2 pi)``."""
    return 0.5 * erfcx(x / math.sqrt(2.0))
