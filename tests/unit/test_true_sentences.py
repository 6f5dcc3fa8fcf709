"""Sentences of reports and hints that follow what is declared and measured."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import hushtable as ht
from hushtable.report.sections.coverage_section import left_out
from hushtable.report.sections.marginals_section import _sharpest


def test_of_tables_with_equally_few_reliable_numbers_the_widest_is_the_vaguest() -> None:
    data = pl.DataFrame(
        {"marginal": ["a", "b", "c"], "reliable": [0.0, 0.0, 0.0], "half_width": [5.0, 90.0, 7.0]}
    )
    (said,) = _sharpest(data)
    assert "sharpest table is a," in said and "vaguest is b with 0%" in said


def test_rows_that_a_schema_keeps_are_not_said_to_be_left_out() -> None:
    kept = {"type": "categorical", "values": ["F", "M"], "null": "category", "outside": "other"}
    strict = {"type": "categorical", "values": ["x", "y"]}
    fields = ht.Schema.of({"attributes": {"sex": kept, "town": strict}}).row_fields
    assert left_out(fields).startswith("Rows that lack a value (town), or have one")
    assert left_out(fields[:1]).startswith("No row is left out")
    assert left_out(fields[1:]).startswith("Rows that lack a value, or have one")


def test_hints_propose_nothing_that_is_declared(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("town\n" + "x\nelsewhere\n" * 50)
    town = {"type": "categorical", "values": ["x", "y"]}
    for outside, proposed in (("drop", True), ("other", False)):
        schema = {"attributes": {"town": town | {"outside": outside}}}
        (hint,) = ht.preflight(tmp_path / "d.csv", schema=schema).hints
        assert hint.code == "no-value" and ("outside: other" in hint.fix) == proposed
