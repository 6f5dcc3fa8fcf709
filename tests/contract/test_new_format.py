"""A format of exports from a file of its own, known by registration alone, goes through library and command."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.release.exports import (
    EXPORT_FORMATS,
    ExportBook,
    ExportFile,
    ExportFormat,
    ReadingLines,
    register,
)


class Lines(ExportFormat):
    """One JSON line for each cell of all tables."""

    name = "lines"
    summary = "JSON lines"

    def write(self, book: ExportBook, folder: Path) -> Iterable[ExportFile]:
        with (folder / "cells.jsonl").open("w", encoding="utf-8") as out:
            for table in book.tables():
                out.writelines(
                    json.dumps({"table": table.stem, **row}) + "\n" for row in table.frame.to_dicts()
                )
        return [ExportFile("cells.jsonl", "all cells", "application/jsonl")]

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        return ReadingLines(polars='import polars; polars.read_ndjson("cells.jsonl")')


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(Lines())
    yield
    EXPORT_FORMATS.pop("lines", None)


def test_it_is_written_described_and_listed(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    session = ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("age", "sex")]), budget=ht.ZCDP("0.1"))
    release.save(tmp_path / "out")
    assert run(["export", str(tmp_path / "out"), "--format", "lines"]) == 0
    cells = pl.read_ndjson(tmp_path / "out-lines" / "cells.jsonl")
    assert cells["estimate"].to_list() == release.table("age", "sex")["estimate"].to_list()
    assert "polars.read_ndjson" in (tmp_path / "out-lines" / "README.txt").read_text("utf-8")
    package = json.loads((tmp_path / "out-lines" / "datapackage.json").read_text("utf-8"))
    assert [resource["path"] for resource in package["resources"]] == ["cells.jsonl"]
    capsys.readouterr()
    assert run(["export", "--help"]) == 0 and "lines" in capsys.readouterr().out
