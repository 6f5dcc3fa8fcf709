"""``fit`` and ``sample``, as people who come from other synthesizers expect: a release and its records in one object.

    synthesizer = Synthesizer(epsilon=1, schema="people.yaml", ledger="people.ledger")
    records = synthesizer.fit_sample(frame)

A thin shell over the session: ``fit`` is a release that is charged to a ledger, ``sample`` spends nothing.  The domain
is declared, never learnt from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import polars as pl

from hushtable.errors import RefusedError
from hushtable.marginals import Workload
from hushtable.privacy import ApproxDP, Budget
from hushtable.release import Release
from hushtable.schema import Schema
from hushtable.session import Session

DELTA = "1e-9"
ORDER = 3
"""Records follow all tables of three attributes, on which the benchmarks were made; with more they cost more noise."""


class Synthesizer:
    """Differentially private records of a table.

    ``epsilon`` with ``delta`` is the price of each ``fit``, or give a ``budget``.  ``schema`` is a schema, a file, a
    dict of one, or a domain such as ``{"age": 28, "sex": 2}``.  ``ledger`` is the account; it is created with the price
    of one fit when it does not exist, so that a second fit is refused until its budget is raised.
    """

    def __init__(
        self,
        *,
        schema: Schema | Mapping[str, Any] | str | PathLike[str],
        ledger: str | PathLike[str],
        epsilon: Any = 1,
        delta: Any = DELTA,
        budget: Budget | None = None,
        order: int = ORDER,
        strategy: str = "auto",
    ) -> None:
        self.schema = _schema(schema)
        self.ledger = ledger
        self.budget = ApproxDP(epsilon=epsilon, delta=delta) if budget is None else budget
        self.order = order
        self.strategy = strategy
        self.release_: Release | None = None
        self._pandas = False

    def fit(self, data: Any) -> Synthesizer:
        """Release all tables of ``order`` attributes, or of all if there are fewer, and keep them as ``release_``."""
        session = Session.open(data, schema=self.schema, ledger=self.ledger, budget=self.budget)
        workload = Workload.all_marginals(self.schema, order=min(self.order, len(self.schema.attributes)))
        self.release_ = session.release(workload, budget=self.budget, strategy=self.strategy)
        self._pandas = type(data).__module__.partition(".")[0] == "pandas"
        return self

    def sample(self, rows: int | None = None, *, seed: object = 0) -> Any:
        """Records, as many as the released total says unless ``rows`` is given; pandas if ``fit`` got pandas."""
        if self.release_ is None:
            raise RefusedError(
                "synthesizer.not-fitted", "There is nothing to sample from.", "Call fit first."
            )
        frame: pl.DataFrame = self.release_.microdata(rows=rows, seed=seed)
        return frame.to_pandas() if self._pandas else frame

    def fit_sample(self, data: Any, rows: int | None = None) -> Any:
        """``fit``, then ``sample``."""
        return self.fit(data).sample(rows)

    def __repr__(self) -> str:
        state = "fitted" if self.release_ is not None else "not fitted"
        return f"<Synthesizer of {len(self.schema.attributes)} attributes, {self.budget} per fit, {state}>"


def _schema(given: Schema | Mapping[str, Any] | str | PathLike[str]) -> Schema:
    """A schema, also from a domain of sizes."""
    if isinstance(given, Mapping) and given and all(type(size) is int for size in given.values()):
        return Schema.from_domain(given)
    return Schema.of(given)
