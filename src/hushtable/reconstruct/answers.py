"""Noisy integer answers: what the kernel hands out, what the ledger stores, what a bundle keeps.

An ``Answers`` is complete: attribute sets, the noise that was added to each, and the integers.  Its bytes (Arrow
IPC, uncompressed) have a length that depends on sizes and noise parameters only, never on the data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import BundleError
from hushtable.marginals.layout import AttributeSet, Layout

FORMAT = "hushtable-answers-1"
_SCHEMA = pa.schema(
    [
        ("attributes", pa.list_(pa.int32())),
        ("parameter", pa.string()),
        ("values", pa.large_list(pa.int64())),
    ]
)


@dataclass(frozen=True, eq=False)
class Answers:
    """Noisy answers to residual or marginal queries.

    ``query`` "residual": each set holds ``kron(n_i I - 11') mu`` plus noise; "marginal": ``mu`` plus noise.
    ``noise`` "gaussian": ``parameters`` are discrete Gaussian variances; "laplace": discrete Laplace scales.
    ``values`` is flat, in the order of ``layout``.
    """

    query: Literal["residual", "marginal"]
    noise: Literal["gaussian", "laplace"]
    layout: Layout
    parameters: tuple[Fraction, ...]
    values: NDArray[np.int64]

    def of(self, attributes: AttributeSet) -> NDArray[np.int64]:
        """The noisy integers of one set, shaped."""
        return self.layout.view(self.values, attributes)

    def to_table(self) -> pa.Table:
        """One row per set; the description of the query and the noise is in the metadata."""
        lists = pa.LargeListArray.from_arrays(pa.array(self.layout.offsets), pa.array(self.values))
        header = {"format": FORMAT, "query": self.query, "noise": self.noise, "sizes": self.layout.sizes}
        return pa.table(
            [
                pa.array([list(s) for s in self.layout.sets], pa.list_(pa.int32())),
                pa.array([str(p) for p in self.parameters], pa.string()),
                lists,
            ],
            schema=_SCHEMA.with_metadata({b"hushtable": json.dumps(header).encode()}),
        )

    def to_bytes(self) -> bytes:
        """Serialise; the inverse of :meth:`from_bytes`."""
        sink = pa.BufferOutputStream()
        table = self.to_table()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_table(cls, table: pa.Table) -> Answers:
        """Read what :meth:`to_table` made; refuses anything else."""
        try:
            answers = cls._read(table)
        except (KeyError, ValueError, TypeError, IndexError, pa.ArrowException):
            raise BundleError(
                "bundle.damaged", "The measured answers cannot be read.", "Restore the folder from a backup."
            ) from None
        return answers

    @classmethod
    def _read(cls, table: pa.Table) -> Answers:
        header = cast("dict[str, Any]", json.loads((table.schema.metadata or {})[b"hushtable"]))
        layout = Layout(tuple(header["sizes"]), tuple(tuple(s) for s in table["attributes"].to_pylist()))
        values = table["values"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        parameters = tuple(Fraction(p) for p in table["parameter"].to_pylist())
        if (
            header["format"] != FORMAT
            or header["query"] not in ("residual", "marginal")
            or header["noise"] not in ("gaussian", "laplace")
            or len(values) != layout.cells
            or not all(p > 0 for p in parameters)
        ):
            raise ValueError(FORMAT)
        return cls(header["query"], header["noise"], layout, parameters, values)

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
