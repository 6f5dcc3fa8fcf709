"""How much of each count of a table its sums leave free.

Around a given table with the same sums over each attribute, counts vary like m prod (1 - m / sum), where the sums are
those of the lines that a cell lies in: with independent rows and columns that is the variance of a cell given its
margins.  A count that is nearly all of its line hardly varies, however large.

In two-way tables the other counts of a line move together (natives and all others by age), so that a large count varies
more than that: there the part is its root, halfway to none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushtable.compiled import njit

LEAST_FREE = 1e-3
"""The least part of a count that counts as free: sums that are rounded could leave none.  Not tuned."""


@njit(cache=True, nogil=True)
def put_free(table: Any, shape: Any, out: Any) -> None:
    """out = m prod (1 - m / sum) / prod (1 - 1 / n), flat: the count itself where all are alike; pairs as above.

    ``shape`` may end in zeros; an attribute of one value leaves nothing free and is passed over.
    """
    for k in range(table.size):
        out[k] = table[k]
    inner, attributes = table.size, 0
    for n in shape:
        if n < 2:
            continue
        inner //= n
        attributes += 1
        sums, scale = np.empty(inner), n / (n - 1.0)
        for start in range(0, table.size, n * inner):
            sums[:] = 0.0
            for first in range(start, start + n * inner, inner):
                for k in range(inner):
                    sums[k] += table[first + k]
            for k in range(inner):
                sums[k] = 1.0 / sums[k] if sums[k] > 0.0 else 0.0
            for first in range(start, start + n * inner, inner):
                for k in range(inner):
                    out[first + k] *= max(1.0 - table[first + k] * sums[k], LEAST_FREE) * scale
    if attributes == 2:
        for k in range(table.size):
            out[k] = math.sqrt(out[k] * table[k])
