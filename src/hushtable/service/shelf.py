"""The releases that a service keeps: bundles in its folder, which never change, and synthetic files that were uploaded.

Everything here was paid for before, or came from outside: it may be read by the web, and none of it opens data.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hushtable import deciders
from hushtable import release as released
from hushtable.errors import UsageError
from hushtable.outputs import whole_file
from hushtable.service.jobs import ServiceJob
from hushtable.service.storage import Record, Storage, new_id
from hushtable.service.unpacking import require_readable

if TYPE_CHECKING:
    import polars as pl

    from hushtable.deciders import Synthetic
    from hushtable.release import QueryRelease, Release
    from hushtable.schema import Schema

KEPT_IN_MEMORY = 16
"""Releases that stay loaded in a process: those that people look at in one morning.  Each may take some megabytes."""
KEPT_FILES, LARGEST_KEPT = 256, 1 << 20
"""Synthetic files whose rows stay in memory, and how many bytes each may have: a quarter of a gigabyte at most, and of
larger files reading is not what takes long."""
KEPT_UPLOADS = 20
"""Synthetic files of one person in one dataset: the newest are kept, so that nobody fills the disk."""
T = TypeVar("T")


@dataclass(frozen=True)
class KeptRelease:
    """A release on the shelf."""

    id: str
    dataset: str
    person: str
    job: str
    kind: str
    digest: str
    slot: float
    published: float | None

    @classmethod
    def of(cls, row: Record) -> KeptRelease:
        """From its row."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        told = {"id": self.id, "dataset": self.dataset, "kind": self.kind, "digest": self.digest}
        return told | {"made": self.slot, "published": self.published}


class Shelf:
    """The table of releases, and the folder of their bundles."""

    def __init__(self, storage: Storage, folder: str | Path) -> None:
        self._storage, self._folder = storage, Path(folder)
        self._loaded: Recent[Release] = Recent(KEPT_IN_MEMORY)
        self._rows: Recent[Synthetic] = Recent(KEPT_FILES)

    def prepare(self) -> None:
        """Make the folders."""
        for name in ("releases", "records", "synthetic"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)

    def place(self, release: str) -> Path:
        """The folder of a bundle."""
        return self._folder / "releases" / release

    def keep(self, made: Release | QueryRelease, job: ServiceJob, request: str) -> None:
        """Put the release of a job on the shelf, under the job's id; again for the same job changes nothing."""
        place = self.place(job.id)
        released.write_once(place, request, lambda: made.save(place))
        kind = "tables" if isinstance(made, released.Release) else "answers"
        facts = {"id": job.id, "dataset": job.dataset, "person": job.person, "job": job.id, "kind": kind}
        with self._storage.writing() as rows:
            rows.add("kept_release", **facts, digest=_digest(place), slot=job.slot)

    def get(self, dataset: str, release: str) -> KeptRelease | None:
        """A release of a dataset."""
        with self._storage.reading() as rows:
            row = rows.one("SELECT * FROM kept_release WHERE id = ? AND dataset = ?", release, dataset)
        return None if row is None else KeptRelease.of(row)

    def listed(self, dataset: str, after: str, most: int) -> list[KeptRelease]:
        """Releases of a dataset, newest first; ``after`` is the last id of the page before."""
        asked = "SELECT * FROM kept_release WHERE dataset = ? AND id < ? ORDER BY id DESC LIMIT ?"
        with self._storage.reading() as rows:
            return [KeptRelease.of(row) for row in rows.all(asked, dataset, after or "~", most)]

    def publish(self, release: str, at: float) -> None:
        """Publish a release from a time on."""
        with self._storage.writing() as rows:
            rows.run("UPDATE kept_release SET published = ? WHERE id = ?", at, release)

    def load(self, release: str) -> Release:
        """The release itself, from its bundle."""
        return self._loaded.get(release, lambda: released.Release.load(self.place(release)))

    def records(self, release: str) -> Path:
        """Records made from a release, by the usual way, as a file that is written once."""
        place = self._folder / "records" / f"{release}.parquet"
        if not place.exists():
            made = released.make_microdata(self.load(release))
            with whole_file(place) as file:
                made.frame.write_parquet(file)
        return place

    def frame(self, release: str) -> pl.DataFrame:
        """The same as a frame."""
        import polars as pl

        return pl.read_parquet(self.records(release), glob=False)

    def synthetic_rows(self, file: Path, schema: Schema) -> Synthetic:
        """The rows of a synthetic file, read once; files never change."""
        if file.stat().st_size > LARGEST_KEPT:
            return deciders.Synthetic.of(file, deciders.columns_of(schema))
        key = f"{file.name} {schema.version}"
        return self._rows.get(key, lambda: deciders.Synthetic.of(file, deciders.columns_of(schema)))

    def upload(self, dataset: str, person: str, content: bytes, ending: str, megabytes: int = 64) -> str:
        """Keep a synthetic file under a new id; of one person's files the newest are kept."""
        if ending not in ("csv", "parquet"):
            raise UsageError("upload.format", "A synthetic file is CSV or Parquet.", "Send text/csv.")
        if ending == "parquet":
            require_readable(content, megabytes * 2**20)
        made, digest = new_id(), hashlib.sha256(content).hexdigest()
        with whole_file(self._folder / "synthetic" / f"{made}.{ending}") as file:
            file.write(content)
        with self._storage.writing() as rows:
            rows.add("upload", id=made, dataset=dataset, person=person, digest=digest, bytes=len(content))
            asked = "SELECT id FROM upload WHERE dataset = ? AND person = ? ORDER BY id DESC"
            old = [row["id"] for row in rows.all(asked, dataset, person)[KEPT_UPLOADS:]]
            for one in old:
                rows.run("DELETE FROM upload WHERE id = ?", one)
        for file in (file for one in old for file in (self._folder / "synthetic").glob(f"{one}.*")):
            file.unlink(missing_ok=True)
        return made

    def uploads(self, dataset: str, person: str | None) -> list[Record]:
        """Synthetic files of a dataset, of one person or of all."""
        asked = "SELECT id, digest, bytes, person FROM upload WHERE dataset = ? ORDER BY id DESC"
        with self._storage.reading() as rows:
            found = rows.all(asked, dataset)
        return [row for row in found if person is None or row["person"] == person]

    def synthetic(self, dataset: str, person: str, upload: str) -> Path | None:
        """The synthetic file that a person uploaded."""
        asked = "SELECT id FROM upload WHERE id = ? AND dataset = ? AND person = ?"
        with self._storage.reading() as rows:
            row = rows.one(asked, upload, dataset, person)
        if row is None:
            return None
        return next(iter(sorted((self._folder / "synthetic").glob(f"{row['id']}.*"))), None)


class Recent(Generic[T]):
    """Things that are kept in memory, those used last."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, OrderedDict[str, T]()
        self._lock = threading.Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The thing of a key, made if it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = make()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


def _digest(place: Path) -> str:
    """One hash over all files of a bundle: releases never change, so it is their ETag."""
    whole = hashlib.sha256()
    for file in sorted(path for path in place.rglob("*") if path.is_file()):
        whole.update(str(file.relative_to(place)).encode() + b"\0")
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()
