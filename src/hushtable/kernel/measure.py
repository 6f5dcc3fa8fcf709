"""The noisy answers of a batch: exact counts of everything in a plan, and discrete noise added to them once.

Counting comes first and is all that can fail or take long; what is handed back draws noise and nothing else, after
``spending`` has charged for it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.counter import Counter
from hushtable.kernel.spending import Draw
from hushtable.kernel.warm import warm_gaussian, warm_laplace
from hushtable.marginals import lift_all
from hushtable.measurement import Answers
from hushtable.planning import BatchPlan, IdentityPlan
from hushtable.privacy import discrete_gaussian_segments, discrete_laplace_segments

Progress = Callable[[str, int, int], None]


def prepare_batch(counter: Counter, plan: BatchPlan | IdentityPlan, progress: Progress) -> Draw:
    """Count everything in ``plan``; the draw gives the bytes of an ``Answers``."""
    progress("counting", 0, 3)
    exact = _exact_answers(counter, plan)
    blank = _without_noise(plan)
    (warm_gaussian if blank.noise == "gaussian" else warm_laplace)()
    columns = blank.columns()
    progress("charging", 1, 3)

    def draw() -> bytes:
        return _noisy_answers(exact, blank).to_bytes(columns)

    return draw


def _exact_answers(counter: Counter, plan: BatchPlan | IdentityPlan) -> NDArray[np.int64]:
    """The integers that noise will be added to, in the order of the plan's layout."""
    counts = counter.tabulate(plan.layout)
    return lift_all(plan.layout, counts) if isinstance(plan, BatchPlan) else counts


def _noisy_answers(exact: NDArray[np.int64], blank: Answers) -> Answers:
    """Exact integers plus the exact discrete noise that ``blank`` describes."""
    segments = discrete_gaussian_segments if blank.noise == "gaussian" else discrete_laplace_segments
    noise = segments(blank.parameters, blank.layout.lengths.tolist())
    if blank.bound is not None:
        np.clip(noise, -blank.bound, blank.bound, out=noise)
    return blank.with_values(exact + noise)


def _without_noise(plan: BatchPlan | IdentityPlan) -> Answers:
    """What will be measured, with which noise: an ``Answers`` that has no integers yet."""
    none = np.empty(0, np.int64)
    if isinstance(plan, BatchPlan):
        variances = tuple(mechanism.noise_variance for mechanism in plan.mechanisms())
        return Answers("residual", "gaussian", plan.layout, variances, none)
    noise = "laplace" if plan.noise == "laplace" else "gaussian"
    return Answers("marginal", noise, plan.layout, tuple(1 / p for p in plan.precisions), none, plan.bound)
