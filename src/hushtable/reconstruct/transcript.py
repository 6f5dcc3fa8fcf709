"""The replies of an adaptive release as bytes: what the ledger stores for each group of rounds.

A reply is stored with the fingerprint of its request, so that a later reading can tell whether the same questions are
being asked again.  Noisy residuals also say which they are and how precise, so that later releases can reuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import BundleError
from hushtable.marginals import AttributeSet, Layout
from hushtable.planning.requests import Measure, Request, fingerprint
from hushtable.reconstruct.answers import Answers

_FORMAT = b"hushtable-rounds-1"
_SCHEMA = pa.schema(
    [
        ("request", pa.string()),
        ("reply", pa.large_list(pa.int64())),
        ("sets", pa.list_(pa.list_(pa.int32()))),
        ("precisions", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True, eq=False)
class Reply:
    """A noisy answer and the fingerprint of what it answers."""

    request: str
    values: NDArray[np.int64]
    sets: tuple[AttributeSet, ...] = ()
    """The residuals that were measured; empty where the reply is not about residuals."""
    precisions: tuple[Fraction, ...] = ()

    @classmethod
    def to(cls, request: Request, values: NDArray[np.int64]) -> Reply:
        """The reply to a request."""
        if isinstance(request, Measure):
            return cls(fingerprint(request), values, request.sets, request.precisions)
        return cls(fingerprint(request), values)


def replies_to_bytes(replies: Sequence[Reply]) -> bytes:
    """Serialise a group of rounds (Arrow IPC)."""
    offsets = np.cumsum([0, *(len(r.values) for r in replies)])
    flat = np.concatenate([np.empty(0, np.int64), *(r.values for r in replies)])
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat))
    names = pa.array([r.request for r in replies], pa.string())
    sets = pa.array([[list(s) for s in r.sets] for r in replies], _SCHEMA.field("sets").type)
    precisions = pa.array([[str(p) for p in r.precisions] for r in replies], pa.list_(pa.string()))
    table = pa.table([names, lists, sets, precisions], schema=_SCHEMA.with_metadata({b"format": _FORMAT}))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def replies_from_bytes(payload: bytes) -> list[Reply]:
    """Read what :func:`replies_to_bytes` made; refuses anything else."""
    try:
        with pa.ipc.open_file(pa.BufferReader(payload)) as reader:
            table = reader.read_all()
        if (table.schema.metadata or {}).get(b"format") != _FORMAT:
            raise ValueError
        lists = table["reply"].combine_chunks()
        offsets, flat = lists.offsets.to_numpy(), lists.values.to_numpy(zero_copy_only=False)
        sets = [tuple(tuple(s) for s in row) for row in table["sets"].to_pylist()]
        precisions = [tuple(Fraction(p) for p in row) for row in table["precisions"].to_pylist()]
        rows = zip(table["request"].to_pylist(), offsets[:-1], offsets[1:], sets, precisions, strict=True)
        return [Reply(name, np.array(flat[a:b], np.int64), s, p) for name, a, b, s, p in rows]
    except (pa.ArrowException, ValueError, KeyError, AttributeError):
        raise BundleError(
            "bundle.damaged", "The stored rounds cannot be read.", "Restore the payload from a backup."
        ) from None


def measured_answers(sizes: tuple[int, ...], replies: Sequence[Reply]) -> Answers:
    """The noisy residuals among stored replies as one ``Answers``."""
    measured = [r for r in replies if r.sets]
    return pooled_answers(sizes, [(Measure(sizes, r.sets, r.precisions), r.values) for r in measured])


def pooled_answers(sizes: tuple[int, ...], measured: Iterable[tuple[Measure, NDArray[np.int64]]]) -> Answers:
    """All noisy residuals of a loop as one ``Answers``; a residual that was measured again occurs again."""
    pairs = list(measured)
    sets = tuple(s for request, _ in pairs for s in request.sets)
    variances = tuple(m.noise_variance for request, _ in pairs for m in request.mechanisms)
    values = np.concatenate([np.empty(0, np.int64), *(values for _, values in pairs)])
    return Answers("residual", "gaussian", Layout(sizes, sets), variances, values)
