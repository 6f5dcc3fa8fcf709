"""``datapackage.json``: what the files of a folder hold, as a Frictionless data package says it.

Every column has a type, what it means, and the words that it may hold; programs check files with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

DATAPACKAGE = "datapackage.json"
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
FieldType = Literal["string", "number", "integer", "boolean", "date", "any"]


@dataclass(frozen=True)
class FieldEntry:
    """A column: its type, a heading, what it means and the only values that it may have."""

    name: str
    type: FieldType
    title: str = ""
    meaning: str = ""
    values: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """A field descriptor."""
        told: dict[str, Any] = {"name": self.name, "type": self.type}
        told |= {k: v for k, v in (("title", self.title), ("description", self.meaning)) if v}
        return told | ({"constraints": {"enum": list(self.values)}} if self.values else {})


@dataclass(frozen=True)
class ResourceEntry:
    """A file, or a sheet of one; ``fields`` where it is a table."""

    name: str
    path: str
    format: str
    media: str
    title: str = ""
    fields: tuple[FieldEntry, ...] = ()
    key: tuple[str, ...] = ()
    sheet: str | None = None
    header: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """A resource descriptor."""
        told: dict[str, Any] = {
            "name": self.name,
            "path": self.path,
            "format": self.format,
            "mediatype": self.media,
        }
        if self.title:
            told["title"] = self.title
        if self.media.startswith("text/") or self.format == "csv":
            told["encoding"] = "utf-8"
        if self.sheet is not None:
            # The first two as the standard has them, the last as frictionless-py reads it.
            told["dialect"] = {
                "sheetName": self.sheet,
                "headerRows": [self.header],
                "excel": {"sheet": self.sheet},
            }
        if self.fields:
            told["type"] = "table"
            schema: dict[str, Any] = {
                "fields": [entry.to_dict() for entry in self.fields],
                "missingValues": [""],
            }
            told["schema"] = schema | ({"primaryKey": list(self.key)} if self.key else {})
        return told


@dataclass(frozen=True)
class DataPackage:
    """All files of a folder, and what they are about."""

    name: str
    title: str
    description: str
    resources: tuple[ResourceEntry, ...]
    created: str = ""
    sources: tuple[str, ...] = ()
    contributors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The descriptor."""
        told: dict[str, Any] = {"$schema": PROFILE, "name": self.name, "title": self.title}
        told["description"] = self.description
        if self.created:
            told["created"] = self.created
        if self.sources:
            told["sources"] = [{"title": text} for text in self.sources]
        if self.contributors:
            told["contributors"] = [{"title": text} for text in self.contributors]
        return told | {"resources": [resource.to_dict() for resource in self.resources]}

    def to_json(self) -> str:
        """The file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
