"""The draws of a choice: count, charge, draw, store one part at a time.

The order is that of ``measure``: the charge is durable before noise is drawn, and the noisy integers are stored before
they are returned.  What is measured, and at what price, was planned from public sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources import Source
from hushtable.kernel.tabulate import tabulate
from hushtable.ledger import Ledger, Reservation
from hushtable.planning.parts import Part
from hushtable.privacy import BitSource, Cost, discrete_gaussian_segments

Ints = NDArray[np.int64]
Pack = Callable[[Ints], bytes]
"""Noisy integers as the payload to store."""


@dataclass(frozen=True)
class PartDrawer:
    """Draws parts of one table against one ledger; holds no counts between draws."""

    source: Source
    ledger: Ledger

    def __call__(
        self, reservation: Reservation, part: Part | None, cost: Cost, ordinal: int, pack: Pack
    ) -> bytes:
        """Measure ``part`` (None: nothing is missing) and return the stored payload."""
        exact = None if part is None else part.exact(tabulate(self.source.batches(), part.layout))
        charge = self.ledger.charge(reservation, cost, ordinal=ordinal)
        values = np.empty(0, np.int64) if part is None or exact is None else noisy(part, exact)
        payload = pack(values)
        self.ledger.store(charge, payload)
        return payload


def noisy(part: Part, exact: Ints, bits: BitSource | None = None) -> Ints:
    """Exact integers plus exact discrete noise."""
    variances, lengths = part.noise
    return exact + discrete_gaussian_segments(variances, lengths, bits=bits)
