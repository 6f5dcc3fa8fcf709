"""Replay of a release with totals and weights on neighbouring tables: integers differ by one person's column alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from bit_sources import FixedBits
from hushtable.measurement import JointPart
from hushtable.privacy import sampler

SCHEMA = {
    "weight": {"column": "w", "bounds": [0, 3]},
    "sums": {"x": {"bounds": [0, 9], "resolution": 1}, "y": {"bounds": [-2, 2], "resolution": 0.5}},
    "attributes": {
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "area": {"type": "categorical", "values": ["a", "b", "c"]},
    },
}
TYPES = {"sex": pl.String, "area": pl.String, "x": pl.Float64, "y": pl.Float64, "w": pl.Float64}
ROWS = [("F", "a", 3.0, 1.0, 1.0), ("M", "c", 8.0, -2.0, 2.0), ("M", "b", 0.0, 0.25, 3.0)]
WORKLOAD = ht.Workload([("sex", "area")])


def released(
    rows: list, folder: Path, strategy: str, monkeypatch: pytest.MonkeyPatch, replicates: int = 0
) -> tuple[ht.Release, int]:
    folder.mkdir()
    bits = FixedBits(seed=5)
    names = [f"r{k + 1}" for k in range(replicates)]
    frame = pl.DataFrame(rows, schema=TYPES | dict.fromkeys(names, pl.Float64), orient="row")
    sample = {"rows": 50, "replicates": {"columns": names, "kind": "jackknife", "by": "area"}}
    schema = SCHEMA | ({"sample": sample} if names else {})
    session = ht.Session.open(frame, schema=schema, ledger=folder / "l", budget=ht.ZCDP(1))
    with monkeypatch.context() as patch:
        patch.setattr(sampler, "system_bits", lambda: bits)
        made = session.release(WORKLOAD, budget=ht.ZCDP("0.1"), strategy=strategy, request="one")
    return made, len(bits.given)


@pytest.mark.parametrize("strategy", ["residual-planner", "identity"])
def test_one_person_more_moves_counts_and_totals_by_one_column(
    strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    base, bits = released(ROWS, tmp_path / "0", strategy, monkeypatch)
    quantities = {"rows": base.answers, **base.quantities}
    columns = {of: answers.part.exact for of, answers in quantities.items()}
    for number, (x, y, w) in enumerate(
        ((9.0, 2.0, 3.0), (-4.0, 99.0, 9.0), (4.4, 0.2, 0.6), (5.0, 0.0, None))
    ):
        more, drawn = released([*ROWS, ("F", "b", x, y, w)], tmp_path / f"p{number}", strategy, monkeypatch)
        weight = 0 if w is None else int(np.floor(min(w, 3) + 0.5))
        whole = {
            "rows": 1,
            "sum(x)": 2 * int(np.floor(min(max(x, 0), 9) + 0.5)) - 9,  # the middle is 4.5: half steps
            "sum(y)": int(np.floor(2 * min(max(y, -2), 2) + 0.5)),
        }
        for of, answers in {"rows": more.answers, **more.quantities}.items():
            one = np.zeros(answers.layout.cells, np.int64)
            for attributes in answers.layout.sets:
                cell = tuple({0: 0, 1: 1}[axis] for axis in attributes)
                answers.layout.view(one, attributes)[cell] = weight * whole[of]
            assert np.array_equal(answers.values - quantities[of].values, columns[of](one))
            assert answers.part.noise.parameters == quantities[of].part.noise.parameters
        assert drawn == bits and more.card.charged == base.card.charged


@pytest.mark.parametrize("strategy", ["residual-planner", "identity", "auto"])
def test_one_person_more_moves_tables_of_replicates_by_deviations_that_are_never_too_long(
    strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A jackknife's row of weight 3 has deviations of at most the root of 18, in whole numbers 4."""
    rows = [(*row, row[4], 0.0, 2 * row[4]) for row in ROWS]
    base, _ = released(rows, tmp_path / "0", strategy, monkeypatch, 3)
    before = base.quantities["replicates"]
    for number, (given, moved) in enumerate(
        (
            ((3.0, 3.0, 0.0), (1, 1, -2)),
            ((2.4, 1.6, 2.0), (0, 0, 0)),
            ((6.0, 99.0, 0.0), (1, 1, -3)),  # 6, 6, 0 about 4: longer than 4, and shortened by 4/5
            ((-5.0, 1.0, 0.0), (0, 1, 0)),
            ((1.0, None, 1.0), (0, 0, 0)),
        )
    ):
        person = ("F", "b", 1.0, 1.0, 3.0, *given)
        more, _ = released([*rows, person], tmp_path / f"p{number}", strategy, monkeypatch, 3)
        answers = more.quantities["replicates"]
        column = np.zeros((3, 3), np.int64)
        column[:, 1] = moved
        expected = answers.part.exact(column.reshape(-1))
        assert np.array_equal(answers.values - before.values, expected)
        assert answers.part.noise.parameters == before.part.noise.parameters
        assert more.card.charged == base.card.charged or strategy == "auto"


def test_the_integers_of_auto_begin_with_the_totals_and_move_by_one_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    base, _ = released(ROWS, tmp_path / "0", "auto", monkeypatch)
    more, _ = released([*ROWS, ("F", "b", 9.0, 2.0, 3.0)], tmp_path / "1", "auto", monkeypatch)
    for of, largest in (("sum(x)", 9), ("sum(y)", 4)):
        answers = more.quantities[of]
        moved = answers.values - base.quantities[of].values
        one = np.zeros(answers.layout.cells, np.int64)
        for attributes in answers.layout.sets:
            answers.layout.view(one, attributes)[tuple({0: 0, 1: 1}[a] for a in attributes)] = 3 * largest
        assert np.array_equal(moved, answers.part.exact(one))


def test_an_interrupted_release_goes_on_with_the_totals_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Killed after the first payload: what is stored stays, and the sum of all charges is the budget."""
    session = ht.Session.open(
        pl.DataFrame(ROWS, schema=TYPES, orient="row"),
        schema=SCHEMA,
        ledger=tmp_path / "l",
        budget=ht.ZCDP(1),
    )
    from hushtable.kernel import run as loop

    kept = loop._Credit.keep
    seen: list[np.ndarray] = []

    def stop_after_first(self, request, values):
        kept(self, request, values)
        if isinstance(getattr(request, "part", None), JointPart):
            seen.append(values)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop._Credit, "keep", stop_after_first)
        with pytest.raises(KeyboardInterrupt):
            session.release(WORKLOAD, budget=ht.ZCDP("0.1"), strategy="auto", request="one")
    release = session.release(WORKLOAD, budget=ht.ZCDP("0.1"), strategy="auto", request="one")
    found = np.concatenate([answers.values for answers in release.quantities.values()])
    assert np.array_equal(found, seen[0])
    assert release.card.charged.rho <= 10**11
    assert (
        session.remaining.to_dict()
        == ht.Session.open(
            pl.DataFrame(ROWS, schema=TYPES, orient="row"), schema=SCHEMA, ledger=tmp_path / "l"
        ).remaining.to_dict()
    )
