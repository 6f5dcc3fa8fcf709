"""SDMX-ML 2.1: the structure of exported tables, with a dataflow and data structure for each and shared codelists.

Identifiers in SDMX have few letters; a category keeps its text where it has no others, and is rewritten otherwise.  The
labels that people read are the names of the codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from hushtable.release.exports.export_table import Dimension, slug
from hushtable.texts import visible

if TYPE_CHECKING:
    from hushtable.release.exports.column_sets import CellColumn
    from hushtable.release.exports.export_book import ExportBook

AGENCY, VERSION = "HUSHTABLE", "1.0"
SCHEME = "CS_HUSHTABLE"
OBS_VALUE, OBS_STATUS, TIME_PERIOD = "OBS_VALUE", "OBS_STATUS", "TIME_PERIOD"
STATUS_NAMES = {
    "A": "Normal value",
    "E": "Estimated value: use with caution",
    "U": "Low reliability",
    "N": "Not significant: noise hides the number",
}
"""Codes of OBS_STATUS as SDMX's cross-domain list has them."""
_TAKEN = (
    OBS_VALUE,
    OBS_STATUS,
    TIME_PERIOD,
    "STRUCTURE",
    "STRUCTURE_ID",
    "STRUCTURE_NAME",
    "ACTION",
    "TOTAL",
)
_PERIOD = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-[0-9]{2})?|-Q[1-4]|-S[12])?")
_CODE = re.compile(r"[A-Za-z0-9_@$-]+")
_ROOT = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
_SPACES = {"mes": f"{_ROOT}/message", "str": f"{_ROOT}/structure", "com": f"{_ROOT}/common"}


@dataclass(frozen=True)
class CodedDimension:
    """A dimension under its SDMX identifiers."""

    id: str
    title: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]


class SdmxNames:
    """The identifiers of everything in a book."""

    def __init__(self, book: ExportBook) -> None:
        self._book = book
        self.measures = book.columns.measures(book.release.schema.names)
        self.value = book.columns.value
        self.quality = book.columns.quality(book.release.schema.names)
        self.period = book.about.period if _PERIOD.fullmatch(book.about.period) else None

    @cached_property
    def dimensions(self) -> dict[str, CodedDimension]:
        """By the names of attributes and levels."""
        known = self._book.dimensions
        taken = [*_TAKEN, *(self.column(measure) for measure in self.measures)]
        ids = distinct([concept_id(name) for name in known], taken)
        return {name: _coded(id_, made) for (name, made), id_ in zip(known.items(), ids, strict=True)}

    def of_table(self, names: Sequence[Dimension]) -> list[CodedDimension]:
        """The dimensions of a table; the total has one with one code."""
        found = [self.dimensions[dimension.name] for dimension in names]
        return found or [CodedDimension("TOTAL", "Total", ("_T",), ("Total",))]

    def column(self, measure: CellColumn) -> str:
        """Where a measure stands: the value itself, or an attribute of the observation."""
        return OBS_VALUE if measure.name == self.value else concept_id(measure.name)

    def flow(self, number: int) -> str:
        """The identifier of a table's dataflow."""
        return f"DF_{slug(self._book.stems[number - 1]).upper()}"


def concept_id(name: str) -> str:
    """Capital letters, digits and underscores, a letter first.

    >>> concept_id("age group"), concept_id("5 years"), concept_id("性別")
    ('AGE_GROUP', 'D_5_YEARS', 'D_')
    """
    plain = slug(name).upper()
    return plain if plain[:1].isalpha() else f"D_{plain}"


def distinct(ids: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The identifiers, with numbers behind those that are taken."""
    used, made = set(taken), list[str]()
    for wanted in ids:
        new, number = wanted, 1
        while new in used:
            number += 1
            new = f"{wanted}_{number}"
        used.add(new)
        made.append(new)
    return made


def _coded(id_: str, dimension: Dimension) -> CodedDimension:
    plain = [
        text if _CODE.fullmatch(text) else re.sub(r"[^A-Za-z0-9@$-]+", "_", text).strip("_") or f"V{k}"
        for k, text in enumerate(dimension.texts)
    ]
    return CodedDimension(id_, dimension.title, tuple(distinct(plain)), dimension.labels)


class SdmxStructure:
    """The structure message of a book, built part by part."""

    def __init__(self, book: ExportBook, names: SdmxNames) -> None:
        self._book, self._names = book, names
        self._language = book.about.language or "en"
        for prefix, space in _SPACES.items():
            ElementTree.register_namespace(prefix, space)

    def to_bytes(self) -> bytes:
        """The message as a file has it."""
        message = ElementTree.Element(_tag("mes:Structure"))
        self._header(message)
        parts = ElementTree.SubElement(message, _tag("mes:Structures"))
        dimensions = [self._names.of_table(self._shown(names)) for names in self._book.names]
        self._flows(parts)
        used = {dimension.id: dimension for table in dimensions for dimension in table}
        self._codelists(parts, used)
        self._concepts(parts, used)
        self._structures(parts, dimensions)
        ElementTree.indent(message)
        return ElementTree.tostring(message, encoding="utf-8", xml_declaration=True)

    def _shown(self, names: Sequence[str]) -> list[Dimension]:
        return self._book.table_dimensions(names)

    def _header(self, message: ElementTree.Element) -> None:
        header = ElementTree.SubElement(message, _tag("mes:Header"))
        _leaf(header, "mes:ID", f"HUSH_{self._book.card.ledger.entry}")
        _leaf(header, "mes:Test", "false")
        _leaf(header, "mes:Prepared", self._book.card.ledger.time)
        ElementTree.SubElement(header, _tag("mes:Sender"), {"id": AGENCY})

    def _flows(self, parts: ElementTree.Element) -> None:
        flows = ElementTree.SubElement(parts, _tag("str:Dataflows"))
        for number, names in enumerate(self._book.names, 1):
            flow = self._named(flows, "str:Dataflow", self._names.flow(number), self._book.table_title(names))
            _leaf(flow, "com:Description", " ".join(self._book.notes), self._language)
            structure = ElementTree.SubElement(flow, _tag("str:Structure"))
            _reference(structure, _structure_id(self._names.flow(number)), "datastructure", "DataStructure")

    def _codelists(self, parts: ElementTree.Element, used: dict[str, CodedDimension]) -> None:
        lists = ElementTree.SubElement(parts, _tag("str:Codelists"))
        for dimension in used.values():
            self._codelist(lists, dimension.id, dimension.title, dimension.codes, dimension.labels)
        for measure in self._names.measures:
            if measure.kind == "word":
                codes = [concept_id(word) for word in measure.words]
                self._codelist(lists, self._names.column(measure), measure.title, codes, measure.words)
        self._codelist(lists, OBS_STATUS, "Observation status", list(STATUS_NAMES), [*STATUS_NAMES.values()])

    def _codelist(
        self, lists: ElementTree.Element, id_: str, title: str, codes: Sequence[str], labels: Sequence[str]
    ) -> None:
        made = self._named(lists, "str:Codelist", f"CL_{id_}", title)
        for code, label in zip(codes, labels, strict=True):
            self._item(made, "str:Code", code, label)

    def _concepts(self, parts: ElementTree.Element, used: dict[str, CodedDimension]) -> None:
        concepts = ElementTree.SubElement(parts, _tag("str:Concepts"))
        scheme = self._named(concepts, "str:ConceptScheme", SCHEME, "Concepts of the tables")
        for dimension in used.values():
            self._item(scheme, "str:Concept", dimension.id, dimension.title)
        for measure in self._names.measures:
            self._item(scheme, "str:Concept", self._names.column(measure), measure.title, measure.meaning)
        self._item(scheme, "str:Concept", OBS_STATUS, "Observation status")
        if self._names.period:
            self._item(scheme, "str:Concept", TIME_PERIOD, "Reference period")

    def _structures(self, parts: ElementTree.Element, tables: Sequence[Sequence[CodedDimension]]) -> None:
        structures = ElementTree.SubElement(parts, _tag("str:DataStructures"))
        for number, (names, dimensions) in enumerate(zip(self._book.names, tables, strict=True), 1):
            id_ = _structure_id(self._names.flow(number))
            made = self._named(structures, "str:DataStructure", id_, self._book.table_title(names))
            inside = ElementTree.SubElement(made, _tag("str:DataStructureComponents"))
            self._dimension_list(inside, dimensions)
            self._attribute_list(inside)
            measures = ElementTree.SubElement(inside, _tag("str:MeasureList"), {"id": "MeasureDescriptor"})
            primary = ElementTree.SubElement(measures, _tag("str:PrimaryMeasure"), {"id": OBS_VALUE})
            _concept(primary, OBS_VALUE)
            _text_format(primary, "Double")

    def _dimension_list(self, inside: ElementTree.Element, dimensions: Sequence[CodedDimension]) -> None:
        listed = ElementTree.SubElement(inside, _tag("str:DimensionList"), {"id": "DimensionDescriptor"})
        for position, dimension in enumerate(dimensions, 1):
            facts = {"id": dimension.id, "position": str(position)}
            made = ElementTree.SubElement(listed, _tag("str:Dimension"), facts)
            _concept(made, dimension.id)
            _enumeration(made, dimension.id)
        if self._names.period:
            facts = {"id": TIME_PERIOD, "position": str(len(dimensions) + 1)}
            made = ElementTree.SubElement(listed, _tag("str:TimeDimension"), facts)
            _concept(made, TIME_PERIOD)
            _text_format(made, "ObservationalTimePeriod")

    def _attribute_list(self, inside: ElementTree.Element) -> None:
        listed = ElementTree.SubElement(inside, _tag("str:AttributeList"), {"id": "AttributeDescriptor"})
        for measure in self._names.measures:
            column = self._names.column(measure)
            if column != OBS_VALUE:
                self._attribute(listed, column, coded=measure.kind == "word")
        self._attribute(listed, OBS_STATUS, coded=True)

    def _attribute(self, listed: ElementTree.Element, id_: str, *, coded: bool) -> None:
        facts = {"id": id_, "assignmentStatus": "Conditional"}
        made = ElementTree.SubElement(listed, _tag("str:Attribute"), facts)
        _concept(made, id_)
        _ = _enumeration(made, id_) if coded else _text_format(made, "Double")
        relation = ElementTree.SubElement(made, _tag("str:AttributeRelationship"))
        primary = ElementTree.SubElement(relation, _tag("str:PrimaryMeasure"))
        ElementTree.SubElement(primary, "Ref", {"id": OBS_VALUE})

    def _named(self, above: ElementTree.Element, tag: str, id_: str, name: str) -> ElementTree.Element:
        facts = {"id": id_, "agencyID": AGENCY, "version": VERSION, "isFinal": "true"}
        made = ElementTree.SubElement(above, _tag(tag), facts)
        _leaf(made, "com:Name", name, self._language)
        return made

    def _item(self, above: ElementTree.Element, tag: str, id_: str, name: str, meaning: str = "") -> None:
        made = ElementTree.SubElement(above, _tag(tag), {"id": id_})
        _leaf(made, "com:Name", name, self._language)
        if meaning:
            _leaf(made, "com:Description", meaning, self._language)


def _structure_id(flow: str) -> str:
    return flow.replace("DF_", "DSD_", 1)


def _tag(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_SPACES[prefix]}}}{local}"


def _leaf(above: ElementTree.Element, tag: str, text: str, language: str | None = None) -> None:
    facts = {} if language is None else {"{http://www.w3.org/XML/1998/namespace}lang": language}
    ElementTree.SubElement(above, _tag(tag), facts).text = visible(text) or "(empty)"


def _reference(above: ElementTree.Element, id_: str, package: str, kind: str) -> None:
    facts = {"id": id_, "version": VERSION, "agencyID": AGENCY, "package": package, "class": kind}
    ElementTree.SubElement(above, "Ref", facts)


def _concept(above: ElementTree.Element, id_: str) -> None:
    identity = ElementTree.SubElement(above, _tag("str:ConceptIdentity"))
    facts = {
        "id": id_,
        "maintainableParentID": SCHEME,
        "maintainableParentVersion": VERSION,
        "agencyID": AGENCY,
        "package": "conceptscheme",
        "class": "Concept",
    }
    ElementTree.SubElement(identity, "Ref", facts)


def _enumeration(above: ElementTree.Element, id_: str) -> None:
    local = ElementTree.SubElement(above, _tag("str:LocalRepresentation"))
    listed = ElementTree.SubElement(local, _tag("str:Enumeration"))
    _reference(listed, f"CL_{id_}", "codelist", "Codelist")


def _text_format(above: ElementTree.Element, kind: str) -> None:
    local = ElementTree.SubElement(above, _tag("str:LocalRepresentation"))
    ElementTree.SubElement(local, _tag("str:TextFormat"), {"textType": kind})
