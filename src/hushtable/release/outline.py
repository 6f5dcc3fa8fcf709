"""What a release is about, from its two smallest files: schema and marginals, without a number.

Names, intervals and areas are checked here, whoever asks for them.  A command does so before it loads what reads
numbers, so that a slip is refused at once; what only the answers tell, whether a table was measured, comes later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from hushtable.axes import Axes
from hushtable.errors import BundleError, WorkloadError
from hushtable.marginals import AttributeSet, is_attribute_set, marginal_label
from hushtable.planning import STRATEGIES
from hushtable.release.bundle_files import (
    FORMAT,
    SCHEMA,
    UNREADABLE,
    damaged,
    manifest_of,
    opened,
    require,
)
from hushtable.release.table_value import COUNT, TableValue
from hushtable.schema import MAX_STORED_BYTES, Attribute, Binned, LabelError, Schema

MOST_REPLICATES = 1000
"""Of one call: each takes as much memory as the tables themselves."""
MOST_SHOWN = 60
"""Letters of a misspelt category that a message repeats: half a line."""


class Origin(NamedTuple):
    """Where the noise of a release comes from: an entry of a ledger, and whether it took over earlier answers."""

    ledger: str
    request: str | None
    head: str
    strategy: str
    reused: bool


class AskedWords(NamedTuple):
    """A table by words: attributes, and at most one interval of a further one, such as ``age=18-64``."""

    by: tuple[str, ...]
    attribute: str | None
    interval: str


@dataclass(frozen=True, eq=False)
class Outline:
    """The domain of a release, the marginals that were asked for, and where its noise comes from."""

    schema: Schema
    workload: tuple[AttributeSet, ...]
    origin: Origin

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Outline:
        """The outline of a bundle; its answers are not opened."""
        place = Path(folder)
        manifest = manifest_of(place, FORMAT)
        try:
            with opened(place, SCHEMA, most=MAX_STORED_BYTES, digest=manifest["files"][SCHEMA]) as file:
                schema = stored_schema(file.read())
            card = manifest["card"]
            stamp, reused = card["ledger"], card.get("reuse") is not None
            sets = tuple(tuple(s) for s in manifest["workload"])
            require(all(is_attribute_set(s, len(schema.names)) for s in sets), "workload")
            origin = Origin(stamp["name"], stamp["request"], stamp["head"], card["plan"]["strategy"], reused)
        except BundleError:
            raise
        except UNREADABLE:
            raise damaged(place) from None
        return cls(schema, sets, origin)

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The marginals that were asked for, by attribute names."""
        return tuple(tuple(self.schema.names[i] for i in s) for s in self.workload)

    def table_axes(self, attributes: Sequence[str]) -> tuple[int, ...]:
        """The axes of a table that could be released; refuses names that do not make one."""
        axes = self.schema.axes(attributes)
        if len(set(axes)) != len(axes):
            raise WorkloadError("table.repeated", "An attribute is named twice.", "Name each attribute once.")
        if not self._axes.is_set(axes):
            raise WorkloadError(
                "table.two-levels",
                "Two levels of one attribute are named.",
                "Name the finer one: it says which category of the coarser one each row is in.",
            )
        return axes

    def check_table(self, attributes: Sequence[str]) -> None:
        """Refuse a table that is not in the release, as far as that is known without its answers."""
        key = tuple(sorted(self.table_axes(attributes)))
        if not self._may_hold(key):
            raise self.not_released(key)

    def check_value(self, value: str, *, simultaneous: bool = False) -> None:
        """Refuse a value that no table of this release can show."""
        if TableValue.parse(value, self.schema).kind != COUNT and simultaneous:
            raise WorkloadError(
                "table.simultaneous",
                "Intervals of totals, means, shares and rates hold one by one.",
                "Leave --simultaneous out, or ask for counts.",
            )

    def check_tables(self, tables: Collection[Sequence[str]]) -> None:
        """The same for several tables, none of them twice."""
        if len({tuple(names) for names in tables}) < len(tables):
            raise WorkloadError("export.repeated", "A table is named twice.", "Name each table once.")
        for names in tables:
            self.check_table(names)

    def not_released(self, key: AttributeSet) -> WorkloadError:
        """The refusal of a table that nobody asked for and that was not measured."""
        shown = ", ".join(" x ".join(names) or "the total" for names in self.marginals[:5])
        more = f" and {len(self.marginals) - 5:,} more" if len(self.marginals) > 5 else ""
        return WorkloadError(
            "table.not-released",
            f"The marginal {marginal_label(key, self.schema.names)} was not part of this release.",
            f"Released are all marginals inside {shown}{more}.",
        )

    def asked(
        self, words: Sequence[str], area: Collection[str] = (), *, simultaneous: bool = False
    ) -> AskedWords:
        """What some words ask for; with an area or an interval it is a sum in every cell of the others."""
        ranges = [word for word in words if "=" in word and word not in self.schema.names]
        if len(ranges) + bool(area) > 1:
            raise WorkloadError(
                "table.one-interval",
                "Only one interval or area can be asked for.",
                "Ask for the others one by one.",
            )
        if simultaneous and (area or ranges):
            raise WorkloadError(
                "table.simultaneous",
                "Intervals of an area or an interval of values do not hold together.",
                "Ask for them one by one, or for the table of all values.",
            )
        by = tuple(word for word in words if word not in ranges)
        if not ranges:
            return AskedWords(by, None, "")
        attribute, _, interval = ranges[0].partition("=")
        return AskedWords(by, attribute, interval)

    def check_asked(
        self,
        words: Sequence[str],
        area: Collection[str] = (),
        *,
        tree: str | None = None,
        simultaneous: bool = False,
    ) -> None:
        """Refuse words that ask for no table, no interval of whole bins or no area (of the attribute ``tree``)."""
        by, attribute, interval = self.asked(words, area, simultaneous=simultaneous)
        if attribute is not None:
            found = self.intervals(attribute, interval)
            if not any(self._may_hold(tuple(sorted(self.sum_axes(axis, by)))) for axis, _ in found):
                held = tuple(self.levels_by(attribute, by, self._may_hold))
                raise self.no_interval(attribute, interval, None, held)
        elif area:
            self.sum_axes(self.area(area, tree)[0], by)
        else:
            self.check_table(by)

    def sum_axes(self, axis: int, by: Sequence[str]) -> tuple[int, ...]:
        """The axes of sums along one in every cell of others, that one first."""
        axes = (axis, *self.schema.axes(by))
        if len(set(axes)) != len(axes) or not self._axes.is_set(axes):
            raise WorkloadError("table.repeated", "An attribute is named twice.", "Name each attribute once.")
        return axes

    def intervals(self, attribute: str, low: Any, high: Any = None) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The levels of an attribute whose whole bins make up an interval, the finest first, with their codes."""
        for axis, kind in self._levels_of(attribute):
            if codes := _codes(kind, low, high):
                yield axis, codes

    def levels_by(
        self, attribute: str, by: Sequence[str], tells: Callable[[AttributeSet], bool]
    ) -> Iterator[tuple[int, Binned]]:
        """The ordered levels of an attribute that some tables tell by others, the finest first."""
        for axis, kind in self.ordered(attribute):
            if tells(tuple(sorted(self.sum_axes(axis, by)))):
                yield axis, kind

    def no_interval(
        self, attribute: str, low: Any, high: Any = None, held: Sequence[tuple[int, Binned]] = ()
    ) -> WorkloadError:
        """The refusal of an interval: of what is none, or of one that no table tells.

        ``held``: the levels of the attribute that tables tell, the finest first.
        """
        if held and any(self.intervals(attribute, low, high)):
            level = self.schema.names[held[0][0]]
            return WorkloadError(
                "range.bins",
                f"The interval is not made of whole bins of {level!r}, the finest level of {attribute!r} that was "
                "released by these others.",
                f"Give ends of bins of {level!r}, as `hush table` shows them, or release a finer level.",
            )
        if any(self.intervals(attribute, low, high)):
            return WorkloadError(
                "range.table",
                f"No table that was measured in full has {attribute!r} by these others.",
                "Ask for it by fewer of them; the strategy residual-planner measures all tables of a workload in full.",
            )
        finest = next(self.ordered(attribute), None)
        if finest is None:
            return WorkloadError(
                "range.order",
                f"{attribute!r} has no order, so it has no intervals.",
                "Ask for its table, which shows each category, or add some up as an area.",
            )
        low, high = finest[1].bounds
        return WorkloadError(
            "range.bins",
            f"The interval is not made of whole bins of {attribute!r} inside its bounds, {low} to {high}.",
            "Give ends of bins, as `hush table` shows them.",
        )

    def ordered(self, attribute: str) -> Iterator[tuple[int, Binned]]:
        """The ordered levels of an attribute, the finest first."""
        return ((axis, kind) for axis, kind in self._levels_of(attribute) if isinstance(kind, Binned))

    def no_order(self, attribute: str) -> WorkloadError:
        """The refusal of quantiles."""
        return WorkloadError(
            "quantile.order",
            f"{attribute!r} is not an ordered attribute that was released with these others.",
            "Name a number or a date of a released table.",
        )

    def check_quantile(self, attribute: str, by: Sequence[str]) -> None:
        """Refuse quantiles of what has no order, and groups that are none."""
        if not any(self._may_hold(self.sum_axes(axis, by)) for axis, _ in self.ordered(attribute)):
            raise self.no_order(attribute)

    def area(
        self, leaves: Collection[Any], attribute: str | None = None, rows: Mapping[Any, int] | None = None
    ) -> tuple[int, tuple[int, ...]]:
        """The axis and codes of some categories together, of the one attribute with a tree unless one is named.

        A text is one category.  ``rows``: in which row of a file each of them stands.
        """
        axis = self.schema.axis(self._tree() if attribute is None else attribute)
        held = self.schema.of_axis(axis)
        found: set[int] = set()
        for place, leaf in enumerate([leaves] if isinstance(leaves, str) else leaves, 1):
            try:
                found.update(held.codes_matching(leaf))
            except LabelError:
                row = f" in row {rows[leaf]} of the file" if rows else f", number {place} of the area,"
                raise WorkloadError(
                    "area.unknown",
                    f"{str(leaf)[:MOST_SHOWN]!r}{row} is no category of {self.schema.names[axis]!r}.",
                    "Give labels as the table shows them, or name the attribute of the area.",
                ) from None
        if not found:
            raise WorkloadError("area.empty", "The area has no category.", "Name one or more.")
        return axis, tuple(sorted(found))

    def check_weights(self, columns: Collection[str]) -> tuple[str, ...]:
        """The columns of weights that name cells; refuses weights without a weight and names that are none."""
        if "weight" not in columns:
            raise WorkloadError(
                "combine.weights",
                "The weights have no column `weight`.",
                "Give one row per cell with its weight.",
            )
        taken = [
            c for c in ("weight", "name") if c in columns and c in {*self.schema.names, *self.schema.aliases}
        ]
        if taken:
            raise WorkloadError(
                "combine.taken",
                f"The release has an attribute or a level {taken[0]!r}, and so do weights a column of that name.",
                f"Combine releases whose schema calls it otherwise, with `column: {taken[0]}` in the attribute.",
            )
        names = tuple(c for c in columns if c not in ("weight", "name"))
        self.schema.axes(names)
        return names

    def check_levels(self, names: Sequence[str]) -> None:
        """Refuse what is no coarser level that could stand beside the attributes of records."""
        for name in names:
            if self.schema.axis(name) in self.schema.record_axes:
                raise WorkloadError(
                    "microdata.level",
                    f"{name!r} is no coarser level of an attribute.",
                    "Name levels above the finest one, which every record has.",
                )

    def check_independent(self, other: Outline) -> None:
        """Refuse two releases whose noise is not independent."""
        one, two = self.origin, other.origin
        if one.ledger != two.ledger:
            return
        if (one.request, one.head) == (two.request, two.head):
            raise _shared("It is one release twice.")
        if one.reused or two.reused:
            raise _shared(
                "The two releases may share answers, because one was made with --reuse from the same ledger."
            )

    def check_same(self, other: Outline, attributes: Sequence[str]) -> None:
        """Refuse a table whose categories are not the same in another release.

        A category of a level is the same if no leaf that both trees have lies in another one there.
        """
        for name in attributes:
            new = self.schema.of_axis(self.schema.axis(name))
            known = name in other.schema.names or name in other.schema.aliases
            if not known or sorted(new.labels) != sorted(
                other.schema.of_axis(other.schema.axis(name)).labels
            ):
                raise _different(f"The two releases do not have the same categories of {name!r}.")
            here, there = _above_leaves(self.schema, name), _above_leaves(other.schema, name)
            moved = [leaf for leaf, label in here.items() if there.get(leaf, label) != label]
            if moved:
                raise _different(
                    f"The two releases have different trees: {moved[0]!r} lies in another {name!r} in each."
                )

    @cached_property
    def _axes(self) -> Axes:
        return Axes.of(self.schema.sizes)

    def _may_hold(self, attributes: AttributeSet) -> bool:
        """Whether the answers may tell a marginal: it was asked for, or more than that may have been measured."""
        strategy = STRATEGIES.get(self.origin.strategy)
        if strategy is None or not strategy.keeps_to_workload or self.origin.reused:
            return True
        return any(self._axes.tells(attributes, s) for s in self.workload)

    def _levels_of(self, attribute: str) -> Iterator[tuple[int, Attribute]]:
        chain = self._axes.chains[self.schema.axis(attribute)]
        return ((axis, self.schema.of_axis(axis)) for axis in reversed(chain))

    def _tree(self) -> str:
        """The attribute that areas are made of where there is one tree."""
        held = self.schema.attributes.items()
        trees = [name for name, a in held if a.levels is not None and a.levels.paths]
        if len(trees) != 1:
            has = f"{len(trees)} attributes" if trees else "no attribute"
            named = trees[0] if trees else next(iter(self.schema.attributes))
            raise WorkloadError(
                "area.attribute",
                f"The schema has {has} with a tree, so an area must name the one that it is made of.",
                f"Give attribute={named!r}, or --attribute {named} on the command line.",
            )
        return trees[0]


@lru_cache(maxsize=4)
def stored_schema(data: bytes) -> Schema:
    """The schema of a bundle; whoever loads a release has read its outline just before."""
    return Schema.loads_stored(data)


def checked_replicates(number: int) -> int:
    """How many draws of the noise somebody wants; refuses none and too many."""
    if not hasattr(number, "__index__") or not 1 <= number <= MOST_REPLICATES:
        raise WorkloadError(
            "replicates.number", f"There can be 1 to {MOST_REPLICATES:,} replicates.", "Give for example 80."
        )
    return number


def _codes(kind: Attribute, low: Any, high: Any) -> tuple[int, ...]:
    """The bins of an interval, which may be one text; () where it is not made of whole ones."""
    if not isinstance(kind, Binned):
        return ()
    if high is not None:
        return kind.codes_between(low, high)
    try:
        return kind.codes_matching(low)
    except LabelError:
        return ()


def _above_leaves(schema: Schema, name: str) -> dict[str, str]:
    """In which category of a coarser level each category of its attribute lies, by their labels."""
    for attribute in schema.attributes.values():
        chain = attribute.levels
        if chain is None or name not in chain.names[:-1]:
            continue
        depth, codes = chain.names.index(name), list(range(attribute.size))
        for blocks in reversed(chain.blocks[depth + 1 :]):
            codes = [bisect_right(blocks, code) - 1 for code in codes]
        labels = chain.coarser[depth].labels
        return {leaf: labels[code] for leaf, code in zip(attribute.labels, codes, strict=True)}
    return {}


def _different(message: str) -> WorkloadError:
    return WorkloadError(
        "compare.different", message, "Compare tables of other attributes, or on a level that both have."
    )


def _shared(what: str) -> WorkloadError:
    return WorkloadError("compare.shared", what, "Compare two releases that were measured separately.")
