"""Schemas and ordinary values, drawn from a seed: every type of attribute, every rule, every unit of privacy.

A value is what a cell means, whatever holds it: text, a whole number, a number, a day, true or false, None for a null,
or OUTSIDE for something that no category has.  Its codes follow from the schema alone, so that what a source gives can
be compared with what was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from random import Random
from typing import Any

import numpy as np

from hushtable.schema import Attribute, Binned, Categorical, RowWeight, Schema, SummedColumn


class Outside(Enum):
    """A cell that is of no declared category."""

    OUTSIDE = "outside"


OUTSIDE = Outside.OUTSIDE
RowCodes = tuple[int, ...]
Declared = dict[str, Any]

NUMBERED = 0.25
"""How often rows have a weight, and how often a column is summed: a sixteenth of all schemas has both."""

REPLICATED = 0.5
"""How often rows with a weight have replicate weights, of which one is that weight itself."""

_WORDS: tuple[tuple[Any, ...], ...] = (
    ("F", "M", "X"),
    ("true", "false"),
    (1, 2, 3, 300),
    (0, -7, 10**18),
    ("007", "7", "+7"),
    ("a b", " a", "a ", "A"),
    ("x,y", "x;y", "x|y", "x\ty"),
    ('say "so"', "it's", "back\\slash", '"'),
    ("é", "e\u0301", "ß", "日本"),
    ("2001-02-03", "2001-02-04"),
    ("(null)", "(other)", "NA", "nan", "null"),
    tuple(f"v{k}" for k in range(300)),
)


@dataclass(frozen=True)
class MadeColumn:
    """A column of the table and the attributes that read it: none for the person and for idle columns."""

    name: str
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class World:
    """A schema, and the columns of a table in their order."""

    schema: Schema
    columns: tuple[MadeColumn, ...]

    def codes(self, values: Sequence[Any]) -> RowCodes | None:
        """Codes of a row of values, one per column, and its whole numbers; None for a row that the schema drops."""
        given = {c.name: value for c, value in zip(self.columns, values, strict=True)}
        codes = [code_of(a, given[a.column]) for a in self.schema.row_fields]
        if None in codes:
            return None
        numbers = (number_of(number, given[number.column]) for number in self.schema.row_numbers)
        return (*(code for code in codes[: len(self.schema.attributes)] if code is not None), *numbers)


def code_of(attribute: Attribute, value: Any) -> int | None:
    """Code of a value, by the schema's own rule for public values; None when its row is dropped."""
    return attribute.other_code if value is OUTSIDE else attribute.code_of(value)


def number_of(number: SummedColumn | RowWeight, value: Any) -> int:
    """What a row with this value counts as, or adds."""
    low, high = number.read.bounds
    return int(number.whole(np.array([min(max(float(value), low), high)]))[0])


def draw_world(chance: Random, dialect: Mapping[str, Any]) -> World:
    """A schema with one to five attributes and the columns of a table that it can read."""
    attributes: dict[str, Declared] = (
        {"tag": {"type": "integer", "bounds": [0, 63]}} if chance.random() < 0.5 else {}
    )
    for k in range(chance.randint(0 if attributes else 1, 3)):
        attributes[f"a{k}"] = _draw_field(chance)
    if dialect:
        for fields in attributes.values():
            fields |= _own_words(fields, chance)
    if chance.random() < 0.2:
        again = chance.choice(list(attributes))
        fields = attributes[again]
        if fields["type"] in ("integer", "date"):
            bins = {k: v for k, v in fields.items() if k not in ("width", "bins", "cuts", "resolution")}
            attributes["again"] = bins | {"column": again, "bins": 2, "outside": "clip"}
    top: Declared = {"attributes": attributes, "max_rows_per_person": chance.randint(1, 3)}
    if chance.random() < 0.7:
        top["person"] = "who"
    if len(attributes) > 1 and chance.random() < 0.3:
        labels = {name: a.labels[0] for name, a in Schema.from_dict(top).attributes.items()}
        top["impossible"] = [dict(list(labels.items())[:2])]
    if chance.random() < NUMBERED:
        finer = {"resolution": chance.choice((1, 1, 0.25, 0.1, 0.01, 2.5))}
        top["weight"] = {"column": "w", "bounds": [0, 7], "outside": chance.choice(("clip", "drop")), **finer}
        if chance.random() < REPLICATED:
            kind = chance.choice(("jackknife", "brr", "fay", "bootstrap"))
            replicates = {"columns": ["r1", "r2", "w"], "kind": kind, "by": next(iter(attributes))}
            top["sample"] = {"rows": 100, "replicates": replicates}
    if chance.random() < NUMBERED:
        top["sums"] = {"s": {"column": "value", "bounds": [-8, 24], "resolution": chance.choice((0.5, 1, 4))}}
    columns = _columns(Schema.from_dict(top), chance)
    top["csv"] = dict(dialect)
    if not dialect.get("header", True):
        top["csv"]["columns"] = [None if _is_idle(column, top) else column.name for column in columns]
    schema = Schema.from_dict(top)
    read = {a.name: a for a in schema.row_fields}
    known = [MadeColumn(c.name, tuple(read[a.name] for a in c.attributes)) for c in columns]
    return World(schema, tuple(known))


def _is_idle(column: MadeColumn, top: Declared) -> bool:
    return not column.attributes and column.name != top.get("person")


def draw_value(column: MadeColumn, chance: Random) -> Any:
    """What an ordinary cell of a column that is read means; now and then a null or a value out of range."""
    luck = chance.random()
    if luck < 0.04:
        return None
    attribute = column.attributes[0]
    if isinstance(attribute, Categorical):
        return OUTSIDE if luck < 0.08 else chance.choice(attribute.values)
    if isinstance(attribute, Binned):
        return _draw_number(attribute, beyond=luck < 0.1, chance=chance)
    return OUTSIDE if luck < 0.08 else chance.random() < 0.5


def _columns(schema: Schema, chance: Random) -> tuple[MadeColumn, ...]:
    readers: dict[str, list[Attribute]] = {}
    for attribute in schema.row_fields:
        readers.setdefault(attribute.column, []).append(attribute)
    columns = [MadeColumn(name, tuple(found)) for name, found in readers.items()]
    columns += [MadeColumn(f"idle{k}") for k in range(chance.randint(0, 2))]
    columns += [] if schema.person is None else [MadeColumn(schema.person)]
    chance.shuffle(columns)
    return tuple(columns)


def _draw_number(attribute: Binned, *, beyond: bool, chance: Random) -> Any:
    """A number or day inside the bounds, or up to nine steps outside; reals are quarters, which every type holds."""
    low, high = attribute.bounds
    steps = chance.randint(1, 9) * chance.choice((-1, 1))
    if isinstance(low, date):
        if beyond:
            return (low if steps < 0 else high) + timedelta(days=steps)
        return low + timedelta(days=chance.randint(0, (high - low).days))
    if beyond:
        return (low if steps < 0 else high) + steps
    if attribute.kind == "integer":
        return chance.randint(low, high)
    return chance.randint(int(low * 4), int(high * 4)) / 4


def _draw_field(chance: Random) -> Declared:
    kind = chance.choice(list(_FIELDS))
    fields: Declared = {"type": kind, **_FIELDS[kind](chance)}
    if chance.random() < 0.5:
        fields["null"] = "category"
    options = ("drop", "other") if kind in ("categorical", "boolean") else ("drop", "other", "clip")
    if chance.random() < 0.7:
        fields["outside"] = chance.choice(options)
    return fields


def _own_words(fields: Declared, chance: Random) -> Declared:
    """Words of an attribute's own, for nulls, truths and days, in tables of text."""
    own: Declared = {"nulls": ["missing", "-8"]} if chance.random() < 0.3 else {}
    if fields["type"] == "boolean" and chance.random() < 0.5:
        own |= {"true": ["ja", "1", "ß"], "false": ["nein", "2"]}
    if fields["type"] == "date" and chance.random() < 0.3:
        own["format"] = chance.choice(("%d.%m.%Y", "%Y-%m-%d"))
    return own


def _categorical(chance: Random) -> Declared:
    return {"values": list(chance.choice(_WORDS))}


def _boolean(chance: Random) -> Declared:
    return {}


def _integer(chance: Random) -> Declared:
    low, high = chance.choice(((0, 115), (-20, 60), (0, 1), (1, 9_999), (0, 10**12)))
    bins: Declared = chance.choice(({"width": max(1, (high - low) // 7)}, {"bins": 2}, {"cuts": [low + 1]}))
    return {"bounds": [low, high], **bins}


def _real(chance: Random) -> Declared:
    low, high = chance.choice(((0, 10), (-5, 5), (0, 500_000)))
    bins: Declared = chance.choice(
        ({"width": (high - low) / 4}, {"bins": 3}, {"cuts": [low + 0.3, high - 0.3]})
    )
    return {"bounds": [low, high], **bins, "resolution": chance.choice((1, 0.25, 0.01))}


def _date(chance: Random) -> Declared:
    bins: Declared = chance.choice(({"width": "1 year"}, {"bins": 5}, {"cuts": ["1995-05-05"]}))
    return {"bounds": ["1990-01-01", "1999-12-31"], **bins}


_FIELDS: dict[str, Callable[[Random], Declared]] = {
    "categorical": _categorical,
    "boolean": _boolean,
    "integer": _integer,
    "real": _real,
    "date": _date,
}
