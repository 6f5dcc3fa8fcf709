"""The conditional residual plan: how to spend one round's budget when some residuals are already known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.errors import WorkloadError
from hushtable.planning.round_loops import fill_up


def conditional_plan(v: ArrayLike, p: ArrayLike, a: ArrayLike) -> NDArray[np.float64]:
    """The ``x >= 0`` that minimises ``sum v / (x + a)`` subject to ``sum p x <= 1`` (aim-grem, eq. 8), exactly.

    ``x`` is the new precision of each residual as a share of the budget, ``a`` what it already has, ``v`` its part in
    the error and ``p`` its price.  The optimum fills up to a common level: ``x = max(0, theta sqrt(v / p) - a)``,
    with ``theta`` such that the budget is spent.  Sorting the levels ``a / sqrt(v / p)`` at which residuals join
    gives ``theta`` in closed form.  Residuals with ``v = 0`` get nothing; an infinite ``a`` means known exactly.
    """
    error, price, known = (np.atleast_1d(np.asarray(values, np.float64)) for values in (v, p, a))
    _check(error, price, known)
    return np.asarray(fill_up(error, price, known))


def _check(error: NDArray[np.float64], price: NDArray[np.float64], known: NDArray[np.float64]) -> None:
    if not (error.ndim == 1 and error.shape == price.shape == known.shape and len(error) > 0):
        raise _wrong("v, p and a must be equally long lists with at least one entry.")
    if not (np.isfinite(error).all() and (error >= 0).all()):
        raise _wrong("v must be finite and not negative.")
    if not (np.isfinite(price).all() and (price >= 0).all() and ((price > 0) | (error == 0)).all()):
        raise _wrong("p must be finite, and positive wherever v is.")
    if not (known >= 0).all():
        raise _wrong("a must not be negative.")


def _wrong(message: str) -> WorkloadError:
    return WorkloadError(
        "planning.conditional", message, "Give error, price and prior precision of each residual."
    )
