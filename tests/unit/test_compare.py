"""Two releases side by side: differences and their errors, significance, and what cannot be compared."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import WorkloadError
from thresholds import Z

SCHEMA = {
    "attributes": {
        "place": {
            "type": "categorical",
            "levels": ["region", "district"],
            "tree": {"N": ["a", "b"], "S": ["c", "d", "e"]},
        },
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }
}
TABLES = [("district", "sex"), ("region",)]


def people(shares, seed: int = 0) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    place = np.repeat(list("abcde"), shares).astype(str)
    return pl.DataFrame(
        {"place": place.tolist(), "sex": chance.choice(["F", "M"], len(place)).astype(str).tolist()}
    )


def released(folder, shares, schema=SCHEMA, seed=0, **more) -> ht.Release:
    session = ht.Session.open(people(shares, seed), schema=schema, ledger=folder, budget=ht.ZCDP(100))
    return session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), strategy="residual-planner", **more)


@pytest.fixture(scope="module")
def years(tmp_path_factory) -> tuple[ht.Release, ht.Release]:
    folder = tmp_path_factory.mktemp("years")
    new = released(folder / "new", [500, 300, 900, 200, 100])
    return new, released(folder / "old", [500, 300, 400, 200, 100])


def test_a_difference_has_the_error_of_both(years):
    found = ht.compare(*years)
    assert found.marginals == (("district", "sex"), ("region",))
    table, (new, old) = found.table("district", "sex"), (r.table("district", "sex") for r in years)
    assert table["difference"].to_list() == pytest.approx((new["unbiased"] - old["unbiased"]).to_list())
    assert table["std"].to_list() == pytest.approx(((new["std"] ** 2 + old["std"] ** 2) ** 0.5).to_list())
    expected = 2 * stats.norm.sf(np.abs(table["difference"].to_numpy()) / table["std"].to_numpy())
    assert table["p_value"].to_list() == pytest.approx(expected.tolist())
    changed = table.filter(district="c")
    assert changed["significant_among_all"].all()
    assert found.summary().filter(marginal="district x sex")["by_chance"].item() == pytest.approx(0.5)


@pytest.mark.long
def test_what_did_not_change_is_called_so_as_often_as_said(tmp_path):
    base = [400, 300, 200, 100, 50]
    session = ht.Session.open(people(base), schema=SCHEMA, ledger=tmp_path / "l", budget=ht.ZCDP(10**4))
    made = [
        session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.01"), strategy="residual-planner")
        for _ in range(24)
    ]
    flags = [
        ht.compare(made[k], made[k + 1]).table("district", "sex")["significant"].to_numpy()
        for k in range(0, 24, 2)
    ]
    assert np.mean(flags) < 0.05 + Z * (0.05 * 0.95 / 12) ** 0.5  # cells of a table are dependent at worst


def test_one_release_twice_and_shared_answers_are_refused(tmp_path):
    session = ht.Session.open(
        people([9, 9, 9, 9, 9]), schema=SCHEMA, ledger=tmp_path / "l", budget=ht.ZCDP(1)
    )
    ways = {"strategy": "residual-planner"}
    first = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.1"), **ways)
    more = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.2"), reuse=True, **ways)
    for pair in ((first, first), (first, more)):
        with pytest.raises(WorkloadError) as refused:
            ht.compare(*pair)
        assert refused.value.code == "compare.shared"


def test_releases_with_different_trees_are_refused_by_name(years, tmp_path):
    other = {
        "attributes": {
            **SCHEMA["attributes"],
            "place": {
                **SCHEMA["attributes"]["place"],
                "tree": {"N": ["a"], "S": ["b", "c", "d", "e"], "W": ["f"]},
            },
        }
    }
    moved = released(tmp_path / "l", [9, 9, 9, 9, 9], other)
    with pytest.raises(WorkloadError, match="region") as refused:
        ht.compare(years[0], moved).table("region")
    assert refused.value.code == "compare.different"


def test_a_comparison_on_the_command_line(years, tmp_path, capsys):
    for name, release in zip(("new", "old"), years, strict=True):
        release.save(tmp_path / name)
    folders = [str(tmp_path / "new"), str(tmp_path / "old")]
    assert run(["compare", *folders]) == 0
    assert run(["compare", *folders, "district", "sex"]) == 0
    assert "yes" in capsys.readouterr().out
    assert run(["compare", *folders, "region", "--csv"]) == 0
    capsys.readouterr()
    assert run(["compare", *folders, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(ht.compare(*years).to_dict()))
    assert run(["compare", folders[0], folders[0]]) != 0
