"""The workload that ``--order`` or ``--workload`` asks for."""

from __future__ import annotations

from pathlib import Path

import hushtable as ht
from hushtable.errors import UsageError


def workload_from(schema: ht.Schema, order: int | None, file: Path | None) -> ht.Workload:
    """All marginals of an order, or those that a file lists."""
    if (order is None) == (file is None):
        raise UsageError(
            "usage.workload",
            "Give either --order or --workload.",
            "Type --order 2 for all pairs of attributes.",
        )
    return ht.Workload.load(file) if file is not None else ht.Workload.all_marginals(schema, order=order or 0)
