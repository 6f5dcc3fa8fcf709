"""Odd files go through init, preflight and release: counts are exact, and no message holds a value of a row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from odd_checks import check
from odd_files import odd_file

MANY, FEW = 200, 4


def checked(seeds: Iterable[int], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        check(seed, odd_file(seed), place, capsys)


def test_counts_are_exact_and_messages_silent(memory_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked(range(FEW), memory_path, capsys)


@pytest.mark.slow
def test_counts_are_exact_and_messages_silent_for_many_files(
    memory_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked(range(1000, 1000 + MANY), memory_path, capsys)
