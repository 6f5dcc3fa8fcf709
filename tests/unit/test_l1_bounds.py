"""Bounds on the L1 error of whole tables hold, from selections and from noisy distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.marginals import Layout, closure
from hushtable.planning import claims

WIDE = {
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 79], "width": 2},
        "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other"},
        "member": {"type": "boolean"},
    }
}
"""Tables large enough for noisy distances to be worth their price."""


@pytest.mark.parametrize(("strategy", "reconstruct"), [("aim", "mle"), ("aim", "maxent"), ("auto", "maxent")])
def test_bounds_on_whole_tables_hold(
    strategy: str, reconstruct: str, tmp_path: Path, small_frame: pl.DataFrame
) -> None:
    """25 releases of 3 tables; a claim fails with probability 5%, so more than 12 of 25 by chance less than 1e-6."""
    session = ht.Session.open(small_frame, schema=WIDE, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1000))
    workload = ht.Workload.all_marginals(session.schema, order=2)
    exact = session.release(workload, budget=ht.ZCDP(500), strategy="residual-planner")
    broken = bounded = 0
    for _ in range(25):
        release = session.release(
            workload, budget=ht.ZCDP("0.02"), strategy=strategy, reconstruct=reconstruct
        )
        accuracy = release.accuracy()
        if "l1_bound" not in accuracy.columns:
            continue
        errors = [
            float(np.abs(release.table(*names)["estimate"] - exact.table(*names)["estimate"].round()).sum())
            for names in release.marginals
        ]
        bounds = accuracy["l1_bound"].to_list()
        bounded += sum(b is not None for b in bounds)
        broken += any(b is not None and e > b for e, b in zip(errors, bounds, strict=True))
    assert bounded > 0 and broken <= 12
    loaded = release.accuracy()["l1_bound"].to_list() if "l1_bound" in release.accuracy().columns else []
    assert all(b is None or b > 0 for b in loaded)


@pytest.mark.parametrize("part", [1, 7, 2**24])
def test_what_a_round_moved_is_the_same_in_parts_of_any_size(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (3, 2, 4, 1)
    layout = Layout(sizes, closure([(0, 1, 2), (1, 2, 3)]))
    generator = np.random.default_rng(3)
    numbers = [layout.index[s] for s in ((0, 1), (2,))]
    changes = tuple((k, generator.normal(size=layout.lengths[k])) for k in numbers)
    monkeypatch.setattr(claims, "PART", part)
    moved = claims._moved(layout, changes)
    for gamma, norm in zip(layout.sets, moved, strict=True):
        table = np.zeros(layout.shape(gamma))
        for k, change in changes:
            tau = layout.sets[k]
            if set(tau) <= set(gamma):
                shape = [sizes[a] if a in tau else 1 for a in gamma]
                table = table + change.reshape(shape) * change.size / table.size
        assert norm == pytest.approx(np.abs(table).sum(), abs=1e-12)
