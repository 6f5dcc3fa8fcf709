"""Which answers of a group are too small to be told from zero, and what they should weigh together.

uncertainty-principle-microdata, Algorithm 2, with its line 7 read as the number of low answers and floored at 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.microdata.noise import Noise


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Weights of single answers, which of them are low, and the weight of the low ones' sum (0 if there are none)."""

    weights: Floats
    low: NDArray[np.bool_]
    sum_weight: float


def reweight(answers: Floats, noise: Noise, confidence: float) -> Reweighted:
    """Split the answers of disjoint queries with one noise law into high and low ones.

    The cutoff is the smallest sorted answer a_(j) that the largest of j pure noises reaches with probability at most
    ``1 - confidence``; answers below it are low (all of them when there is no such j).
    """
    flat = answers.ravel()
    ordered = np.sort(flat)
    counts = np.arange(1, len(ordered) + 1)
    with np.errstate(divide="ignore"):
        clear = counts * np.log(noise.below(ordered)) >= np.log(confidence)
    low = flat < ordered[np.argmax(clear)] if clear.any() else np.ones(len(flat), np.bool_)
    number = int(low.sum())
    weights = np.full(len(flat), 1.0 / noise.variance)
    if number == 0:
        return Reweighted(weights, low, 0.0)
    downweight = max(1.0, noise.median_of_largest(number))
    weights[low] = 0.5 / (noise.variance * downweight**2)
    return Reweighted(weights, low, 0.5 / (number * noise.variance))
