"""One person's rows, whatever they hold, change nobody else's codes, values or messages, in any kind of source.

Tables, people and hostile cells come from ``hushtable.selftest.neighbours``; each wrong reader below is caught by the
same campaigns.
"""

from __future__ import annotations

from itertools import islice
from math import ceil
from pathlib import Path

import pytest
import wrong_readers as wrong

from hushtable.selftest.neighbours import KINDS, Finding, campaign, read
from hushtable.selftest.neighbours.pairs import STEPS

PAIRS = 2_000
"""Pairs of the default run, shared by all kinds of source."""

MANY_PAIRS = 100_000
"""Pairs of the slow run; never fewer than 5,000 for a kind."""

BY_NAME = {kind.name: kind for kind in KINDS}


def findings(name: str, seeds: range, folder: Path, reader=read) -> tuple[int, list[Finding]]:
    """Number of pairs, and those that one person does not explain."""
    pairs = [pair for seed in seeds for pair in campaign(BY_NAME[name], seed, folder, read=reader)]
    return len(pairs), [pair for pair in pairs if pair is not None]


@pytest.mark.parametrize("name", BY_NAME)
def test_one_person_changes_nothing_for_everybody_else(name: str, memory_path: Path) -> None:
    tables = ceil(PAIRS / len(KINDS) / STEPS / 2)
    for first, reader in ((0, read), (tables, wrong.read_in_tiny_blocks)):
        pairs, found = findings(name, range(first, first + tables), memory_path, reader)
        assert not found, str(found[0])
        assert pairs >= PAIRS // len(KINDS) // 2


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_one_person_changes_nothing_in_many_tables(name: str, memory_path: Path) -> None:
    wanted = max(MANY_PAIRS // len(KINDS) + 1, 5_000)
    tables = ceil(wanted / STEPS / 2)
    for first, reader in ((10_000, read), (20_000, wrong.read_in_tiny_blocks)):
        pairs, found = findings(name, range(first, first + tables), memory_path, reader)
        assert not found, str(found[0])
        assert 2 * pairs >= wanted


WRONG = {
    "an open quote goes on over lines": ("csv", wrong.lines_changed(wrong.over_several_lines)),
    "separators of Unicode end lines": ("csv", wrong.lines_changed(wrong.unicode_line_breaks)),
    "columns of numbers lose their zeros": ("csv", wrong.lines_changed(wrong.numbers_if_all_are)),
    "a NUL ends the file": ("csv", wrong.lines_changed(wrong.without_rows_after_nul)),
    "one bad byte repairs them all": ("csv", wrong.lines_changed(wrong.repaired)),
    "keys are clipped": ("arrow", wrong.clipped_keys),
    "keys become floats": ("arrow", wrong.keys_as_floats),
    "keys are seconds": ("arrow", wrong.keys_in_seconds),
    "keys keep 64 bits of a decimal": ("arrow", wrong.narrow_decimals),
    "keys are hashed to three bits": ("arrow", wrong.few_people),
    "paths override contents": ("parquet", wrong.paths_before_contents),
    "one bad text refuses a file": ("parquet", wrong.refused_text),
    "all UUIDs are one person": ("pandas, columns of objects", wrong.one_text_of_all_uuids),
    "keys lose their fractions": ("pandas, columns of objects", wrong.keys_without_fractions),
    "keys are what they show": ("pandas, columns of objects", wrong.texts_of_keys),
    "pd.NA refuses a frame": ("pandas, columns of objects", wrong.truth_of_every_cell),
    "5,000 digits refuse a frame": ("pandas, columns of objects", wrong.digits_of_every_number),
    "infinity is mentioned": ("polars", wrong.warned_of_infinity),
    "a column's largest value matters": ("polars", wrong.column_scaled),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_reader_is_caught(case: str, memory_path: Path) -> None:
    name, reader = WRONG[case]
    pairs = (pair for seed in range(150) for pair in campaign(BY_NAME[name], seed, memory_path, read=reader))
    caught = next(pair for pair in pairs if pair is not None)
    assert not findings(name, range(caught.seed, caught.seed + 1), memory_path)[1]


def test_campaigns_differ_by_seed_and_repeat_by_seed(memory_path: Path) -> None:
    seen: list[object] = []

    def reader(data: object, schema: object) -> object:
        found = read(data, schema)
        seen.append((schema, sorted(found.codes.items())))
        return found

    for seed in (1, 1, 2):
        list(islice(campaign(BY_NAME["arrow"], seed, memory_path, read=reader), 5))
    assert seen[:6] == seen[6:12] != seen[12:18]
