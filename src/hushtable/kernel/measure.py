"""Charge, draw, store, show: the only module that holds exact counts and noise together.

The order is the promise: counts are made and stay here; the charge is durable before the first bit of noise is
drawn; the noisy integers are stored beside the ledger before they are returned.  Whatever fails on the way, nothing
uncharged has been drawn and nothing unstored has been shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources import Source
from hushtable.kernel.tabulate import Tabulator
from hushtable.ledger import Ledger
from hushtable.marginals import Layout, lift_all
from hushtable.planning import BatchPlan, IdentityPlan
from hushtable.privacy import Cost, discrete_gaussian_segments, discrete_laplace_segments
from hushtable.reconstruct.answers import Answers

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Spend:
    """What a ledger entry says of a release: public, decided before any row is read."""

    cost: Cost
    kind: str
    detail: dict[str, Any]
    request: str | None = None
    spender: str | None = None


def measure_batch(
    source: Source, plan: BatchPlan | IdentityPlan, ledger: Ledger, spend: Spend, progress: Progress
) -> bytes:
    """Measure everything in ``plan`` once and return the stored payload, the bytes of an ``Answers``."""
    progress("counting", 0, 3)
    exact = _exact_answers(source, plan)
    progress("charging", 1, 3)

    def draw() -> bytes:
        progress("measuring", 2, 3)
        return _noisy_answers(exact, plan).to_bytes()

    return spend_once(ledger, spend, draw)


def spend_once(ledger: Ledger, spend: Spend, draw: Callable[[], bytes]) -> bytes:
    """Reserve and charge a spend, draw its payload, store it and return it."""
    reservation = ledger.reserve(
        cost=spend.cost, kind=spend.kind, request=spend.request, spender=spend.spender, detail=spend.detail
    )
    owned = reservation.fresh
    try:
        charge = ledger.charge(reservation, spend.cost, ordinal=0)
        owned = True
        payload = draw()
        ledger.store(charge, payload)
    finally:
        if owned:
            ledger.settle(reservation)
    return payload


def _exact_answers(source: Source, plan: BatchPlan | IdentityPlan) -> NDArray[np.int64]:
    """The integers that noise will be added to, in the order of the plan's layout."""
    counts = _tabulate(source, plan.layout)
    return lift_all(plan.layout, counts) if isinstance(plan, BatchPlan) else counts


def _tabulate(source: Source, layout: Layout) -> NDArray[np.int64]:
    tabulator = Tabulator(layout)
    for codes in source.batches():
        tabulator.add(codes)
    return tabulator.counts()


def _noisy_answers(exact: NDArray[np.int64], plan: BatchPlan | IdentityPlan) -> Answers:
    """Exact integers plus exact discrete noise."""
    lengths = np.diff(plan.layout.offsets).tolist()
    if isinstance(plan, IdentityPlan) and plan.noise == "laplace":
        scales = tuple(1 / p for p in plan.precisions)
        noise = discrete_laplace_segments(scales, lengths)
        return Answers("marginal", "laplace", plan.layout, scales, exact + noise)
    if isinstance(plan, IdentityPlan):
        variances = tuple(1 / p for p in plan.precisions)
        query = "marginal"
    else:
        variances = tuple(mechanism.noise_variance for mechanism in plan.mechanisms())
        query = "residual"
    noise = discrete_gaussian_segments(variances, lengths)
    return Answers(query, "gaussian", plan.layout, variances, exact + noise)
