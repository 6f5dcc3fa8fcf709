"""Marginals to residuals and back, one array at a time, axis by axis.

``decompose`` and ``reconstruct`` are the in-axis algorithms of aim-grem (section 3.1, Table 1); ``lift`` and ``centre``
are the forms in which residuals are measured and kept.  Many attribute sets at once: see ``fused``.
Nothing here adds noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.arrays import is_whole
from hushtable.errors import WorkloadError
from hushtable.marginals.axis_loops import centre_padded, subtract_first


def decompose(mu: ArrayLike, gamma: Sequence[int], tau: Sequence[int]) -> NDArray[Any]:
    """The residual of ``tau`` inside the marginal ``mu`` over ``gamma`` (aim-grem, Algorithm 1).

    Axes of ``mu`` follow ``gamma``; axes of the result follow ``tau``, each one shorter.  Axes outside ``tau`` are
    summed, axes of ``tau`` lose their first slice, which is subtracted from the others.  Integers stay integers.

    >>> decompose([[7, 5, 2], [3, 5, 11], [10, 2, 11], [9, 18, 17]], (0, 1), (0,)).tolist()
    [5, 9, 30]
    """
    array, order, wanted = _numeric(mu), _axes("gamma", gamma), _axes("tau", tau)
    _require_subset(wanted, order)
    if array.ndim != len(order):
        raise _axes_error(f"The marginal has {array.ndim} axes and gamma names {len(order)}.")
    if 0 in array.shape:
        raise _axes_error("The marginal has an axis of length 0.")
    if order == wanted:
        return _less_first(array)
    summed = tuple(k for k, axis in enumerate(order) if axis not in wanted)
    kept = [axis for axis in order if axis in wanted]
    residual = np.asarray(array.sum(axis=summed)) if summed else array
    return _less_first(residual.transpose([kept.index(axis) for axis in wanted]))


def reconstruct(
    zeta: ArrayLike, tau: Sequence[int], gamma: Sequence[int], sizes: Sequence[int]
) -> NDArray[Any]:
    """The part of the marginal over ``gamma`` that the residual ``zeta`` of ``tau`` explains (aim-grem, Algorithm 2).

    Axes of ``zeta`` follow ``tau``; axes of the result follow ``gamma`` and have the lengths ``sizes``.  A marginal is
    the sum of these parts over all subsets ``tau`` of ``gamma``.

    >>> reconstruct([1, 12], (1,), (1,), (3,)).tolist()
    [-4.333333333333333, -3.333333333333333, 7.666666666666667]
    """
    array, wanted, order = _numeric(zeta), _axes("tau", tau), _axes("gamma", gamma)
    _require_subset(wanted, order)
    if len(sizes) != len(order):
        raise _axes_error(f"There are {len(sizes)} sizes and gamma names {len(order)} axes.")
    length = {axis: _length(n) for axis, n in zip(order, sizes, strict=True)}
    expected = tuple(length[axis] - 1 for axis in wanted)
    if array.shape != expected:
        raise _axes_error(f"The residual has shape {array.shape}, its attributes need {expected}.")
    part = _centred_with_zeros(array)
    if order == wanted:
        return part
    part = part.transpose([wanted.index(axis) for axis in order if axis in wanted])
    for k, axis in enumerate(order):
        if axis not in wanted:
            part = _smear(part, k, length[axis])
    return np.ascontiguousarray(part)


def lift(mu: NDArray[np.int64]) -> NDArray[np.int64]:
    """``n x - sum(x)`` along every axis, in integers: the Kronecker product of ``n I - 11'`` applied to a marginal.

    This is what is measured: it is ``prod(n)`` times ``centre(mu)``, without a division.
    """
    lifted = np.array(mu, np.int64)
    for k, n in enumerate(lifted.shape):
        lifted = n * lifted - lifted.sum(axis=k, keepdims=True)
    return lifted


def centre(mu: ArrayLike) -> NDArray[np.float64]:
    """``x - mean(x)`` along every axis: a residual in centred form, as long as the marginal itself.

    With ``z_tau = centre(mu_tau)``, ``mu_gamma`` is the sum over ``tau`` in ``gamma`` of ``z_tau`` repeated along the
    axes that ``tau`` lacks and divided by their lengths.
    """
    centred = np.array(mu, np.float64)
    for k in range(centred.ndim):
        centred = centred - centred.mean(axis=k, keepdims=True)
    return centred


def _less_first(array: NDArray[Any]) -> NDArray[Any]:
    """Every axis less its first slice, which is dropped; a new array."""
    if array.ndim >= 2 and array.dtype != object:
        less = np.empty([n - 1 for n in array.shape], array.dtype)
        if less.size:
            subtract_first(array.ravel(), np.array(array.shape), less.ravel())
        return less
    for k in range(array.ndim):
        first, rest = np.split(array, [1], axis=k)
        array = rest - first
    return np.array(array)


def _centred_with_zeros(array: NDArray[Any]) -> NDArray[Any]:
    """Every axis with a zero in front, less its mean; a new array of floats, or of objects."""
    if array.ndim >= 2 and array.dtype != object:
        centred = np.empty([n + 1 for n in array.shape])
        flat = array.ravel().astype(np.float64, copy=False)
        centre_padded(flat, np.array(array.shape), centred.ravel())
        return centred
    for k in range(array.ndim):
        zero = np.zeros_like(array, shape=(*array.shape[:k], 1, *array.shape[k + 1 :]))
        padded = np.concatenate([zero, array], axis=k)
        array = padded - padded.sum(axis=k, keepdims=True) / padded.shape[k]
    return np.array(array) if array.dtype == object else np.array(array, np.float64)


def _smear(array: NDArray[Any], axis: int, length: int) -> NDArray[Any]:
    return np.repeat(np.expand_dims(array, axis) / length, length, axis=axis)


def _numeric(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind in "bui":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return array
    raise _axes_error("The array does not hold numbers.")


def _axes(name: str, axes: Sequence[int]) -> tuple[int, ...]:
    for axis in axes:
        if not is_whole(axis) or axis < 0:
            raise _axes_error(f"{name} must hold axis numbers.")
    if len(set(axes)) != len(axes):
        raise _axes_error(f"{name} names an axis twice.")
    return tuple(map(int, axes))


def _length(size: int) -> int:
    if not is_whole(size) or size < 1:
        raise _axes_error("Every size must be a whole number of at least 1.")
    return int(size)


def _require_subset(tau: tuple[int, ...], gamma: tuple[int, ...]) -> None:
    if tau == gamma:
        return
    missing = sorted(set(tau) - set(gamma))
    if missing:
        raise _axes_error(f"Axis {missing[0]} is in tau and not in gamma.")


def _axes_error(message: str) -> WorkloadError:
    return WorkloadError("workload.axes", message, "Give axis numbers from 0, each once, tau inside gamma.")
