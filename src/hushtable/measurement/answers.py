"""Noisy integer answers about marginals or residuals: what was measured, with which noise, and the integers.

This is what a bundle keeps, as a table, and what version 0.1 stored of a batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, cast

import numpy as np
import pyarrow as pa

from hushtable.arrays import Ints
from hushtable.errors import BundleError
from hushtable.marginals import AttributeSet, Layout, is_attribute_set, lift, subsets
from hushtable.measurement.arithmetic import LARGEST
from hushtable.measurement.parts import ResidualPart, TablePart, stored_part
from hushtable.privacy import LAWS

FORMAT = "hushtable-answers-1"
_SMALLEST = Fraction(1, 2**256)
"""Noise parameters lie between this and its inverse, with room to spare for every budget and table."""
_FRACTION = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?", re.ASCII)
_QUERIES = ("residual", "marginal")
_NOTHING: Ints = np.empty(0, np.int64)
_SCHEMA = pa.schema(
    [("attributes", pa.list_(pa.int32())), ("parameter", pa.string()), ("values", pa.large_list(pa.int64()))]
)


@dataclass(frozen=True, eq=False)
class Answers:
    """A part and the noisy integers that it was answered with, flat, in the order of its layout."""

    part: TablePart
    values: Ints

    def of(self, attributes: AttributeSet) -> Ints:
        """The noisy integers of one set, shaped."""
        return self.layout.view(self.values, attributes)

    @property
    def layout(self) -> Layout:
        """Where the integers of each set lie."""
        return self.part.layout

    @classmethod
    def pooled(cls, sizes: tuple[int, ...], answers: Iterable[Answers]) -> Answers:
        """Several answers about residuals as one; what was measured again occurs again."""
        every = [a for a in answers if isinstance(a.part, ResidualPart)]
        sets = tuple(s for a in every for s in a.part.sets)
        precisions = tuple(p for a in every for p in a.part.precisions)
        values = np.concatenate([_NOTHING, *(a.values for a in every)])
        return cls(ResidualPart(sizes, sets, precisions), values)

    def about(self, wanted: Collection[AttributeSet]) -> Answers:
        """Those about some residuals alone."""
        offsets, part = self.layout.offsets, self.part
        kept = [k for k, s in enumerate(part.sets) if s in wanted]
        values = [self.values[offsets[k] : offsets[k + 1]] for k in kept]
        sets, precisions = tuple(part.sets[k] for k in kept), tuple(part.precisions[k] for k in kept)
        return Answers(replace(part, sets=sets, precisions=precisions), np.concatenate([_NOTHING, *values]))

    def residuals(self) -> Answers | None:
        """The same as answers about residuals; None where the noise is not Gaussian, or differs by block.

        A marginal with cell variance s tells residual tau with variance ``s n_gamma / n_tau`` per centred cell; those
        of different tau are independent.
        """
        if isinstance(self.part, ResidualPart):
            return self
        if not self.part.law.normal or self.layout.has_levels:
            return None
        sizes = self.part.sizes
        sets: list[AttributeSet] = []
        precisions: list[Fraction] = []
        values: list[Ints] = [_NOTHING]
        for gamma, precision in zip(self.part.sets, self.part.precisions, strict=True):
            table, cells = self.of(gamma), prod(sizes[i] for i in gamma)
            for tau in subsets(gamma):
                if any(sizes[i] == 1 for i in tau):
                    continue
                outside = tuple(k for k, i in enumerate(gamma) if i not in tau)
                sets.append(tau)
                precisions.append(precision * prod(sizes[i] for i in tau) / cells)
                values.append(np.ravel(lift(table.sum(axis=outside))).astype(np.int64))
        return Answers(ResidualPart(sizes, tuple(sets), tuple(precisions)), np.concatenate(values))

    def to_table(self) -> pa.Table:
        """One row per set; the description of the query and the noise is in the metadata."""
        lists = pa.LargeListArray.from_arrays(pa.array(self.layout.offsets), pa.array(self.values))
        noise = self.part.noise
        query = "residual" if isinstance(self.part, ResidualPart) else "marginal"
        header: dict[str, Any] = {
            "format": FORMAT,
            "query": query,
            "noise": noise.law.name,
            "sizes": self.part.sizes,
        }
        if noise.bound is not None:
            header["bound"] = noise.bound
        sets = pa.array([list(s) for s in self.part.sets], pa.list_(pa.int32()))
        return pa.table(
            [sets, pa.array([str(p) for p in self._parameters], pa.string()), lists],
            schema=_SCHEMA.with_metadata({b"hushtable": json.dumps(header).encode()}),
        )

    @property
    def _parameters(self) -> Sequence[Fraction]:
        """One for each set, from which its noise follows: of a residual ``n_tau^2 / precision``."""
        if not isinstance(self.part, ResidualPart):
            return self.part.noise.parameters
        return [n**2 / p for n, p in zip(self.layout.lengths.tolist(), self.part.precisions, strict=True)]

    @classmethod
    def from_table(cls, table: pa.Table, sizes: tuple[int, ...] | None = None) -> Answers:
        """Read what :meth:`to_table` made; refuses anything else.  ``sizes`` may say which axes are levels."""
        try:
            return cls._read(table, sizes)
        except (LookupError, ValueError, TypeError, ArithmeticError, RecursionError, pa.ArrowException):
            raise BundleError(
                "bundle.damaged", "The measured answers cannot be read.", "Restore the folder from a backup."
            ) from None

    @classmethod
    def _read(cls, table: pa.Table, given: tuple[int, ...] | None) -> Answers:
        told = cast("dict[bytes, bytes]", table.schema.metadata or {})
        header: dict[str, Any] = json.loads(told[b"hushtable"])
        sizes = tuple(header["sizes"])
        if given is not None and tuple(given) == sizes:
            sizes = given
        sets = tuple(tuple(s) for s in table["attributes"].to_pylist())
        if not all(type(n) is int and n > 0 for n in sizes) or not all(
            is_attribute_set(s, len(sizes)) for s in sets
        ):
            raise ValueError(FORMAT)
        layout = Layout(sizes, sets)
        lists = table["values"].combine_chunks()
        values = lists.flatten().to_numpy(zero_copy_only=False)
        parameters, bound, law = _parameters(table["parameter"]), header.get("bound"), LAWS[header["noise"]]
        if (
            header["format"] != FORMAT
            or header["query"] not in _QUERIES
            or (header["query"] == "residual" and not law.normal)
            or (bound is not None and not law.cut)
            or (bound is not None and not (type(bound) is int and 1 <= bound < LARGEST))
            or values.dtype != np.int64
            or not np.array_equal(lists.value_lengths().to_numpy(zero_copy_only=False), layout.lengths)
            or (len(values) and not -LARGEST < int(values.min()) <= int(values.max()) < LARGEST)
            or len(parameters) != len(sets)
        ):
            raise ValueError(FORMAT)
        if header["query"] == "residual":
            told, squares = {}, [n**2 for n in layout.lengths.tolist()]
        else:
            told, squares = {"marginals": {"noise": law.name, "bound": bound}}, [1] * len(sets)
        precisions = tuple(n / p for n, p in zip(squares, parameters, strict=True))
        return cls(stored_part(told, sizes, sets, precisions), values)


def _parameters(column: pa.ChunkedArray) -> tuple[Fraction, ...]:
    """Exact noise parameters; each distinct text is read once, and none that no plan could have asked for."""
    encoded = column.combine_chunks().dictionary_encode() if len(column) else None
    if encoded is None:
        return ()
    if encoded.null_count:
        raise ValueError(FORMAT)
    texts = encoded.dictionary.to_pylist()
    if not all(_FRACTION.fullmatch(text) for text in texts):
        raise ValueError(FORMAT)
    known = [Fraction(text) for text in texts]
    if not all(_SMALLEST <= p <= 1 / _SMALLEST for p in known):
        raise ValueError(FORMAT)
    places: list[int] = encoded.indices.to_pylist()
    return tuple(known[k] for k in places)
