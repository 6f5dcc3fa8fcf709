"""What is asked for: a list of marginals with weights, by attribute names, and the same list resolved to axis numbers.

A workload knows nothing of the data.  It meets a schema only in ``resolve``, which needs ``names`` and ``sizes``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from hushtable import marginals as algebra
from hushtable.axes import Axes
from hushtable.errors import BudgetError, WorkloadError
from hushtable.marginals.asks import Ask, ask_text, read_ask
from hushtable.marginals.sets import MAX_SETS, AttributeSet, closure
from hushtable.marginals.workload_file import parse_workload, read_workload_text
from hushtable.privacy import exact_number

if TYPE_CHECKING:  # a list of names needs no arrays
    from hushtable.marginals.layout import Layout

Weight = int | float | str | Decimal | Fraction


class Domain(Protocol):
    """What a workload needs to know of a schema."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def sizes(self) -> Sequence[int]: ...


@dataclass(frozen=True)
class ResolvedWorkload:
    """A workload on axis numbers: distinct attribute sets in the order asked for, a positive weight for each.

    ``asks`` are the ranges that matter in place of single categories, by set.  ``known`` are tables that are known from
    elsewhere, asked for or not.
    """

    sets: tuple[AttributeSet, ...]
    weights: tuple[Fraction, ...]
    sizes: tuple[int, ...]
    names: tuple[str, ...] = ()
    asks: tuple[tuple[Ask, ...], ...] = ()
    known: tuple[AttributeSet, ...] = ()

    @cached_property
    def free(self) -> frozenset[AttributeSet]:
        """The residuals that known tables tell: nothing need be measured of them."""
        axes = Axes.of(self.sizes)
        return frozenset(s for table in self.known for s in axes.below(table))

    @property
    def unknown(self) -> ResolvedWorkload:
        """The same without what is known from elsewhere."""
        if not self.known:
            return self
        kept = [k for k, s in enumerate(self.sets) if not self.free.issuperset(Axes.of(self.sizes).below(s))]
        if not kept:
            raise WorkloadError(
                "workload.known",
                "All tables that are asked for are known from elsewhere, and nothing is left to measure.",
                "Ask for a table that the schema does not list under `known`.",
            )
        asks = tuple(self.asks[k] for k in kept) if self.asks else ()
        sets, weights = tuple(self.sets[k] for k in kept), tuple(self.weights[k] for k in kept)
        return replace(self, sets=sets, weights=weights, asks=asks)

    @cached_property
    def closure(self) -> tuple[AttributeSet, ...]:
        """All subsets of the marginals: the residuals that they are made of."""
        return closure(self.sets, self.sizes)

    @property
    def has_levels(self) -> bool:
        """Whether some axes are levels of one attribute."""
        return Axes.of(self.sizes).has_levels

    @property
    def layout(self) -> Layout:
        """Where the answers lie in one flat array."""
        return algebra.Layout(self.sizes, self.sets)

    @property
    def cells(self) -> int:
        """Numbers in all answers together."""
        return sum(prod(self.sizes[i] for i in s) for s in self.sets)

    @property
    def digest(self) -> str:
        """SHA-256 of the marginals, by the names of their attributes, and of their weights."""
        listed: list[Any] = [[[self.names[i] for i in s] for s in self.sets], [str(w) for w in self.weights]]
        if self.asks:
            listed.append([[ask_text(ask) for ask in asks] for asks in self.asks])
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

    def label(self, attributes: AttributeSet, asks: Sequence[Ask] = ()) -> str:
        """A marginal by its attributes' names, for messages; ``age=ranges`` where that is asked of it."""
        kinds = {ask.axis: f"={ask.kind}" for ask in asks}
        return marginal_label(attributes, [f"{n}{kinds.get(k, '')}" for k, n in enumerate(self.names)])

    def asked_sums(self, attributes: AttributeSet, asks: Sequence[Ask]) -> int:
        """How many sums are asked of a marginal."""
        numbers = {ask.axis: ask.number for ask in asks}
        return prod(numbers.get(axis, self.sizes[axis]) for axis in attributes)


@dataclass(frozen=True, init=False)
class Workload:
    """Marginals by attribute name (or axis number), and how much each one matters.

    >>> Workload([("age", "sex"), ("age",)], weights=[1, "1/2"]).marginals
    (('age', 'sex'), ('age',))
    """

    marginals: tuple[tuple[str | int, ...], ...]
    weights: tuple[Fraction, ...]

    def __init__(
        self, marginals: Iterable[Sequence[str | int]], weights: Sequence[Weight] | None = None
    ) -> None:
        if isinstance(marginals, str):
            raise WorkloadError("workload.marginal", "A workload is a list of marginals, not a text.")
        rows = tuple(_marginal(k, m) for k, m in enumerate(marginals))
        if not rows:
            raise WorkloadError(
                "workload.empty", "The workload has no marginal.", "List at least one, () is the total."
            )
        object.__setattr__(self, "marginals", rows)
        object.__setattr__(self, "weights", _weights(weights, len(rows)))

    @classmethod
    def all_marginals(cls, schema: Domain, order: int = 3) -> Workload:
        """All marginals of exactly ``order`` attributes, equal weights; order 0 is the total alone.

        Attributes with levels are on their finest one, which tells the coarser ones too.
        """
        names = tuple(schema.names[axis] for axis in Axes.of(schema.sizes).finest)
        given = cast("object", order)
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= len(names):
            raise WorkloadError(
                "workload.order",
                f"The order must be a whole number from 0 to {len(names)}, the number of attributes.",
                f"Give --order {min(3, len(names))}.",
            )
        if comb(len(names), order) > MAX_SETS // 2:
            raise WorkloadError(
                "workload.too-large",
                f"{len(names)} attributes have {comb(len(names), order):,} marginals of order {order}.",
                "Lower --order, or list the marginals that matter in a workload file.",
            )
        return cls(combinations(names, order))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Workload:
        """Read a YAML file: a list of attribute lists, or ``marginals:`` with such a list and ``weights:``."""
        return cls.loads(read_workload_text(path), Path(path).name)

    @classmethod
    def loads(cls, text: str, name: str = "The workload") -> Workload:
        """The same from a text; complaints call it by its ``name``."""
        return cls(*parse_workload(text, name))

    def resolve(self, schema: Domain) -> ResolvedWorkload:
        """The same marginals on the axes of ``schema``; unknown and repeated ones are refused."""
        names, sizes = tuple(schema.names), Axes.kept(schema.sizes)
        axes = Axes.of(sizes)
        axis_of = {**getattr(schema, "aliases", {}), **{name: k for k, name in enumerate(names)}}
        seen: dict[AttributeSet, int] = {}
        asks: list[tuple[Ask, ...]] = []
        for k, marginal in enumerate(self.marginals):
            plain, asked = _asked(k, marginal, axis_of, schema)
            asks.append(asked)
            attributes = _resolve(k, plain, axis_of, names)
            if not axes.is_set(attributes):
                raise _two_levels(k)
            if attributes in seen:
                raise WorkloadError(
                    "workload.duplicate-marginal",
                    f"Marginals {seen[attributes] + 1} and {k + 1} of the workload are both "
                    f"{marginal_label(attributes, names)}.",
                    "Remove one, or raise the weight of the other.",
                )
            seen[attributes] = k
        known = tuple(table.axes for table in getattr(schema, "free_tables", ()))
        asked = tuple(asks) if any(asks) else ()
        return ResolvedWorkload(tuple(seen), self.weights, sizes, names, asked, known)

    def __len__(self) -> int:
        return len(self.marginals)


def marginal_label(attributes: AttributeSet, names: Sequence[str]) -> str:
    """``age x sex`` when names are known, ``(0, 1)`` otherwise, ``the total`` for the empty set."""
    if not attributes:
        return "the total"
    return " x ".join(names[i] for i in attributes) if names else str(attributes)


def _weights(weights: Sequence[Weight] | None, count: int) -> tuple[Fraction, ...]:
    if weights is None:
        return (Fraction(1),) * count
    if len(weights) != count:
        raise WorkloadError(
            "workload.weights",
            f"The workload has {count} marginals and {len(weights)} weights.",
            "Give one weight for each marginal, or none.",
        )
    return tuple(_weight(k, weight) for k, weight in enumerate(weights))


def _weight(position: int, value: Weight) -> Fraction:
    """The exact value of a weight, floats as they print; refused where it is not positive and finite."""
    try:
        weight = exact_number(value, "weight")
        if weight > 0 and 0.0 < float(weight) < math.inf:
            return weight
    except (BudgetError, OverflowError):
        pass
    raise WorkloadError(
        "workload.weights",
        f"Weight {position + 1} of the workload is not a positive finite number.",
        "Remove the marginal if it does not matter.",
    )


def _marginal(position: int, marginal: Sequence[str | int]) -> tuple[str | int, ...]:
    given = cast("object", marginal)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise WorkloadError(
            "workload.marginal",
            f"Marginal {position + 1} of the workload is not a list of attributes.",
            'Write one attribute as ["age"], not as "age".',
        )
    attributes = tuple(marginal)
    for attribute in attributes:
        name = cast("object", attribute)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise WorkloadError(
                "workload.marginal",
                f"Marginal {position + 1} of the workload holds something that is not an attribute name.",
                "Write attribute names as texts, or axis numbers from 0.",
            )
    if len(set(attributes)) != len(attributes):
        raise _duplicate_attribute(position)
    return attributes


def _resolve(
    position: int, marginal: tuple[str | int, ...], axis_of: dict[str, int], names: tuple[str, ...]
) -> AttributeSet:
    axes: list[int] = []
    for attribute in marginal:
        axis = axis_of.get(attribute) if isinstance(attribute, str) else attribute
        if axis is None or not 0 <= axis < len(names):
            near = get_close_matches(str(attribute), names, 1)
            raise WorkloadError(
                "workload.unknown-attribute",
                f"Marginal {position + 1} of the workload names {str(attribute)[:60]!r}, "
                "which the schema does not declare.",
                f"Did you mean {near[0]!r}?" if near else f"The schema declares {_listing(names)}.",
            )
        axes.append(axis)
    if len(set(axes)) != len(axes):
        raise _duplicate_attribute(position)
    return tuple(sorted(axes))


def _asked(
    position: int, marginal: tuple[str | int, ...], axis_of: dict[str, int], schema: Domain
) -> tuple[tuple[str | int, ...], tuple[Ask, ...]]:
    """A marginal by its attributes alone, and what stands behind ``=`` in some of them."""
    names: list[str | int] = []
    asks: list[Ask] = []
    of_axis: Any = getattr(schema, "of_axis", None)
    for attribute in marginal:
        name, equals, text = attribute.partition("=") if isinstance(attribute, str) else ("", "", "")
        if equals and attribute not in axis_of and name in axis_of and of_axis is not None:
            asks.append(read_ask(position, axis_of[name], text.strip(), of_axis))
            names.append(name)
        else:
            names.append(attribute)
    return tuple(names), tuple(asks)


def _duplicate_attribute(position: int) -> WorkloadError:
    return WorkloadError(
        "workload.duplicate-attribute",
        f"Marginal {position + 1} of the workload names an attribute twice.",
        "Name each attribute once.",
    )


def _two_levels(position: int) -> WorkloadError:
    return WorkloadError(
        "workload.two-levels",
        f"Marginal {position + 1} of the workload names two levels of one attribute.",
        "Name the finer one: its table tells the coarser one too.",
    )


def _listing(names: tuple[str, ...]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
