"""Attributes that follow from others: the weekday of a date, the region of a county, two readings of one column.

Public, declared under ``depends``, or plain from the schema where two attributes read one column.  They change nothing
that is counted; records made from a release obey them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.schema.attribute import Attribute, Binned, Categorical, Value, text_of
from hushtable.schema.document import Document
from hushtable.schema.fields import Fields, is_mapping, key_text

if TYPE_CHECKING:  # a schema is read without arrays
    import numpy as np

    from hushtable.arrays import Ints
else:
    np = Later("numpy")

MOST_STEPS = 4_000_000
"""Steps of an attribute that others follow from, such as days: eleven thousand years; more would take memory."""
MOST_RULED = 1_000_000
"""Pairs of categories that rules are written for, a second of work; records of more are made to agree when they are
drawn."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
NeverTogether = tuple[tuple[int, tuple[int, ...]], tuple[int, tuple[int, ...]]]
"""Two attributes by number, each with codes that cannot occur together."""


def _weekday(days: Ints) -> Ints:
    return (days + 3) % 7 + 1  # 1970-01-01 was a Thursday


def _in_year(days: Ints, unit: str, per: int) -> Ints:
    return (days.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(np.int64) % per) + 1


def _month(days: Ints) -> Ints:
    return _in_year(days, "M", 12)


def _quarter(days: Ints) -> Ints:
    return (_month(days) + 2) // 3


def _day(days: Ints) -> Ints:
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]")
    return days - months.astype(np.int64) + 1


def _year(days: Ints) -> Ints:
    return days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970


@dataclass(frozen=True)
class DatePart:
    """A number that a day has; ``names`` are its English names from 1 on, ``count`` how many there are (0: any)."""

    number: Callable[[Ints], Ints]
    count: int = 0
    names: tuple[str, ...] = ()


PARTS: Mapping[str, DatePart] = {
    "weekday": DatePart(_weekday, 7, _WEEKDAYS),
    "day": DatePart(_day, 31),
    "month": DatePart(_month, 12, _MONTHS),
    "quarter": DatePart(_quarter, 4),
    "year": DatePart(_year),
}
"""What ``part`` may say."""


@dataclass(frozen=True)
class Dependency:
    """``attribute`` follows from ``on``: by a ``part`` of its day, by ``map``, or, with neither, as the same value."""

    attribute: str
    on: str
    part: str | None = None
    map: Mapping[str, Value] = field(default_factory=dict[str, Value])

    def to_dict(self) -> dict[str, Any]:
        """The fields that declare it."""
        told: dict[str, Any] = {"attribute": self.attribute, "on": self.on}
        return (
            told | ({"part": self.part} if self.part else {}) | ({"map": dict(self.map)} if self.map else {})
        )

    def codes_of(self, attributes: Mapping[str, Attribute], steps: Ints) -> Ints:
        """Code of the attribute for each step (day or whole number) of the other; -1 where it has no category."""
        made = attributes[self.attribute]
        if self.part is None:
            return _binned_codes(made, steps)
        part = PARTS[self.part]
        numbers = part.number(steps)
        if isinstance(made, Binned):
            return _binned_codes(made, numbers)
        known = part_codes(made, part)
        first, last = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        table = np.array([known.get(number, -1) for number in range(first, last + 1)], np.int64)
        return table[numbers - first]

    def mapped(self, attributes: Mapping[str, Attribute]) -> Ints:
        """Code of the attribute for each category of the other, where it follows by a map; -1 where nothing is said."""
        made, other = attributes[self.attribute], attributes[self.on]
        texts = [text_of(other.values_of(code)) for code in range(other.regular)]
        codes = [made.code_of(self.map[text]) if text in self.map else None for text in texts]
        said = [-1 if code is None else code for code in codes]
        return np.array(said + [-1] * (other.size - other.regular), np.int64)


def _binned_codes(made: Attribute, numbers: Ints) -> Ints:
    if not isinstance(made, Binned):
        return np.full(numbers.shape, -1)
    codes = np.searchsorted(made.edges, numbers, side="right") - 1
    inside = (numbers >= made.starts[0]) & (numbers < made.starts[-1])
    clipped = np.clip(codes, 0, made.regular - 1)
    return np.where(inside | (made.outside == "clip"), clipped, -1)


def part_codes(made: Attribute, part: DatePart) -> dict[int, int]:
    """Code of each number of a part: by number, by English name, or in the declared order where all are there."""
    if not isinstance(made, Categorical):
        return {}
    texts = [text.lower() for text in made.texts]
    if all(text.isdecimal() for text in texts):
        return {int(text): code for code, text in enumerate(texts)}
    named = {
        k: code
        for k, name in enumerate(part.names, 1)
        for code, text in enumerate(texts)
        if len(text) >= 2 and name.startswith(text)
    }
    if len(named) == len(texts):
        return named
    return {k + 1: k for k in range(part.count)} if len(texts) == part.count else {}


def read_depends(
    document: Document, items: Sequence[Any], attributes: Mapping[str, Attribute]
) -> tuple[Dependency, ...]:
    """The ``depends`` part of a schema, checked against its attributes."""
    made: dict[str, Dependency] = {}
    for k, item in enumerate(items):
        fields = Fields(document, ("depends", k), item, ("attribute", "on", "part", "map"))
        name, on = (fields.choice(key, tuple(attributes), "") for key in ("attribute", "on"))
        part = fields.choice("part", tuple(PARTS), None) if "part" in fields else None
        given: Any = fields.get("map") or {}
        if (part is None) == (not given) or not is_mapping(given) or name == on or name in made:
            raise fields.error(
                "schema.depends",
                None,
                "must say once of an attribute from which other it follows, and by `part` or `map`",
                "Write `- {attribute: day, on: date, part: weekday}`.",
            )
        one = Dependency(name, on, part, {key_text(key): value for key, value in given.items()})
        _check(fields, one, attributes)
        made[name] = one
    _refuse_circles(document, made)
    return tuple(made.values())


def _check(fields: Fields, one: Dependency, attributes: Mapping[str, Attribute]) -> None:
    made, other = attributes[one.attribute], attributes[one.on]
    if one.part is not None:
        if not isinstance(other, Binned) or other.kind != "date":
            raise fields.error("schema.depends", "on", "is no date, so it has no parts", "Use `map`.")
        if not isinstance(made, Binned) and not part_codes(made, PARTS[one.part]):
            raise fields.error(
                "schema.depends",
                "attribute",
                f"has other values than a {one.part}",
                "Give it numbers, English names, or all values in their order.",
            )
    elif isinstance(other, Binned) or unknown(one, made, other):
        raise fields.error(
            "schema.depends",
            "map",
            "must lead from values of one categorical attribute to values of the other",
            "Write `map: {Alder: North, Elm: South}`.",
        )


def unknown(one: Dependency, made: Attribute, other: Attribute) -> bool:
    """Whether a map names a value that one of the two attributes does not have."""
    texts = {text_of(other.values_of(code)) for code in range(other.regular)}
    targets = [made.code_of(value) for value in one.map.values()]
    return not texts.issuperset(one.map) or any(code is None or code >= made.regular for code in targets)


def _refuse_circles(document: Document, made: Mapping[str, Dependency]) -> None:
    for name in made:
        seen, step = {name}, made[name].on
        while step in made:
            if step in seen:
                raise Fields(document, (), {}, ()).error(
                    "schema.depends", "depends", "goes round in a circle", "Leave one of the lines out."
                )
            seen.add(step)
            step = made[step].on


def all_dependencies(
    declared: Sequence[Dependency], attributes: Mapping[str, Attribute]
) -> tuple[Dependency, ...]:
    """Those that are declared, and the attributes that read the column of another one, which has more categories."""
    following = {one.attribute for one in declared}
    columns: dict[tuple[str, str], list[tuple[str, Binned]]] = {}
    for name, attribute in attributes.items():
        if isinstance(attribute, Binned):
            columns.setdefault((attribute.column, attribute.kind), []).append((name, attribute))
    same: list[Dependency] = []
    for group in columns.values():
        finest = max(group, key=lambda entry: entry[1].regular)[0]
        same += [Dependency(name, finest) for name, _ in group if name != finest and name not in following]
    return (*same, *_read_again(attributes, following), *declared)


def _read_again(attributes: Mapping[str, Attribute], following: Collection[str]) -> Iterator[Dependency]:
    """Categories that read the column of another attribute have its value, where both list it."""
    columns: dict[str, list[Categorical]] = {}
    for name, attribute in attributes.items():
        if isinstance(attribute, Categorical) and name not in following:
            columns.setdefault(attribute.column, []).append(attribute)
    for group in columns.values():
        first = max(group, key=lambda attribute: attribute.regular)
        texts = set(first.texts)
        for other in group:
            map = {text_of(value): value for value in other.values if text_of(value) in texts}
            if other is not first and map:
                yield Dependency(other.name, first.name, None, map)


def depending_rules(
    dependencies: Sequence[Dependency], attributes: Mapping[str, Attribute]
) -> Iterator[NeverTogether]:
    """Codes of two attributes that no record can have together, from what follows from what."""
    place = {name: k for k, name in enumerate(attributes)}
    for one in dependencies:
        made, other = attributes[one.attribute], attributes[one.on]
        if one.map and made.regular * other.regular > MOST_RULED:
            continue
        for codes, possible in _possible(one, attributes).items():
            never = tuple(code for code in range(made.regular) if code not in possible)
            if never and possible:
                yield tuple(sorted(((place[one.on], codes), (place[one.attribute], never))))  # type: ignore[misc]
        if one.part is None and not one.map and made.null_code is not None and other.null_code is not None:
            yield ((place[one.on], (other.null_code,)), (place[one.attribute], tuple(range(made.regular))))
            yield ((place[one.on], tuple(range(other.regular))), (place[one.attribute], (made.null_code,)))


def _possible(one: Dependency, attributes: Mapping[str, Attribute]) -> dict[tuple[int, ...], frozenset[int]]:
    """The codes of the attribute that each category of the other allows, categories that allow the same together."""
    other = attributes[one.on]
    allowed: dict[frozenset[int], list[int]] = {}
    mapped = one.mapped(attributes) if one.map else None
    for code in range(other.regular):
        inside = _codes_inside(one, attributes, code) if mapped is None else mapped[code : code + 1]
        found = frozenset(int(c) for c in inside if c >= 0)
        allowed.setdefault(found, []).append(code)
    return {tuple(codes): found for found, codes in allowed.items()}


def _codes_inside(one: Dependency, attributes: Mapping[str, Attribute], code: int) -> Any:
    other = attributes[one.on]
    if not isinstance(other, Binned):
        return ()
    low: Any = other.starts[code]
    end: Any = other.starts[code + 1]
    if other.kind == "real":
        made = attributes[one.attribute]
        inner = [edge for edge in made.starts if low < edge < end] if isinstance(made, Binned) else []
        return one.codes_of(attributes, np.array([low, *inner]))
    steps: Ints = np.arange(int(low), int(min(end, low + MOST_STEPS)))
    return np.unique(one.codes_of(attributes, steps))
