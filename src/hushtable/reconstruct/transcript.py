"""The replies of an adaptive release as bytes: what the ledger stores for each group of rounds.

A reply is stored with the fingerprint of its request, so that a later reading can tell whether the same questions are
being asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import BundleError
from hushtable.marginals import Layout
from hushtable.planning.requests import Measure
from hushtable.reconstruct.answers import Answers

_FORMAT = b"hushtable-rounds-1"
_SCHEMA = pa.schema([("request", pa.string()), ("reply", pa.large_list(pa.int64()))])


@dataclass(frozen=True, eq=False)
class Reply:
    """A noisy answer and the fingerprint of what it answers."""

    request: str
    values: NDArray[np.int64]


def replies_to_bytes(replies: Sequence[Reply]) -> bytes:
    """Serialise a group of rounds (Arrow IPC)."""
    offsets = np.cumsum([0, *(len(r.values) for r in replies)])
    flat = np.concatenate([np.empty(0, np.int64), *(r.values for r in replies)])
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat))
    names = pa.array([r.request for r in replies], pa.string())
    table = pa.table([names, lists], schema=_SCHEMA.with_metadata({b"format": _FORMAT}))
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
        pairs = zip(table["request"].to_pylist(), offsets[:-1], offsets[1:], strict=True)
        return [Reply(name, np.array(flat[a:b], np.int64)) for name, a, b in pairs]
    except (pa.ArrowException, ValueError, KeyError, AttributeError):
        raise BundleError(
            "bundle.damaged", "The stored rounds cannot be read.", "Restore the payload from a backup."
        ) from None


def pooled_answers(sizes: tuple[int, ...], measured: Iterable[tuple[Measure, NDArray[np.int64]]]) -> Answers:
    """All noisy residuals of a loop as one ``Answers``; a residual that was measured again occurs again."""
    pairs = list(measured)
    sets = tuple(s for request, _ in pairs for s in request.sets)
    variances = tuple(m.noise_variance for request, _ in pairs for m in request.mechanisms)
    values = np.concatenate([np.empty(0, np.int64), *(values for _, values in pairs)])
    return Answers("residual", "gaussian", Layout(sizes, sets), variances, values)
