"""The counter of rows that stream past: batches add up to the whole, and only what is small stays in memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.deciders import Question, plan_check
from hushtable.kernel.sources import Source, open_source, row_counter
from hushtable.kernel.sources.records import record_frames
from hushtable.kernel.sources.row_counter import RowCounter
from hushtable.marginals import Layout

SCHEMA = ht.Schema.from_dict(
    {
        "attributes": {
            "sex": {"type": "categorical", "values": ["F", "M"], "null": "category"},
            "age": {"type": "integer", "bounds": [0, 99], "width": 10},
        }
    }
)
LAYOUT = Layout(SCHEMA.sizes, ((), (0,), (0, 1)))


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    sexes = rng.choice(np.array(["F", "M", None], object), 1000).tolist()
    return pl.DataFrame({"sex": sexes, "age": rng.integers(0, 100, 1000)})


def questions(frame: pl.DataFrame) -> list[Question]:
    texts = ["COUNT WHERE sex = 'F'", "SUM(age) WHERE sex IS NULL", "MEDIAN(age)", "QUANTILE(age, 0.25)"]
    return list(plan_check(SCHEMA, texts, frame, tau="5%", budget=ht.PureDP(4)).questions)


def passes(source: Source, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read from now on, by name of the pass."""
    seen: list[str] = []
    for name in ("batches", "plain_batches"):
        whole = getattr(source, name)

        def read(name: str = name, whole: object = whole) -> object:
            seen.append(name)
            return whole()

        monkeypatch.setattr(source, name, read)
    return seen


@pytest.mark.long
def test_tallies_of_many_small_frames_are_those_of_all_rows(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_counter, "record_frames", partial(record_frames, size=14))
    source = open_source(frame, SCHEMA)
    source._size = 5
    asked = questions(frame)
    found = RowCounter(source).tally(asked)
    ages = {"F": frame.filter(pl.col("sex") == "F"), "": frame.filter(pl.col("sex").is_null()), "all": frame}
    assert found[0].rows == ages["F"].height
    assert (found[1].rows, found[1].total) == (ages[""].height, ages[""]["age"].sum())
    for question, tally in zip(asked[2:], found[2:], strict=True):
        below = [int((frame["age"] <= edge).sum()) for edge in question.decider.edges]
        assert tally.cumulative_rows().tolist() == below and tally.rows == 1000


def test_an_empty_table_has_tallies_of_nothing_and_no_question_reads_nothing(frame: pl.DataFrame) -> None:
    source = open_source(frame.clear(), SCHEMA)
    assert [tally.rows for tally in RowCounter(source).tally(questions(frame))] == [0] * 4
    source.plain_batches = None  # type: ignore[assignment]
    assert RowCounter(source).tally([]) == []


@pytest.mark.parametrize("room", [True, False])
def test_a_staged_counter_reads_codes_once_and_who_asks_again_values_twice_if_they_are_few(
    frame: pl.DataFrame, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_counter, "KEPT_BYTES", 10_000 if room else 100)
    source, asked = open_source(frame, SCHEMA), questions(frame)
    seen = passes(source, monkeypatch)
    counter = RowCounter(source)
    staged = counter.staged()
    tables = [made.tabulate(LAYOUT).tolist() for made in (counter, counter, staged, staged)]
    assert all(table == tables[0] for table in tables) and tables[0][0] == 1000
    tallies = [[t.rows for t in counter.tally(asked)] for _ in range(4)]
    assert all(rows == tallies[0] for rows in tallies)
    assert seen.count("batches") == (3 if room else 4)
    assert seen.count("plain_batches") == (2 if room else 4)


def test_a_pass_that_is_broken_off_keeps_nothing(frame: pl.DataFrame) -> None:
    source = open_source(frame, SCHEMA)
    source._size = 100
    staged = RowCounter(source).staged()
    next(iter(staged._codes))
    assert staged.tabulate(LAYOUT)[0] == 1000
