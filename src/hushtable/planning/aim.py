"""AIM+GReM: choose a badly known marginal, measure it where it is worth it, repeat until the budget is gone.

The policy of aim-grem (Algorithms 4, 6 and 7) as a generator over public replies, with these repairs: the change that
anneals the budget is between two estimates, never between an estimate and the data; amounts are exact fractions and a
flag ends the loop; the empty set is no candidate; what is not measured is not charged.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import gcd, lcm, pi, sqrt
from typing import cast

import numpy as np

from hushtable import linear
from hushtable.arrays import Floats, Ints
from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, Incidence, ResolvedWorkload, largest_sets
from hushtable.measurement import Label, Measure, Policy, Purse, Reply, ResidualPart, Select
from hushtable.planning.claims import SelectionClaims
from hushtable.planning.exact_plans import JUST_BELOW, round_down
from hushtable.planning.problem import prices
from hushtable.planning.round_loops import round_precisions
from hushtable.planning.scorers import Against, ResidualScorer, Scorer
from hushtable.planning.state import State

SKIP = 1e-3
"""A residual whose share of a round is smaller is not measured: aim-grem's choice.  With less, more integers are drawn
that hardly move an estimate."""

LARGEST_WEIGHT = 2**16
"""Steps of the largest weight of a candidate.  Scores are integers: weights, errors on the grid and counts multiplied
stay below 2^62 then; with fewer steps, weights that differ little become one."""
EXPECTED = sqrt(2.0 / pi)
"""Mean of the absolute value of a standard normal variable."""


def aim_policy(
    workload: ResolvedWorkload,
    state: State,
    purse: Purse,
    scorer: Scorer | None = None,
    *,
    noise: str = "crp",
    work: int | None = None,
) -> Policy:
    """The loop; ``scorer`` keeps the estimates that candidates are compared with, by default sums of residuals.

    ``noise`` is "crp" (conditional plan) or "iid" (equal noise in the cells of the chosen marginal).  ``work`` limits
    the cells touched; the round that reaches it spends what is left.
    """
    loop = RoundPlanner(workload, state, purse, noise)
    scorer = ResidualScorer(state.layout, loop.below) if scorer is None else scorer
    epsilon, variance = _shares(purse.limit / scorer.rounds)
    changes = state.learn((yield loop.start(variance)))
    if len(state.layout.sets) == 1:
        return
    scorer.start(state, changes)
    claims, last = loop.claims(epsilon), False
    budget, two = 1 / (2 * variance), _two_rounds(variance, epsilon)
    while not last:
        last = purse.left <= two or (work is not None and scorer.work > work)
        if last:
            epsilon, variance = _shares(purse.left)
        asked = loop.selection(variance, epsilon, scorer.against())
        select, chosen, label = loop.chosen((yield asked), variance)
        measure = loop.plan(chosen, purse.left if last else budget, fill=last, label=label)
        changes = state.learn((yield measure))
        away = scorer.away(state, chosen, changes)
        if last:
            state.claims += claims.end(select, chosen, away, state.precisions, changes)
            return
        claims.add(select, chosen, away, state.precisions, changes)
        if scorer.moved(state, chosen, changes) <= EXPECTED * sqrt(variance) * loop.cells[chosen]:
            epsilon, variance = 2 * epsilon, variance / 4
            budget, two = 1 / (2 * variance), _two_rounds(variance, epsilon)


def _shares(rho: Fraction) -> tuple[Fraction, Fraction]:
    """Epsilon and variance of a round for ``rho``: a tenth of it selects, nine tenths measure."""
    return root_below(Fraction(8, 10) * rho), 1 / (
        Fraction(18, 10) * rho
    )  # epsilon^2 / 8 and 1 / (2 variance)


def _two_rounds(variance: Fraction, epsilon: Fraction) -> Fraction:
    """What two rounds cost."""
    return 2 * (1 / (2 * variance) + epsilon**2 / 8)


class RoundPlanner:
    """The public constants of a loop and the arithmetic of one round."""

    def __init__(self, workload: ResolvedWorkload, state: State, purse: Purse, noise: str) -> None:
        self.state, self.purse, self.noise = state, purse, noise
        self.layout = state.layout
        self.cells = self.layout.lengths
        self.price = prices(self.layout)
        self.weights = improvement_weights(workload, self.layout.sets)
        self.below = Incidence.between(self.layout.sets, self.layout)

    def start(self, variance: Fraction) -> Measure:
        """All 1-way residuals and the total, as if each 1-way marginal were measured (aim-grem, Algorithm 6)."""
        sizes = self.layout.sizes
        ones = largest_sets([s for s in self.layout.sets if len(s) == 1], sizes)
        told = {(): round_down(float(2 * self.purse.left * Fraction(JUST_BELOW)))}
        if ones:
            told = linear.MarginalMechanism.from_tables(sizes, dict.fromkeys(ones, variance)).precisions
        part = ResidualPart.of(sizes, told)
        return Measure(part, label=Label("start", sigma=sqrt(variance)))

    def selection(self, variance: Fraction, epsilon: Fraction, against: Against) -> Select:
        """A choice between all marginals; ``against`` says what the true counts are compared with."""
        changes, numbers, tables = against
        penalty = EXPECTED * sqrt(variance)
        return Select(changes, self.weights, penalty, epsilon, numbers, tables, self.layout.sets)

    def chosen(self, reply: Reply, variance: Fraction) -> tuple[Select, int, Label]:
        """The selection as it was asked, the number of its marginal, and what the history will say of the round."""
        asked, number = cast("Select", reply.asked), int(reply.values[0])
        gamma = self.layout.sets[number]
        return asked, number, Label("select", gamma, sqrt(variance), float(asked.epsilon), asked.rho)

    def plan(self, chosen: int, budget: Fraction, *, fill: bool, label: Label | None = None) -> Measure:
        """How precisely to measure each residual below the chosen marginal, for at most ``budget``.

        What the skipped residuals leave over stays in the purse, or goes to the others when ``fill`` is set.
        """
        twice = 2.0 * float(budget)
        kept, precisions = self._precisions(chosen, twice, fill=fill)
        sets = tuple(self.layout.sets[int(k)] for k in kept)
        while True:
            exact = tuple(round_down(x) for x in precisions.tolist())
            measure = Measure(ResidualPart(self.layout.sizes, sets, exact), label=label)
            if measure.rho <= budget:
                return measure
            precisions = precisions * JUST_BELOW

    def _precisions(self, chosen: int, twice: float, *, fill: bool) -> tuple[Ints, Floats]:
        links = self._links(chosen)
        members = self.below.members[links]
        if self.noise == "crp":
            error, known = self.shares[links], self.state.precisions
            return round_precisions(members, error, self.price, known, twice, SKIP, fill)
        share = self.cells[members] / float(self.cells[chosen])
        return members, share * twice / (float((self.price[members] * share).sum()) if fill else 1.0)

    def claims(self, epsilon: Fraction) -> SelectionClaims:
        """What the rounds prove; ``epsilon`` is of the first selection, which no other falls below."""
        rounds = int(self.purse.limit / (epsilon**2 / 8)) + 1
        return SelectionClaims(self.layout, self.weights, self.below, rounds)

    @cached_property
    def shares(self) -> Floats:
        """For each pair what a unit of the residual's s2 adds to the mean variance of the marginal's cells."""
        return self.below.mean_variances(self.layout, self.price)

    def _links(self, chosen: int) -> Ints:
        """Pairs of a marginal and a residual below it that is not zero by its sizes."""
        links = np.arange(int(self.below.starts[chosen]), int(self.below.starts[chosen + 1]))
        return links[self.price[self.below.members[links]] > 0]


def improvement_weights(workload: ResolvedWorkload, sets: tuple[AttributeSet, ...]) -> Ints:
    """``w_gamma``: the workload's weights times the attributes in common, as integers; 0 for the empty set.

    Weights whose common denominator makes them larger than 2^16 are rounded to that many steps of the largest.
    """
    common = lcm(*(w.denominator for w in set(workload.weights)))
    parts, owners = dict[int, int](), Axes.of(workload.sizes).owners
    for attributes, weight in zip(workload.sets, workload.weights, strict=True):
        step = weight.numerator * (common // weight.denominator)
        for axis in attributes:
            parts[owners[axis]] = parts.get(owners[axis], 0) + step
    whole = [sum(parts.get(owners[i], 0) for i in s) for s in sets]
    shared, largest = gcd(*whole), max(whole)
    if largest == 0:
        return np.zeros(len(sets), np.int64)
    if largest // shared <= LARGEST_WEIGHT:
        return np.array([w // shared for w in whole], np.int64)
    return np.array([-(-w * LARGEST_WEIGHT // largest) for w in whole], np.int64)


def root_below(value: Fraction) -> Fraction:
    """A short fraction just below the square root."""
    root = round_down(sqrt(value) * JUST_BELOW)
    while root * root > value:
        root *= Fraction(JUST_BELOW)
    return root
