"""A service: the datasets that one has a role in, and who one is."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from hushtable_client.connection import Connection
from hushtable_client.dataset import Dataset


def connect(url: str, token: str, *, timeout: float = 60.0) -> Service:
    """A service by its address and a token, which one makes on its page or by ``hush user``.

    Who one is is asked at once, so that a wrong address, token or version is told here.
    """
    made = Service(Connection(url, token, timeout=timeout))
    made.me()
    return made


class Service:
    """A connection to a service; close it, or use it in a ``with`` block."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def me(self) -> dict[str, Any]:
        """Name, roles and scopes."""
        return self._connection.get("/v1/me")

    def datasets(self) -> dict[str, str]:
        """One's roles by dataset."""
        return {one["name"]: one["role"] for one in self._connection.items("/v1/datasets")}

    def dataset(self, name: str) -> Dataset:
        """A dataset by its name."""
        return Dataset(self._connection, name)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
