"""Noisy integer answers: what the kernel hands out, what the ledger stores, what a bundle keeps.

An ``Answers`` is complete: attribute sets, the noise that was added to each, and the integers.  Its bytes (Arrow
IPC, uncompressed) have a length that depends on sizes and noise parameters only, never on the data.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import BundleError
from hushtable.marginals.layout import AttributeSet, Layout, is_attribute_set
from hushtable.measurement.arithmetic import LARGEST

FORMAT = "hushtable-answers-1"
_SMALLEST = Fraction(1, 2**256)
"""Noise parameters lie between this and its inverse, with room to spare for every budget and table."""
_FRACTION = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000})?", re.ASCII)
_SCHEMA = pa.schema(
    [
        ("attributes", pa.list_(pa.int32())),
        ("parameter", pa.string()),
        ("values", pa.large_list(pa.int64())),
    ]
)

Columns = tuple[Any, Any]
"""Arrow columns."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Noisy answers to residual or marginal queries.

    ``query`` "residual": each set holds ``kron(n_i I - 11') mu`` plus noise; "marginal": ``mu`` plus noise.
    ``noise`` "gaussian": ``parameters`` are discrete Gaussian variances; "laplace": discrete Laplace scales, and with a
    ``bound`` no noise lies beyond it.
    ``values`` is flat, in the order of ``layout``.
    """

    query: Literal["residual", "marginal"]
    noise: Literal["gaussian", "laplace"]
    layout: Layout
    parameters: tuple[Fraction, ...]
    values: NDArray[np.int64]
    bound: int | None = None

    def of(self, attributes: AttributeSet) -> NDArray[np.int64]:
        """The noisy integers of one set, shaped."""
        return self.layout.view(self.values, attributes)

    def with_values(self, values: NDArray[np.int64]) -> Answers:
        """The same queries and noise with these integers."""
        return replace(self, values=values)

    def columns(self) -> Columns:
        """Sets and parameters as they are written: what can be made before there are integers."""
        return (
            pa.array([list(s) for s in self.layout.sets], pa.list_(pa.int32())),
            pa.array([str(p) for p in self.parameters], pa.string()),
        )

    def to_table(self, columns: Columns | None = None) -> pa.Table:
        """One row per set; the description of the query and the noise is in the metadata."""
        lists = pa.LargeListArray.from_arrays(pa.array(self.layout.offsets), pa.array(self.values))
        header: dict[str, Any] = {
            "format": FORMAT,
            "query": self.query,
            "noise": self.noise,
            "sizes": self.layout.sizes,
        }
        if self.bound is not None:
            header["bound"] = self.bound
        return pa.table(
            [*(self.columns() if columns is None else columns), lists],
            schema=_SCHEMA.with_metadata({b"hushtable": json.dumps(header).encode()}),
        )

    def to_bytes(self, columns: Columns | None = None) -> bytes:
        """Serialise; the inverse of :meth:`from_bytes`.  ``columns`` are its own, when they were made before."""
        sink = pa.BufferOutputStream()
        table = self.to_table(columns)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_table(cls, table: pa.Table) -> Answers:
        """Read what :meth:`to_table` made; refuses anything else."""
        try:
            answers = cls._read(table)
        except (LookupError, ValueError, TypeError, ArithmeticError, RecursionError, pa.ArrowException):
            raise BundleError(
                "bundle.damaged", "The measured answers cannot be read.", "Restore the folder from a backup."
            ) from None
        return answers

    @classmethod
    def _read(cls, table: pa.Table) -> Answers:
        header = cast("dict[str, Any]", json.loads((table.schema.metadata or {})[b"hushtable"]))
        sizes = tuple(header["sizes"])
        sets = tuple(tuple(s) for s in table["attributes"].to_pylist())
        if not all(type(n) is int and n > 0 for n in sizes) or not all(
            is_attribute_set(s, len(sizes)) for s in sets
        ):
            raise ValueError(FORMAT)
        layout = Layout(sizes, sets)
        lists = table["values"].combine_chunks()
        values = lists.flatten().to_numpy(zero_copy_only=False)
        parameters = _parameters(table["parameter"])
        if (
            header["format"] != FORMAT
            or header["query"] not in ("residual", "marginal")
            or header["noise"] not in ("gaussian", "laplace")
            or not _is_bound(header.get("bound"), header["noise"])
            or values.dtype != np.int64
            or not np.array_equal(lists.value_lengths().to_numpy(zero_copy_only=False), layout.lengths)
            or (len(values) and not -LARGEST < int(values.min()) <= int(values.max()) < LARGEST)
            or len(parameters) != len(sets)
        ):
            raise ValueError(FORMAT)
        return cls(header["query"], header["noise"], layout, parameters, values, header.get("bound"))

    @classmethod
    def from_bytes(cls, payload: bytes) -> Answers:
        """Read what :meth:`to_bytes` made; refuses anything else."""
        try:
            with pa.ipc.open_file(pa.BufferReader(payload)) as reader:
                table = reader.read_all()
        except pa.ArrowException:
            raise BundleError(
                "bundle.damaged", "The measured answers cannot be read.", "Restore the payload from a backup."
            ) from None
        return cls.from_table(table)


def _is_bound(bound: object, noise: str) -> bool:
    """Whether Laplace noise may be cut off there; no bound is none."""
    return bound is None or (type(bound) is int and 1 <= bound < LARGEST and noise == "laplace")


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
    return tuple(known[k] for k in encoded.indices.to_pylist())
