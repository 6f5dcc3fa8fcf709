"""Replay of a release with levels on neighbouring tables: integers differ by one person's column, and nothing else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from bit_sources import FixedBits
from dense_levels import Dense
from hushtable.measurement import ResidualPart
from hushtable.privacy import sampler

SCHEMA = {
    "attributes": {
        "place": {
            "type": "categorical",
            "levels": ["up", "down"],
            "tree": {"A": ["a", "b", "c"], "B": ["d"], "C": ["e", "f"]},
        },
        "age": {"type": "integer", "bounds": [0, 7], "levels": {"four": 4, "two": 2, "age": 1}},
    }
}
ROWS = [("a", 1), ("d", 3), ("f", 7), ("f", 0)]


def released(rows, folder, monkeypatch, strategy="residual-planner") -> tuple[ht.Release, int]:
    folder.mkdir()
    bits = FixedBits(seed=5)
    frame = pl.DataFrame(rows, schema={"place": pl.String, "age": pl.Int64}, orient="row")
    session = ht.Session.open(frame, schema=SCHEMA, ledger=folder / "l", budget=ht.ZCDP(1))
    with monkeypatch.context() as patch:
        patch.setattr(sampler, "system_bits", lambda: bits)
        workload = ht.Workload([("down", "age"), ("up", "two")])
        made = session.release(workload, budget=ht.ZCDP("0.1"), strategy=strategy, request="one")
    return made, len(bits.given)


@pytest.mark.parametrize("strategy", ["residual-planner", "identity"])
def test_one_person_more_moves_the_integers_by_one_column(tmp_path, monkeypatch, strategy):
    base, bits = released(ROWS, tmp_path / "0", monkeypatch, strategy)
    part = base.answers.part
    assert isinstance(part, ResidualPart)
    dense = Dense(part.layout.axes)
    columns = np.concatenate([dense.residual(s) for s in part.sets])
    for place, leaf in enumerate("abcdef"):
        for age in (0, 5):
            more, drawn = released([*ROWS, (leaf, age)], tmp_path / f"{leaf}{age}", monkeypatch, strategy)
            assert np.array_equal(more.answers.values - base.answers.values, columns[:, place * 8 + age])
            assert drawn == bits
            assert more.card.charged == base.card.charged
            assert more.answers.part.noise.parameters == part.noise.parameters
