"""What each kind of job does with a session: one call of the library, under the job's own request id.

A job that is done again after a crash finds in the ledger what was stored, and buys nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hushtable.errors import RefusedError
from hushtable.privacy import Budget
from hushtable.release import Choice
from hushtable.service import bodies
from hushtable.service.catalogue import Dataset
from hushtable.service.jobs import ServiceJob
from hushtable.service.shelf import Shelf
from hushtable.session import Session, abandon_choice
from hushtable.watching import Progress, silent


class JobTools(NamedTuple):
    """What a job is done with."""

    session: Session
    dataset: Dataset
    shelf: Shelf
    job: ServiceJob
    progress: Progress = silent


class JobOutcome(NamedTuple):
    """The ``to_dict()`` of what the library gave, and the id of a release or choice that was made."""

    told: dict[str, Any]
    made: str | None = None

    @property
    def shown(self) -> dict[str, Any]:
        """What the person is told: not what was left when a worker came to it, which says what it had done by then."""
        return {name: value for name, value in self.told.items() if name != "remaining"}


def release(tools: JobTools) -> JobOutcome:
    """``Session.release``, and its bundle on the shelf."""
    body, session, job = bodies.ReleaseBody.model_validate_json(tools.job.body), tools.session, tools.job
    made = session.run(
        body.plan(session.schema, session.ledger.kind),
        request=job.request,
        wait=True,
        progress=tools.progress,
    )
    tools.shelf.keep(made, job, job.request)
    return JobOutcome(made.to_dict(), job.id)


def check(tools: JobTools) -> JobOutcome:
    """``Session.check``; answers that others paid for are free where the curator said so."""
    body, job = bodies.CheckBody.model_validate_json(tools.job.body), tools.job
    place, shelf = body.synthetic, tools.shelf
    file = (
        shelf.records(place.release)
        if place.release is not None
        else shelf.synthetic(job.dataset, job.person, place.upload or "")
    )
    if file is None:
        raise RefusedError("upload.absent", "There is no such upload.", "Upload the file again.")
    verdicts = tools.session.check(
        body.queries,
        shelf.synthetic_rows(file, tools.session.schema),
        **body.asked(),
        request=job.request,
        others=tools.dataset.shares_answers,
        wait=True,
    )
    return JobOutcome(verdicts.to_dict())


def choose(tools: JobTools) -> JobOutcome:
    """``Session.choose``; the choice is known by the request id."""
    body, job = bodies.ChooseBody.model_validate_json(tools.job.body), tools.job
    options = body.mechanisms(tools.session.schema)
    made = tools.session.choose(options, budget=Budget.parse(body.budget), request=job.request, wait=True)
    return JobOutcome(made.to_dict(), made.id)


def finish(tools: JobTools) -> JobOutcome:
    """``Choice.take``, and the bundle of what was taken on the shelf."""
    choice, _ = _choice(tools)
    made = choice.take(bodies.FinishBody.model_validate_json(tools.job.body).option)
    tools.shelf.keep(made, tools.job, choice.id)
    return JobOutcome(choice.to_dict(), tools.job.id)


def advance(tools: JobTools) -> JobOutcome:
    """``Choice.advance``, unless an interrupted attempt has done it."""
    choice, done = _choice(tools)
    if not done:
        choice.advance()
    return JobOutcome(choice.to_dict(), choice.id)


def refine(tools: JobTools) -> JobOutcome:
    """``Choice.refine``, unless an interrupted attempt has paid for it."""
    choice, done = _choice(tools)
    if not done:
        choice.refine(rho=bodies.RefineBody.model_validate_json(tools.job.body).rho)
    return JobOutcome(choice.to_dict(), choice.id)


def abandon(tools: JobTools) -> JobOutcome:
    """``abandon_choice``, unless an interrupted attempt has done it."""
    choice, _ = _choice(tools)
    ledger = tools.session.ledger
    if choice.state != "abandoned":
        abandon_choice(ledger, choice.id, wait=True)
    found = ledger.holding(choice.id)
    return JobOutcome({} if found is None else found.to_dict(), choice.id)


def _choice(tools: JobTools) -> tuple[Choice, bool]:
    """The choice of a step, and whether it went on since the step was handed in: one step waits at a time."""
    stands = json.loads(tools.job.stands)
    choice = tools.session.choice(stands["choice"], wait=True)
    return choice, choice.charged.to_dict() != stands["charged"]


KINDS: dict[str, Callable[[JobTools], JobOutcome]] = {
    one.__name__: one for one in (release, check, choose, finish, advance, refine, abandon)
}
"""What a job may be, by its kind."""
