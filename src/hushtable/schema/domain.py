"""Domains as other tools write them: ``{"age": 28, "sex": 2}``, the number of integer codes of each attribute.

This is the JSON that ``mbi`` reads.  It says less than a schema: every attribute becomes categorical with the values
0, 1, ..., size - 1, one row per person, and codes outside drop the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hushtable.errors import SchemaError
from hushtable.schema import document


def schema_fields(domain: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """The fields of a schema, from a mapping of attribute to size or from a JSON file with one."""
    given = domain if isinstance(domain, Mapping) else document.parse(document.read(domain)).value
    if not isinstance(given, Mapping) or not given:
        raise _refused("The domain does not map attributes to sizes.")
    sizes = cast("Mapping[object, Any]", given)
    return {"attributes": {str(name): _attribute(str(name), size) for name, size in sizes.items()}}


def _attribute(name: str, size: Any) -> dict[str, Any]:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise _refused(f"The size of {name!r} is not a positive whole number.")
    return {"type": "categorical", "values": list(range(size))}


def _refused(message: str) -> SchemaError:
    return SchemaError("schema.domain", message, 'Write {"age": 28, "sex": 2}.')
