"""AIM+GReM: choose a badly known marginal, measure it where it is worth it, repeat until the budget is gone.

The policy of aim-grem (Algorithms 4, 6 and 7) as a generator over public replies, with these repairs: the change that
anneals the budget is between two estimates, never between an estimate and the data; amounts are exact fractions and a
flag ends the loop; the empty set is no candidate; what is not measured is not charged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, lcm, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet, Incidence, Layout, ResolvedWorkload, centre_all
from hushtable.planning.claims import Claim, claim_of_selection
from hushtable.planning.conditional import conditional_plan
from hushtable.planning.problem import prices
from hushtable.planning.requests import Measure, Policy, Purse, Select
from hushtable.planning.rounding import round_down

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SKIP = 1e-3
"""A residual whose share of a round is smaller is not measured."""

LARGEST_WEIGHT = 2**16
_EXPECTED = sqrt(2.0 / pi)
_CLOSE = Fraction(2**40 - 1, 2**40)


@dataclass(frozen=True)
class Round:
    """One line of the history: what was asked, about what, with how much noise, for which share of the budget."""

    action: str
    chosen: AttributeSet | None
    residuals: int
    """Residuals measured."""
    sigma: float
    """Standard deviation of the noise of a cell of the chosen marginal, measured on its own."""
    epsilon: float
    """Of the selection; 0 where nothing was selected."""
    share: float


@dataclass
class State:
    """The public state of a loop: pooled residuals, their precisions, the history, and what was proved of tables."""

    layout: Layout
    values: Floats
    precisions: Floats
    rounds: list[Round] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    @classmethod
    def empty(cls, layout: Layout) -> State:
        """Nothing is known."""
        return cls(layout, np.zeros(layout.cells), np.zeros(len(layout.sets)))

    def learn(self, request: Measure, reply: Ints) -> tuple[tuple[int, Floats], ...]:
        """Pool new noisy residuals with what is known; gives the change of each."""
        layout = request.layout
        centred = centre_all(layout, np.asarray(reply, np.int64), layout.lengths.astype(np.float64))
        changes: list[tuple[int, Floats]] = []
        for j, (attributes, precision) in enumerate(zip(request.sets, request.precisions, strict=True)):
            k = self.layout.index[attributes]
            known = self.values[self.layout.offsets[k] : self.layout.offsets[k + 1]]
            gain = float(precision) / (self.precisions[k] + float(precision))
            change = (centred[layout.offsets[j] : layout.offsets[j + 1]] - known) * gain
            known += change
            self.precisions[k] += float(precision)
            changes.append((k, change))
        return tuple(changes)


def aim_policy(
    workload: ResolvedWorkload, state: State, purse: Purse, *, noise: str = "crp", work: int | None = None
) -> Policy:
    """The loop; ``noise`` is "crp" (conditional plan) or "iid" (equal noise in the cells of the chosen marginal).

    ``work`` limits the cells touched; the round that reaches it spends what is left.
    """
    loop = _Loop(workload, state, purse, noise)
    variance = Fraction(len(state.layout.sets)) / (Fraction(9, 10) * purse.limit)
    start = loop.start(variance)
    changes = state.learn(start, (yield start))
    sigma = sqrt(variance)
    state.rounds.append(Round("start", None, len(start.sets), sigma, 0.0, float(start.rho / purse.limit)))
    if len(state.layout.sets) == 1:
        return
    epsilon = root_below(Fraction(4, 10) * purse.limit / len(state.layout.sets))
    touched, last = 0, False
    while not last:
        last = purse.left <= 2 * (1 / (2 * variance) + epsilon**2 / 8) or (
            work is not None and touched > work
        )
        if last:
            epsilon, variance = root_below(purse.left * Fraction(8, 10)), 1 / (Fraction(18, 10) * purse.left)
        select = Select(changes, loop.weights, _EXPECTED * sqrt(variance), epsilon)
        purse.pay(select.rho)
        chosen = int((yield select)[0])
        budget = purse.left if last else 1 / (2 * variance)
        measure = loop.plan(chosen, budget, fill=last)
        purse.pay(measure.rho)
        changes = state.learn(measure, (yield measure))
        loop.record(chosen, measure, variance, select)
        touched += select.work + sum(int(loop.work_above[k]) for k, _ in changes)
        if loop.change_of(chosen, changes) <= _EXPECTED * sqrt(variance) * loop.cells[chosen]:
            epsilon, variance = 2 * epsilon, variance / 4
        if last:
            claim = claim_of_selection(state.layout, state.precisions, select, chosen, changes)
            state.claims += [claim] if claim is not None else []


class _Loop:
    """The public constants of a loop and the arithmetic of one round."""

    def __init__(self, workload: ResolvedWorkload, state: State, purse: Purse, noise: str) -> None:
        self.state, self.purse, self.noise = state, purse, noise
        self.layout = state.layout
        self.cells = self.layout.lengths
        self.price = prices(self.layout)
        self.weights = improvement_weights(workload, self.layout.sets)
        self.below = Incidence.between(self.layout.sets, self.layout)
        there = self.below.members >= 0
        above = np.bincount(
            self.below.members[there], self.cells[self.below.owners[there]], len(self.layout.sets)
        )
        self.work_above = above.astype(np.int64)

    def start(self, variance: Fraction) -> Measure:
        """All 1-way residuals and the total, as if each 1-way marginal were measured (aim-grem, Algorithm 6)."""
        sizes = self.layout.sizes
        ones = [s for s in self.layout.sets if len(s) == 1]
        if not ones:
            measure = Measure(sizes, ((),), (round_down(float(2 * self.purse.left * _CLOSE)),))
            self.purse.pay(measure.rho)
            return measure
        total = sum((Fraction(1, sizes[s[0]]) for s in ones), Fraction(0)) / variance
        kept = [s for s in ones if sizes[s[0]] > 1]
        measure = Measure(sizes, ((), *kept), (total, *(1 / variance for _ in kept)))
        self.purse.pay(measure.rho)
        return measure

    def plan(self, chosen: int, budget: Fraction, *, fill: bool) -> Measure:
        """How precisely to measure each residual below the chosen marginal, for at most ``budget``.

        What the skipped residuals leave over stays in the purse, or goes to the others when ``fill`` is set.
        """
        members = self._members(chosen)
        spread = self.cells[chosen] / self.cells[members].astype(np.float64)
        if self.noise == "iid":
            share = 1.0 / spread
            kept = np.ones(len(members), bool)
        else:
            known = self.state.precisions[members] / (2.0 * float(budget))
            share = conditional_plan(self.price[members] / spread**2, self.price[members], known)
            kept = share * self.price[members] >= SKIP
        if fill:
            share = share / float((self.price[members] * share)[kept].sum())
        precisions = share * 2.0 * float(budget)
        while True:
            exact = tuple(round_down(float(x)) for x in precisions[kept])
            measure = Measure(self.layout.sizes, tuple(self.layout.sets[k] for k in members[kept]), exact)
            if measure.rho <= budget:
                return measure
            precisions = precisions * (1.0 - 2.0**-40)

    def change_of(self, chosen: int, changes: tuple[tuple[int, Floats], ...]) -> float:
        """L1 distance between the new and the previous estimate of the chosen marginal."""
        gamma = self.layout.sets[chosen]
        shape = self.layout.shape(gamma)
        total = np.zeros(shape)
        for k, change in changes:
            tau = self.layout.sets[k]
            wide = tuple(n if a in tau else 1 for a, n in zip(gamma, shape, strict=True))
            total += change.reshape(wide) * (self.cells[k] / self.cells[chosen])
        return float(np.abs(total).sum())

    def record(self, chosen: int, measure: Measure, variance: Fraction, select: Select) -> None:
        """Add a round to the history."""
        share = float((measure.rho + select.rho) / self.purse.limit)
        gamma, epsilon = self.layout.sets[chosen], float(select.epsilon)
        self.state.rounds.append(Round("select", gamma, len(measure.sets), sqrt(variance), epsilon, share))

    def _members(self, chosen: int) -> Ints:
        """Residuals below a marginal that are not zero by their sizes."""
        members = self.below.members[self.below.starts[chosen] : self.below.starts[chosen + 1]]
        return members[self.price[members] > 0]


def improvement_weights(workload: ResolvedWorkload, sets: tuple[AttributeSet, ...]) -> Ints:
    """``w_gamma``: the workload's weights times the attributes in common, as integers; 0 for the empty set.

    Weights whose common denominator makes them larger than 2^16 are rounded to that many steps of the largest.
    """
    per_attribute: dict[int, Fraction] = {}
    for attributes, weight in zip(workload.sets, workload.weights, strict=True):
        for axis in attributes:
            per_attribute[axis] = per_attribute.get(axis, Fraction(0)) + weight
    exact = [sum((per_attribute.get(i, Fraction(0)) for i in s), Fraction(0)) for s in sets]
    denominator = lcm(*(w.denominator for w in exact))
    largest = max(exact)
    if largest == 0:
        return np.zeros(len(sets), np.int64)
    if largest * denominator <= LARGEST_WEIGHT:
        return np.array([int(w * denominator) for w in exact], np.int64)
    return np.array([ceil(w * LARGEST_WEIGHT / largest) for w in exact], np.int64)


def root_below(value: Fraction) -> Fraction:
    """A short fraction just below the square root."""
    root = round_down(sqrt(value) * (1.0 - 2.0**-40))
    while root * root > value:
        root *= _CLOSE
    return root
