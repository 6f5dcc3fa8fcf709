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


class Bench(NamedTuple):
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


def release(bench: Bench) -> JobOutcome:
    """``Session.release``, and its bundle on the shelf."""
    body, session, job = bodies.ReleaseBody.model_validate_json(bench.job.body), bench.session, bench.job
    made = session.run(
        body.plan(session.schema, session.ledger.kind),
        request=job.request,
        wait=True,
        progress=bench.progress,
    )
    bench.shelf.keep(made, job, job.request)
    return JobOutcome(made.to_dict(), job.id)


def check(bench: Bench) -> JobOutcome:
    """``Session.check``; answers that others paid for are free where the curator said so."""
    body, job = bodies.CheckBody.model_validate_json(bench.job.body), bench.job
    place, shelf = body.synthetic, bench.shelf
    file = (
        shelf.records(place.release)
        if place.release is not None
        else shelf.synthetic(job.dataset, job.person, place.upload or "")
    )
    if file is None:
        raise RefusedError("upload.absent", "There is no such upload.", "Upload the file again.")
    verdicts = bench.session.check(
        body.queries,
        shelf.synthetic_rows(file, bench.session.schema),
        **body.asked(),
        request=job.request,
        others=bench.dataset.shares_answers,
        wait=True,
    )
    return JobOutcome(verdicts.to_dict())


def choose(bench: Bench) -> JobOutcome:
    """``Session.choose``; the choice is known by the request id."""
    body, job = bodies.ChooseBody.model_validate_json(bench.job.body), bench.job
    options = body.mechanisms(bench.session.schema)
    made = bench.session.choose(options, budget=Budget.parse(body.budget), request=job.request, wait=True)
    return JobOutcome(made.to_dict(), made.id)


def finish(bench: Bench) -> JobOutcome:
    """``Choice.take``, and the bundle of what was taken on the shelf."""
    choice, _ = _choice(bench)
    made = choice.take(bodies.FinishBody.model_validate_json(bench.job.body).option)
    bench.shelf.keep(made, bench.job, choice.id)
    return JobOutcome(choice.to_dict(), bench.job.id)


def advance(bench: Bench) -> JobOutcome:
    """``Choice.advance``, unless an interrupted attempt has done it."""
    choice, done = _choice(bench)
    if not done:
        choice.advance()
    return JobOutcome(choice.to_dict(), choice.id)


def refine(bench: Bench) -> JobOutcome:
    """``Choice.refine``, unless an interrupted attempt has paid for it."""
    choice, done = _choice(bench)
    if not done:
        choice.refine(rho=bodies.RefineBody.model_validate_json(bench.job.body).rho)
    return JobOutcome(choice.to_dict(), choice.id)


def abandon(bench: Bench) -> JobOutcome:
    """``abandon_choice``, unless an interrupted attempt has done it."""
    choice, _ = _choice(bench)
    ledger = bench.session.ledger
    if choice.state != "abandoned":
        abandon_choice(ledger, choice.id, wait=True)
    found = ledger.holding(choice.id)
    return JobOutcome({} if found is None else found.to_dict(), choice.id)


def _choice(bench: Bench) -> tuple[Choice, bool]:
    """The choice of a step, and whether it went on since the step was handed in: one step waits at a time."""
    stands = json.loads(bench.job.stands)
    choice = bench.session.choice(stands["choice"], wait=True)
    return choice, choice.charged.to_dict() != stands["charged"]


KINDS: dict[str, Callable[[Bench], JobOutcome]] = {
    one.__name__: one for one in (release, check, choose, finish, advance, refine, abandon)
}
"""What a job may be, by its kind."""
