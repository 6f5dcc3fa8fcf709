"""What a site offers to take along: a release itself and its exports, each in one archive with its hash.

The same files make the same archive, byte for byte.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import HushtableError
from hushtable.release import Bundle, Release, sha256, write_export
from hushtable.release.exports import EXPORT_FORMATS

FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can hold: files in it have no time of their own."""
RELEASE = "release"


@dataclass(frozen=True)
class Download:
    """An archive: its path below the page, what it holds, its size and SHA-256."""

    path: str
    format: str
    summary: str
    bytes: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "path": self.path,
            "format": self.format,
            "summary": self.summary,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }


def write_downloads(
    folder: Path, place: Path, name: str, release: Release, formats: Sequence[str], *, raw: bool
) -> tuple[Download, ...]:
    """Archives of a bundle and of its exports, written into ``place``; formats that cannot hold it are left out."""
    place.mkdir()
    bundle = Bundle.open(folder)
    whole = _archive(place / f"{name}-{RELEASE}.zip", name, bundle.place, bundle.files)
    found = [_told(whole, RELEASE, "everything that was released, as hush reads it")]
    with tempfile.TemporaryDirectory() as room:
        for made in formats:
            export = Path(room) / made
            try:
                write_export(release, export, made, raw=raw)
            except HushtableError as refused:
                if refused.code not in ("export.too-large", "export.not-installed"):
                    raise
                continue
            archive = _archive(place / f"{name}-{made}.zip", f"{name}-{made}", export, _files(export))
            found.append(_told(archive, made, EXPORT_FORMATS[made].summary))
    return tuple(found)


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _archive(file: Path, top: str, folder: Path, files: Iterable[str]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{top}/{name}", FIRST_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with (folder / name).open("rb") as source, archive.open(entry, "w") as target:
                while block := source.read(1 << 20):
                    target.write(block)
    return file


def _told(file: Path, form: str, summary: str) -> Download:
    return Download(f"{file.parent.name}/{file.name}", form, summary, file.stat().st_size, sha256(file))
