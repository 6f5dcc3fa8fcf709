"""The datasets of a service as everybody may know them: schema, ledger, declared size.  Where rows are is not here."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hushtable.addresses import scheme_of
from hushtable.errors import RefusedError
from hushtable.ledger import Ledger
from hushtable.schema import Schema
from hushtable.service.config import ServeConfig
from hushtable.service.storage import Record, Storage

CLOSED, OPEN, GONE = "closed", "open", "gone"
"""Conditions of a dataset: no worker has opened its data yet; one has; its data cannot be opened any more."""


@dataclass(frozen=True)
class Dataset:
    """One dataset."""

    name: str
    schema_yaml: str
    ledger_address: str
    largest_rows: int
    shares_answers: bool
    two_curators: bool
    condition: str

    @property
    def schema(self) -> Schema:
        """What is declared of its rows."""
        return _schema(self.schema_yaml)

    @property
    def ledger(self) -> Ledger:
        """Its account of privacy, kept open."""
        return opened_ledger(self.ledger_address)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        unit = self.ledger.unit
        return {
            "name": self.name,
            "schema": self.schema.to_dict(),
            "unit": None if unit is None else unit.to_dict(),
            "budget": str(self.ledger.budget),
            "largest_rows": self.largest_rows,
            "condition": self.condition,
        }


@lru_cache(maxsize=64)
def _schema(written: str) -> Schema:
    return Schema.loads(written)


_LEDGERS: dict[str, Ledger] = {}
_OPENING = threading.Lock()


def opened_ledger(address: str) -> Ledger:
    """A ledger that stays open: it reads what other processes wrote before it answers."""
    with _OPENING:
        if address not in _LEDGERS:
            _LEDGERS[address] = Ledger.open(address)
        return _LEDGERS[address]


class Catalogue:
    """The table of datasets."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def declare(self, config: ServeConfig) -> None:
        """Write down what the configuration says of its datasets; schemas that curators changed stay."""
        for name, one in config.datasets.items():
            if scheme_of(one.ledger, ()) is None and not Path(one.ledger).exists():
                raise RefusedError(
                    "serve.no-ledger",
                    f"The ledger of the dataset {name} does not exist.",
                    f"Type `hush ledger create {one.ledger} --budget rho=0.5`, with a budget that you decide on.",
                )
            opened_ledger(one.ledger)
            written = Schema.load(one.schema_file).to_yaml()
            with self._storage.writing() as rows:
                known = rows.one("SELECT name FROM dataset WHERE name = ?", name)
                flags = (one.share_answers, one.two_curators)
                if known is None:
                    self._add(Dataset(name, written, one.ledger, one.largest_rows, *flags, CLOSED), rows)
                else:
                    rows.run(
                        "UPDATE dataset SET ledger = ?, largest_rows = ?, shares_answers = ?, two_curators = ? "
                        "WHERE name = ?",
                        one.ledger,
                        one.largest_rows,
                        *map(int, flags),
                        name,
                    )

    @staticmethod
    def _add(dataset: Dataset, rows: Any) -> bool:
        return rows.add(
            "dataset",
            name=dataset.name,
            schema_yaml=dataset.schema_yaml,
            ledger=dataset.ledger_address,
            largest_rows=dataset.largest_rows,
            shares_answers=int(dataset.shares_answers),
            two_curators=int(dataset.two_curators),
            condition=dataset.condition,
        )

    def add(self, dataset: Dataset) -> bool:
        """A new dataset; False where the name is taken."""
        with self._storage.writing() as rows:
            return self._add(dataset, rows)

    def named(self, name: str) -> Dataset | None:
        """The dataset of a name."""
        with self._storage.reading() as rows:
            return _dataset(rows.one("SELECT * FROM dataset WHERE name = ?", name))

    def all(self) -> list[Dataset]:
        """Every dataset."""
        with self._storage.reading() as rows:
            found = rows.all("SELECT * FROM dataset ORDER BY name")
        return [one for one in map(_dataset, found) if one is not None]

    def set_condition(self, name: str, condition: str) -> None:
        """What a worker found when it opened the data."""
        with self._storage.writing() as rows:
            rows.run("UPDATE dataset SET condition = ? WHERE name = ?", condition, name)

    def set_schema(self, name: str, written: str) -> None:
        """Another schema, which the next job is asked under; its data are opened anew."""
        with self._storage.writing() as rows:
            changed = "UPDATE dataset SET schema_yaml = ?, condition = ? WHERE name = ?"
            rows.run(changed, written, CLOSED, name)


def _dataset(row: Record | None) -> Dataset | None:
    if row is None:
        return None
    public = (row["name"], row["schema_yaml"], row["ledger"], row["largest_rows"])
    return Dataset(*public, bool(row["shares_answers"]), bool(row["two_curators"]), row["condition"])
