"""The default mechanism: look where tables are dependent, spend there by expected gain, look again, spend the rest.

    1  the total and the one-way residuals; more of them if they are still rough
    2  noisy distances of all pairs from independence, where these cost less than they tell
    3  a first batch over pairs (and what lies below), spread by what an extra measurement would gain
    4  noisy distances of larger tables from the most random ones, if measuring some of them is predicted to pay
    5  a second batch with everything that is left, spread by the dispersions learnt on the way

A generator over public replies.  The tables it compares with come from a fit that the caller passes in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any, Protocol, cast

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import LEVELS, AttributeSet, Incidence, ResolvedWorkload
from hushtable.measurement import GRID, Compare, Label, Measure, Policy, Purse, Reply, ResidualPart
from hushtable.planning.allocation import Allocation
from hushtable.planning.claims import CLAIMS, claim_of_distances
from hushtable.planning.exact_plans import JUST_BELOW, round_down
from hushtable.planning.state import State

# Chosen by hand on `adult`, where the optimum is flat (ADR 10).  What moves is the mean L1 of all three-way tables, one
# constant changed at a time, at epsilon 0.1, 1 and 10 on adult (4 runs) and titanic (20).  "Nothing" is within the
# noise of such means: 4%, 2% and 1%.
TOTAL = 0.01
"""Share of the budget for the total.  With 0.003 (titanic) and 0.03 nothing moves."""
ONES = 0.10
"""Share for the one-way residuals at first.  With 0.05 1% more error at epsilon 0.1 and 0.2% less at 10, with 0.15 1%
less and 0.5% more; titanic loses 0.7% at 10 with 0.15.  Unfinished releases of version 0.1 begin with this share."""
ONES_MORE = 0.25
"""The most that is added to it.  With 0.35 nothing moves on adult; 1% is lost on titanic at epsilon 0.1."""
ONES_ROUGH = 5.0
"""The share that is added, for each part of the records that one-way tables are still wrong by: 0.05 where that is a
hundredth.  With 10 0.4% is lost at epsilon 1."""
ONES_LEAST = 0.005
"""Less than this is not worth a question: a fifteenth of what was spent on them moves their errors by 3%."""
PAIR_LOOK = 0.03
"""Share for the distances of pairs from independence.  With 0.01 they are too noisy to be asked for on titanic at
epsilon 1, which costs 15%; with 0.09 1% is lost at epsilon 10."""
LARGE_LOOK = 0.015
"""Share for the distances of larger tables.  With 0.03 0.3% is lost at epsilon 10 on adult, with 0.09 1%."""
FIRST = 0.7
"""Share of what is left after the looks that the first batch spends.  With 0.5 or 0.9 1% to 3% are lost at some
epsilon."""
TRIAL = 0.03
"""Distance of larger tables, as a part of the records, assumed when the first batch is cut.  On tables of yes-or-no
attributes at epsilon 1 and 10, 0.1 cuts it as much and 0.03 a little better at 0.1; adult and titanic do not move."""
LOOKS = 2
"""Times that the policy asks for distances, at most, between which its claims are divided.  It follows from the
steps."""
GUESS = 0.1
"""Distance, as a part of the records, assumed where nothing is known; pairs are looked at only if the noise stays below
twice of it.  With 0.03 they are not, where they should be: half as much error again on adult at epsilon 0.1, 25% on
titanic at 1.  With 0.3 nothing moves."""
WORTH = 0.15
"""Larger tables are looked at if that lowers the predicted error by this part.  With 0.5 they are not on adult at
epsilon 10, which costs 6%; with 0 nothing moves."""
LEAST_PAIR = 0.01
LEAST_LARGE = 0.003
"""Least distances of pairs and of larger tables, as parts of the records, that a look is taken to have found, so that
none is left out for good.  A third and three to ten times of them move nothing."""
CLEAR = 5.0
"""Tables are not looked at where measuring all of them alike has an error below this many times LEAST_PAIR or
LEAST_LARGE: the look would not change what is measured, and costs its share.  On adult 1% is lost at epsilon 10 with 0,
and at 3.16 with 2; with 10 2% at 1."""
LEAST_GAIN = 1e-6
"""A residual is measured again only if that raises its precision by more than this part: what rounding leaves over is
no reason to draw an integer.  Not tuned."""
_EXPECTED = sqrt(2.0 / np.pi)
"""Mean of the absolute value of a standard normal variable."""


class FittedTables(Protocol):
    """What the policy needs of a fit."""

    total: float
    ones: dict[int, Floats]
    products: dict[AttributeSet, Floats]
    prior: dict[AttributeSet, Floats]
    dispersion: dict[AttributeSet, float]

    def spread(self, sets: Sequence[AttributeSet], sweeps: int = ...) -> Floats:
        """The most random tables with the fitted sub-tables, flat."""
        ...


FitTables = Callable[[State, bool], FittedTables]
"""From a public state to tables; the flag asks for one-way tables alone."""


def auto_policy(
    workload: ResolvedWorkload, state: State, purse: Purse, fit: FitTables, *, largest: int | None = None
) -> Policy:
    """The five steps; tables of more than two attributes take part if they have at most ``largest`` cells together."""
    loop = _Loop(workload, state, purse, fit, largest)
    yield from loop.start()
    if not loop.pairs:
        yield from loop.measure("one-way tables", loop.plan.spend(float(purse.left)), purse.left)
        return
    yield from loop.look_at_pairs()
    share = purse.left * Fraction(loop.first_share())
    yield from loop.measure("first batch", loop.plan.spend(float(share)), share)
    yield from loop.look_at_large()
    yield from loop.measure("second batch", loop.plan.spend(float(purse.left)), purse.left)


class _Loop:
    """One run of the policy."""

    def __init__(
        self, workload: ResolvedWorkload, state: State, purse: Purse, fit: FitTables, largest: int | None
    ) -> None:
        self.state, self.purse, self.fit = state, purse, fit
        self._small: FittedTables | None = None
        layout = state.layout
        weights = np.array([float(w) for w in workload.weights])
        self.plan = Allocation(layout, Incidence.between(workload.sets, layout), weights)
        order, real = self.plan.order, self.plan.price > 0
        self.singles = np.flatnonzero((order == 1) & real)
        self.pairs = [int(k) for k in np.flatnonzero((order == 2) & real)]
        self.large = np.flatnonzero((order >= 3) & real)
        if largest is not None and int(layout.lengths[self.large].sum()) > largest:
            self.large = self.large[:0]

    def start(self) -> Generator[Any, Any, None]:
        """Step 1."""
        plan, rho = self.plan, float(self.purse.limit)
        x = np.zeros(len(plan.price))
        x[0] = 2.0 * rho * (TOTAL if len(self.singles) else 1.0)
        if len(self.singles):
            size = plan.layout.lengths[self.singles].astype(np.float64) ** (2.0 / 3.0)
            x[self.singles] = 2.0 * ONES * rho * size / float(size @ plan.price[self.singles])
        yield from self.measure("total and one-way tables", x, self.purse.left)
        self._describe_small(self._one_way())
        rough = plan.errors()[self.singles].mean() if len(self.singles) else 0.0
        more = min(ONES_MORE, ONES_ROUGH * rough / plan.total)
        if more > ONES_LEAST:
            share = min(self.purse.left, self.purse.limit * Fraction(more))
            x = plan.spend(float(share), plan.order < 2)
            yield from self.measure("more of the one-way tables", x, share)

    def look_at_pairs(self) -> Generator[Any, Any, None]:
        """Step 2: dispersions of the pairs around independence."""
        plan, sets = self.plan, [self.plan.layout.sets[k] for k in self.pairs]
        tables = self._one_way()
        self._describe_small(tables)
        products = np.concatenate([tables.products[s].reshape(-1) for s in sets])
        plan.describe_all(np.array(self.pairs), products)
        rho = float(self.purse.limit)
        deviation = sqrt(len(sets) / (2.0 * PAIR_LOOK * rho))
        distance = np.full(len(sets), GUESS * plan.total)
        alike = self._noise_of(self.pairs)
        clear = alike < CLEAR * LEAST_PAIR * plan.total
        if not clear and alike > deviation < 2.0 * GUESS * plan.total:
            noisy = yield from self.compare("dependence of pairs", sets, products, PAIR_LOOK)
            below = plan.errors() ** 2
            part = below[0] + np.array([sum(below[plan.layout.index[(a,)]] for a in s) for s in sets])
            distance = _net(noisy, part, LEAST_PAIR * plan.total)
        plan.disperse_all(np.array(self.pairs), distance)

    def first_share(self) -> float:
        """Part of what is left for the first batch: FIRST, or less where larger tables are predicted to need more."""
        plan = self.plan
        if not len(self.large):
            return FIRST
        sets = [plan.layout.sets[k] for k in self.large]
        plan.describe_all(self.large, self._one_way().spread(sets, 1))
        plan.disperse_all(self.large, np.full(len(sets), TRIAL * plan.total))
        paid = plan.price * (plan.spend(float(self.purse.left)) - plan.precision)
        plan.forget(self.large)
        return min(FIRST, float(paid[plan.order < 3].sum() / paid.sum()))

    def look_at_large(self) -> Generator[Any, Any, None]:
        """Step 4: what was learnt of the pairs, and whether larger tables are worth measuring."""
        plan = self.plan
        tables = self.fit(self.state, False)
        self._describe_small(tables)
        pairs = [plan.layout.sets[k] for k in self.pairs]
        plan.describe_all(np.array(self.pairs), np.concatenate([tables.prior[s].reshape(-1) for s in pairs]))
        for k, s in zip(self.pairs, pairs, strict=True):
            plan.dispersion[k] = tables.dispersion.get(s, plan.dispersion[k])
        if not len(self.large):
            return
        sets = [plan.layout.sets[k] for k in self.large]
        spread = tables.spread(sets, 3)
        plan.describe_all(self.large, spread)
        plan.disperse_all(self.large, np.full(len(sets), GUESS * plan.total))
        left, look = float(self.purse.left), LARGE_LOOK * float(self.purse.limit)
        plan.spend(left, plan.order < 3)
        without = plan.predicted
        if left > look:
            plan.spend(left - look)
        if left <= look or plan.predicted > (1.0 - WORTH) * without:
            plan.forget(self.large)
            return
        if self._noise_of(self.large) < CLEAR * LEAST_LARGE * plan.total:
            return
        noisy = yield from self.compare("dependence in larger tables", sets, spread, LARGE_LOOK)
        distance = _net(noisy, self._error_below(), LEAST_LARGE * plan.total)
        plan.disperse_all(self.large, distance)

    def measure(self, action: str, wanted: Floats, limit: Fraction) -> Generator[Any, Any, None]:
        """Raise the precisions to ``wanted`` for at most ``limit``, and learn from the reply."""
        plan = self.plan
        gain = (wanted - plan.precision) * JUST_BELOW
        numbers = np.flatnonzero((gain > LEAST_GAIN * plan.precision) & (gain > 0.0))
        if not len(numbers):
            return
        sets = tuple(plan.layout.sets[k] for k in numbers)
        shrink = 1.0
        while True:
            exact = tuple(round_down(float(g) * shrink) for g in gain[numbers])
            label = Label(action, sigma=1.0 / sqrt(float(np.mean([float(p) for p in exact]))))
            request = Measure(ResidualPart(plan.layout.sizes, sets, exact), label=label)
            if request.rho <= limit:
                break
            shrink *= float(limit / request.rho) * JUST_BELOW
        self.state.learn((yield request))
        self._small = None
        plan.precision[numbers] = self.state.precisions[numbers]

    def compare(
        self, action: str, sets: list[AttributeSet], tables: Floats, share: float
    ) -> Generator[Any, Any, Floats]:
        """Distances of true marginals from flat ``tables``, in records: root mean squares given the noisy ones.

        These are drawn together by how alike they look; what stays uncertain is added, so that a table is not left out
        because noise hid it.
        """
        rho = min(self.purse.limit * Fraction(share), self.purse.left)
        variance = Fraction(len(sets) * GRID**2) / (2 * rho)
        label = Label(action, sigma=sqrt(variance) / GRID)
        reply: Reply = yield Compare(self.plan.layout.sizes, tuple(sets), tables, variance, label=label)
        asked = cast("Compare", reply.asked)
        sigma = sqrt(asked.variance) / GRID
        noisy = np.asarray(reply.values, np.float64) / GRID
        self.state.claims.append(claim_of_distances(asked, noisy, CLAIMS / LOOKS))
        middle = noisy.mean()
        spread = max(float(noisy.var()), 1e-300)  # may be 0, and divides
        part = max(0.0, 1.0 - sigma**2 / spread)
        mean = np.maximum(middle + (noisy - middle) * part, 0.0)
        return np.sqrt(mean**2 + part * sigma**2)

    def _one_way(self) -> FittedTables:
        """The fit of one-way tables to what is known, made again once more is."""
        if self._small is None:
            self._small = self.fit(self.state, True)
        return self._small

    def _describe_small(self, tables: FittedTables) -> None:
        plan = self.plan
        plan.total = tables.total
        plan.describe(0, np.array([tables.total]))
        for k in self.singles.tolist():
            plan.describe(k, tables.ones[plan.layout.sets[k][0]])

    def _noise_of(self, numbers: Sequence[int] | Ints) -> float:
        """Expected L1 error per table if some were measured alike by a first batch of FIRST of what is left.

        A look that is noisier than that tells less than measuring them all.
        """
        plan = self.plan
        each = _EXPECTED * sqrt(plan.price[numbers].sum() / (2.0 * FIRST * float(self.purse.left)))
        return float((plan.histograms[numbers] * np.minimum(LEVELS, each)).sum(axis=1).mean())

    def _error_below(self) -> Floats:
        """Squared expected error of each larger table without its own residual."""
        plan = self.plan
        errors = plan.errors() ** 2
        below = Incidence.between([plan.layout.sets[k] for k in self.large], plan.layout)
        return below.subset_sums(errors, len(self.large)) - errors[self.large]


def _net(distance: Floats, known: Floats, least: float) -> Floats:
    """What a distance tells beyond the error of the parts below; squares add."""
    return np.sqrt(np.maximum(distance * np.abs(distance) - known, least**2))
