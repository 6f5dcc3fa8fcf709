"""Odd workbooks, SPSS and Stata files go through init, preflight and release: counts are exact, and messages silent."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from odd_checks import check
from odd_tables import odd_table

MANY, FEW = 70, 2
ENDINGS = (".xlsx", ".sav", ".dta")


def checked(seeds: Iterable[int], ending: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        check(seed, odd_table(seed, ending, place), place, capsys)


@pytest.mark.parametrize("ending", ENDINGS)
def test_counts_are_exact_and_messages_silent(
    ending: str, memory_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked(range(FEW), ending, memory_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_counts_are_exact_and_messages_silent_for_many_files(
    ending: str, memory_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked(range(1000, 1000 + MANY), ending, memory_path, capsys)
