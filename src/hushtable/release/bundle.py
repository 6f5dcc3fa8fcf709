"""The folder of a release: Parquet and JSON that pandas, polars and R open, and that ``Release.load`` reads back.

    release.json           privacy card, workload, files with their SHA-256
    schema.yaml            the declared domain
    measurements.parquet   the noisy integers that were paid for
    history.parquet        the rounds of an adaptive release
    tables/order-K.parquet all marginals of K attributes, one row per cell
    README.txt             how to read it

A bundle is written beside its place and moved there whole.  Tables of more than 50 million cells are left out and
computed when asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.errors import BundleError, HushtableError
from hushtable.marginals import AttributeSet
from hushtable.reconstruct.answers import Answers
from hushtable.release.tables import Columns, LongFile, chunks
from hushtable.schema import Schema

FORMAT = "hushtable-release-1"
MANIFEST = "release.json"
_HISTORY = "history.parquet"
_EXPLANATION = "microdata.json"
MOST_TABLE_CELLS = 50_000_000
ALPHA = 0.05
_README = """\
A differentially private release made by Hushtable {version}.

tables/order-K.parquet has one row per cell of every marginal of K attributes:
  attribute_1, value_1, ...   the attributes and the category of each
  estimate                    {estimate}
  std                         standard error of the unbiased estimate; empty where none is known
  lower, upper                holds the true count with probability 95%
  measured                    fully: every number behind the cell was measured with known noise;
                              partly, derived: the estimate is a model's guess, the bounds come from measured sub-tables
  unbiased, unbiased_lower, unbiased_upper
                              the unbiased estimate with its own interval, which may reach below zero; add these up
                              where a sum must be right on average; empty where not all was measured
release.json is the privacy card; measurements.parquet holds the noisy integers themselves.

In Python:  import hushtable; hushtable.Release.load("THIS FOLDER").table("ATTRIBUTE", "ATTRIBUTE")
In R:       arrow::read_parquet("tables/order-1.parquet")
"""


_ESTIMATES = {
    "mle": "unbiased noisy count; it can be negative, and sums of cells stay right because of it",
    "maxent": "nonnegative model of the count (maximum entropy); overlapping tables agree approximately",
    "nonneg": "nonnegative count; overlapping tables agree exactly",
}


@dataclass(frozen=True)
class Contents:
    """What a bundle holds, without what can be computed from it."""

    schema: Schema
    workload: tuple[AttributeSet, ...]
    answers: Answers
    card: dict[str, Any]
    history: pl.DataFrame | None = None


def check_free(folder: str | PathLike[str]) -> Path:
    """The path of a bundle to be written; refuses a place that is taken or cannot be written."""
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BundleError(
            "bundle.exists", f"{place} exists and is not an empty folder.", "Give --out another folder."
        )
    parent = place.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise BundleError(
            "bundle.no-parent",
            f"The folder above {place} does not exist or cannot be written.",
            "Create it first.",
        )
    return place


Read = Callable[[Sequence[AttributeSet], float], Columns]


def write(contents: Contents, folder: str | PathLike[str], read_columns: Read) -> None:
    """Write a bundle; the folder appears complete or not at all.  ``read_columns`` gives the tables' numbers."""
    place = check_free(folder)
    building = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.absolute().parent))
    try:
        _write_files(contents, building, read_columns)
        building.chmod(0o755)
        if place.exists():
            place.rmdir()
        building.rename(place)
    except OSError:
        raise BundleError(
            "bundle.not-written",
            f"{place} could not be written; the answers are kept beside the ledger.",
            "Free some space and repeat the command with the same --request: nothing is spent again.",
        ) from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def read(folder: str | PathLike[str]) -> Contents:
    """Read a bundle; damaged or foreign folders are refused."""
    place = Path(folder)
    manifest = _manifest(place)
    try:
        for name, digest in manifest["files"].items():
            if name.startswith("tables/"):
                continue
            if _sha256(place / name) != digest:
                raise _damaged(place)
        schema = Schema.load_stored(place / "schema.yaml")
        answers = Answers.from_table(pq.read_table(place / "measurements.parquet"))
        history = pl.read_parquet(place / _HISTORY) if _HISTORY in manifest["files"] else None
        workload = tuple(tuple(int(i) for i in s) for s in manifest["workload"])
        fits = answers.layout.sizes == schema.sizes and all(
            0 <= i < len(schema.sizes) for s in workload for i in s
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError, pa.ArrowException):
        raise _damaged(place) from None
    except HushtableError:
        raise _damaged(place) from None
    if not fits:
        raise _damaged(place)
    return Contents(schema, workload, answers, manifest["card"], history)


def add_explanation(folder: str | PathLike[str], explanation: dict[str, Any]) -> Path:
    """Keep in a bundle how far records made from it lie from its tables; replaces an earlier explanation."""
    place = Path(folder)
    manifest = _manifest(place)
    target = place / _EXPLANATION
    try:
        _replace(target, json.dumps(explanation, indent=1))
        manifest["files"][_EXPLANATION] = _sha256(target)
        _replace(place / MANIFEST, json.dumps(manifest, indent=1))
    except OSError:
        raise BundleError(
            "bundle.read-only",
            f"The explanation could not be written to {place}.",
            "Make the folder writable, or leave --explain out.",
        ) from None
    return target


def _replace(path: Path, text: str) -> None:
    """Write a file beside its place and move it there."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _write_files(contents: Contents, folder: Path, read_columns: Read) -> None:
    contents.schema.save(folder / "schema.yaml")
    pq.write_table(contents.answers.to_table(), folder / "measurements.parquet", compression="zstd")
    if contents.history is not None:
        contents.history.write_parquet(folder / _HISTORY)
    estimate = _ESTIMATES[contents.card.get("reconstruct", "mle")]
    text = _README.format(version=contents.card["versions"]["hushtable"], estimate=estimate)
    (folder / "README.txt").write_text(text, encoding="utf-8")
    _write_tables(contents, folder / "tables", read_columns)
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    manifest = {
        "format": FORMAT,
        "card": contents.card,
        "alpha": ALPHA,
        "attributes": list(contents.schema.names),
        "workload": [list(s) for s in contents.workload],
        "files": {name: _sha256(folder / name) for name in files},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _write_tables(contents: Contents, folder: Path, read_columns: Read) -> None:
    sizes = contents.schema.sizes
    folder.mkdir()
    written = 0
    for order in sorted({len(s) for s in contents.workload}):
        sets = [s for s in contents.workload if len(s) == order]
        written += sum(prod(sizes[i] for i in s) for s in sets)
        if written > MOST_TABLE_CELLS:
            return
        file = LongFile(folder / f"order-{order}.parquet", contents.schema, order)
        for first, last in chunks(sets, sizes):
            part = sets[first:last]
            file.write(part, read_columns(part, ALPHA))
        file.close()


def _manifest(place: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BundleError(
            "bundle.missing",
            f"{place} is not a release: it has no readable {MANIFEST}.",
            "Give the --out of a release.",
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BundleError(
            "bundle.format",
            f"{place} was not written by this version of Hushtable.",
            "Open it with the version it names.",
        )
    return manifest


def _damaged(place: Path) -> BundleError:
    return BundleError(
        "bundle.damaged",
        f"{place} is damaged: a file is missing or was changed.",
        "Repeat the release with its --request id; nothing is spent again.",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
