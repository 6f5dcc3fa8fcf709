"""Lazy updating with the conditional plan in plain NumPy: what one would write from aim-grem's Algorithm 4.

Dictionaries of arrays, residuals by array means, the plan by sorting, and a broadcast into every marginal above a
changed residual, whose L1 norm is then taken, as a selection would need it.  Nothing here comes from the package.
``floats`` draws noise as NumPy floats, which is not private; ``opendp`` draws it exactly, with OpenDP's sampler.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import prod, sqrt

import numpy as np
import opendp.prelude as dp

from bench.adaptive.figures import Stopwatch

dp.enable_features("contrib")

Attributes = tuple[int, ...]

SKIP = 1e-3
"""A residual whose share of a round is smaller is not measured."""


def subsets(gamma: Attributes) -> list[Attributes]:
    return list(chain.from_iterable(combinations(gamma, k) for k in range(len(gamma) + 1)))


def centred(array: np.ndarray) -> np.ndarray:
    """Along every axis less its mean."""
    for axis in range(array.ndim):
        array = array - array.mean(axis=axis, keepdims=True)
    return array


def lifted(array: np.ndarray) -> np.ndarray:
    """The same in whole numbers: times the number of cells."""
    for axis, n in enumerate(array.shape):
        array = n * array - array.sum(axis=axis, keepdims=True)
    return array


def filled(v: np.ndarray, p: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Minimise ``sum v / (x + known)`` with ``sum p x = 1``: sort the levels at which residuals join, then fill."""
    rate = np.sqrt(v / p)
    order = np.argsort(known / rate)
    theta = (1 + np.cumsum((p * known)[order])) / np.cumsum((p * rate)[order])
    last = np.flatnonzero(theta > (known / rate)[order])[-1]
    return np.maximum(theta[last] * rate - known, 0.0) * (known / rate < theta[last])


class PlainLoop:
    """Gaps between true marginals and estimates, for a closure, with residual estimates and their precisions."""

    def __init__(self, sizes: Attributes, counts: dict[Attributes, np.ndarray], noise: str) -> None:
        """``counts`` has the true marginals of a closure; counting is no part of the comparison."""
        self.sizes, self.counts, self.noise = sizes, counts, noise
        self.above: dict[Attributes, list[Attributes]] = {gamma: [] for gamma in counts}
        for gamma in counts:
            for tau in subsets(gamma):
                self.above[tau].append(gamma)
        self.gaps = {gamma: count.astype(np.float64) for gamma, count in self.counts.items()}
        self.norms = {gamma: float(count.sum()) for gamma, count in self.counts.items()}
        self.residuals = {gamma: np.zeros(count.shape) for gamma, count in self.counts.items()}
        self.precisions = dict.fromkeys(counts, 0.0)
        self.generator = np.random.default_rng()
        self.times = Stopwatch()
        self.drawn = 0

    def plan(self, gamma: Attributes, rho: float) -> dict[Attributes, float]:
        """The precision of each residual below ``gamma`` that is worth measuring, for ``rho``."""
        taus = subsets(gamma)
        p = np.array([prod((self.sizes[a] - 1) / self.sizes[a] for a in tau) for tau in taus])
        spread = np.array([prod(self.sizes[a] for a in gamma if a not in tau) for tau in taus])
        known = np.array([self.precisions[tau] for tau in taus]) / (2 * rho)
        share = filled(p / spread**2.0, p, known)
        return {tau: 2 * rho * x for tau, x, q in zip(taus, share, share * p, strict=True) if q >= SKIP}

    def draw(self, tau: Attributes, precision: float) -> np.ndarray:
        """A noisy centred residual."""
        count = self.counts[tau]
        self.drawn += count.size
        if self.noise == "floats":
            return centred(count + self.generator.normal(scale=1 / sqrt(precision), size=count.shape))
        domain = dp.vector_domain(dp.atom_domain(T=int))
        noisy = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=count.size / sqrt(precision))
        return centred(np.array(noisy(lifted(count).ravel().tolist())).reshape(count.shape) / count.size)

    def measure(self, precisions: dict[Attributes, float]) -> None:
        """Draw residuals, average them with what is known, and bring all marginals above them up to date."""
        changes = {}
        for tau, precision in precisions.items():
            total = self.precisions[tau] + precision
            change = (self.draw(tau, precision) - self.residuals[tau]) * (precision / total)
            self.residuals[tau] += change
            self.precisions[tau] = total
            changes[tau] = change
        with self.times:
            touched = set()
            for tau, change in changes.items():
                for gamma in self.above[tau]:
                    gap = self.gaps[gamma]
                    shape = tuple(self.sizes[a] if a in tau else 1 for a in gamma)
                    gap -= change.reshape(shape) * (change.size / gap.size)
                    touched.add(gamma)
            for gamma in touched:
                self.norms[gamma] = float(np.abs(self.gaps[gamma]).sum())

    def start(self, rho: float) -> None:
        """Half of ``rho`` on all one-way marginals."""
        every = rho / len(self.sizes)
        ones = {(a,): every for a in range(len(self.sizes))}
        self.measure({(): sum(every / n for n in self.sizes), **ones})
