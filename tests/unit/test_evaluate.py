"""The confidential report: true errors against brute force, refused without a word, kept away from bundles."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import hushtable as ht
from hushtable.errors import RefusedError, UsageError
from hushtable.kernel.yardstick import expected_l1, sample_share
from hushtable.report import STAMP, write_confidential_report
from hushtable.session import evaluate_release


@pytest.fixture(scope="module")
def released(
    tmp_path_factory: pytest.TempPathFactory, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> tuple[Path, ht.Release]:
    folder = tmp_path_factory.mktemp("evaluate")
    session = ht.Session.open(small_frame, schema=small_schema, ledger=folder / "t.ledger", budget=ht.ZCDP(1))
    pairs = ht.Workload.all_marginals(small_schema, order=2)
    release = session.release(pairs, budget=ht.ZCDP("0.01"), strategy="residual-planner")
    release.save(folder / "out")
    return folder / "out", release


def test_errors_are_refused_without_the_explicit_flag(
    released: tuple[Path, ht.Release], small_frame: pl.DataFrame
) -> None:
    with pytest.raises(RefusedError) as caught:
        evaluate_release(small_frame, released[1])
    assert caught.value.code == "report.not-private"


def test_errors_by_table_group_and_cell_match_plain_loops(
    released: tuple[Path, ht.Release], small_frame: pl.DataFrame
) -> None:
    release = released[1]
    found_errors = evaluate_release(small_frame, release, confidential=True)
    sexes = small_frame.with_columns(sex=pl.col("sex").replace("unknown", "(other)"))
    table = release.table("sex", "member")
    wrong: dict[tuple[str, bool], float] = {}
    held = 0
    for row in table.iter_rows(named=True):
        true = sexes.filter((pl.col("sex") == row["sex"]) & (pl.col("member") == row["member"])).height
        wrong[row["sex"], row["member"]] = abs(row["estimate"] - true)
        held += row["lower"] <= true <= row["upper"]
    found = found_errors.marginals.filter(pl.col("marginal") == "sex x member").to_dicts()[0]
    assert np.isclose(found["l1_share"], sum(wrong.values()) / 600)
    assert np.isclose(found["largest_error"], max(wrong.values()))
    assert np.isclose(found["coverage"], held / 6)
    group = found_errors.groups.filter(
        (pl.col("attribute") == "member") & (pl.col("value") == "true")
    ).to_dicts()[0]
    assert group["records"] == 200
    ages = release.table("age", "member").filter("member")
    bands = small_frame.filter("member").with_columns(band=pl.col("age") // 20)["band"].to_list()
    by_age = sum(abs(e - bands.count(k)) for k, e in enumerate(ages["estimate"]))
    by_sex = wrong["F", True] + wrong["M", True] + wrong["(other)", True]
    assert np.isclose(group["error_share"], (by_age + by_sex) / 2 / 200)
    overall = found_errors.overall.to_dicts()[0]
    assert overall["records"] == 600 and found_errors.sizes["cells"].sum() == 12 + 8 + 6
    worst = found_errors.worst
    assert np.isclose(abs(worst["error"][0]), found_errors.marginals["largest_error"].max())


@pytest.mark.parametrize("share", [0.003, 0.1, 0.5, 0.97])
def test_the_error_of_a_plain_sample_is_the_exact_binomial_deviation(share: float) -> None:
    cells = np.array([1.0, 2, 7, 40, 300])
    exact = [sum(binom.pmf(b, n, share) * abs(b / share - n) for b in range(int(n) + 1)) for n in cells]
    assert np.isclose(expected_l1(cells, np.ones(5), share), sum(exact), rtol=1e-9)
    found = sample_share(cells.astype(np.int64), np.ones(5, np.int64), sum(exact))
    assert np.isclose(found, share, rtol=1e-6)


def test_a_perfect_release_is_worth_all_records_and_a_useless_one_none() -> None:
    counts, times = np.array([0, 5, 9]), np.array([3, 1, 2])
    assert sample_share(counts, times, 0.0) == 1.0
    assert sample_share(counts, times, 1e9) == 0.0


@pytest.mark.long
def test_the_confidential_report_is_stamped_and_never_inside_a_bundle(
    released: tuple[Path, ht.Release], small_frame: pl.DataFrame
) -> None:
    folder, release = released
    found_errors = evaluate_release(small_frame, release, confidential=True)
    file = write_confidential_report(folder, found_errors, release.card).path
    assert file.name == "out-confidential.html" and file.parent == folder.parent
    assert file.stat().st_mode & 0o077 == 0
    html = file.read_text(encoding="utf-8")
    assert re.search(rf'<aside class="stamp"[^>]*>{re.escape(STAMP)}</aside>', html)
    assert STAMP == "confidential: not differentially private"
    with pytest.raises(UsageError) as caught:
        write_confidential_report(folder, found_errors, release.card, folder / "deep" / "true.html")
    assert caught.value.code == "report.inside-bundle"
    assert not (folder / "deep").exists()
