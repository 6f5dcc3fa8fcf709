"""What an adaptive policy may ask of the confidential side, and what each question costs.

A policy is a generator: it yields one of these requests and is sent a reply, nothing else.  Everything in a request is
public.  A reply holds integers (noisy residuals, a chosen number, or noisy distances) and the request as it was really
asked: a release that is resumed learns from what was stored, whose last bits another processor may have chosen.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.errors import BudgetError
from hushtable.marginals import AttributeSet, Layout
from hushtable.measurement.parts import TablePart, computed_once
from hushtable.measurement.quantities import JointPart
from hushtable.privacy import UNIT, Cost, DistanceNoise, Selection

if TYPE_CHECKING:
    from hushtable.measurement.answers import Answers

GRID_BITS = 8
GRID = 2**GRID_BITS
"""Estimates meet counts only after rounding to multiples of 1 / GRID."""

LARGEST_PENALTY = 2.0**45
"""Penalties saturate where norms do (``kernel.gap_loops.LARGEST_NORM``): the difference of the two, times a weight of
at most 2^16, stays below 2^62.  A larger one would overflow (proofs/adaptive.md)."""


@dataclass(frozen=True)
class Label:
    """What the history says of a request, but for what it cost."""

    action: str
    chosen: AttributeSet | None = None
    sigma: float = 0.0
    """Standard deviation of the noise of a cell of the chosen marginal, measured on its own."""
    epsilon: float = 0.0
    """Of the selection; 0 where nothing was selected."""
    beside: Fraction = Fraction(0)
    """What the selection before it cost."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**vars(self), "beside": str(self.beside)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Label:
        """What ``to_dict`` wrote."""
        chosen = None if given["chosen"] is None else tuple(given["chosen"])
        told: dict[str, Any] = {**given, "chosen": chosen, "beside": Fraction(given["beside"])}
        return cls(**told)


@dataclass(frozen=True)
class Round:
    """One line of the history: what was asked, how many residuals were measured, for which share of the budget."""

    label: Label
    residuals: int
    share: float


@dataclass(frozen=True, eq=False)
class Request(ABC):
    """Whatever may be asked: the three below, the questions of a check and the steps of a choice."""

    kind: ClassVar[str]
    label: Label | None = field(default=None, kw_only=True)
    """What the history says of it, if anything."""

    @property
    @abstractmethod
    def rho(self) -> Fraction:
        """Cost for one row."""

    @property
    def work(self) -> int:
        """Cells touched, or the like."""
        return 1

    @property
    def drawn(self) -> int:
        """Integers of noise that are drawn one by one."""
        return 0

    @property
    def parameters(self) -> tuple[Fraction, ...]:
        """What fixes the draw, exactly, where its facts do not."""
        return ()

    @property
    def facts(self) -> dict[str, Any]:
        """What a reader needs beside sets and parameters, as JSON values."""
        return {}

    def of(self, values: Ints) -> tuple[AttributeSet, ...]:
        """The sets that a reply is about."""
        return ()

    def stored(
        self, sets: tuple[AttributeSet, ...], parameters: tuple[Fraction, ...], values: Ints
    ) -> Reply | None:
        """This request as it was asked when the reply was drawn; None where that was another one."""
        return None

    def words(self) -> str:
        """The request as text, without large arrays, of those that version 0.1 knew."""
        return self.kind


@dataclass(frozen=True, eq=False)
class Measure(Request):
    """Noisy integers of a part; the reply is flat, in the part's own order."""

    part: TablePart | JointPart
    kind: ClassVar[str] = "measure"

    @property
    def rho(self) -> Fraction:
        return self.part.rho

    @property
    def work(self) -> int:
        return self.part.cells

    @property
    def drawn(self) -> int:
        return self.work

    @property
    def parameters(self) -> tuple[Fraction, ...]:
        return self.part.precisions

    def of(self, values: Ints) -> tuple[AttributeSet, ...]:
        return self.part.sets

    def stored(
        self, sets: tuple[AttributeSet, ...], parameters: tuple[Fraction, ...], values: Ints
    ) -> Reply | None:
        if len(sets) != len(parameters) or sorted(sets) != sorted(self.part.sets):
            return None
        part = self.part.again(sets, parameters)
        if part is None:
            return None
        asked = replace(self, part=part)
        return Reply(asked, values) if len(values) == asked.work else None

    @property
    def facts(self) -> dict[str, Any]:
        """What a reader needs beside sets and parameters."""
        return self.part.to_dict()

    def words(self) -> str:
        return f"measure {self.part.sets} {[str(p) for p in self.part.precisions]}"


@dataclass(frozen=True, eq=False)
class Select(Request):
    """One marginal of the closure, by the exponential mechanism; the reply is its number.

    The score of marginal k with n cells is ``weights[k] (|count - estimate|_1 - penalty n)`` on the grid, its
    sensitivity the largest weight.  ``changes`` are the centred residuals that were added to the estimates since the
    last selection; or else ``tables`` are the estimates themselves, flat, of which the marginals ``numbers`` changed.
    The tables are the policy's own array, read when the request is answered, and are rounded to the grid there.
    """

    changes: tuple[tuple[int, Floats], ...]
    weights: Ints = field(repr=False)
    penalty: float
    epsilon: Fraction
    numbers: Ints | None = field(default=None, repr=False)
    tables: Floats | None = field(default=None, repr=False)
    sets: tuple[AttributeSet, ...] = field(default=(), repr=False)
    """The marginals by number."""
    kind: ClassVar[str] = "select"

    @computed_once
    def rho(self) -> Fraction:
        return Selection(self.epsilon).price().rho

    @property
    def work(self) -> int:
        return len(self.weights)

    @property
    def parameters(self) -> tuple[Fraction, ...]:
        return (self.epsilon,)

    def of(self, values: Ints) -> tuple[AttributeSet, ...]:
        return (self.sets[int(values[0])],)

    def stored(
        self, sets: tuple[AttributeSet, ...], parameters: tuple[Fraction, ...], values: Ints
    ) -> Reply | None:
        if len(sets) != 1 or len(parameters) != 1 or sets[0] not in self.sets:
            return None
        chosen = self.sets.index(sets[0])
        asked = replace(self, epsilon=parameters[0])
        return Reply(asked, np.array([chosen], np.int64)) if self.weights[chosen] > 0 else None

    def words(self) -> str:
        return f"select {len(self.weights)} {self.epsilon}"


@dataclass(frozen=True, eq=False)
class Compare(Request):
    """Noisy L1 distances, on the grid, between true marginals and given tables, all with one noise variance."""

    sizes: tuple[int, ...]
    sets: tuple[AttributeSet, ...]
    tables: Floats = field(repr=False)
    variance: Fraction
    kind: ClassVar[str] = "compare"

    @computed_once
    def layout(self) -> Layout:
        """Where the tables' cells lie."""
        return Layout(self.sizes, self.sets)

    @computed_once
    def rho(self) -> Fraction:
        return DistanceNoise(len(self.sets), GRID, self.variance).price().rho

    @property
    def work(self) -> int:
        return self.layout.cells

    @property
    def parameters(self) -> tuple[Fraction, ...]:
        return (self.variance,)

    def of(self, values: Ints) -> tuple[AttributeSet, ...]:
        return self.sets

    def stored(
        self, sets: tuple[AttributeSet, ...], parameters: tuple[Fraction, ...], values: Ints
    ) -> Reply | None:
        if sets != self.sets or len(parameters) != 1 or len(values) != len(sets):
            return None
        return Reply(replace(self, variance=parameters[0]), values)

    def words(self) -> str:
        return f"compare {self.sets} {self.variance}"


@dataclass(frozen=True, eq=False)
class Reply:
    """A request as it was asked, and the integers it got."""

    asked: Request
    values: Ints

    @property
    def answers(self) -> Answers:
        """Of a measurement: what was measured, and the noisy integers."""
        if not isinstance(self.asked, Measure):
            raise BudgetError("budget.other-reply", "The reply is not a measurement.", "Please report this.")
        if isinstance(self.asked.part, JointPart):
            raise BudgetError("budget.other-reply", "The reply is not of counts.", "Please report this.")
        from hushtable.measurement.answers import Answers  # pyarrow, which plans do without

        return Answers(self.asked.part, self.values)


Policy = Generator[Request, Reply, None]


def fingerprint(request: Request) -> str:
    """A short hash that tells requests apart, which version 0.1 stored with each reply."""
    return hashlib.sha256(request.words().encode()).hexdigest()[:16]


class Purse:
    """What a loop may spend and has spent for one row, in exact fractions, of a person with at most ``rows``."""

    def __init__(self, limit: Fraction, rows: int = 1, *, spends_all: bool = True) -> None:
        self.limit, self.spent, self._rows = limit, Fraction(0), rows
        self.spends_all = spends_all
        """Whether the loop ends only when all is spent: then requests may be charged ahead."""
        self._apart = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What remains."""
        return self.limit - self.spent

    @property
    def share(self) -> float:
        """How much of it is spent, from 0 to 1."""
        return float(self.spent) / float(self.limit)

    def due(self, rho: Fraction) -> Cost:
        """What must have been charged per person once ``rho`` more is spent: the exact sum, rounded up once."""
        total = self._apart + self.spent + rho
        return Cost(0, -(-total.numerator * self._rows**2 * UNIT // total.denominator))

    def pay(self, rho: Fraction) -> None:
        """Spend; refuses more than is left."""
        if rho > self.left:
            raise BudgetError(
                "budget.overdrawn", "A round would cost more than is left.", "Please report this."
            )
        self.spent += rho

    def set_apart(self, rho: Fraction) -> None:
        """So much of what was spent was for something else: from here on limit and share are of the rest."""
        self._apart += rho
        self.limit -= rho
        self.spent -= rho

    def lose(self, rho: Fraction) -> None:
        """Write off a draw that was thrown away."""
        self.spent = min(self.limit, self.spent + rho)

    def write_off(self, charged: Cost) -> None:
        """So much was charged in all, and the last of it was never seen."""
        paid = Fraction(charged.rho, UNIT) / self._rows**2 - self._apart
        self.spent = min(self.limit, max(self.spent, paid))


class OnePrice:
    """The purse of a run that asks once: all that is set aside pays for it."""

    spends_all = False

    def __init__(self, cost: Cost) -> None:
        self._cost, self._spent = cost, Cost.ZERO

    @property
    def left(self) -> Fraction:
        """Any price fits."""
        return Fraction(1 << 62)  # more than any ledger grants

    @property
    def share(self) -> float:
        """Whether it is spent."""
        return float(self._spent == self._cost)

    def due(self, rho: Fraction) -> Cost:
        """All of it; more than all once it is spent."""
        return self._spent + self._cost

    def pay(self, rho: Fraction) -> None:
        """Spend all."""
        self._spent = self._cost

    lose = pay

    def write_off(self, charged: Cost) -> None:
        """The charge was lost."""
        self._spent = charged
