"""A release at a service: its tables, ranges, quantiles and records, with the names that the library gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hushtable_client.connection import Connection
from hushtable_client.frames import frame_of

KINDS = {"csv": "csv", "parquet": "parquet"}


class Release:
    """A release, by its id; nothing here spends."""

    def __init__(self, connection: Connection, dataset: str, release: str) -> None:
        self._connection, self.dataset, self.id = connection, dataset, release
        self._place = f"/v1/datasets/{dataset}/releases/{release}"

    def __repr__(self) -> str:
        return f"<Release {self.id} of {self.dataset!r}>"

    def to_dict(self) -> dict[str, Any]:
        """What ``release.to_dict()`` of the library gives: card, workload, quality."""
        return self._connection.get(self._place)

    def table(
        self, *attributes: str, alpha: float = 0.05, simultaneous: bool = False, value: str = "count"
    ) -> Any:
        """A table with estimates, errors and intervals; without attributes the total.

        ``value`` may be sum(X), mean(X), share(A), share(A, X) or rate(X, Y).
        """
        asked: dict[str, Any] = {"alpha": alpha, "simultaneous": str(simultaneous).lower()}
        asked |= {} if value == "count" else {"value": value}
        return self._frame("table", attribute=list(attributes), **asked)

    def range(
        self, attribute: str, low: Any, high: Any, *, by: Sequence[str] = (), alpha: float = 0.05
    ) -> Any:
        """An interval of an ordered attribute, exact in its error."""
        return self._frame("range", interval=f"{attribute}={low}-{high}", by=list(by), alpha=alpha)

    def quantile(
        self,
        attribute: str,
        at: float | Sequence[float] = 0.5,
        *,
        by: Sequence[str] = (),
        alpha: float = 0.05,
    ) -> Any:
        """Quantiles with intervals."""
        places = [at] if isinstance(at, int | float) else list(at)
        return self._frame("quantile", attribute=attribute, at=places, by=list(by), alpha=alpha)

    def area(
        self,
        leaves: Sequence[str],
        attribute: str | None = None,
        *,
        by: Sequence[str] = (),
        alpha: float = 0.05,
    ) -> Any:
        """Categories of a tree together, of the one attribute with a tree unless another is named."""
        named = {} if attribute is None else {"attribute": attribute}
        return self._frame("area", leaf=list(leaves), by=list(by), alpha=alpha, **named)

    def replicates(self, number: int = 80, *attributes: str) -> Any:
        """Draws of the noise beside a table."""
        return self._frame("replicates", number=number, attribute=list(attributes))

    def combine(self, weights: Sequence[Mapping[str, Any]], *, alpha: float = 0.05) -> Any:
        """Weighted sums of released cells: rows with attribute values, ``weight`` and perhaps ``name``."""
        body = {"weights": [dict(row) for row in weights], "alpha": alpha}
        return frame_of(_rows(self._connection.post(f"{self._place}/combine", body).json()))

    def accuracy(self, *, alpha: float = 0.05) -> Any:
        """Errors of all tables."""
        return frame_of(self._connection.get(f"{self._place}/accuracy", alpha=alpha)["tables"])

    def microdata(self, file: str | Path, *, format: str | None = None) -> Path:
        """Write records made from the release, as CSV or Parquet by the name of the file; gives its path."""
        place = Path(file)
        kind = format or KINDS.get(place.suffix[1:], "csv")
        answer = self._connection.send("GET", f"{self._place}/microdata", parameters={"format": kind})
        place.write_bytes(answer.content)
        return place

    def report(self, file: str | Path) -> Path:
        """Write the report, one HTML file; gives its path."""
        place = Path(file)
        place.write_bytes(self._connection.send("GET", f"{self._place}/report").content)
        return place

    def publish(self, at: float | None = None) -> dict[str, Any]:
        """Show it to readers, at once or from a time on (seconds since 1970); for curators."""
        return self._connection.post(f"{self._place}/publish", {} if at is None else {"at": at}).json()

    def _frame(self, verb: str, **parameters: Any) -> Any:
        return frame_of(_rows(self._connection.get(f"{self._place}/{verb}", **parameters)))


def _rows(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(row) for row in told["rows"]]
