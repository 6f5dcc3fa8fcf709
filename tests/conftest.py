"""Fixtures that several suites share: a small confidential table and its schema."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings

from hushtable.schema import Schema

# The compiler's own chatter depends on what is cached, not on the data; tests that compare logs must not see it.
logging.getLogger("numba").setLevel(logging.WARNING)

# How long an example takes depends on what else the machine does; no test of ours is about that.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def small_schema() -> Schema:
    """Three attributes, 4 x 3 x 2 cells."""
    return Schema.from_dict(
        {
            "max_rows_per_person": 1,
            "attributes": {
                "age": {"type": "integer", "bounds": [0, 79], "width": 20},
                "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other"},
                "member": {"type": "boolean"},
            },
        }
    )


@pytest.fixture(scope="session")
def small_frame() -> pl.DataFrame:
    """600 records in a fixed pattern, with every category present."""
    rows = range(600)
    return pl.DataFrame(
        {
            "age": [(7 * r * r + 3 * r) % 80 for r in rows],
            "sex": [("F", "M", "F", "unknown")[(r * r) % 4] for r in rows],
            "member": [r % 3 == 0 for r in rows],
        }
    )


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A folder in memory where there is one, for suites that write many ledgers."""
    memory = Path("/dev/shm")
    parent = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent, prefix="hushtable-") as folder:
        yield Path(folder)
