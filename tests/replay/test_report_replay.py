"""The report and the bundle on neighbouring tables: the same answers give the same bytes, and no exact number shows.

Noise is replaced in two ways, here only: by what makes two neighbouring tables give the same noisy answers, and by
seeded noise of a standard deviation of several hundred, so that no exact count appears by chance.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from bit_sources import FixedBits
from hushtable.kernel import draw
from hushtable.privacy import sampler
from hushtable.report import write_report
from unpacked import explorer_data, tables_of

RANDOM = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SECRET = "Xq7Secret"
SCHEMA = {
    "attributes": {
        "town": {"type": "categorical", "values": ["A", "B", "C"], "outside": "other"},
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }
}


def rows(counts: dict[tuple[str, str], int]) -> pl.DataFrame:
    """A table with these counts, and a column that nobody declared."""
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    return pl.DataFrame(
        {
            "town": [town for town, _ in pairs],
            "sex": [sex for _, sex in pairs],
            "diary": [f"{SECRET}-{k}" for k in range(len(pairs))],
        }
    )


COUNTS = {("A", "F"): 1901, ("A", "M"): 2203, ("B", "F"): 3307, ("B", "M"): 4409, (SECRET, "F"): 5501}


def published(folder: Path, frame: pl.DataFrame, rho: str) -> Path:
    """A bundle with its report."""
    folder.mkdir()
    schema = ht.Schema.from_dict(SCHEMA)
    session = ht.Session.open(frame, schema=schema, ledger=folder / "a.ledger", budget=ht.ZCDP(9))
    workload = ht.Workload.all_marginals(schema, order=2)
    session.release(workload, budget=ht.ZCDP(rho), strategy="residual-planner").save(folder / "out")
    write_report(folder / "out", ledger=folder / "a.ledger")
    return folder / "out"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file, without what is random in every run."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): RANDOM.sub(b"#", p.read_bytes()) for p in files}


def test_neighbours_with_the_same_noisy_answers_have_the_same_bundle_and_report_byte_by_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, kept = draw.noisy, list[np.ndarray]()

    def same(*given: Any) -> np.ndarray:
        kept.append(original(*given))
        return kept[0]

    monkeypatch.setattr(draw, "noisy", same)
    base = contents(published(tmp_path / "base", rows(COUNTS), "0.1"))
    assert "report.html" in base and any(name.startswith("report-data/") for name in base)
    for k, other in enumerate(({("A", "F"): 1902}, {(SECRET, "F"): 5500}, {("Z" * 5000, "M"): 1})):
        found = contents(published(tmp_path / f"{k}", rows(COUNTS | other), "0.1"))
        assert found.keys() == base.keys()
        assert [name for name in base if found[name] != base[name]] == []
    assert not np.array_equal(kept[0], kept[1]), "without the patch the answers differ"


def test_no_exact_count_row_number_or_value_is_in_a_published_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "system_bits", lambda: FixedBits(seed=11))
    out = published(tmp_path / "secret", rows(COUNTS), "0.0000005")
    exact = {*COUNTS.values(), sum(COUNTS.values())}
    exact |= {COUNTS["A", "F"] + COUNTS["A", "M"], COUNTS["B", "F"] + COUNTS["B", "M"]}
    for name, content in contents(out).items():
        assert SECRET.encode() not in content, name
        assert b"diary" not in content, name
        if not name.endswith(".parquet"):
            text = content.decode()
            own = text.split("<script>")[0] if name == "report.html" else text
            numbers = {part.replace(",", "") for part in re.findall(r"(?<![\d.])\d[\d,]*(?![\d.])", own)}
            assert not numbers & {str(count) for count in exact}, name
    for names, table in tables_of(explorer_data(out / "report.html")).items():
        for column in ("estimate", "unbiased", "lower", "upper"):
            assert not set(np.round(table[column], 6).tolist()) & {float(count) for count in exact}, (
                names,
                column,
            )
    for path in out.rglob("*.parquet"):
        for series in pl.read_parquet(path):
            if series.dtype == pl.Float64:
                assert not set(series.drop_nulls().to_list()) & {float(count) for count in exact}, path.name


def test_a_report_that_told_the_number_of_rows_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: the exact total as the noisy one."""
    original = draw.noisy

    def telling(exact: Any, *more: Any) -> np.ndarray:
        noisy = original(exact, *more)
        noisy[0] = exact[0]
        return noisy

    monkeypatch.setattr(draw, "noisy", telling)
    out = published(tmp_path / "leak", rows(COUNTS), "0.0000005")
    assert f"{sum(COUNTS.values()):,}" in (out / "report.html").read_text().split("<script>")[0]
    assert tables_of(explorer_data(out / "report.html"))[()]["estimate"].tolist() == [sum(COUNTS.values())]
