"""What people do with a dataset over HTTP: the library's verbs, for somebody with a role.

Routes under ``/v1`` and pages both call these.  Whatever spends becomes a job for a worker; everything else works on
the schema, on released answers and on the ledger, and opens no data.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable import deciders
from hushtable import release as released
from hushtable.errors import BudgetExhausted, HushtableError, RefusedError, UsageError
from hushtable.ledger import Ledger, Remaining
from hushtable.privacy import Budget, Cost
from hushtable.schema import Schema
from hushtable.service import bodies
from hushtable.service.catalogue import OPEN, Dataset
from hushtable.service.hidden_spends import HiddenSpends
from hushtable.service.jobs import JobOrder, ServiceJob
from hushtable.service.roles import ROUTES, Reach, Role
from hushtable.service.service import Service
from hushtable.service.shelf import KeptRelease
from hushtable.service.slots import SlotFacts
from hushtable.service.users import Caller

if TYPE_CHECKING:
    from hushtable.deciders import CheckPlan, Synthetic
    from hushtable.release import ChoiceView, Plan, Release

MOST_LISTED = 100
"""Rows of one page of a list: what a screen shows and a program fetches at once."""
STEPS = ("finish", "advance", "refine", "abandon")
NO_CELLS = 64
"""Cells that a job without tables counts as having; a small number, so that its slot is the shortest."""
READ_AS_ONE, ASKED_AS_ONE = 50, 1000
"""Synthetic values that count as one cell when they are read, and rows when a question is asked of them: several times
what they take (0.12 microseconds a value and 5 nanoseconds a row, of files of five million rows).  A file that somebody
uploaded then makes its own slot longer, and cannot overrun one and make everybody's longer."""


class AbsentError(RefusedError):
    """What does not exist, or what the asker may not see: the same answer for both."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}.absent", f"There is no such {what}.", "Look at the list of those you may see."
        )


@dataclass(frozen=True)
class Access:
    """Somebody at a dataset, with the reach that the table of routes gives them."""

    service: Service
    caller: Caller
    dataset: Dataset
    role: Role
    reach: Reach

    @property
    def spender(self) -> str | None:
        """Whose grant is spent: an analyst's own; a curator spends from the whole budget."""
        return None if self.role is Role.CURATOR else self.caller.person.name

    def sees(self, kept: KeptRelease, now: float) -> bool:
        """Whether a release is within reach."""
        mine, out = kept.person == self.caller.person.id, kept.published is not None
        seen = {
            Reach.ALL: True,
            Reach.OWN: mine,
            Reach.SHOWN: mine or out,
            Reach.RELEASED: kept.published is not None and kept.published <= now,
        }
        return now >= kept.slot and seen[self.reach]

    @property
    def only(self) -> str | None:
        """The person whose things alone are within reach, or None for all."""
        return self.caller.person.id if self.reach is Reach.OWN else None


@dataclass(frozen=True)
class Listed:
    """A page of a list, and the cursor of the next."""

    rows: list[Any]
    cursor: str | None

    @classmethod
    def of(cls, found: Sequence[Any], told: Callable[[Any], dict[str, Any]]) -> Listed:
        """The first of what was found, each as it is told; the cursor is the id of the last where there may be more."""
        rows = [told(one) for one in found[:MOST_LISTED]]
        return cls(rows, found[MOST_LISTED - 1].id if len(found) >= MOST_LISTED else None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"items": self.rows, "next": self.cursor}


class Priced(NamedTuple):
    """What a job will cost and touch, from public facts; and how stands what it goes on with."""

    cost: Cost
    cells: int
    stands: str = "{}"


def _cells(questions: int, rows: int, columns: int) -> int:
    """Cells that a check counts as having: of its questions, and of the synthetic rows that they are about."""
    return NO_CELLS * questions + rows * columns // READ_AS_ONE + rows * questions // ASKED_AS_ONE


class Desk:
    """The verbs of one person at one dataset."""

    def __init__(self, access: Access) -> None:
        self.access, self.dataset, self.service = access, access.dataset, access.service

    @property
    def schema(self) -> Schema:
        """What is declared of the rows."""
        return self.dataset.schema

    @property
    def ledger(self) -> Ledger:
        """The account of the dataset."""
        return self.dataset.ledger

    def reaching(self, verb: str) -> Desk:
        """The same desk as far as another route reaches: a page that lists things shows what that route would list."""
        return Desk(replace(self.access, reach=ROUTES[verb].reach[self.access.role]))

    # What is left

    def remaining(self) -> Remaining:
        """What this person may still spend, as it stood when the last slot ended.

        Jobs whose slots have not ended count with their price from the moment they were handed in, and what the ledger
        has charged for them meanwhile is not shown: when it does is nobody's business.
        """
        spender, ledger = self.access.spender, self.ledger
        if spender is not None and spender not in ledger.grants:
            return Remaining(Cost.ZERO)
        whole = self._hidden.left(None)
        if spender is None:
            return Remaining(whole)
        own = self._hidden.left(spender)
        return Remaining(Cost(min(whole.xi, own.xi), min(whole.rho, own.rho), min(whole.delta, own.delta)))

    @property
    def _hidden(self) -> HiddenSpends:
        return HiddenSpends(self.service.storage, self.dataset.name, self.ledger)

    # Plans

    def plan(self, body: bodies.ReleaseBody) -> Plan:
        """Noise, price and expected errors of a release."""
        return body.plan(self.schema, self.ledger.kind)

    def plan_check(self, body: bodies.CheckBody) -> CheckPlan:
        """Price and errors of a check."""
        return self._planned(body, self._synthetic_rows(body))

    def _synthetic_rows(self, body: bodies.CheckBody) -> Synthetic:
        return self.service.shelf.synthetic_rows(self.synthetic(body.synthetic), self.schema)

    def _planned(self, body: bodies.CheckBody, synthetic: Synthetic) -> CheckPlan:
        spender = self.access.spender if self.access.spender in self.ledger.grants else None
        return deciders.plan_check(
            self.schema,
            body.queries,
            synthetic,
            currency=lambda: released.verdicts.currency_in(self.ledger, spender),
            **body.asked(),
        )

    def synthetic(self, place: bodies.SyntheticPlace) -> Path:
        """The file with the synthetic rows that somebody means."""
        if (place.release is None) == (place.upload is None):
            raise UsageError(
                "usage.synthetic", "Give either a release or an upload.", 'Send "synthetic": {"release": ID}.'
            )
        if place.upload is not None:
            file = self.service.shelf.synthetic(self.dataset.name, self.access.caller.person.id, place.upload)
            if file is None:
                raise AbsentError("upload")
            return file
        return self.service.shelf.records(self.reaching("releases").kept(place.release or "").id)

    def upload(self, content: bytes, ending: str) -> str:
        """Keep a synthetic file of this person."""
        limit, person = self.service.config.upload_megabytes, self.access.caller.person.id
        return self.service.shelf.upload(self.dataset.name, person, content, ending, limit)

    # What spends: a job each

    def ask_release(self, body: bodies.ReleaseBody, key: str) -> tuple[ServiceJob, bool]:
        """Hand in a release, and tell whether it is new."""

        def priced() -> Priced:
            plan = self.plan(body)
            return Priced(plan.cost, plan.workload.cells)

        return self._submit("release", "release", key, body, priced)

    def ask_check(self, body: bodies.CheckBody, key: str) -> tuple[ServiceJob, bool]:
        """Hand in a check; what the same person asked before is free."""

        def priced() -> Priced:
            synthetic = self._synthetic_rows(body)
            plan = self._planned(body, synthetic)
            asker = released.verdicts.Asker(self.access.spender, others=self.dataset.shares_answers)
            seen = self._hidden.shown(asker.among(self.ledger.mentioning(plan.keys)))
            known = released.verdicts.stored_verdicts(self.ledger, seen, plan.keys)
            return Priced(plan.without(known).cost, _cells(len(plan.keys), *synthetic.frame.shape))

        return self._submit("check", "check", key, body, priced)

    def ask_choice(self, body: bodies.ChooseBody, key: str) -> tuple[ServiceJob, bool]:
        """Hand in a choice: the budget is the most that any option may cost."""

        def priced() -> Priced:
            options, budget = body.mechanisms(self.schema), Budget.parse(body.budget)
            return Priced(budget.limit, NO_CELLS * len(options) * len(self.schema.attributes))

        return self._submit("choose", "choose", key, body, priced)

    def ask_step(self, kind: str, choice: str, body: bodies.RequestBody, key: str) -> tuple[ServiceJob, bool]:
        """Hand in the next step of a choice: finish, advance, refine or abandon."""

        def priced() -> Priced:
            view = self.choice(choice)
            stands = json.dumps({"choice": choice, "charged": view.charged.to_dict()})
            asked = (
                Budget.parse(f"rho={body.rho}").limit if isinstance(body, bodies.RefineBody) else Cost.ZERO
            )
            return Priced(asked, NO_CELLS * len(self.schema.attributes), stands)

        return self._submit(kind, f"{kind}/{choice}", key, body, priced)

    def _submit(
        self, kind: str, route: str, key: str, body: bodies.RequestBody, priced: Callable[[], Priced]
    ) -> tuple[ServiceJob, bool]:
        access, config = self.access, self.service.config
        written = json.dumps(body.model_dump(mode="json", by_alias=True), sort_keys=True)
        order = JobOrder(
            self.dataset.name, access.caller.person.id, access.spender, kind, route, key, body=written
        )
        earlier = self.service.jobs.earlier(order)
        if earlier is not None:
            return earlier, False
        found = priced()
        if self.dataset.condition != OPEN:
            raise RefusedError(
                "serve.data-not-open",
                "No worker has opened the data of this dataset.",
                "Try again in a while, or ask its curator to look at the worker.",
            )
        self._require_room(found.cost)
        order = replace(order, price=json.dumps(found.cost.to_dict()), stands=found.stands)
        facts = SlotFacts(kind, found.cells, self.dataset.largest_rows, max(1, config.workers))
        return self.service.jobs.submit(order, facts if config.slots else None)

    def _require_room(self, price: Cost) -> None:
        if price == Cost.ZERO:
            return
        spender = self.access.spender
        if spender is not None and spender not in self.ledger.grants:
            raise BudgetExhausted(
                "budget.no-grant", "You have no grant in this dataset.", "Ask its curator for one."
            )
        left = self.remaining().cost
        if not price <= left:
            raise BudgetExhausted(
                "budget.exhausted",
                f"This needs {price} per person, and {left} is left.",
                "Ask for less, or ask the curator for more.",
            )

    # Jobs

    def job(self, job: str) -> ServiceJob:
        """A job within reach."""
        found = self.service.jobs.get(self.dataset.name, job)
        if found is None or self.access.only not in (None, found.person):
            raise AbsentError("job")
        return found

    def jobs(self, after: str, kind: str | None = None) -> Listed:
        """Jobs within reach, newest first."""
        now = time.time()
        found = self.service.jobs.listed(self.dataset.name, self.access.only, after, MOST_LISTED, kind)
        return Listed.of(found, lambda one: one.to_dict(now))

    def cancel(self, job: str) -> ServiceJob:
        """Cancel a job whose time to be begun has not come."""
        found = self.job(job)
        if not self.service.jobs.cancel(found):
            raise RefusedError(
                "job.begun",
                "The time to cancel this job is over: it may have been charged.",
                "Wait for its answer.",
            )
        return self.job(job)

    # Releases

    def kept(self, release: str) -> KeptRelease:
        """A release within reach."""
        found = self.service.shelf.get(self.dataset.name, release)
        if found is None or not self.access.sees(found, time.time()):
            raise AbsentError("release")
        return found

    def release(self, release: str) -> Release:
        """The tables of a release within reach."""
        kept = self.kept(release)
        if kept.kind != "tables":
            raise RefusedError(
                "release.no-tables", "This release has answers and no tables.", "Read it as it is."
            )
        return self.service.shelf.load(kept.id)

    def releases(self, after: str) -> Listed:
        """Releases within reach, newest first."""
        now, shown = time.time(), list[KeptRelease]()
        while len(shown) < MOST_LISTED:
            found = self.service.shelf.listed(self.dataset.name, after, MOST_LISTED)
            shown += [one for one in found if self.access.sees(one, now)]
            if len(found) < MOST_LISTED:
                break
            after = found[-1].id
        return Listed.of(shown, KeptRelease.to_dict)

    # Choices

    def choice(self, choice: str) -> ChoiceView:
        """A choice within reach, as it stands in the ledger, once the slot of its last step has ended."""
        found = self.service.jobs.making(self.dataset.name, "choose", choice)
        unknown = found is None or self.access.only not in (None, found.person)
        if unknown or found is None or found.shown(time.time()) != "done":
            raise AbsentError("choice")
        if self.service.jobs.unended(self.dataset.name, [f"{step}/{choice}" for step in STEPS]):
            raise RefusedError(
                "choice.waiting", "A step of this choice is waiting.", "Look again when its job is done."
            )
        return released.ChoiceView(self.ledger, choice, schema=self.schema)

    def choice_told(self, choice: str) -> dict[str, Any]:
        """How a choice stands; who may not see the ledger gets no head, and what is left for them.

        Both of the ledger's own move with everybody's spends, at the moment when a worker charges one.
        """
        told = self.choice(choice).to_dict()
        if self.access.role in ROUTES["ledger"].reach:
            return told
        stamp = {name: value for name, value in told["card"]["ledger"].items() if name != "head"}
        return told | {"remaining": str(self.remaining()), "card": told["card"] | {"ledger": stamp}}

    def choices(self, after: str) -> Listed:
        """Choices within reach, newest first."""
        found = self.service.jobs.listed(self.dataset.name, self.access.only, after, MOST_LISTED, "choose")
        now = time.time()

        def told(one: ServiceJob) -> dict[str, Any]:
            return {"id": one.request, "job": one.id, "submitted": one.submitted, "state": one.shown(now)}

        return Listed.of(found, told)

    def noted(self, action: str, do: Callable[[], Any]) -> Any:
        """Do something and write down who did it and how it ended."""
        person, dataset = self.access.caller.person.id, self.dataset.name
        try:
            done = do()
        except HushtableError as error:
            self.service.deeds.note(action, error.code, person=person, dataset=dataset)
            raise
        self.service.deeds.note(action, "done", person=person, dataset=dataset)
        return done
