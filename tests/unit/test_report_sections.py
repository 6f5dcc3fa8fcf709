"""Sections that need records, verdicts or choices: shown when there is something to show, with the right numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isclose
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.deciders import Verdict
from hushtable.errors import UsageError
from hushtable.privacy import Cost
from hushtable.release import add_explanation, make_microdata
from hushtable.report import public_report
from hushtable.report.labelled import label_records
from hushtable.report.sections.verdicts_section import verdicts_section


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> Path:
    """A release, records made from it, two verdicts, a finished and an abandoned choice."""
    place = tmp_path_factory.mktemp("sections")
    budget = ht.ApproxDP(epsilon=16, delta="1e-9", pure=2)
    session = ht.Session.open(small_frame, schema=small_schema, ledger=place / "a.ledger", budget=budget)
    pairs = ht.Workload.all_marginals(small_schema, order=2)
    release = session.release(pairs, budget=ht.ZCDP("0.5"), strategy="residual-planner")
    release.save(place / "out")
    made = make_microdata(release)
    made.frame.write_csv(place / "records.csv")
    add_explanation(place / "out", made.explanation)
    far = pl.concat([small_frame, small_frame])
    for synthetic in (small_frame, far):
        session.check("COUNT WHERE age >= 40", synthetic, tau=50, budget=ht.PureDP(1))
    options = [ht.linear.marginals(small_schema, order=1), ht.linear.marginals(small_schema, order=2)]
    session.choose(options, budget=ht.ZCDP("0.05")).finish(1)
    session.choose(options, budget=ht.ZCDP("0.05")).abandon()
    return place


def test_sections_appear_only_with_their_data(
    folder: Path, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    full = public_report(folder / "out", ledger=folder / "a.ledger")
    keys = [section.key for section in full.sections]
    assert {"card", "budget", "reading", "errors", "headline", "tables"} <= set(keys)
    assert {"microdata", "verdicts", "choices"} <= set(keys) and "rounds" not in keys
    session = ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    workload = ht.Workload.all_marginals(small_schema, order=2)
    session.release(workload, budget=ht.ZCDP(1)).save(tmp_path / "o")
    plain = {section.key for section in public_report(tmp_path / "o").sections}
    assert "rounds" in plain and not {"microdata", "verdicts", "choices"} & plain


def test_the_waterfall_names_checks_and_choices(folder: Path) -> None:
    frames = public_report(folder / "out", ledger=folder / "a.ledger").data()
    epsilon = dict(frames["budget-epsilon"].select("step", "amount").iter_rows())
    assert isclose(epsilon["checks"], 2) and isclose(epsilon["left"], 0)
    rho = dict(frames["budget-rho"].select("step", "amount").iter_rows())
    assert rho["choices"] > 0.05 and isclose(rho["measurement"], 0.5, abs_tol=1e-9)
    assert isclose(frames["budget-rho"]["share"].sum(), 1)


def test_verdicts_are_those_of_the_ledger(folder: Path) -> None:
    data = public_report(folder / "out", ledger=folder / "a.ledger").data()
    assert sorted(data["verdicts"]["verdict"]) == ["no", "yes"]
    curves = data["verdict-profile"]
    for _, curve in curves.group_by("question"):
        ordered = curve.sort("distance")["probability"].to_list()
        assert ordered[0] > 0.99 and ordered[-1] < 0.01
        assert all(a >= b - 1e-12 for a, b in pairwise(ordered))


def test_a_verdict_is_shown_with_what_its_error_assumes() -> None:
    facts = (Fraction(40), Fraction(5), "avg-margin", Fraction(1), 0.001, Cost(1, 0))
    every = Verdict(True, "COUNT", *facts)
    some = Verdict(True, "AVG(age)", *facts, assumes="at least 59 true rows match")
    section = verdicts_section([every, some], 1)
    assert section is not None
    shown = section.grids[0]
    column = [cell["heading"] for cell in shown.columns].index("Provided that")
    assert [row[column] for row in shown.rows][1] == "at least 59 true rows match"
    assert shown.data["assumes"].to_list() == [None, "at least 59 true rows match"]


def test_choices_show_what_was_saved(folder: Path) -> None:
    data = public_report(folder / "out", ledger=folder / "a.ledger").data()["choices"]
    assert data["taken"].to_list() == ["1", "abandoned"]
    assert isclose(data["rho"][0], 0.05, abs_tol=1e-9) and 0 < data["saved"][0] < 1
    assert isclose(data["saved"][0], 1 - data["rho"][0] / data["usual_rho"][0])
    assert data["saved"][1] is None


def test_microdata_are_counted_by_the_labels_of_the_tables(folder: Path, small_schema: ht.Schema) -> None:
    page = public_report(folder / "out", microdata=folder / "records.csv")
    records = pl.read_csv(folder / "records.csv")
    data = page.data()
    assert data["records-0"]["microdata"].to_list() == [
        records.filter(pl.col("age") // 20 == band).height for band in range(4)
    ]
    assert data["records-2"]["microdata"].sum() == records.height
    fits = data["fits"]
    assert {"ols", "nnls", "max", "sequential", "reweighted"} <= set(fits["fit"])


def test_labels_of_every_kind_and_values_outside() -> None:
    schema = ht.Schema.from_dict(
        {
            "attributes": {
                "age": {
                    "type": "integer",
                    "bounds": [0, 9],
                    "width": 5,
                    "null": "category",
                    "outside": "drop",
                },
                "born": {"type": "date", "bounds": ["2000-01-01", "2001-12-31"], "width": "1 year"},
                "member": {"type": "boolean"},
                "code": {"type": "categorical", "values": [1, 2]},
            }
        }
    )
    texts = {
        "age": ["3", "", "99"],
        "born": ["2000-05-05", "2001-01-01", "x"],
        "member": ["true", "false", "?"],
    }
    frame = pl.DataFrame({**texts, "code": ["1", "2", "3"]}).with_columns(pl.col("age").replace("", None))
    labels = label_records(frame, schema)
    assert labels["age"].to_list() == ["0-4", "(null)", None]
    assert labels["born"].to_list() == ["2000", "2001", None]
    assert labels["member"].to_list() == ["true", "false", None]
    assert labels["code"].to_list() == ["1", "2", None]


def test_microdata_without_an_attribute_or_unreadable_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "half.csv").write_text("age\n1\n")
    for name in ("half.csv", "missing.csv", "missing.parquet"):
        with pytest.raises(UsageError) as caught:
            public_report(folder / "out", microdata=tmp_path / name)
        assert caught.value.code == "report.microdata"


def test_records_without_an_explanation_have_a_score_too(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    """Against a computation by hand: the mean of one minus half the L1 distance, over the released tables."""
    session = ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    release = session.release(ht.Workload.all_marginals(small_schema, order=2), budget=ht.ZCDP(1))
    release.save(tmp_path / "o")
    records = release.microdata()
    records.write_csv(tmp_path / "records.csv")
    report = public_report(tmp_path / "o", microdata=tmp_path / "records.csv")
    (section,) = [one for one in report.sections if one.key == "records"]
    (said,) = [text for text in section.text if "k-marginal" in text]
    labels = label_records(records, small_schema)
    overlaps = []
    for names in release.marginals:
        counts = {tuple(map(str, key)): n for *key, n in labels.group_by(names).len().iter_rows()}
        table = release.table(*names)
        keys = [
            tuple("(null)" if v is None else str(v) for v in row) for row in table.select(names).iter_rows()
        ]
        keys = [tuple({"True": "true", "False": "false"}.get(v, v) for v in key) for key in keys]
        gaps = [abs(counts.get(k, 0) - e) for k, e in zip(keys, table["estimate"], strict=True)]
        overlaps.append(1 - min(2, sum(gaps) / records.height) / 2)
    assert f"{1000 * sum(overlaps) / len(overlaps):,.0f} of 1,000" in said and "3 released tables" in said


@pytest.mark.long
def test_rounds_of_a_strategy_that_chooses_nothing_have_no_empty_columns(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    for strategy, chosen in (("auto", False), ("aim", True)):
        session = ht.Session.open(
            small_frame, schema=small_schema, ledger=tmp_path / strategy, budget=ht.ZCDP(1)
        )
        workload = ht.Workload.all_marginals(small_schema, order=2)
        session.release(workload, budget=ht.ZCDP(1), strategy=strategy).save(tmp_path / f"{strategy}-out")
        report = public_report(tmp_path / f"{strategy}-out")
        (section,) = [one for one in report.sections if one.key == "rounds"]
        assert ("epsilon" in section.grids[0].data.columns) == chosen
        assert any("looks, privately" in text for text in section.text) == chosen


def test_what_is_said_of_records_counts_cells_that_are_not_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushtable.report.sections.tables_section.MOST_RECORD_CELLS", 2)
    names = ht.Release.load(folder / "out").marginals[0]
    report = public_report(folder / "out", microdata=folder / "records.csv", tables=[names])
    (section,) = [one for one in report.sections if one.key == "records"]
    assert section.bars[0].data.height == 2
    cells = ht.Release.load(folder / "out").table(*names).height
    assert any(f"Of {cells} counts in 1 table" in text for text in section.text)


@pytest.mark.parametrize("scale", [1, 1000])
def test_totals_are_written_out_with_as_many_decimals_as_they_are_sure(tmp_path: Path, scale: int) -> None:
    schema = {
        "sums": {"pay": {"bounds": [0, 1000 * scale], "resolution": scale}},
        "attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}},
    }
    frame = pl.DataFrame({"sex": ["F", "M"] * 2000, "pay": [scale * (k % 900) for k in range(4000)]})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    session.release(ht.Workload([("sex",)]), budget=ht.ZCDP(1), strategy="residual-planner").save(
        tmp_path / "o"
    )
    (section,) = [one for one in public_report(tmp_path / "o").sections if one.key == "totals"]
    (grid,) = section.grids
    assert "note" not in grid.data.columns, "no group may be empty"
    for shown, true in zip(grid.rows, grid.data.iter_rows(), strict=True):
        for text, number in zip(shown[3:], true[3:], strict=True):
            assert "e" not in text and abs(float(text.replace(",", "")) - number) <= 0.005 * max(
                1, abs(number)
            )
