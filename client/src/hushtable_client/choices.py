"""A choice between analyses at a service: look at what they have in common, then take one, or none."""

from __future__ import annotations

from typing import Any

from hushtable_client.connection import Connection
from hushtable_client.jobs import Job, hand_in
from hushtable_client.releases import Release


class Choice:
    """A choice, by its id."""

    def __init__(self, connection: Connection, dataset: str, choice: str) -> None:
        self._connection, self.dataset, self.id = connection, dataset, choice

    def __repr__(self) -> str:
        return f"<Choice {self.id} of {self.dataset!r}>"

    def to_dict(self) -> dict[str, Any]:
        """How it stands, as the library's ``choice.to_dict()`` says it."""
        return self._connection.get(f"/v1/datasets/{self.dataset}/choices/{self.id}")

    def finish(self, option: int, *, key: str | None = None) -> Release:
        """Take an option and pay the difference; gives its release."""
        job = self._step("finish", {"option": option}, key)
        job.result()
        return Release(self._connection, self.dataset, str(job.made))

    def advance(self, *, key: str | None = None) -> dict[str, Any]:
        """Pass the coarsest open option by."""
        return self._step("advance", {}, key).result()

    def refine(self, rho: str, *, key: str | None = None) -> dict[str, Any]:
        """Buy the common part once more."""
        return self._step("refine", {"rho": rho}, key).result()

    def abandon(self, *, key: str | None = None) -> dict[str, Any]:
        """Take none, and free the rest."""
        return self._step("abandon", {}, key).result()

    def _step(self, verb: str, body: dict[str, Any], key: str | None) -> Job:
        return hand_in(self._connection, self.dataset, f"choices/{self.id}/{verb}", body, key)
