"""What is known of a session's executors after one small job: that our code runs there, and how many tasks at once.

Where they have the packages that we need and not our own code, it is sent to them once, as one file that lives as long
as the session; where anything else differs, they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary, finalize
from zipfile import ZipFile

from hushtable.kernel.sources.engines.spark_calls import SparkCall
from hushtable.kernel.sources.engines.versions import mismatch, own_versions, reporter

_PREPARE = (
    "Start Spark with the Python that runs here (PYSPARK_PYTHON), or install the same packages there; "
    "docs/howto/spark.md shows how."
)
_LOOKED_AT = 1 << 16
"""Rows of the small job: more than there are processors anywhere, so that every one gets a task."""


@dataclass(frozen=True)
class Executors:
    """What was found out."""

    workers: int


_SEEN: WeakKeyDictionary[Any, Executors] = WeakKeyDictionary()


def executors_of(session: Any) -> Executors:
    """The executors of a session, looked at once."""
    found = _SEEN.get(session)
    if found is None:
        found = _SEEN[session] = _looked_at(session)
    return found


def _looked_at(session: Any) -> Executors:
    wanted = dict(own_versions())
    with SparkCall("Spark could not run our code", "source.no-executors", _PREPARE) as asking:
        told = _told(session)
        if ("hushtable", "none") in told:
            _require(wanted, [pair for pair in told if pair[0] != "hushtable"])
            _send_code(session)
            told = _told(session)
        _require(wanted, told)
        return Executors(max(1, len(told) // len(wanted)))
    raise asking.refusal


def _told(session: Any) -> list[tuple[str, str]]:
    """What every task of the small job says of its packages."""
    report = reporter()

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for _ in batches:
            pass
        names, found = zip(*report(), strict=True)
        yield pyarrow.RecordBatch.from_pydict({"name": list(names), "found": list(found)})

    told = session.range(_LOOKED_AT).mapInArrow(run, "name string, found string").toArrow()
    return list(zip(told.column("name").to_pylist(), told.column("found").to_pylist(), strict=True))


def _require(wanted: dict[str, str], told: list[tuple[str, str]]) -> None:
    for name, there in told:
        if there != wanted[name]:
            raise mismatch(name, wanted[name], there)


def _send_code(session: Any) -> None:
    """Our modules as one file; its name tells what is in it, because compiled loops are kept by it."""
    root = Path(__file__).parents[3]  # the package itself
    modules = sorted(root.rglob("*.py"))
    digest = blake2b(b"".join(module.read_bytes() for module in modules), digest_size=8).hexdigest()
    folder = TemporaryDirectory()
    finalize(session, folder.cleanup)  # executors may fetch it at any time until then
    path = Path(folder.name) / f"hushtable-{digest}.zip"
    with ZipFile(path, "w") as file:
        for module in modules:
            file.write(module, module.relative_to(root.parent))
    session.addArtifacts(str(path), pyfile=True)
