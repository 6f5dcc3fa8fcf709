"""From a document to checked attributes: what each field means and which combinations make sense.

The only maker of attributes.  Every refusal names line, field and fix.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from math import isfinite
from typing import Any

from hushtable.errors import SchemaError
from hushtable.privacy import exact_number
from hushtable.schema import attribute as kinds
from hushtable.schema import bins, levels
from hushtable.schema.bins import BinError
from hushtable.schema.dialect import Dialect, read_pattern, read_texts
from hushtable.schema.document import Document
from hushtable.schema.fields import Fields, is_integer, is_mapping, is_number, key_text, suggestion

MAX_ATTRIBUTES = 10_000
MAX_VALUES = 1_000_000
"""Attributes, and the values listed for all of them: documented limits, far above what noise would leave of a table."""
MAX_CATEGORIES = 20_000_000
"""Of all attributes together: a line of a schema can declare a million bins, which take 8 MB."""
RESERVED = frozenset({"estimate", "std", "lower", "upper", "measured"})
"""Columns that every released table has beside its attributes."""

_COMMON = ("type", "column", "null", "nulls", "outside", "label", "description", "imputed")
_BINNED = ("bounds", "width", "bins", "cuts")
_FIELDS = {
    "categorical": (*_COMMON, "values", "labels", "levels", "tree"),
    "boolean": (*_COMMON, "labels", "true", "false"),
    "integer": (*_COMMON, *_BINNED, "resolution", "levels"),
    "real": (*_COMMON, *_BINNED, "resolution", "levels"),
    "date": (*_COMMON, *_BINNED, "format", "levels"),
}
EVERY_FIELD = tuple(dict.fromkeys(name for names in _FIELDS.values() for name in names))


def attributes(document: Document, mapping: Any, dialect: Dialect) -> dict[str, kinds.Attribute]:
    """All attributes, in the order written; what the dialect says of text is part of each."""
    if not is_mapping(mapping) or not mapping:
        raise SchemaError(
            "schema.no-attributes",
            f"{document.where(('attributes',))}`attributes` must name at least one attribute.",
            "Write for example `attributes: {sex: {type: categorical, values: [F, M]}}`.",
        )
    if len(mapping) > MAX_ATTRIBUTES:
        raise SchemaError("schema.too-large", f"More than {MAX_ATTRIBUTES:,} attributes.", "Leave some out.")
    built: dict[str, kinds.Attribute] = {}
    categories = 0
    for key, value in mapping.items():
        name = _attribute_name(document, key)
        if name in built:
            raise SchemaError(
                "schema.duplicate-key", f"The attribute {name!r} is written twice.", "Keep one."
            )
        built[name] = _attribute(document, name, value, dialect)
        categories += built[name].size
        if categories > MAX_CATEGORIES:
            raise SchemaError(
                "schema.too-large",
                f"The attributes have more than {MAX_CATEGORIES:,} categories together.",
                "Use a larger `width` or fewer `bins`.",
            )
    _check_level_names(document, built)
    if sum(len(a.values) for a in built.values() if isinstance(a, kinds.Categorical)) > MAX_VALUES:
        raise SchemaError(
            "schema.too-large",
            f"More than {MAX_VALUES:,} values.",
            "Group rare values under `outside: other`.",
        )
    return built


def _check_level_names(document: Document, built: dict[str, kinds.Attribute]) -> None:
    """A level's name stands wherever an attribute's does, so it is neither another's nor a column of every table."""
    taken = dict.fromkeys(built, "an attribute")
    for name, attribute in built.items():
        for k, level in enumerate(attribute.levels.names if attribute.levels else ()):
            own = level == name and attribute.levels is not None and k == len(attribute.levels.coarser)
            used = None if own else "a column of every table" if level in RESERVED else taken.get(level)
            if used is not None:
                raise SchemaError(
                    "schema.level-name",
                    f"{document.where(('attributes', name, 'levels'))}the level {level!r} of {name!r} is also {used}.",
                    "Give the level another name.",
                )
            taken[level] = "a level"


def domain_fields(sizes: Any) -> dict[str, Any]:
    """The attributes that a mapping of name to number of codes stands for."""
    fix = 'Write {"age": 28, "sex": 2}.'
    if not is_mapping(sizes) or not sizes:
        raise SchemaError("schema.domain", "The domain does not map attributes to sizes.", fix)
    for name, size in sizes.items():
        if not is_integer(size) or size < 1:
            wrong = f"The size of {str(name)!r} is not a positive whole number."
            raise SchemaError("schema.domain", wrong, fix)
    return {str(name): {"type": "categorical", "values": list(range(n))} for name, n in sizes.items()}


def _attribute_name(document: Document, key: Any) -> str:
    name = key if isinstance(key, str) else key_text(key)
    where = document.where(("attributes", name))
    if not name or not name.isprintable():
        raise SchemaError(
            "schema.bad-name",
            f"{where}an attribute's name must be printable text.",
            "Name the attribute freely and give the file's name in `column:`.",
        )
    if name in RESERVED:
        raise SchemaError(
            "schema.reserved-name",
            f"{where}{name!r} is a column of every released table.",
            f"Give the attribute another name and write `column: {name}` in it.",
        )
    return name


def _attribute(document: Document, name: str, value: Any, dialect: Dialect) -> kinds.Attribute:
    fields = Fields(document, ("attributes", name), value, EVERY_FIELD)
    if "type" not in fields:
        raise fields.error(
            "schema.missing-field", None, "has no `type`", f"Add one of: {', '.join(_FIELDS)}."
        )
    kind = fields.choice("type", tuple(_FIELDS), None)
    for field in EVERY_FIELD:
        if field in fields and field not in _FIELDS[kind]:
            raise fields.error(
                "schema.unknown-field",
                field,
                f"is not a field of type {kind}",
                suggestion(field, _FIELDS[kind]),
            )
    common = {
        "name": name,
        "column": fields.text("column") or name,
        "null": fields.choice("null", ("drop", "category"), "drop"),
        "label": fields.text("label"),
        "description": fields.text("description"),
        "imputed": fields.flag("imputed", False),
        "nulls": tuple(dict.fromkeys((*dialect.nulls, *read_texts(fields, "nulls")))),
    }
    return _MAKERS[kind](fields, common, dialect)


def _categorical(fields: Fields, common: dict[str, Any], _: Dialect) -> kinds.Attribute:
    if "tree" not in fields:
        made = _of_values(fields, common, fields.items("values"))
        if "levels" not in fields:
            return made
        levels.declared_levels(fields)
        names, paths = levels.prefix_paths(fields, made.values, kinds.text_of)
        sorted_ = replace(made, values=tuple(path[-1] for path in paths))
        return replace(sorted_, levels=levels.levels_of_codes(sorted_, names, paths, fields["levels"]))
    if "values" in fields:
        raise fields.error(
            "schema.wrong-tree", "values", "contradicts `tree`", "Keep the tree: its leaves are the values."
        )
    names, paths = levels.tree_paths(fields, fields.folder)
    made = _of_values(fields, common, [path[-1] for path in paths])
    return replace(made, levels=levels.levels_of_tree(made, names, paths))


def _of_values(fields: Fields, common: dict[str, Any], values: list[Any] | None) -> kinds.Categorical:
    if not values:
        raise fields.error(
            "schema.missing-field", None, "needs a list of `values`", "Write `values: [F, M, X]`."
        )
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        _check_category(fields, i, value)
        text = kinds.text_of(value)
        if text in seen:
            raise fields.error(
                "schema.duplicate-value",
                "values",
                f"has the same entry twice (entries {seen[text] + 1} and {i + 1})",
                "Keep one.",
            )
        seen[text] = i
    _check_nulls(fields, common["nulls"], seen)
    return kinds.Categorical(
        **common,
        outside=fields.choice("outside", ("drop", "other"), kinds.Categorical.default_outside),
        values=tuple(values),
        value_labels=_labels(fields, list(seen)),
    )


def _check_category(fields: Fields, i: int, value: Any) -> None:
    if not isinstance(value, str | int):
        fix = "Quote it if it is text; nulls have `null: category`; numbers with decimals need `type: real`."
        raise fields.error(
            "schema.wrong-type",
            "values",
            f"has an entry (number {i + 1}) that is not text, a whole number or true/false",
            fix,
        )
    if value == "":
        raise fields.error(
            "schema.wrong-type",
            "values",
            f"has an empty text (entry {i + 1})",
            "Empty fields are nulls: use `null: category`.",
        )
    if is_integer(value) and abs(value) > bins.LARGEST:
        raise fields.error(
            "schema.wrong-type", "values", f"has too large a number (entry {i + 1})", "Quote it as text."
        )


def _check_nulls(fields: Fields, nulls: Iterable[str], known: Container[str]) -> None:
    """A text cannot mean a null and a value."""
    for text in nulls:
        if text in known:
            raise fields.error(
                "schema.wrong-choice",
                "nulls",
                f"or `csv.nulls` has {text!r}, which is also a value",
                "Keep it in one of the two; `nulls` of an attribute says what is a null there alone.",
            )


def _boolean(fields: Fields, common: dict[str, Any], _: Dialect) -> kinds.Attribute:
    words = {name: tuple(map(kinds.lowered, read_texts(fields, name))) for name in ("true", "false")}
    if bool(words["true"]) != bool(words["false"]):
        raise fields.error(
            "schema.missing-field",
            None,
            "has words for one of true and false",
            "Write both, as in `true: [ja]` and `false: [nein]`.",
        )
    given = [*words["true"], *words["false"]]
    if len(set(given)) < len(given):
        raise fields.error(
            "schema.duplicate-value", "true", "or `false` has a word twice", "Case does not matter; keep one."
        )
    made = kinds.Boolean(
        **common,
        outside=fields.choice("outside", ("drop", "other"), kinds.Boolean.default_outside),
        value_labels=_labels(fields, ["false", "true"]),
        true_texts=words["true"] or kinds.TRUE_TEXTS,
        false_texts=words["false"] or kinds.FALSE_TEXTS,
    )
    _check_nulls(fields, map(kinds.lowered, made.nulls), (*made.true_texts, *made.false_texts))
    return made


def _labels(fields: Fields, texts: list[str]) -> dict[str, str]:
    if "labels" not in fields:
        return {}
    value = fields["labels"]
    if not is_mapping(value):
        raise fields.error(
            "schema.wrong-type",
            "labels",
            "must map values to labels",
            "Write `labels: {1: Male, 2: Female}`.",
        )
    labels: dict[str, Any] = {key_text(key): label for key, label in value.items()}
    known = set(texts)
    for key, label in labels.items():
        if key not in known:
            raise fields.error(
                "schema.unknown-value",
                "labels",
                f"has a label for {key!r}, which is no value",
                suggestion(key, texts),
            )
        if not isinstance(label, str) or not label:
            raise fields.error(
                "schema.wrong-type", "labels", f"has no text for {key!r}", "Put the label in quotes."
            )
    shown = [labels.get(text, text) for text in texts]
    if len(set(shown)) < len(shown):
        raise fields.error(
            "schema.duplicate-value", "labels", "shows two values under one label", "Give each its own."
        )
    return labels


def _is_day(value: Any) -> bool:
    return isinstance(value, date) or (isinstance(value, str) and kinds.iso_date(value) is not None)


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    return date.fromisoformat(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class _Scale:
    """What bounds, widths and cuts of a type are, and how they make bins."""

    made: type[kinds.Binned]
    fits: Callable[[Any], bool]
    what: str
    example: str
    read: Callable[[Any], Any]
    width: Callable[[Fields, str], Any]
    starts: Callable[..., array[Any]]
    resolution: int | None = None


_SCALES = {
    "integer": _Scale(
        kinds.Integer, is_integer, "whole numbers", "[0, 115]", int, Fields.positive, bins.whole_edges, 1
    ),
    "real": _Scale(kinds.Real, is_number, "numbers", "[0, 500000]", float, Fields.above_0, bins.real_edges),
    "date": _Scale(
        kinds.Date, _is_day, "ISO dates", "[1900-01-01, 2025-12-31]", _day, Fields.text, bins.date_edges
    ),
}


def _binned(fields: Fields, common: dict[str, Any], dialect: Dialect) -> kinds.Attribute:
    scale = _SCALES[fields["type"]]
    low, high = _bounds(fields, scale)
    common |= {"decimal": dialect.decimal, "thousands": dialect.thousands}
    common["pattern"] = read_pattern(fields, "format") or dialect.dates
    if "levels" in fields and fields["levels"] != levels.AUTO:
        return _levelled(fields, scale, (low, high), common)
    width, count, cuts = scale.width(fields, "width"), fields.positive("bins"), _cuts(fields, scale)
    given = [name for name in ("width", "bins", "cuts") if name in fields]
    if len(given) > 1:
        raise fields.error(
            "schema.wrong-bins", given[1], f"contradicts `{given[0]}`", "Keep one of width, bins and cuts."
        )
    if scale.made is kinds.Real and not given:
        raise fields.error(
            "schema.missing-field", None, "needs bins", "Add `bins: 50`, `width: 10` or `cuts: [...]`."
        )
    made = _made_of(fields, scale, (low, high), (width, count, cuts), common)
    return replace(made, levels=levels.halved_levels(made)) if "levels" in fields else made


def _levelled(
    fields: Fields, scale: _Scale, bounds: tuple[Any, Any], common: dict[str, Any]
) -> kinds.Attribute:
    """Numbers or dates on levels, each by its width or by cuts; the last is read."""
    for field in ("width", "bins", "cuts"):
        if field in fields:
            raise fields.error(
                "schema.wrong-levels",
                field,
                "contradicts `levels`",
                "Let the last level say the finest bins.",
            )
    made: list[tuple[str, kinds.Binned, Any]] = []
    for name, value in levels.declared_levels(fields):
        asked = "cuts" if isinstance(value, list | tuple) else "width"
        inner = fields.inner(("levels", name), {asked: value})
        width, cuts = scale.width(inner, "width"), _cuts(inner, scale)
        made.append((name, _made_of(fields, scale, bounds, (width, None, cuts), common), cuts or width))
    return replace(made[-1][1], levels=levels.levels_of_edges(fields, made), width=None, cuts=None)


def _made_of(
    fields: Fields,
    scale: _Scale,
    bounds: tuple[Any, Any],
    asked: tuple[Any, int | None, tuple[Any, ...] | None],
    common: dict[str, Any],
) -> kinds.Binned:
    """An attribute with bins by width, number or cuts."""
    width, count, cuts = asked
    try:
        starts = scale.starts(*bounds, width, count, cuts)
    except BinError as error:
        raise fields.error("schema.wrong-bins", None, *error.args) from None
    resolution = fields.above_0("resolution") or scale.resolution
    return scale.made(
        **common,
        outside=fields.choice("outside", ("clip", "drop", "other"), kinds.Binned.default_outside),
        starts=starts,
        bounds=bounds,
        width=width,
        bins=count,
        cuts=cuts,
        resolution=None if resolution is None else exact_number(resolution, "resolution"),
    )


def _bounds(fields: Fields, scale: _Scale) -> tuple[Any, Any]:
    given = fields.items("bounds")
    if given is None:
        raise fields.error(
            "schema.missing-field", None, "needs `bounds`", f"Write `bounds: {scale.example}`."
        )
    if len(given) != 2 or not all(map(scale.fits, given)):
        fix = f"Write `bounds: {scale.example}`, without quotes."
        raise fields.error("schema.wrong-bounds", "bounds", f"must be two {scale.what}, low first", fix)
    low, high = map(scale.read, given)
    if low > high:
        raise fields.error("schema.wrong-bounds", "bounds", "are reversed", "Write the lower bound first.")
    if scale.made is kinds.Integer and max(abs(low), abs(high)) > bins.LARGEST:
        raise fields.error(
            "schema.wrong-bounds", "bounds", "go beyond 10^18", "Use closer bounds, or type real."
        )
    if scale.made is kinds.Real and (low == high or not isfinite(high - low)):
        raise fields.error(
            "schema.wrong-bounds", "bounds", "leave no room, or too much", "Use [low, high] with low < high."
        )
    return low, high


def _cuts(fields: Fields, scale: _Scale) -> tuple[Any, ...] | None:
    cuts = fields.items("cuts")
    if cuts is None:
        return None
    if not cuts or not all(map(scale.fits, cuts)):
        raise fields.error(
            "schema.wrong-bins",
            "cuts",
            f"must be a list of {scale.what}",
            "A cut is the first value of a new bin.",
        )
    return tuple(map(scale.read, cuts))


_MAKERS: dict[str, Callable[[Fields, dict[str, Any], Dialect], kinds.Attribute]] = {
    "categorical": _categorical,
    "boolean": _boolean,
    **dict.fromkeys(_SCALES, _binned),
}
