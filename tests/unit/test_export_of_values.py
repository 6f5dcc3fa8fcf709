"""Words beside exported means, shares and totals: quality by their own intervals, and what a row counts as."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht

SCHEMA = """
weight: {column: w, bounds: [0, 4]}
quality: letters
sums:
  debt: {bounds: [-100, 0], resolution: 1}
  gain: {bounds: [-100, 100], resolution: 1, imputed: true}
attributes:
  area: {type: categorical, values: [a, b, c]}
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ht.Release:
    """Areas a and b are large, nobody lives in c."""
    folder, rows = tmp_path_factory.mktemp("values"), 6000
    (folder / "s.yaml").write_text(SCHEMA)
    people = pl.DataFrame(
        {
            "area": np.where(np.arange(rows) % 5, "a", "b").tolist(),
            "w": np.full(rows, 3),
            "debt": np.full(rows, -40),
            "gain": np.where(np.arange(rows) % 5, -30, 30),
        }
    )
    session = ht.Session.open(people, schema=folder / "s.yaml", ledger=folder / "l", budget=ht.ZCDP(4))
    return session.release(ht.Workload([("area",)]), budget=ht.ZCDP(4), strategy="residual-planner")


def exported(release: ht.Release, folder: Path, value: str) -> tuple[list[dict[str, str]], str]:
    """Rows of the table, and the README."""
    folder.mkdir(exist_ok=True)
    out = folder / value.replace("(", "-").replace(")", "")
    release.export(out, format="csv", value=value)
    (file,) = (out / "tables").iterdir()
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines)), (out / "README.txt").read_text()


def test_numbers_below_a_half_or_below_zero_are_reliable_where_their_noise_is_small(
    release: ht.Release, tmp_path: Path
) -> None:
    """The empty area c has the smallest noise that there is for it, and is hidden by it."""
    for value in ("share(area)", "share(area, debt)", "mean(debt)", "mean(gain)", "sum(debt)", "sum(gain)"):
        rows, _ = exported(release, tmp_path, value)
        assert [row["quality"] for row in rows[:2]] == ["reliable"] * 2, (value, rows)
    rows, _ = exported(release, tmp_path, "count")
    assert [row["quality"] for row in rows[:2]] == ["reliable"] * 2
    rows, _ = exported(release, tmp_path / "again", "sum(gain)")
    reaches = float(rows[2]["lower"]) <= 0 <= float(rows[2]["upper"])
    assert (rows[2]["quality"] == "near-zero") == reaches


def test_a_readme_says_what_a_row_counts_as_and_what_is_taken_as_fixed(
    release: ht.Release, tmp_path: Path
) -> None:
    for value in ("count", "mean(debt)"):
        _, readme = exported(release, tmp_path, value)
        assert "Rows count by the design weight in column 'w'" in readme
        assert "takes imputed values of gain as fixed" in readme
    assert "Counts behind the estimates:" in readme
    assert "Grade" not in readme, "tables of values have no column of that name"
