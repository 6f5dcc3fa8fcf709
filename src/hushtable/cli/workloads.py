"""The workload that ``--order`` or ``--workload`` asks for."""

from __future__ import annotations

from pathlib import Path

from hushtable.errors import UsageError
from hushtable.marginals import Workload
from hushtable.schema import Schema


def workload_from(schema: Schema, order: int | None, file: Path | None) -> Workload:
    """All marginals of an order, or those that a file lists."""
    if (order is None) == (file is None):
        raise UsageError(
            "usage.workload",
            "Give either --order or --workload.",
            "Type --order 2 for all pairs of attributes.",
        )
    return Workload.load(file) if file is not None else Workload.all_marginals(schema, order=order or 0)
