"""The folder of a release: Parquet and JSON that pandas, polars and R open, and that ``Release.load`` reads back.

    release.json           privacy card, workload, files with their SHA-256
    schema.yaml            the declared domain
    measurements.parquet   the noisy integers that were paid for
    totals/NAME.parquet    those of the totals of a column
    history.parquet        the rounds of an adaptive release
    tables/order-K.parquet all marginals of K attributes, one row per cell
    datapackage.json       what each file holds, for programs
    README.txt             how to read it

A bundle is written beside its place and moved there whole.  Tables of more than 50 million cells are left out and
computed when asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from hushtable.errors import BundleError
from hushtable.ledger import failpoints
from hushtable.microdata import Explanation
from hushtable.outputs import can_make, is_occupied, whole_folder
from hushtable.release.benchmarked import adjusts
from hushtable.release.bundle_files import (
    FORMAT,
    MANIFEST,
    SCHEMA,
    TABLES,
    TOTALS,
    manifest_of,
    replace,
    request_in,
    sha256,
    total_file,
)
from hushtable.release.bundle_words import package_of, readme
from hushtable.release.data_packages import DATAPACKAGE
from hushtable.release.promise import ALPHA
from hushtable.release.tables import LongFile, chunks
from hushtable.release.value_tables import benchmarked_tables
from hushtable.schema import total_of

if TYPE_CHECKING:
    from hushtable.release.release import Release

README = "README.txt"
MEASUREMENTS, HISTORY, EXPLANATION = "measurements.parquet", "history.parquet", "microdata.json"
MOST_TABLE_CELLS = 50_000_000
"""Cells of the tables that a bundle lists and bounds, whole orders of them from the smallest.  Larger ones are made
from the measurements when they are asked for; with more, a bundle takes more time and disk.  Not tuned."""
_AGAIN = "repeat the command with the same --request: nothing is spent again"


def check_free(folder: str | PathLike[str]) -> Path:
    """The path of a bundle to be written; refuses a place that is taken or cannot be written."""
    place = Path(folder)
    if request_in(place) is not None:  # perhaps of this very command, killed when only its end was left
        raise BundleError(
            "bundle.exists",
            f"{place} holds a complete release.",
            "Read it with `hush table`; for another one give --out another folder.",
        )
    if is_occupied(place):
        raise BundleError(
            "bundle.exists", f"{place} exists and is not an empty folder.", "Give --out another folder."
        )
    if not can_make(place):
        raise BundleError(
            "bundle.no-parent",
            f"The folder {place} cannot be made: the one above it does not exist or takes no files.",
            "Create that one first, or give --out another folder.",
        )
    return place


Also = Callable[[Path], None]


def write(release: Release, folder: str | PathLike[str], also: Also | None = None) -> None:
    """Write a bundle; the folder appears complete or not at all.  ``also`` may add to it before it appears."""
    with new_folder(folder, _AGAIN) as building:
        _write_files(release, building)
        if also is not None:
            also(building)


@contextmanager
def new_folder(folder: str | PathLike[str], again: str) -> Generator[Path]:
    """A free folder to fill; it appears complete or not at all, and ``again`` says how to try once more."""
    place = check_free(folder)
    try:
        with whole_folder(place) as building:
            yield building
            failpoints.reach("bundle.filled")
        failpoints.reach("bundle.moved")
    except OSError:
        raise BundleError(
            "bundle.not-written",
            f"{place} could not be written; the answers are kept beside the ledger.",
            f"Free some space and {again}.",
        ) from None


def add_explanation(folder: str | PathLike[str], explanation: Explanation) -> Path:
    """Keep in a bundle how far records made from it lie from its tables; replaces an earlier explanation."""
    place = Path(folder)
    manifest = dict(manifest_of(place, FORMAT))
    target = place / EXPLANATION
    try:
        replace(target, json.dumps(explanation.to_dict(), indent=1))
        manifest["files"][EXPLANATION] = sha256(target)
        replace(place / MANIFEST, json.dumps(manifest, indent=1))
    except OSError:
        raise BundleError(
            "bundle.read-only",
            f"The explanation could not be written to {place}.",
            "Make the folder writable, or leave --explain out.",
        ) from None
    return target


def _write_files(release: Release, folder: Path) -> None:
    release.schema.save(folder / SCHEMA)
    pq.write_table(release.answers.to_table(), folder / MEASUREMENTS, compression="zstd")
    for name in release.totals:
        (folder / TOTALS).mkdir(exist_ok=True)
        answers = release.quantities[total_of(name)]
        pq.write_table(answers.to_table(), folder / total_file(name), compression="zstd")
    if release.history is not None:
        release.history.write_parquet(folder / HISTORY)
    _write_tables(release, folder / TABLES)
    held = _files(folder)
    (folder / DATAPACKAGE).write_text(package_of(release, held).to_json(), encoding="utf-8")
    (folder / README).write_text(readme(release, held, ALPHA), encoding="utf-8")
    manifest = {
        "format": FORMAT,
        "card": release.card.to_dict(),
        "alpha": ALPHA,
        "attributes": list(release.schema.names),
        "workload": [list(s) for s in release.workload],
        "files": {name: sha256(folder / name) for name in _files(folder)},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _write_tables(release: Release, folder: Path) -> None:
    sizes = release.schema.sizes
    folder.mkdir()
    written = 0
    for order in sorted({len(s) for s in release.workload}):
        sets = [s for s in release.workload if len(s) == order]
        written += sum(prod(sizes[i] for i in s) for s in sets)
        if written > MOST_TABLE_CELLS:
            return
        adjusted = adjusts(release.schema)
        file = LongFile(folder / f"order-{order}.parquet", release.schema, order, adjusted=adjusted)
        for first, last in chunks(sets, sizes):
            part = sets[first:last]
            beside = benchmarked_tables(release, part, ALPHA) if adjusted else ()
            file.write(part, release.columns(part, ALPHA), beside)
        file.close()
