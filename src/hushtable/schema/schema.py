"""The schema: the declared, public domain of a table and the unit of privacy.

Everything downstream (workloads, plans, reports) sees the data only through this.  It contains nothing that was
computed from rows, except what a draft marked as learnt from the data, which a curator must review before use.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from math import prod
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from hushtable.axes import Axes
from hushtable.errors import SchemaError
from hushtable.notebook import html_card
from hushtable.schema import build, document, write
from hushtable.schema.about import About, read_about, spoken
from hushtable.schema.attribute import Attribute, LabelError
from hushtable.schema.attribute_fields import attribute_fields, in_order
from hushtable.schema.coverage import MOST_SHARE, Coverage, Loss, losses_of, read_coverage
from hushtable.schema.dependencies import Dependency, all_dependencies, depending_rules, read_depends
from hushtable.schema.dialect import Dialect, read_dialect
from hushtable.schema.document import Document
from hushtable.schema.drawn_sample import DrawnSample, read_sampling
from hushtable.schema.fields import Fields, key_text, suggestion
from hushtable.schema.known_table import KnownTable, read_known
from hushtable.schema.levels import axes_of
from hushtable.schema.quality_scale import QualityScale, read_scale
from hushtable.schema.replicate_weights import ReplicateWeights
from hushtable.schema.row_weight import RowWeight, read_weight
from hushtable.schema.summed import SummedColumn, read_sums
from hushtable.texts import counted

TOP_FIELDS = (
    "max_rows_per_person",
    "person",
    "weight",
    "count",
    "sums",
    "coverage",
    "sample",
    "known",
    "frozen",
    "csv",
    "about",
    "quality",
    "attributes",
    "impossible",
    "depends",
    "learnt_from_data",
)
MAX_ROWS_PER_PERSON = 1_000_000
"""A documented limit: noise grows with it, so that far fewer leave nothing to see."""


@dataclass(frozen=True)
class Impossible:
    """A combination that cannot occur: every axis of ``codes`` with one of its codes, all at once."""

    given: Mapping[str, Any]
    codes: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Learnt:
    """A field that was filled in by looking at the data."""

    path: str
    reviewed: bool


@dataclass(frozen=True, eq=False)
class Schema:
    """Attributes in order, and who a row belongs to.

    >>> schema = Schema.loads("attributes: {age: {type: integer, bounds: [0, 9], width: 5}}")
    >>> schema.sizes, schema.attributes["age"].labels
    ((2,), ('0-4', '5-9'))
    """

    attributes: Mapping[str, Attribute]
    max_rows_per_person: int = 1
    person: str | None = None
    csv: Dialect = field(default_factory=Dialect)
    impossible: tuple[Impossible, ...] = ()
    learnt: tuple[Learnt, ...] = ()
    frozen: bool = False
    """The curator's word that no row changes while a choice is open."""
    aliases: Mapping[str, int] = field(init=False)
    """Axes by the names of attributes whose finest level is called otherwise."""
    depends: tuple[Dependency, ...] = ()
    """What is declared to follow from what, for records."""
    about: About = field(default_factory=About)
    """What the numbers are about, for readers."""
    quality: QualityScale | None = None
    """How exported numbers are graded, for readers."""
    weight: RowWeight | None = None
    """What a row counts as, where that is not one."""
    sums: Mapping[str, SummedColumn] = field(default_factory=dict[str, SummedColumn])
    """Columns whose totals are released beside the counts, by name."""
    coverage: Coverage | None = None
    """The share of a budget for counting what is left out, if any."""
    sampling: DrawnSample | None = None
    """What is declared of a file that is a sample."""
    known: tuple[KnownTable, ...] = ()
    """Tables that are known from elsewhere."""
    names: tuple[str, ...] = field(init=False)
    """Names of the axes: of the attributes, and in place of one with levels those of its levels, the coarsest first."""
    sizes: tuple[int, ...] = field(init=False)
    """Number of categories of each axis, with "(null)" and "(other)"; where there are levels these are ``Axes``."""
    levels: Mapping[str, Attribute] = field(init=False)
    """What the categories of each axis are, by its name."""

    def __post_init__(self) -> None:
        found = axes_of(self.attributes)
        object.__setattr__(self, "names", tuple(found.levels))
        object.__setattr__(self, "sizes", found.sizes)
        object.__setattr__(self, "levels", MappingProxyType(found.levels))
        object.__setattr__(self, "aliases", MappingProxyType(found.aliases))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Reads a YAML or JSON file."""
        return cls.loads(document.read(path), Path(path).parent)

    @classmethod
    def loads(cls, text: str, folder: str | Path = "") -> Schema:
        """Reads YAML or JSON text; files that it names are looked for in ``folder``."""
        return _from_document(replace(document.parse(text), folder=Path(folder)))

    @classmethod
    def loads_stored(cls, data: bytes) -> Schema:
        """Reads the schema of a finished release, which may be longer than a file that people write, and may have
        fields that no data are opened with any more."""
        most = document.MAX_STORED_BYTES
        return _from_document(document.parse(document.decode(data, most), most), stored=True)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Schema:
        """The same fields as in a file, as plain Python values."""
        given = cast("object", value)
        plain = dict(value) if isinstance(given, Mapping) else value
        return _from_document(Document(plain, folder=Path()))

    @classmethod
    def of(cls, value: SchemaLike) -> Schema:
        """A schema from itself, a dict or a file."""
        if isinstance(value, Schema):
            return value
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        given = cast("object", value)
        if isinstance(given, str | PathLike):
            return cls.load(Path(value))
        raise SchemaError(
            "schema.wrong-type", "The schema is neither a file, a dict nor a Schema.", "Pass one of these."
        )

    @classmethod
    def from_domain(cls, sizes: Mapping[str, int] | str | Path) -> Schema:
        """A table of integer codes: ``{"age": 28, "sex": 2}``, or a JSON file with that (as ``mbi`` writes it).

        It says less than a schema: every attribute is categorical with the values 0, 1, ..., size - 1.

        >>> Schema.from_domain({"age": 3, "sex": 2}).attributes["age"].labels
        ('0', '1', '2')
        """
        given = dict(sizes) if isinstance(sizes, Mapping) else document.parse(document.read(sizes)).value
        return cls.from_dict({"attributes": build.domain_fields(given)})

    def save(self, path: str | Path) -> None:
        """Writes YAML."""
        Path(path).write_text(self.to_yaml(), encoding="utf-8")

    def to_yaml(self) -> str:
        """YAML that ``loads`` reads back as an equal schema."""
        return write.block(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain values that ``from_dict`` reads back; fields at their default are left out."""
        top: dict[str, Any] = {"max_rows_per_person": self.max_rows_per_person}
        if self.person is not None:
            top["person"] = self.person
        if self.weight is not None:
            top["count" if self.weight.kind == "count" else "weight"] = self.weight.to_dict()
        if self.sums:
            top["sums"] = {name: column.to_dict() for name, column in self.sums.items()}
        if self.coverage is not None:
            top["coverage"] = self.coverage.to_value()
        if self.sampling is not None:
            top["sample"] = self.sampling.to_value()
        if self.known:
            top["known"] = [table.to_dict() for table in self.known]
        if self.frozen:
            top["frozen"] = True
        if self.about != About():
            top["about"] = self.about.to_dict()
        if self.quality is not None:
            top["quality"] = self.quality.to_value()
        if self.csv != Dialect():
            top["csv"] = self.csv.to_dict()
        top["attributes"] = {name: attribute_fields(a, self.csv) for name, a in self.attributes.items()}
        if self.impossible:
            top["impossible"] = [dict(entry.given) for entry in self.impossible]
        if self.depends:
            top["depends"] = [one.to_dict() for one in self.depends]
        if self.learnt:
            top["learnt_from_data"] = {
                "unreviewed": [mark.path for mark in self.learnt if not mark.reviewed],
                "reviewed": [mark.path for mark in self.learnt if mark.reviewed],
            }
        return top

    @property
    def domain_cells(self) -> int:
        """Number of cells of the full table."""
        return prod(self.record_sizes)

    @property
    def record_sizes(self) -> tuple[int, ...]:
        """Number of categories of each attribute, on its finest level: what a record has."""
        return tuple(attribute.size for attribute in self.attributes.values())

    @property
    def has_levels(self) -> bool:
        """Whether an attribute has levels."""
        return Axes.of(self.sizes).has_levels

    @property
    def record_axes(self) -> tuple[int, ...]:
        """Axis of each attribute's finest level."""
        return Axes.of(self.sizes).finest

    @property
    def record_rules(self) -> tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]:
        """What no record can have, by numbers of attributes and their codes: impossible, or against what follows."""
        place = {axis: k for k, axis in enumerate(self.record_axes)}
        given = tuple(tuple((place[axis], codes) for axis, codes in rule.codes) for rule in self.impossible)
        return (*given, *depending_rules(self.following, self.attributes))

    @property
    def following(self) -> tuple[Dependency, ...]:
        """What follows from what: as declared, and where attributes read one column."""
        return all_dependencies(self.depends, self.attributes)

    def of_axis(self, axis: int) -> Attribute:
        """What the categories of an axis are."""
        return self.levels[self.names[axis]]

    def in_language(self, language: str) -> Schema:
        """The same domain with the labels of a language that ``about`` has words of; for showing, not for counting."""
        if language == self.about.language:
            return self
        if language not in self.about.labels:
            known = [*filter(None, [self.about.language]), *self.about.labels]
            fix = suggestion(language, known) if known else "Leave --language out, or add `about.labels`."
            raise SchemaError("schema.no-language", f"The schema has no words of {language!r}.", fix)
        words = self.about.labels[language]
        shown = {name: spoken(a, words[name]) if name in words else a for name, a in self.attributes.items()}
        return replace(self, attributes=MappingProxyType(shown))

    def axis(self, name: str) -> int:
        """Axis number of one attribute."""
        try:
            return self._axis_of[name]
        except (KeyError, TypeError):
            raise SchemaError(
                "schema.unknown-attribute",
                f"The schema has no attribute {name!r}.",
                suggestion(str(name), self.names),
            ) from None

    def axes(self, names: Iterable[str]) -> tuple[int, ...]:
        """Axis numbers, in the order asked for."""
        if isinstance(names, str):
            names = (names,)
        return tuple(self.axis(name) for name in names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data that are read: of the attributes, in their order, of sums, the weight and the person."""
        wanted = [attribute.column for attribute in self.row_fields]
        return tuple(dict.fromkeys(wanted if self.person is None else [*wanted, self.person]))

    @property
    def row_fields(self) -> tuple[Attribute, ...]:
        """What is read of a row and may drop it: the attributes, and then its numbers."""
        return (*self.attributes.values(), *(number.read for number in self.row_numbers))

    @property
    def row_numbers(self) -> tuple[SummedColumn | RowWeight, ...]:
        """What is read of a row as whole numbers beside its categories: what is summed, its replicate
        weights, and last its weight if any."""
        weights = () if self.weight is None else (self.weight,)
        return (*self.sums.values(), *(() if self.replicates is None else self.replicates.columns), *weights)

    @property
    def replicates(self) -> ReplicateWeights | None:
        """Replicate weights, where a sample has them."""
        return None if self.sampling is None else self.sampling.replicates

    @property
    def imputed(self) -> tuple[str, ...]:
        """Attributes and summed columns whose values were filled in with the help of other people's records."""
        columns = (*self.attributes.items(), *self.sums.items())
        return tuple(dict.fromkeys(name for name, column in columns if column.imputed))

    @property
    def free_tables(self) -> tuple[KnownTable, ...]:
        """Tables that are known of the file itself, of which nothing need be measured."""
        return tuple(table for table in self.known if table.free)

    @property
    def benchmarks(self) -> tuple[KnownTable, ...]:
        """Tables that released numbers are adjusted to."""
        return tuple(table for table in self.known if not table.free)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What may be left out of the rows, for which reasons: the counters of ``coverage``."""
        return losses_of(self.row_fields)

    @property
    def most_per_person(self) -> int:
        """The most by which one person can move a count: rows, times what a row may count as."""
        return self.max_rows_per_person * (1 if self.weight is None else self.weight.per_row)

    @property
    def count_unit(self) -> Fraction:
        """How many persons one measured integer of a count is: 1, or the step of fractional weights."""
        return Fraction(1) if self.weight is None else self.weight.unit

    @property
    def positions(self) -> tuple[str, ...] | None:
        """Name of each column of a text file without a header, "" for one that is not used; None with a header."""
        return None if self.csv.header else self.csv.columns or self.columns

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Fields that were learnt from the data and that nobody has reviewed."""
        return tuple(mark.path for mark in self.learnt if not mark.reviewed)

    def is_reviewed(self, path: str) -> bool:
        """Whether somebody said that a field may be public, by itself or with all that was learnt of its attribute."""
        marks = {mark.path for mark in self.learnt if mark.reviewed}
        whole = (_whole(name) for name in self.attributes if path.startswith(f"{_whole(name)}."))
        return path in marks or any(
            name in marks and path.removeprefix(f"{name}.") in build.EVERY_FIELD for name in whole
        )

    def require_reviewed(self) -> None:
        """Refuses a draft whose fields still come from the data alone."""
        if self.unreviewed:
            more = f" and {len(self.unreviewed) - 10} more" if len(self.unreviewed) > 10 else ""
            shown = ", ".join(self.unreviewed[:10]) + more
            raise SchemaError(
                "schema.unreviewed",
                f"{counted(len(self.unreviewed), 'field')} learnt from the data and not reviewed: {shown}.",
                "Check each against what is publicly known: `hush review SCHEMA` walks through them.",
            )

    @cached_property
    def canonical(self) -> str:
        """JSON with sorted keys, without the record of review and the word on changes: equal for equal domains."""
        top = self.to_dict()
        for field_of_use in ("learnt_from_data", "frozen", "about", "quality", "depends", "sample"):
            top.pop(field_of_use, None)
        if self.replicates is not None:
            top["sample"] = self.replicates.to_dict()
        top["known"] = [table.to_dict() for table in self.free_tables]
        if not top["known"]:
            top.pop("known")
        top["attributes"] = [(name, in_order(fields)) for name, fields in top["attributes"].items()]
        return json.dumps(top, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    @cached_property
    def version(self) -> str:
        """SHA-256 of ``canonical``, in hex."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} ({size})" for name, size in zip(self.names[:8], self.sizes, strict=False))
        more = f" and {len(self.names) - 8} more" if len(self.names) > 8 else ""
        return f"<Schema of {counted(len(self.attributes), 'attribute')}: {shown}{more}>"

    def _repr_html_(self) -> str:
        person = "the curator's claim" if self.person is None else f"column {self.person}"
        facts = {
            "rows per person": f"{self.max_rows_per_person}, {person}",
            "cells": f"{self.domain_cells:,}",
        }
        rows = [(name, a.kind, a.size, ", ".join(a.labels[:4])) for name, a in self.levels.items()]
        title = f"Schema of {counted(len(self.attributes), 'attribute')}"
        return html_card(title, facts, ("attribute", "type", "categories", "such as"), rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        mine, others = (
            (s.canonical, s.learnt, s.frozen, s.about, s.quality, s.depends, s.sampling, s.known)
            for s in (self, other)
        )
        return mine == others

    def __hash__(self) -> int:
        return hash(self.canonical)

    @cached_property
    def _axis_of(self) -> dict[str, int]:
        return {**self.aliases, **{name: axis for axis, name in enumerate(self.names)}}


SchemaLike = Schema | Mapping[str, Any] | str | PathLike[str]
"""A schema, or what one is read from: a dict or a file."""


def _from_document(source: Document, *, stored: bool = False) -> Schema:
    document.require_plain(source.value)
    fields = Fields(source, (), source.value, TOP_FIELDS)
    dialect = read_dialect(source, fields["csv"], stored=stored) if "csv" in fields else Dialect()
    attributes = build.attributes(source, fields.get("attributes"), dialect)
    rows = fields.positive("max_rows_per_person") or 1
    if rows > MAX_ROWS_PER_PERSON:
        raise fields.error(
            "schema.wrong-type",
            "max_rows_per_person",
            f"is above {MAX_ROWS_PER_PERSON:,}",
            "Use a smaller cap.",
        )
    weight = read_weight(fields, dialect)
    schema = Schema(
        attributes=MappingProxyType(attributes),
        max_rows_per_person=rows,
        person=fields.text("person"),
        weight=weight,
        sums=MappingProxyType(read_sums(fields, attributes, dialect)),
        coverage=read_coverage(fields),
        sampling=read_sampling(fields, weight, dialect),
        frozen=fields.flag("frozen", False),
        csv=dialect,
        depends=read_depends(source, fields.items("depends") or (), attributes),
        about=read_about(source, fields["about"], attributes) if "about" in fields else About(),
        quality=read_scale(source, fields["quality"]) if "quality" in fields else None,
        learnt=_learnt(source, fields["learnt_from_data"], attributes)
        if "learnt_from_data" in fields
        else (),
    )
    _check_positions(schema, fields)
    if schema.replicates is not None:
        schema.axis(schema.replicates.by)
        if schema.coverage is not None and schema.coverage.share + schema.replicates.share > MOST_SHARE:
            raise fields.error(
                "schema.wrong-share",
                "coverage",
                "and the share of replicate weights are together above 50%",
                "Leave the larger part of a budget to the tables.",
            )
    entries = tuple(
        _impossible(schema, fields, source, i, entry)
        for i, entry in enumerate(fields.items("impossible") or ())
    )
    object.__setattr__(schema, "impossible", entries)
    object.__setattr__(schema, "known", read_known(fields, schema))
    return schema


def _check_positions(schema: Schema, top: Fields) -> None:
    """A file without a header must have a place for every column that is read."""
    if schema.csv.header:
        return
    attributes = {attribute.column for attribute in schema.attributes.values()}
    others = {"person": schema.person, "weight": None if schema.weight is None else schema.weight.column}
    others |= {f"sums.{name}": summed.column for name, summed in schema.sums.items()}
    replicates = () if schema.replicates is None else schema.replicates.columns
    others |= {f"sample.replicates.{k}": one.column for k, one in enumerate(replicates)}
    for place, column in others.items():
        if column is None or schema.csv.columns or column in attributes:
            continue
        raise top.error(
            "schema.no-position",
            place,
            "has no place in a file without a header",
            "Name all columns of the file in order, as in `csv: {header: false, columns: [id, sex, age]}`.",
        )
    for column in schema.columns:
        if schema.csv.columns and column not in schema.csv.columns:
            raise top.error(
                "schema.no-position",
                "csv",
                f"has no {column!r} among its `columns`",
                "Name all columns of the file in order, and attributes by `column` where their name is another.",
            )


def _impossible(schema: Schema, top: Fields, source: Document, i: int, entry: Any) -> Impossible:
    fields = Fields(source, ("impossible", i), entry, (*schema.names, *schema.aliases))
    if not entry:
        raise fields.error(
            "schema.impossible", None, "names no attribute", 'Write `- {age: "0-14", member: true}`.'
        )
    codes: dict[int, tuple[int, ...]] = {}
    for name in map(key_text, entry):
        given = fields[name]
        options: list[Any] = [*given] if isinstance(given, list | tuple) and given else [given]
        try:
            axis = schema.axis(name)
            matched = {c for option in options for c in schema.of_axis(axis).codes_matching(option)}
        except LabelError as error:
            raise fields.error(
                "schema.impossible", name, f"is wrong: {error.args[0]}", error.args[1]
            ) from None
        leaf, below = Axes.of(schema.sizes).inside(axis, matched)
        codes[leaf] = tuple(sorted(below.intersection(codes.get(leaf, below))))
    given = {key_text(key): _written(value) for key, value in entry.items()}
    return Impossible(given, tuple(sorted(codes.items())))


def _written(given: Any) -> Any:
    """A value, or a list of them, as a file would hold it."""
    if isinstance(given, list | tuple):
        items: list[Any] = [*given]
        return [_written(item) for item in items]
    if isinstance(given, datetime):
        given = given.date()
    return given.isoformat() if isinstance(given, date) else given


def _learnt(source: Document, value: Any, attributes: Iterable[str]) -> tuple[Learnt, ...]:
    """Marks in the order written; the name of an attribute stands for all that was learnt of it."""
    fields = Fields(source, ("learnt_from_data",), value, ("unreviewed", "reviewed"))
    marks: dict[str, Learnt] = {}
    for state in ("unreviewed", "reviewed"):
        if state in fields and fields[state] is None:
            continue
        for path in fields.items(state) or ():
            if not isinstance(path, str):
                raise fields.error(
                    "schema.wrong-type", state, "must list paths", "Write `- attributes.age.bounds`."
                )
            if path in marks:
                raise fields.error(
                    "schema.duplicate-value", state, f"has {path!r} twice", "Keep one of the two lines."
                )
            if state == "reviewed" and path in attributes:
                covered = [f"attributes.{path}.{field}" for field in build.EVERY_FIELD]
                known = [mark for mark in covered if mark in marks and not marks[mark].reviewed]
                marks |= {mark: Learnt(mark, True) for mark in known or [_whole(path)]}
                continue
            marks[path] = Learnt(path, state == "reviewed")
    return tuple(sorted(marks.values(), key=lambda mark: mark.reviewed))


def _whole(name: str) -> str:
    """The mark of all that was learnt of an attribute."""
    return f"attributes.{name}"
