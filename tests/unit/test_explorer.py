"""The tables inside a report are those of the release: every one, with its ends, up to a rounding that is said."""

from __future__ import annotations

import time
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.arrays import Floats
from hushtable.release import QUALITY_FLAGS, quality_column
from hushtable.report import packed, public
from hushtable.report.explorer import explorer_pages
from hushtable.report.public import public_report
from hushtable.report.view import ALPHA, View
from shared_data import data_file
from unpacked import explorer_data, index_of, tables_of

NESTED = {
    "attributes": {
        "place": {
            "type": "categorical",
            "levels": ["region", "town"],
            "tree": {"North": ["a", "b", "c"], "South": ["d"], "West": ["e", "f"]},
        },
        "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other"},
        "age": {"type": "integer", "bounds": [0, 59], "width": 20},
    }
}


def people(rows: int) -> pl.DataFrame:
    """Made up, uneven."""
    places = "aaabbcddef"
    return pl.DataFrame(
        {
            "place": [places[(r * r + 3 * r) % 10] for r in range(rows)],
            "sex": ["FMMF?"[(r * 7) % 5] for r in range(rows)],
            "age": [(r * r * 11) % 60 for r in range(rows)],
        }
    )


def saved(folder: Path, budget: ht.privacy.Budget, order: int = 2, rows: int = 4000, **how: str) -> Path:
    """A release of all tables of some order."""
    session = ht.Session.open(people(rows), schema=NESTED, ledger=folder / "l", budget=budget)
    workload = ht.Workload.all_marginals(session.schema, order=order)
    session.release(workload, budget=budget, **how).save(folder / "out")
    return folder / "out"


WAYS = [
    ("residual-planner", "mle", ht.ZCDP("0.02")),
    ("residual-planner", "maxent", ht.ZCDP("0.5")),
    pytest.param("residual-planner", "mle", ht.ZCDP(90), marks=pytest.mark.slow),
    pytest.param("auto", "maxent", ht.ZCDP("0.01"), marks=pytest.mark.slow),
    ("auto", "maxent", ht.ZCDP("0.00001")),
]


def near(kept: Floats, true: Floats, step: float, finer: int) -> bool:
    """Half a step; a whole one where the nearest is half of a shown step, which could be rounded either way."""
    halves = np.mod(np.rint(true / step), finer) * 2 == finer
    return bool((np.abs(kept - true) <= np.where(halves, step, step / 2) + 1e-9).all())


@pytest.mark.long
@pytest.mark.parametrize(("strategy", "reconstruct", "budget"), WAYS)
def test_every_table_and_every_total_is_there_with_its_ends(
    strategy: str, reconstruct: str, budget: ht.privacy.Budget, tmp_path: Path
) -> None:
    out = saved(tmp_path, budget, strategy=strategy, reconstruct=reconstruct)
    release = ht.Release.load(out)
    data = explorer_data(public_report(out).html())
    found, finer = tables_of(data), index_of(data)["finer"]
    assert {names for names, table in found.items() if table["asked"]} == set(release.marginals)
    assert {(), ("region",), ("town",), ("sex",), ("region", "sex")} <= found.keys()
    for names, table in found.items():
        true = release.table(*names)
        step = table["step"]
        noise = (true["upper"] - true["lower"]).mean() / 4
        assert step <= max(0.01, noise / 2) and step <= 1
        estimate = true["estimate"].to_numpy()
        half = (
            np.mod(np.rint(estimate / step), finer) * 2 == finer
        )  # of a shown step: the next on its own side is kept
        assert (np.abs(table["estimate"] - estimate) <= np.where(half, step, step / 2) + 1e-9).all()
        assert table["lower"].min() >= 0
        words = [QUALITY_FLAGS[code].name for code in table["flags"]]
        assert words == quality_column(true, 0.05).to_list()
        for end in ("lower", "upper"):
            assert np.abs(table[end] - true[end].to_numpy()).max() <= 1.001 * step + 1e-4, (names, end)
        if table["kind"] == "2":  # bounds are rounded outwards
            assert (table["lower"] <= true["lower"].to_numpy() + 1e-9).all()
            assert (table["upper"] >= true["upper"].to_numpy() - 1e-9).all()
        else:
            assert near(table["unbiased"], true["unbiased"].to_numpy(), step, finer)
            assert np.allclose(table["std"], true["std"].to_numpy(), rtol=1e-5)
            assert (table["far"] > 1.5 * table["reach"]).all()


def test_ends_are_kept_finer_than_they_are_shown_unless_there_are_very_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page's other parts and the files give the same number, and not one beside it."""
    out = saved(tmp_path, ht.ZCDP("0.005"), order=1, strategy="residual-planner", reconstruct="maxent")
    true = ht.Release.load(out).table("town")
    off: list[float] = []
    for many in (200_000, 1):
        monkeypatch.setattr("hushtable.report.packed.MANY_CELLS", many)
        data = explorer_data(public_report(out).html())
        table = tables_of(data)[("town",)]
        assert table["step"] * index_of(data)["finer"] == pytest.approx(1), "what is shown is whole"
        off.append(max(np.abs(table[end] - true[end].to_numpy()).max() for end in ("lower", "upper")))
    assert off[0] <= 0.006 < off[1] <= 0.501


def test_a_kept_number_is_shown_as_the_true_one_would_be() -> None:
    """Rounded twice, 12.4976 would be 12.50 and then 13."""
    true = np.concatenate(
        [np.random.default_rng(3).normal(0.0, 50.0, 20_000), [12.4976, -3.5024, 0.4999, -0.5001]]
    )
    kept = packed._kept(true * packed.FINER, packed.FINER)
    assert (np.rint(kept / packed.FINER) == np.rint(true)).all()
    assert (np.abs(kept / packed.FINER - true) <= 1.5 / packed.FINER).all()
    assert (np.rint(np.rint(true * packed.FINER) / packed.FINER) != np.rint(true)).any(), "the case occurs"


@pytest.mark.long
def test_tables_that_do_not_fit_are_on_other_pages_which_know_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushtable.report.explorer.PIECE", 10)
    monkeypatch.setattr(public, "MOST_PACKED", 60)
    out = saved(tmp_path, ht.ZCDP(1), strategy="residual-planner")
    public.write_report(out)
    pages = sorted((out / "report-data").glob("tables-*.html"))
    assert len(pages) > 1 and pages[0].name == "tables-2.html"
    asked = set(ht.Release.load(out).marginals)
    seen: list[tuple[str, ...]] = []
    for page in (out / "report.html", *pages):
        data = explorer_data(page)
        here = [names for names, table in tables_of(data).items() if table["asked"]]
        elsewhere = index_of(data)["elsewhere"]
        names = [a["name"] for a in data["attributes"]]
        told = {tuple(names[a] for a in axes): other["file"] for other in elsewhere for axes in other["sets"]}
        assert not told.keys() & set(here) and told.keys() | set(here) == asked
        for file in set(told.values()):
            assert (page.parent / file).exists()
        seen += here
    assert sorted(seen) == sorted(asked)
    text = (out / "report.html").read_text(encoding="utf-8")
    assert f"more are on {len(pages)} pages beside this one" in text
    assert ht.Release.load(out).marginals, "pages beside the report leave the bundle a bundle"


@pytest.mark.long
def test_tables_beyond_what_a_page_can_hold_are_said_to_be_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = saved(tmp_path, ht.ZCDP(1), strategy="residual-planner")
    release = ht.Release.load(out)
    sizes = release.schema.sizes
    cells = sorted(prod(sizes[a] for a in s) for s in release.workload)
    monkeypatch.setattr("hushtable.report.cells.MOST_CELLS", sum(cells) - 1)
    html = public_report(out).html()
    here = [table for table in tables_of(explorer_data(html)).values() if table["asked"]]
    assert 0 < len(here) < len(release.workload)
    assert f"The other {len(release.workload) - len(here)} are too large for a page" in html
    monkeypatch.setattr("hushtable.report.cells.MOST_CELLS", 1)
    assert 'explorer-data">' not in public_report(out).html()


def test_a_piece_holds_whole_tables_and_pages_no_more_than_they_may(tmp_path: Path) -> None:
    out = saved(tmp_path, ht.ZCDP(1), strategy="residual-planner", order=3)
    view = View.open(out)
    (one,) = explorer_pages(view.release, view.cells, ALPHA, 10**6)
    assert len(one.pieces) == 1 and len(one.asked) == len(view.release.workload)


def test_a_page_makes_room_for_its_index_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where errors differ by table, the index is a good part of a page: no page is larger than asked by more than a
    piece and what is said of it."""
    monkeypatch.setattr("hushtable.report.explorer.PIECE", 1)
    view = View.open(saved(tmp_path, ht.ZCDP("0.5"), strategy="residual-planner"))
    (whole,) = explorer_pages(view.release, view.cells, ALPHA, 10**6)
    room = sum(map(len, whole.pieces)) + 1
    pages = explorer_pages(view.release, view.cells, ALPHA, room)
    assert len(pages) > 1
    assert [s for page in pages for s in page.asked] == whole.asked


def names_of(count: int) -> dict[str, int]:
    return {f"c{k:03}": 2 + k % 4 for k in range(count)}


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.4], ids=["independent", "alike"])
@pytest.mark.parametrize("strategy", ["residual-planner", "auto"])
def test_three_hundred_columns_are_released_and_reported_in_a_minute_below_5_mb(
    strategy: str, lean: float, tmp_path: Path
) -> None:
    """44,850 tables of two attributes, with a report that holds them all or says where they are."""
    rng = np.random.default_rng(5)
    domain = names_of(300)
    common = lean * rng.normal(size=20_000)
    answers = {name: size / 2 + common + rng.normal(size=20_000) for name, size in domain.items()}
    frame = pl.DataFrame(
        {name: np.clip(answers[name].astype(np.int64), 0, size - 1) for name, size in domain.items()}
    )
    start = time.process_time()
    session = ht.Session.open(
        frame, schema=ht.Schema.from_domain(domain), ledger=tmp_path / "l", budget=ht.ZCDP(1)
    )
    workload = ht.Workload.all_marginals(session.schema, order=2)
    session.release(workload, budget=ht.ZCDP(1), strategy=strategy).save(tmp_path / "out")
    file = public.write_report(tmp_path / "out", ledger=tmp_path / "l").path
    assert time.process_time() - start < 60, "processor time, because machines that test are shared"
    assert file.stat().st_size < 5_000_000
    told = [explorer_data(page) for page in (file, *(tmp_path / "out" / "report-data").glob("tables-*.html"))]
    assert sum(index_of(data)["asked"].count("1") for data in told) == 44_850


@pytest.mark.slow
def test_a_page_of_105_tables_has_at_most_2_mb(tmp_path: Path) -> None:
    """All pairs of the 15 attributes of Adult, 100 categories in the largest, by the strategy that packs worst."""
    schema = ht.Schema.from_domain(data_file("adult_full-domain.json"))
    session = ht.Session.open(
        data_file("adult_full.csv.gz"), schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1)
    )
    workload = ht.Workload.all_marginals(schema, order=2)
    session.release(workload, budget=ht.ZCDP("0.1"), strategy="auto").save(tmp_path / "out")
    file = public.write_report(tmp_path / "out", ledger=tmp_path / "l").path
    data = explorer_data(file)
    assert index_of(data)["asked"].count("1") == 105 and file.stat().st_size <= 2_000_000
