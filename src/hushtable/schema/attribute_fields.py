"""An attribute as the fields that a schema would have of it, for files and for the version of a schema."""

from __future__ import annotations

from typing import Any, cast

from hushtable.schema.attribute import Attribute, Binned, Boolean, Categorical
from hushtable.schema.dialect import Dialect


def attribute_fields(attribute: Attribute, dialect: Dialect) -> dict[str, Any]:
    """What a schema has to say of an attribute, without what goes without saying."""
    out: dict[str, Any] = {"type": attribute.kind}
    if attribute.column != attribute.name:
        out["column"] = attribute.column
    if attribute.levels is not None:
        out |= {name: _plain_levels(value) for name, value in attribute.levels.to_dict().items()}
    if isinstance(attribute, Categorical) and "tree" not in out:
        out["values"] = list(attribute.values)
    if isinstance(attribute, Categorical | Boolean) and attribute.value_labels:
        out["labels"] = dict(attribute.value_labels)
    if isinstance(attribute, Boolean) and attribute.true_texts != Boolean.true_texts:
        out |= {"true": list(attribute.true_texts), "false": list(attribute.false_texts)}
    if isinstance(attribute, Binned):
        given = ((name, getattr(attribute, name)) for name in ("bounds", "width", "bins", "cuts"))
        out |= {name: _plain(value) for name, value in given if value is not None}
        if attribute.resolution is not None and (attribute.kind, attribute.resolution) != ("integer", 1):
            out["resolution"] = _plain(float(attribute.resolution))
        if attribute.kind == "date" and attribute.pattern != dialect.dates:
            out["format"] = attribute.pattern
    own = [text for text in attribute.nulls if text not in dialect.nulls]
    if own:
        out["nulls"] = own
    if attribute.null != "drop":
        out["null"] = attribute.null
    if attribute.outside != attribute.default_outside:
        out["outside"] = attribute.outside
    if attribute.imputed:
        out["imputed"] = True
    out |= {k: v for k in ("label", "description") if (v := getattr(attribute, k)) is not None}
    return out


def in_order(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an attribute with the order of levels and trees, which is that of the categories, kept."""
    return {key: _pairs(value) if key in ("levels", "tree") else value for key, value in fields.items()}


def _pairs(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = cast("dict[Any, Any]", value)
    return [[str(key), _pairs(item)] for key, item in inner.items()]


def _plain_levels(value: Any) -> Any:
    """Widths and cuts as a file holds them; a tree as it is."""
    if isinstance(value, dict):
        inner = cast("dict[Any, Any]", value)
        return {key: _plain_levels(item) for key, item in inner.items()}
    return cast("Any", value) if isinstance(value, list) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return value.isoformat()
