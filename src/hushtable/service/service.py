"""A service in one process: its configuration, its tables, and what is written down of deeds."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hushtable.service.catalogue import Catalogue
from hushtable.service.config import ServeConfig
from hushtable.service.jobs import Jobs
from hushtable.service.shelf import Shelf
from hushtable.service.storage import Record, Storage, new_id, storage_at
from hushtable.service.users import Users


class Deeds:
    """Who did what, and how it ended; no values, no bodies."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def note(
        self, action: str, outcome: str, *, person: str | None = None, dataset: str | None = None
    ) -> None:
        """Write one down."""
        with self._storage.writing() as rows:
            rows.add(
                "deed",
                id=new_id(),
                at=time.time(),
                person=person,
                dataset=dataset,
                action=action,
                outcome=outcome,
            )

    def listed(self, dataset: str, after: str, most: int) -> list[Record]:
        """Deeds in a dataset, newest first."""
        asked = (
            "SELECT d.id, d.at, p.name AS person, d.action, d.outcome FROM deed d "
            "LEFT JOIN person p ON p.id = d.person WHERE d.dataset = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?"
        )
        with self._storage.reading() as rows:
            return rows.all(asked, dataset, after or "~", most)


@dataclass(frozen=True)
class Service:
    """All that web processes and workers share."""

    config: ServeConfig
    storage: Storage
    users: Users
    catalogue: Catalogue
    jobs: Jobs
    shelf: Shelf
    deeds: Deeds

    @classmethod
    def open(cls, config: ServeConfig) -> Service:
        """Open the tables, making them where there are none, and write down the configured datasets."""
        storage = storage_at(config.database)
        storage.prepare()
        shelf = Shelf(storage, config.folder)
        shelf.prepare()
        made = cls(config, storage, Users(storage), Catalogue(storage), Jobs(storage), shelf, Deeds(storage))
        made.catalogue.declare(config)
        return made
