"""The files of a bundle: a fixed set of names, each a plain file of bounded length with the SHA-256 that was noted.

Nothing outside the folder is opened: links, pipes and devices are refused, whatever a manifest names.  What a file
means is no matter of this module; it knows how to get at the bytes safely and how to replace a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, cast

from hushtable.errors import BundleError, HushtableError

FORMAT = "hushtable-release-1"
MANIFEST, SCHEMA = "release.json", "schema.yaml"
TABLES, TOTALS = "tables", "totals"
MOST_MANIFEST = 256 * 2**20
"""Bytes of a manifest; one of a million marginals has a tenth of it."""

MOST_VALUES = 24_000_000
"""Values of a JSON file: four million marginals of four attributes; as many empty lists take a gigabyte."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    MemoryError,
    RecursionError,
    HushtableError,
)
"""What reading a stranger's text raises; arrays, which have errors of their own, are not read here."""


class Damaged(ValueError):
    """A file that is not what its reader expects."""


def total_file(name: str) -> str:
    """The file of the integers of a column's totals; such names are words."""
    return f"{TOTALS}/{name}.parquet"


def require(fits: bool, what: str) -> None:
    """Refuse a file of which something does not fit."""
    if not fits:
        raise Damaged(what)


def damaged(place: Path) -> BundleError:
    """The one refusal of a bundle that is not as it was written."""
    return BundleError(
        "bundle.damaged",
        f"{place} is damaged: a file is missing, was changed, or does not fit the others.",
        "Repeat the release with its --request id; nothing is spent again.",
    )


@contextmanager
def opened(place: Path, name: str, *, most: int, digest: str | None = None) -> Generator[BinaryIO]:
    """One file of a bundle, at its beginning, after its kind, length and hash were checked."""
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        *above, last = name.split("/")
        for part in above:
            inner = os.open(part, _PLAIN | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        found = os.open(last, _PLAIN, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(found, "rb") as file:
        status = os.fstat(found)
        require(stat.S_ISREG(status.st_mode) and status.st_size <= most, name)
        if digest is not None:
            require(hashlib.file_digest(file, "sha256").hexdigest() == digest, name)
            file.seek(0)
        yield file


def sha256(path: Path) -> str:
    """The hash of a file that was just written."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(place: Path, name: str, *, most: int, digest: str | None = None) -> Any:
    """The value of a JSON file of at most ``MOST_VALUES`` values, all numbers finite, all texts Unicode."""
    with opened(place, name, most=most, digest=digest) as file:
        data = file.read(most + 1)
    require(sum(data.count(mark) for mark in (b",", b"[", b"{")) <= MOST_VALUES, name)
    text = data.decode("utf-8")
    value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def request_in(folder: str | os.PathLike[str]) -> str | None:
    """The id of the spend that a folder was written for; None for anything but a bundle."""
    try:
        return str(read_json(Path(folder), MANIFEST, most=MOST_MANIFEST)["card"]["ledger"]["request"])
    except UNREADABLE:
        return None


def manifest_of(place: Path, form: str) -> Mapping[str, Any]:
    """The manifest of a folder, when it is one of ``form``."""
    try:
        manifest = read_json(place, MANIFEST, most=MOST_MANIFEST)
    except UNREADABLE:
        raise BundleError(
            "bundle.missing",
            f"{place} is not a release: it has no readable {MANIFEST}.",
            "Give the --out of a release.",
        ) from None
    if not isinstance(manifest, dict) or cast("dict[str, Any]", manifest).get("format") != form:
        raise BundleError(
            "bundle.format",
            f"{place} was not written by this version of Hushtable.",
            "Open it with the version it names.",
        )
    return cast("dict[str, Any]", manifest)


def replace(path: Path, text: str) -> None:
    """Write a file under a name that nobody else has, and move it to its place; links are replaced, not followed."""
    number, fresh = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(fresh, 0o644)  # noqa: PTH101
        os.replace(fresh, path)  # noqa: PTH105
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise


def _no_constant(name: str) -> Any:
    raise Damaged(name)


def _finite(text: str) -> float:
    value = float(text)
    require(isfinite(value), text)
    return value
