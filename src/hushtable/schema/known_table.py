"""Totals that are known from elsewhere: a population register, a census, a published figure.  Public, declared.

exact      the curator states that the table counts exactly the persons of the file: nothing is spent on it
benchmark  figures that estimates and records are adjusted to after the release
invariant  a table that was computed from these very rows and is published exactly: the guarantee is conditional on it

They are figures of the quantity that is measured: of persons, or of weights where rows count by a weight.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

from hushtable.axes import AttributeSet, Axes, summed_to
from hushtable.errors import HushtableError, SchemaError
from hushtable.lazily import Later
from hushtable.privacy import exact_number
from hushtable.schema.attribute import LabelError
from hushtable.schema.coverage import DROPPING, fates_of
from hushtable.schema.fields import Fields, is_number, suggestion

if TYPE_CHECKING:
    import numpy as np

    from hushtable.arrays import Floats
    from hushtable.schema.schema import Schema
else:
    np = Later("numpy")

EXACT, BENCHMARK, INVARIANT = "exact", "benchmark", "invariant"
RECORD_WEIGHT = "benchmark_weight"
"""The column of records with which they add up to benchmarks; without it every record counts as one."""
FIGURES = "count"
"""The column of a file that holds its figures, unless `column` says otherwise."""
MOST_CELLS = 200_000
"""A documented limit: figures of one table.  A schema travels with every release, and a reader loads all of it."""
MOST_BYTES = 2**24
"""Of a file of figures: eighty letters for each."""
LARGEST = 2**50
"""A documented limit: up to here sums of whole figures are exact in floating point too."""

_EXACT = (
    "Counts of {of} are taken as exactly those of {source}, by the curator's statement: intervals are conditional on "
    "it, and where it is wrong they are wrong by as much."
)
_INVARIANT = (
    "Counts of {of} ({source}) were computed from these very rows and are published as they are: the guarantee is "
    "conditional on them. Files that agree on them differ by a person who is replaced, and for these rho counts "
    "fourfold and epsilon twofold."
)
_BENCHMARK = (
    "Columns called benchmarked are adjusted to the counts of {of} of {source}: their intervals cover the noise in the "
    "file's own proportions, and no error of these figures or of what the file leaves out."
)
_NOTES = {EXACT: _EXACT, INVARIANT: _INVARIANT, BENCHMARK: _BENCHMARK}


@dataclass(frozen=True)
class KnownTable:
    """Figures of a table over some axes of a schema, in its order, flat with the last axis fastest."""

    names: tuple[str, ...]
    axes: AttributeSet
    shape: tuple[int, ...]
    kind: str
    source: str
    figures: tuple[int | float, ...]

    @property
    def free(self) -> bool:
        """Whether it is known of the file itself, so that nothing need be measured of it."""
        return self.kind != BENCHMARK

    @property
    def table(self) -> Floats:
        """The figures, shaped."""
        return np.array(self.figures, np.float64).reshape(self.shape)

    @property
    def label(self) -> str:
        """The table by its attributes."""
        return " x ".join(self.names) or "everybody"

    @property
    def note(self) -> str:
        """What a reader of tables must know."""
        return _NOTES[self.kind].format(of=self.label, source=self.source)

    def to_dict(self) -> dict[str, Any]:
        """As a schema has it, with the figures in place of their file."""
        told = {"attributes": list(self.names), "figures": list(self.figures)}
        return {**told, "source": self.source, "kind": self.kind}


def read_known(top: Fields, schema: Schema) -> tuple[KnownTable, ...]:
    """``known`` of a schema, in the order written; refuses tables that contradict each other or the schema."""
    given = top.items("known") if "known" in top else ()
    found = tuple(_known(top.inner(("known", k), entry), schema) for k, entry in enumerate(given or ()))
    _require_agreement(top, found, schema)
    if any(one.kind == EXACT for one in found):
        _require_every_row(top, schema)
    return found


def _known(fields: Fields, schema: Schema) -> KnownTable:
    fields.only(("table", "column", "attributes", "figures", "source", "kind"))
    kind = fields.choice("kind", (EXACT, BENCHMARK, INVARIANT), None)
    source = fields.text("source")
    if source is None or ("table" in fields) == ("figures" in fields):
        raise fields.error(
            "schema.missing-field",
            None,
            "needs `source`, and a `table` or `figures`",
            'Write `{table: population.csv, source: "register of 2025", kind: exact}`.',
        )
    if "table" in fields:
        names, rows = _read_file(fields)
        axes = _axes_of(fields, "table", names, schema)
        shape = tuple(schema.sizes[axis] for axis in axes)
        figures = _placed(fields, schema, axes, rows, kind)
    else:
        names = fields.items("attributes") or []
        axes = _axes_of(fields, "attributes", names, schema)
        shape, figures = tuple(schema.sizes[axis] for axis in axes), fields.items("figures") or []
        if len(figures) != prod(shape) or not all(map(is_number, figures)):
            raise _wrong(fields, "figures", f"must be {prod(shape):,} numbers, one for each cell")
    order = tuple(sorted(range(len(axes)), key=lambda k: axes[k]))
    turned = np.array(figures, object).reshape(shape).transpose(order).reshape(-1).tolist()
    made = KnownTable(
        names=tuple(schema.names[axes[k]] for k in order),
        axes=tuple(axes[k] for k in order),
        shape=tuple(shape[k] for k in order),
        kind=kind,
        source=source,
        figures=tuple(turned),
    )
    _require_figures(fields, made, schema.count_unit)
    _require_possible(fields, made, schema)
    return made


def _read_file(fields: Fields) -> tuple[list[str], list[tuple[list[str], str]]]:
    """The attributes of a CSV file, and its rows: a label of each and the figure."""
    given, folder = fields.text("table"), fields.folder
    if folder is None:
        raise _wrong(fields, "table", "is a file, which a stored schema does not name")
    try:
        with (folder / str(given)).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise _wrong(fields, "table", f"is a file of more than {MOST_BYTES:,} bytes")
        lines = [line for line in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) if line]
    except (OSError, ValueError, csv.Error):
        raise _wrong(fields, "table", "is a file that cannot be read as UTF-8 text with commas") from None
    column = fields.text("column") or FIGURES
    header = lines[0] if lines else []
    if header.count(column) != 1 or len(set(header)) != len(header):
        raise _wrong(fields, "table", f"is a file without one column {column!r} and names that differ")
    at = header.index(column)
    for number, line in enumerate(lines, start=1):
        if len(line) != len(header):
            raise _wrong(fields, "table", f"is a file whose row {number} has another number of fields")
    names = [name for name in header if name != column]
    return names, [([text for k, text in enumerate(line) if k != at], line[at]) for line in lines[1:]]


def _axes_of(fields: Fields, place: str, names: Sequence[Any], schema: Schema) -> list[int]:
    for name in names:
        if not isinstance(name, str) or (name not in schema.names and name not in schema.aliases):
            hint = suggestion(str(name), schema.names)
            raise fields.error("schema.known-attribute", place, "names an attribute that there is not", hint)
    axes = [schema.axis(name) for name in names]
    if not Axes.of(schema.sizes).is_set(tuple(axes)) or len(set(axes)) != len(axes):
        raise _wrong(fields, place, "has an attribute twice, or two levels of one")
    if prod(schema.sizes[axis] for axis in axes) > MOST_CELLS:
        raise _wrong(fields, place, f"has more than {MOST_CELLS:,} cells")
    return axes


def _placed(
    fields: Fields, schema: Schema, axes: Sequence[int], rows: Sequence[tuple[list[str], str]], kind: str
) -> list[int | float]:
    """The figures of a file, each in its cell; every cell once, but those of "(null)" and "(other)" may be missing."""
    shape = tuple(schema.sizes[axis] for axis in axes)
    table: list[int | float | None] = [None] * prod(shape)
    for number, (labels, text) in enumerate(rows, start=2):
        at = 0
        for axis, label in zip(axes, labels, strict=True):
            at = at * schema.sizes[axis] + _code(fields, schema, axis, label, number)
        if table[at] is not None:
            raise _wrong(fields, "table", f"has the cell of row {number} twice")
        table[at] = _figure(fields, text, number)
    for at, figure in enumerate(table):
        if figure is not None:
            continue
        codes = np.unravel_index(at, shape)
        beyond = [
            schema.names[a]
            for a, code in zip(axes, codes, strict=True)
            if int(code) >= schema.of_axis(a).regular
        ]
        if kind == BENCHMARK and beyond:
            raise _wrong(
                fields, "table", f"has no figure for the rows without a category in {', '.join(beyond)}"
            )
        if not beyond:
            raise _wrong(fields, "table", "lacks a cell of the schema")
    return [0 if figure is None else figure for figure in table]


def _code(fields: Fields, schema: Schema, axis: int, label: str, number: int) -> int:
    try:
        codes = schema.of_axis(axis).codes_matching(label)
    except LabelError as error:
        raise fields.error(
            "schema.known-table", "table", f"is wrong in row {number}: {error.args[0]}", error.args[1]
        ) from None
    if len(codes) != 1:
        raise _wrong(fields, "table", f"has a range of several categories in row {number}")
    return codes[0]


def _figure(fields: Fields, text: str, number: int) -> int | float:
    try:
        found = exact_number(text.strip(), "figure")
    except HushtableError:
        raise _wrong(fields, "table", f"has no number in row {number}") from None
    return int(found) if found.denominator == 1 else float(found)


def _require_figures(fields: Fields, known: KnownTable, unit: Fraction) -> None:
    """Figures of the file itself are multiples of ``unit``, in which the file is counted."""
    place = "table" if "table" in fields else "figures"
    if sum(known.figures) > LARGEST or min(known.figures) < 0:
        raise _wrong(fields, place, f"has a figure below 0, or adds up to more than {LARGEST:,}")
    if known.free and any(
        (exact_number(figure, "figure") / unit).denominator > 1 for figure in known.figures
    ):
        of = (
            "a whole number"
            if unit == 1
            else f"a multiple of {float(unit):.10g}, the `resolution` of `weight`"
        )
        raise _wrong(fields, place, f"has a figure that is not {of}")
    if not known.free and min(known.figures) == 0:
        raise fields.error(
            "schema.known-zero",
            place,
            "is a benchmark with a figure of 0, to which nothing can be adjusted",
            "Put the cell together with another one, or declare it `impossible` and leave its attribute out.",
        )


def _require_possible(fields: Fields, known: KnownTable, schema: Schema) -> None:
    """What the schema declares impossible has nobody in it."""
    axes = Axes.of(schema.sizes)
    for rule in schema.impossible:
        ruled = {axes.owners[axis]: (axis, set(codes)) for axis, codes in rule.codes}
        mask = np.ones(known.shape, bool)
        for k, axis in enumerate(known.axes):
            leaf, codes = ruled.pop(axes.owners[axis], (axis, set(range(schema.sizes[axis]))))
            above = axes.codes_above(leaf, axis)
            whole = [
                c for c in range(schema.sizes[axis]) if codes.issuperset(np.flatnonzero(above == c).tolist())
            ]
            inside = np.zeros(schema.sizes[axis], bool)
            inside[whole] = True
            mask &= inside.reshape([-1 if j == k else 1 for j in range(len(known.axes))])
        if not ruled and (known.table[mask] > 0).any():
            raise _wrong(fields, None, "has somebody where `impossible` has nobody")


def _require_agreement(top: Fields, found: Sequence[KnownTable], schema: Schema) -> None:
    """Tables of the file add up to each other exactly where they overlap, and so do benchmarks."""
    axes = Axes.of(schema.sizes)
    for (i, one), (k, other) in combinations(enumerate(found), 2):
        if one.free != other.free:
            continue
        shared = [s for s in axes.below(one.axes) if axes.tells(s, other.axes)]
        for s in shared:
            sums = [summed_to(axes, known.table, known.axes, s) for known in (one, other)]
            if not np.allclose(*sums, rtol=1e-12, atol=0.0):
                of = " x ".join(schema.names[axis] for axis in s) or "everybody"
                raise top.inner(("known", k), {}).error(
                    "schema.known-disagree",
                    None,
                    f"disagrees with `known.{i}` on the counts of {of}",
                    "Take both from one source, or leave one out.",
                )


def _require_every_row(top: Fields, schema: Schema) -> None:
    """Refuse an exact table where the schema lets a row be left out: it would count other people than the file."""
    dropping = [field.name for field in schema.row_fields if DROPPING.intersection(fates_of(field))]
    if schema.person is not None:
        dropping.append(schema.person)
    if dropping:
        named = ", ".join(f"`{name}`" for name in dict.fromkeys(dropping))
        raise top.error(
            "schema.known-dropped",
            "known",
            f"has an exact table, and rows may be dropped because of {named}: it would count other people",
            "Give attributes `null: category` and `outside: other`. Where a weight, a sum or the rows of a person "
            "leave rows out, use `kind: benchmark`.",
        )


def _wrong(fields: Fields, place: str | None, what: str) -> SchemaError:
    return fields.error(
        "schema.known-table",
        place,
        what,
        "Give a CSV file with one column for each attribute, one called count, and one row for each cell.",
    )
