"""The ledger against a model that a person can check at a glance: dictionaries of integers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hushtable.errors import HushtableError
from hushtable.ledger import Charge, Ledger, Reservation, Unit
from hushtable.privacy.budget import ApproxDP, Cost

NAMES = ("ann", "bob")
PARTS = st.tuples(st.integers(0, 6), st.integers(0, 6))
STEP = 10**10


def cost(parts: tuple[int, int]) -> Cost:
    return Cost(parts[0] * STEP, parts[1] * STEP)


def budget(pure: int) -> ApproxDP:
    """A budget whose pure part is ``pure`` steps; its rho is about 20 steps."""
    return ApproxDP(epsilon=f"{4 + pure / 100}", delta="1e-9", pure=f"{pure / 100}")


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()

    @initialize(pure=st.integers(5, 20))
    def create(self, pure: int) -> None:
        memory = Path("/dev/shm")
        folder = self.stack.enter_context(TemporaryDirectory(dir=memory if memory.is_dir() else None))
        self.path = Path(folder) / "a.ledger"
        self.ledger = Ledger.create(self.path, budget(pure), Unit(1))
        self.pure = pure
        self.limit: dict[str | None, tuple[int, int]] = {None: self.parts(budget(pure))}
        self.reserved: dict[int, tuple[Reservation, tuple[int, int]]] = {}
        self.drawn: dict[int, list[tuple[int, int]]] = {}
        self.settled: set[int] = set()
        self.charges: list[Charge] = []
        self.stored: dict[int, bytes] = {}

    @staticmethod
    def parts(given: ApproxDP) -> tuple[int, int]:
        return given.limit.xi, given.limit.rho

    def used(self, spender: str | None, *, spent_only: bool = False) -> tuple[int, int]:
        """Drawn amounts for ever, and the whole of every open reservation unless only spending is asked for."""
        total = [0, 0]
        for number, (reservation, whole) in self.reserved.items():
            if spender in (None, reservation.spender):
                drawn = [sum(d[i] for d in self.drawn[number]) for i in (0, 1)]
                part = drawn if spent_only or number in self.settled else whole
                total = [total[i] + part[i] * STEP for i in (0, 1)]
        return total[0], total[1]

    def fits(self, spender: str | None, parts: tuple[int, int]) -> bool:
        holders = {None, spender}
        return all(
            h in self.limit and all(self.used(h)[i] + parts[i] * STEP <= self.limit[h][i] for i in (0, 1))
            for h in holders
        )

    @rule(parts=PARTS, spender=st.sampled_from((None, None, *NAMES)))
    def reserve(self, parts: tuple[int, int], spender: str | None) -> None:
        expected = self.fits(spender, parts)
        try:
            made = self.ledger.reserve(
                cost=cost(parts), kind="release", request=None, spender=spender, detail={}
            )
        except HushtableError as error:
            assert not expected
            assert error.code in {"ledger.exhausted", "ledger.grant-exhausted", "ledger.unknown-spender"}
        else:
            assert expected
            self.reserved[made.number] = (made, parts)
            self.drawn[made.number] = []

    @precondition(lambda self: self.reserved)
    @rule(data=st.data(), parts=PARTS)
    def charge(self, data: st.DataObject, parts: tuple[int, int]) -> None:
        number = data.draw(st.sampled_from(sorted(self.reserved)))
        reservation, whole = self.reserved[number]
        room = all(sum(d[i] for d in self.drawn[number]) + parts[i] <= whole[i] for i in (0, 1))
        try:
            self.charges.append(self.ledger.charge(reservation, cost(parts)))
        except HushtableError as error:
            assert error.code == ("ledger.settled" if number in self.settled else "ledger.over-reservation")
            assert number in self.settled or not room
        else:
            assert room and number not in self.settled
            self.drawn[number].append(parts)

    def overtaken(self, charge: Charge) -> bool:
        """Whether the reservation was settled or charged again since."""
        last = len(self.drawn[charge.reservation]) - 1
        return charge.reservation in self.settled or charge.ordinal < last

    @precondition(lambda self: self.charges)
    @rule(data=st.data(), payload=st.binary(max_size=5))
    def store(self, data: st.DataObject, payload: bytes) -> None:
        charge = data.draw(st.sampled_from(self.charges))
        try:
            self.ledger.store(charge, payload)
        except HushtableError as error:
            expected = "ledger.already-stored" if charge.number in self.stored else "ledger.charge-lost"
            assert error.code == expected or (error.code == "ledger.too-late" and self.overtaken(charge))
        else:
            assert charge.number not in self.stored and not self.overtaken(charge)
            self.stored[charge.number] = payload
        if charge.number in self.stored:
            assert self.ledger.payload(charge.number) == self.stored[charge.number]

    @precondition(lambda self: self.reserved)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.reserved)))
        self.ledger.settle(self.reserved[number][0])
        self.settled.add(number)

    @rule(name=st.sampled_from(NAMES), pure=st.integers(1, 12))
    def grant(self, name: str, pure: int) -> None:
        expected = all(self.used(name)[i] <= self.parts(budget(pure))[i] for i in (0, 1))
        try:
            self.ledger.grant(name, budget(pure))
        except HushtableError as error:
            assert error.code == "ledger.below-spent" and not expected
        else:
            assert expected
            self.limit[name] = self.parts(budget(pure))

    @rule(pure=st.integers(5, 25))
    def raise_budget(self, pure: int) -> None:
        new = self.parts(budget(pure))
        expected = new != self.limit[None] and all(new[i] >= self.limit[None][i] for i in (0, 1))
        try:
            self.ledger.raise_budget(budget(pure))
        except HushtableError as error:
            assert error.code == "ledger.not-a-raise" and not expected
        else:
            assert expected
            self.limit[None] = new

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger.open(self.path, head=self.ledger.head)

    @invariant()
    def balances_agree(self) -> None:
        if not hasattr(self, "ledger"):
            return
        for holder in self.limit:
            spent, used = self.used(holder, spent_only=True), self.used(holder)
            assert self.ledger.spent(holder) == Cost(*spent)
            assert self.ledger.held(holder) == Cost(used[0] - spent[0], used[1] - spent[1])
            left = [[self.limit[h][i] - self.used(h)[i] for i in (0, 1)] for h in {None, holder}]
            assert self.ledger.remaining(holder) == Cost(*(min(part) for part in zip(*left, strict=True)))

    def teardown(self) -> None:
        try:
            if hasattr(self, "ledger"):
                report = self.ledger.verify(self.ledger.head)
                assert report.ok, report.findings
                opened = {h.reservation.number for h in self.ledger.open_reservations()}
                assert opened == set(self.reserved) - self.settled
        finally:
            self.stack.close()


TestLedgerModel = Model.TestCase
TestLedgerModel.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
