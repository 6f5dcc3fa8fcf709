"""A rehearsal: the whole release on data that are not confidential any more, before anything is spent.

Each run has a session and a ledger of its own, which are thrown away; the true errors are those that a curator would
see of a release (``Session.evaluate``), and may be shown because the data are not confidential.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hushtable.addresses import name_of
from hushtable.ledger import require_not_confidential
from hushtable.release import Rehearsal, Way, checked_runs, plan_release
from hushtable.schema import Schema
from hushtable.session import Session
from hushtable.watching import silent

if TYPE_CHECKING:
    from hushtable.marginals import Workload
    from hushtable.privacy import Budget
    from hushtable.reconstruct import Evaluation
    from hushtable.schema import SchemaLike


def rehearse(
    data: Any,
    *,
    schema: SchemaLike,
    workload: Workload,
    budget: Budget,
    way: Way | None = None,
    runs: int = 20,
    ledger: str | PathLike[str] | None = None,
    progress: Any = None,
) -> Rehearsal:
    """Make the release several times and say how wrong it was; nothing is charged or kept.

    ``way`` is how it is measured and read, by default as ``Session.release`` does.  Refused for the data of a ledger:
    of ``ledger``, where it knows them, and of one of their name beside them.
    """
    declared, count = Schema.of(schema), checked_runs(runs)
    require_not_confidential(data, ledger)
    plan = plan_release(declared, workload, budget, way or Way("auto"))
    told = progress or silent
    found: list[Evaluation] = []
    for run in range(count):
        told("rehearsing", run, count)
        with TemporaryDirectory() as folder:
            own = Session.open(data, schema=declared, ledger=Path(folder) / "rehearsal", budget=budget)
            found.append(own.evaluate(own.run(plan), confidential=True))
    told("rehearsing", count, count)
    return Rehearsal.of(name_of(data), plan, found)
