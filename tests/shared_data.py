"""Finds the data files that some tests need, and skips the test where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_file(name: str) -> Path:
    """Path of a data file; the calling test is skipped when it is not there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("HUSHTABLE_DATA", beside)) / name
    if not path.exists():
        pytest.skip(f"{name} is not available; set HUSHTABLE_DATA to its folder")
    return path
