"""A dataset at a service: plans, releases, checks, choices and the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

from hushtable_client.choices import Choice
from hushtable_client.connection import Connection
from hushtable_client.jobs import Job, hand_in
from hushtable_client.releases import Release

KINDS = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}
Tables = int | Sequence[Sequence[str]]
"""All tables of so many attributes, or those that are listed."""
Synthetic = Release | str | Path
"""Records of a release, the id of an upload, or a file to upload."""
Queries = str | Sequence[str]


class Dataset:
    """A dataset, by its name."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self.name = connection, name
        self._place = f"/v1/datasets/{name}"

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Schema, unit, budget, one's role."""
        return self._connection.get(self._place)

    @property
    def remaining(self) -> dict[str, Any]:
        """What one may still spend."""
        return self._connection.get(f"{self._place}/remaining")

    # releases

    def plan(self, tables: Tables, *, budget: str, **way: Any) -> dict[str, Any]:
        """Noise, price and expected errors of a release; spends nothing."""
        return self._connection.post(
            f"{self._place}/plan", {**_workload(tables), "budget": budget, **way}
        ).json()

    @overload
    def release(
        self, tables: Tables, *, budget: str, key: str | None = None, wait: Literal[True] = True, **way: Any
    ) -> Release: ...
    @overload
    def release(
        self, tables: Tables, *, budget: str, key: str | None = None, wait: Literal[False], **way: Any
    ) -> Job: ...
    def release(
        self, tables: Tables, *, budget: str, key: str | None = None, wait: bool = True, **way: Any
    ) -> Release | Job:
        """Measure tables and pay for them.  ``way`` is strategy, reconstruct, objective, reuse, weights."""
        job = self._hand_in("releases", {**_workload(tables), "budget": budget, **way}, key)
        if not wait:
            return job
        job.result()
        return Release(self._connection, self.name, str(job.made))

    def releases(self) -> list[Release]:
        """Releases that one may see, newest first."""
        found = self._connection.items(f"{self._place}/releases")
        return [Release(self._connection, self.name, one["id"]) for one in found]

    def release_named(self, release: str) -> Release:
        """A release by its id."""
        return Release(self._connection, self.name, release)

    # checks

    def upload(self, file: str | Path) -> str:
        """Upload a synthetic file, CSV or Parquet, to check answers of; gives its id."""
        path = Path(file)
        kind = KINDS.get(path.suffix, "text/csv")
        told = self._connection.send("POST", f"{self._place}/synthetic", content=path.read_bytes(), kind=kind)
        return str(told.json()["id"])

    def plan_check(
        self, query: Queries, synthetic: Synthetic, *, tau: float | str, budget: str, **way: Any
    ) -> dict[str, Any]:
        """Price and errors of a check; spends nothing.  ``way`` is decider, largest, beta, distances."""
        body = {**self._question(query, synthetic, tau, budget), **way}
        return self._connection.post(f"{self._place}/checks/plan", body).json()

    @overload
    def check(
        self,
        query: Queries,
        synthetic: Synthetic,
        *,
        tau: float | str,
        budget: str,
        key: str | None = None,
        wait: Literal[True] = True,
        **way: Any,
    ) -> dict[str, Any]: ...
    @overload
    def check(
        self,
        query: Queries,
        synthetic: Synthetic,
        *,
        tau: float | str,
        budget: str,
        key: str | None = None,
        wait: Literal[False],
        **way: Any,
    ) -> Job: ...
    def check(
        self,
        query: Queries,
        synthetic: Synthetic,
        *,
        tau: float | str,
        budget: str,
        key: str | None = None,
        wait: bool = True,
        **way: Any,
    ) -> dict[str, Any] | Job:
        """Ask whether answers of synthetic rows can be trusted: verdicts, what is left, the ledger's head."""
        job = self._hand_in("checks", {**self._question(query, synthetic, tau, budget), **way}, key)
        return job.result() if wait else job

    def _question(
        self, query: Queries, synthetic: Synthetic, tau: float | str, budget: str
    ) -> dict[str, Any]:
        asked: Any = query if isinstance(query, str) else list(query)
        return {"query": asked, "synthetic": self._rows(synthetic), "tau": tau, "budget": budget}

    def _rows(self, synthetic: Synthetic) -> dict[str, str]:
        if isinstance(synthetic, Release):
            return {"release": synthetic.id}
        if isinstance(synthetic, Path) or Path(synthetic).suffix in KINDS:
            return {"upload": self.upload(synthetic)}
        return {"upload": synthetic}

    # choices

    def choose(
        self,
        *,
        orders: Sequence[int] = (),
        options: Sequence[str] = (),
        budget: str,
        key: str | None = None,
    ) -> Choice:
        """Release what several analyses have in common; ``options`` are texts of files of options."""
        job = self._hand_in(
            "choices", {"orders": list(orders), "options": list(options), "budget": budget}, key
        )
        job.result()
        return Choice(self._connection, self.name, str(job.made))

    def choices(self) -> list[Choice]:
        """Choices that one may see, newest first."""
        found = self._connection.items(f"{self._place}/choices")
        return [Choice(self._connection, self.name, one["id"]) for one in found]

    def choice(self, choice: str) -> Choice:
        """A choice by its id."""
        return Choice(self._connection, self.name, choice)

    # jobs and the account

    def jobs(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Jobs, newest first."""
        return list(self._connection.items(f"{self._place}/jobs", kind=kind))

    def ledger(self) -> dict[str, Any]:
        """The account, for curators and auditors."""
        return self._connection.get(f"{self._place}/ledger")

    def verify(self, head: str | None = None) -> dict[str, Any]:
        """Recompute the ledger's chain; ``head`` is one that it must contain."""
        return self._connection.get(f"{self._place}/ledger/verify", head=head)

    def export(self) -> dict[str, Any]:
        """Every entry of the ledger."""
        return self._connection.get(f"{self._place}/ledger/export")

    def proof(self, entry: int | None = None) -> dict[str, Any]:
        """The chain from an entry to the head, which proves that the entry is in it; by default of the last one."""
        return self._connection.get(f"{self._place}/ledger/proof", entry=entry)

    def grant(self, person: str, budget: str) -> dict[str, Any]:
        """Let a member spend up to a total; for curators."""
        return self._connection.post(
            f"{self._place}/ledger/grants", {"person": person, "budget": budget}
        ).json()

    def raise_budget(self, budget: str) -> dict[str, Any]:
        """Raise the budget to a new total; for curators."""
        return self._connection.post(f"{self._place}/ledger/raise", {"budget": budget}).json()

    def _hand_in(self, path: str, body: dict[str, Any], key: str | None) -> Job:
        return hand_in(self._connection, self.name, path, body, key)


def _workload(tables: Tables) -> dict[str, Any]:
    return {"order": tables} if isinstance(tables, int) else {"marginals": [list(one) for one in tables]}
