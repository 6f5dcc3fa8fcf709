"""The made-up town of the demonstration lands in the folder that was asked for."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hushtable.cli.simulate import shuffle, write_town


def test_a_folder_that_looks_like_an_address_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, schema = write_town(Path("file:/etc/hostname"), 50, official=True)
    assert schema.exists() and len(data.read_text().splitlines()) == 51
    shuffle(data, data.with_name("shuffled.csv"))
    with data.with_name("shuffled.csv").open("rb") as file:
        assert pl.read_csv(file, infer_schema=False).height == 50
    assert [path.name for path in tmp_path.iterdir()] == ["file:"]
