"""Tables of a mechanism made of marginals, from the residuals that its parts released.

Post-processing: residuals in centred form (``hushtable.marginals.centre``) in, marginals out.  What to measure and at
what precision is decided in ``lattice``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import WorkloadError
from hushtable.linear.lattice import MarginalMechanism
from hushtable.linear.uniform import normals
from hushtable.marginals import AttributeSet, Layout, assemble, centre, subsets
from hushtable.privacy import BitSource

ResidualTables = Mapping[AttributeSet, NDArray[np.float64]]


def residual_recreate(
    mechanism: MarginalMechanism,
    parts: Sequence[tuple[MarginalMechanism, ResidualTables]],
    bits: BitSource | None,
) -> dict[AttributeSet, NDArray[np.float64]]:
    """The tables of ``mechanism`` from the residuals its parts released, each in centred form.

    Residuals combine by inverse variance.  With ``bits`` the tables get back the independent noise that made them
    inconsistent, so that they are distributed like the tables of ``mechanism``; on levels those are consistent.
    """
    combined = combine(parts)
    if not mechanism.tables:
        return combined
    answers = {gamma: marginal_from(gamma, mechanism.sizes, combined) for gamma in mechanism.tables}
    if bits is None or mechanism.axes.has_levels:
        return answers
    noise = {g: normals(bits, a.shape) * float(mechanism.tables[g]) ** 0.5 for g, a in answers.items()}
    fitted = _fit(mechanism, noise)
    return {g: a + noise[g] - marginal_from(g, mechanism.sizes, fitted) for g, a in answers.items()}


def combine(
    parts: Sequence[tuple[MarginalMechanism, ResidualTables]],
) -> dict[AttributeSet, NDArray[np.float64]]:
    """Inverse-variance mean of every residual that some part knows."""
    first, *others = (m for m, _ in parts)
    precision = first.stacked(others).precisions
    combined: dict[AttributeSet, NDArray[np.float64]] = {}
    for tau, total in precision.items():
        shape = tuple(parts[0][0].sizes[i] for i in tau)
        combined[tau] = np.zeros(shape)
        for m, released in parts:
            if tau in m.precisions:
                if tau not in released or np.shape(released[tau]) != shape:
                    raise WorkloadError(
                        "linear.output",
                        f"The output lacks residual {tau} with shape {shape}.",
                        "Give every residual of the mechanism in centred form, as long as its marginal.",
                    )
                combined[tau] += float(m.precisions[tau] / total) * np.asarray(released[tau], np.float64)
    return combined


def marginal_from(
    gamma: AttributeSet, sizes: tuple[int, ...], residuals: ResidualTables
) -> NDArray[np.float64]:
    """The marginal over ``gamma`` from centred residuals; those that are not there count as zero."""
    below = Layout(sizes, tuple(tau for tau in subsets(gamma, sizes) if tau in residuals))
    values = np.concatenate([np.empty(0), *(np.ravel(residuals[tau]) for tau in below.sets)])
    target = Layout(sizes, (gamma,))
    return target.view(assemble(below, values, target), gamma)


def _fit(mechanism: MarginalMechanism, tables: ResidualTables) -> dict[AttributeSet, NDArray[np.float64]]:
    """Least-squares residuals of possibly inconsistent tables."""
    fitted: dict[AttributeSet, NDArray[np.float64]] = {}
    for gamma, table in tables.items():
        for tau in subsets(gamma):
            if tau in mechanism.precisions:
                outside = tuple(k for k, i in enumerate(gamma) if i not in tau)
                repeats = prod(mechanism.sizes[i] for i in gamma if i not in tau)
                share = 1 / (mechanism.tables[gamma] * repeats * mechanism.precisions[tau])
                part = float(share) * centre(table.sum(axis=outside))
                fitted[tau] = fitted[tau] + part if tau in fitted else part
    return fitted
