"""Noise and counts: the only module that holds both.

``Confidential`` keeps the exact counts of one run behind the requests of ``measurement``: each of them is prepared
first, which reads, counts and computes all that the reply needs, and then drawn, which adds noise and does no more.
Exact counts, gaps, scores and tallies never leave; nothing here charges: ``spending`` does, between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.deciders import CandidateDecider, CoinDecider, Decide, Decider, NoisyDecider, Tally
from hushtable.errors import QueryError
from hushtable.kernel.counter import Counter
from hushtable.kernel.gap_loops import distances
from hushtable.kernel.select import Distances, Gaps
from hushtable.marginals import ROWS, Counting, Layout, in_ranges
from hushtable.measurement import (
    GRID,
    ChoiceStep,
    Compare,
    DiscreteNoise,
    Measure,
    Request,
    Select,
)
from hushtable.privacy import (
    BitSource,
    GaussianNoise,
    LaplaceNoise,
    Segments,
    bernoulli,
    bernoulli_exp,
    exponential_mechanism,
)

Drawing = Callable[[], Ints]
"""Draws noise and gives the reply; to be called once, after the charge."""

PASS_CELLS = 150_000_000
"""Cells tabulated in one pass when counts are kept narrow: 1.2 GB.  With fewer, rows are read more often."""


def noisy(
    exact: Ints, noise: DiscreteNoise, bits: BitSource | None = None, ready: Segments | None = None
) -> Ints:
    """Exact integers plus exact discrete noise: every noisy count there is was made here."""
    if not len(exact):
        return exact  # without a bit of noise
    drawn = (ready or segments_of(noise)).draw(bits)
    if noise.bound is not None:
        np.clip(drawn, -noise.bound, noise.bound, out=drawn)
    if noise.places is not None:
        given = exact.copy()  # 0 wherever there is no noise, for every table
        given[noise.places] += drawn
        return given
    drawn += exact
    return drawn


def segments_of(noise: DiscreteNoise) -> Segments:
    """Noise that only has to be drawn: what the sampler computes or refuses without bits comes now."""
    return noise.law.segments(noise.parameters, noise.lengths)


def verdict(decider: Decider, exact: Tally, bits: BitSource | None = None) -> bool:
    """One decision about exact tallies: True for "satisfied"."""
    return way_to_draw(decider)(decider, exact, bits)


def way_to_draw(decider: Decider) -> Callable[[Any, Tally, BitSource | None], bool]:
    """How a decider is drawn; one that cannot be is refused."""
    for kind, way in WAYS.items():
        if isinstance(decider, kind):
            return way
    raise QueryError(
        "query.no-draw",
        f"The decider {decider.name!r} cannot be drawn: it adds no noise, flips no coin and has no candidates.",
        "Choose another one.",
    )


def _by_noise(decider: NoisyDecider, exact: Tally, bits: BitSource | None) -> bool:
    scales = decider.noise
    noise = LaplaceNoise.segments(scales, [1] * len(scales)).draw(bits)
    return decider.decide(exact, [int(value) for value in noise])


def _by_coin(decider: CoinDecider, exact: Tally, bits: BitSource | None) -> bool:
    return sigmoid_coin(decider.logit(exact), bits)


def _by_candidate(decider: CandidateDecider, exact: Tally, bits: BitSource | None) -> bool:
    chosen = exponential_mechanism(-decider.penalties(exact), decider.rate, bits=bits)
    return chosen in range(decider.accepted.start, decider.accepted.stop)


WAYS: dict[type[Decider], Callable[[Any, Tally, BitSource | None], bool]] = {
    NoisyDecider: _by_noise,
    CoinDecider: _by_coin,
    CandidateDecider: _by_candidate,
}
"""How each kind of decider is drawn."""


def sigmoid_coin(logit: Fraction, bits: BitSource | None = None) -> bool:
    """True with probability exactly 1 / (1 + exp(-logit)): propose a side, keep the less likely one sometimes."""
    while True:
        proposed = bernoulli(Fraction(1, 2), bits=bits)
        if proposed == (logit >= 0) or bernoulli_exp(abs(logit), bits=bits):
            return proposed


class Confidential:
    """Exact counts of one run.

    With a ``layout`` its counts are kept, all of them in 64 bits (``wide``); or else marginals of more than two
    attributes are counted again whenever they are asked for, and gaps are kept in 32 bits.  ``scored``: selections will
    be asked for that compare counts with changing estimates.  ``again``: how often such marginals will be, at most.
    """

    def __init__(
        self,
        counter: Counter,
        layout: Layout | None = None,
        *,
        wide: bool = True,
        scored: bool = True,
        again: int = 0,
        bits: BitSource | None = None,
    ) -> None:
        self._counter, self._bits = counter if wide else counter.staged(again), bits
        self._layout = Layout((), ()) if layout is None else layout
        kept = self._layout.sets if wide else tuple(s for s in self._layout.sets if len(s) <= 2)
        self._kept = Layout(self._layout.sizes, kept)
        self._counts = self._counter.tabulate(self._kept) if kept else np.empty(0, np.int64)
        self._gaps: Gaps | Distances | None = None
        if scored and layout is not None:
            self._gaps = Gaps(self._layout, self._counts.copy() if wide else self._narrow_counts())

    def update(self, request: Select) -> None:
        """Take over the public part of a selection: the changes of the estimates that it is scored against."""
        if request.tables is not None and request.numbers is not None:
            if not isinstance(self._gaps, Distances):
                self._gaps = Distances(self._layout, self._counts)
            self._gaps.update(request.numbers, request.tables)
        elif isinstance(self._gaps, Gaps):
            self._gaps.update(request.changes)

    def prepare(self, request: Request) -> Drawing:
        """Read, count and compute all that the reply needs but its noise; what is handed back draws, and once."""
        return _PREPARED[request.kind](self, request)

    def measure(self, request: Measure | ChoiceStep) -> Drawing:
        """The integers of a part plus its noise; where nothing is missing, none."""
        part = request.part
        if part is None:
            return lambda: np.empty(0, np.int64)
        return self._noisy(part.exact(self._counted(part.counting)), part.noise)

    def select(self, request: Select) -> Drawing:
        """One marginal, by private selection."""
        self.update(request)
        if self._gaps is None:
            raise ValueError("This handle keeps no gaps.")
        candidates, scores, factor = self._gaps.scores(request)

        def draw() -> Ints:
            return candidates[[exponential_mechanism(scores, factor, bits=self._bits)]]

        return draw

    def compare(self, request: Compare) -> Drawing:
        """L1 distances of true marginals from the request's tables, on the grid, plus discrete Gaussian noise."""
        norms: list[Ints] = []
        for where, part in request.layout.pieces(PASS_CELLS):
            every, counts = np.arange(len(part.sets)), self._tables(part)
            norms.append(np.empty(len(part.sets), np.int64))
            given = (every, part.offsets, counts, request.tables[where], GRID, norms[-1])
            in_ranges(distances, part.lengths, *given)
        exact = np.concatenate(norms)
        return self._noisy(exact, DiscreteNoise(GaussianNoise, [request.variance], [len(exact)]))

    def decide(self, request: Decide) -> Drawing:
        """The questions of a check, each decided by its own decider from its exact tally."""
        questions = request.plan.questions
        for question in questions:
            way_to_draw(question.decider)  # or it is refused, while that costs nothing
        tallies = self._counter.tally(questions)
        pairs = [(question.decider, exact) for question, exact in zip(questions, tallies, strict=True)]
        return lambda: np.array([verdict(decider, exact, self._bits) for decider, exact in pairs], np.int64)

    def _noisy(self, exact: Ints, noise: DiscreteNoise) -> Drawing:
        ready = segments_of(noise)
        return lambda: noisy(exact, noise, self._bits, ready)

    def _counted(self, wanted: Sequence[Counting]) -> Ints:
        """All that a part needs, one after the other; what is not kept is counted in one pass."""
        if all(one.of == ROWS for one in wanted):
            return np.concatenate([self._tables(one.layout) for one in wanted])
        here = [one.of == ROWS and bool(self._kept.sets) for one in wanted]
        read = [one for one, kept in zip(wanted, here, strict=True) if not kept]
        fresh = iter(self._counter.totals(read))
        pairs = zip(wanted, here, strict=True)
        return np.concatenate([self._tables(one.layout) if kept else next(fresh) for one, kept in pairs])

    def _tables(self, layout: Layout) -> Ints:
        """Exact counts of the given sets, flat; those that are not kept are counted again."""
        if not layout.sets:
            return np.empty(0, np.int64)
        missing = tuple(s for s in layout.sets if s not in self._kept.index)
        if len(missing) == len(layout.sets):
            return self._counter.tabulate(layout)
        again = Layout(layout.sizes, missing) if missing else self._kept
        counted = self._counter.tabulate(again) if missing else self._counts
        flat = np.empty(layout.cells, np.int64)
        for k, attributes in enumerate(layout.sets):
            kept = attributes in self._kept.index
            home, counts = (self._kept, self._counts) if kept else (again, counted)
            layout.at(flat, k)[:] = home.at(counts, home.index[attributes])
        return flat

    def _narrow_counts(self) -> NDArray[Any]:
        """Counts of the whole closure in 32 bits, saturated, a part at a time."""
        cells = np.empty(self._layout.cells, np.int32)
        for where, part in self._layout.pieces(PASS_CELLS):
            cells[where] = np.minimum(self._counter.tabulate(part), np.iinfo(np.int32).max)
        return cells


_PREPARED: dict[str, Callable[[Confidential, Any], Drawing]] = {
    Measure.kind: Confidential.measure,
    ChoiceStep.kind: Confidential.measure,
    Select.kind: Confidential.select,
    Compare.kind: Confidential.compare,
    Decide.kind: Confidential.decide,
}
"""How the replies to each kind of request are prepared; a new kind is a method above and a line here."""
