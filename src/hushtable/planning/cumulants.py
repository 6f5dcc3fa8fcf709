"""Fourth cumulants of estimated cells, when marginals were measured with noise that is not Gaussian.

An estimated cell of ``gamma`` is a weighted sum of the noises of all measured cells.  The weight of a cell of a
measured marginal depends only on which attributes, common to both, agree; so few distinct weights occur, and their
numbers are known from the sizes.  With ``g(tau) = s2_tau n_tau^2`` and ``delta`` the common attributes, the weight is
``c(A) / (s n n_gamma)``, where ``c(A) = sum over tau in delta of g(tau) prod over tau of (1[agrees] - 1/n_i)``.  Here
``A`` are the attributes that agree, ``s`` is the measured marginal's cell variance and ``n`` its number of cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushtable.compiled import njit


@njit(cache=True, nogil=True)
def power_sums(power: int, shapes: Any, below: Any, weight: Any, sources: Any, result: Any) -> None:
    """result[g] = sum over all measured cells of (source factor) * (weight of that cell in a cell of g)^power.

    ``weight`` is g(tau) by residual; ``sources`` the sum, over measured marginals above each residual, of
    ``factor / (s^power n^(power - 1))``.  The sum over marginals that share exactly ``delta`` with ``gamma``
    follows by inclusion and exclusion, so the work per marginal does not depend on how many were measured.
    """
    width = shapes.shape[1]
    size = 1 << width
    g = np.zeros(size)
    above = np.zeros(size)
    for s in range(len(result)):
        used = 0
        cells = 1.0
        for axis in range(width):
            if shapes[s, axis] > 0:
                used |= 1 << axis
                cells *= shapes[s, axis]
        for link in range(below.starts[s], below.starts[s + 1]):
            residual, mask = below.numbers[link], below.masks[link]
            g[mask] = weight[residual] if residual >= 0 else 0.0
            above[mask] = sources[residual] if residual >= 0 else 0.0
        total = 0.0
        for common in range(size):
            if common & ~used:
                continue
            exactly = 0.0
            for larger in range(common, size):
                if larger & ~used or common & ~larger:
                    continue
                odd = 0
                for axis in range(width):
                    odd ^= ((larger ^ common) >> axis) & 1
                exactly += -above[larger] if odd else above[larger]
            shared = 1.0
            for axis in range(width):
                if common >> axis & 1:
                    shared *= shapes[s, axis]
            patterns = 0.0
            for agree in range(common + 1):
                if agree & ~common:
                    continue
                number = 1.0
                for axis in range(width):
                    if (common & ~agree) >> axis & 1:
                        number *= shapes[s, axis] - 1
                coefficient = 0.0
                for tau in range(common + 1):
                    if tau & ~common:
                        continue
                    term = g[tau]
                    for axis in range(width):
                        if tau >> axis & 1:
                            n = shapes[s, axis]
                            term *= (1.0 if agree >> axis & 1 else 0.0) - 1.0 / n
                    coefficient += term
                patterns += number * coefficient**power
            total += exactly / shared * patterns
        result[s] = total / cells**power
