"""What was handed in and is not shown yet: its price counts as spent, its charge in the ledger does not.

So what is left moves when a job is handed in and not again until its slot has ended, whenever a worker charges it.
Jobs that were never begun or are done are added up by the database; the ledger is asked about the few in between.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator

from hushtable.ledger import Holding, Ledger
from hushtable.privacy import Cost
from hushtable.service.jobs import UNSEEN
from hushtable.service.storage import Record, Storage, TableRows

_NONE = "CAST(NULL AS TEXT)"
"""In words of SQL, no text: PostgreSQL wants to know of what type nothing is."""


class HiddenSpends:
    """The jobs of a dataset that nobody may see yet."""

    def __init__(self, storage: Storage, dataset: str, ledger: Ledger) -> None:
        self._storage, self._dataset, self._ledger = storage, dataset, ledger

    def shown(self, holdings: Collection[Holding]) -> list[Holding]:
        """Those of the ledger's holdings whose slots have ended."""
        names = [one.reservation.request for one in holdings if one.reservation.request is not None]
        if not names:
            return list(holdings)
        marks = ", ".join("?" * len(names))
        asked = f"SELECT request FROM job WHERE dataset = ? AND request IN ({marks}) AND {UNSEEN}"
        with self._storage.reading() as rows:
            hidden = {row["request"] for row in rows.all(asked, self._dataset, *names, time.time())}
        return [one for one in holdings if one.reservation.request not in hidden]

    def left(self, spender: str | None) -> Cost:
        """What is left of the account of a spender, or of the dataset, by what may be seen."""
        ledger = self._ledger
        with ledger.still() as entries, self._storage.reading() as rows:
            left = ledger.limit(spender) - ledger.spent(spender) - ledger.held(spender)
            parts = list(self._parts(rows, spender, entries))
        left = sum((charged for charged, _ in parts), left)
        for _, price in parts:
            left = Cost(
                max(0, left.xi - price.xi), max(0, left.rho - price.rho), max(0, left.delta - price.delta)
            )
        return left

    def _parts(self, rows: TableRows, spender: str | None, entries: int) -> Iterator[tuple[Cost, Cost]]:
        """What the ledger's first entries charge, and what was priced, of all jobs that are alike.

        In one question: between two of them a job goes from one part to the next, and would count twice or not at all.
        """
        whose, who = ("", ()) if spender is None else ("AND spender = ?", (spender,))
        among, mine = f"FROM job WHERE dataset = ? {whose} AND", (self._dataset, *who)
        done, now = f"{among} state IN ('done', 'refused') AND slot > ? AND entries", time.time()
        found = rows.all(
            f"SELECT {_NONE} AS request, price, {_NONE} AS charged, count(*) AS n {among} state = 'queued' "
            f"AND attempts = 0 GROUP BY price "
            f"UNION ALL SELECT {_NONE}, price, charged, count(*) {done} <= ? GROUP BY price, charged "
            f"UNION ALL SELECT request, price, {_NONE}, 1 {among} state IN ('queued', 'running') AND attempts > 0 "
            f"UNION ALL SELECT request, price, {_NONE}, 1 {done} > ?",
            *mine, *mine, now, entries, *mine, *mine, now, entries,
        )  # fmt: skip
        for row in found:
            yield self._charged(row), _times(row["price"], row["n"])

    def _charged(self, row: Record) -> Cost:
        """Of jobs that are done, as they say; of one in between, as the ledger says."""
        if row["request"] is None:
            return Cost.ZERO if row["charged"] is None else _times(row["charged"], row["n"])
        found = self._ledger.holding(row["request"])
        return Cost.ZERO if found is None else found.drawn + found.held


def _times(written: str, count: int) -> Cost:
    one = Cost.from_dict(json.loads(written))
    return Cost(one.xi * count, one.rho * count, one.delta * count)
