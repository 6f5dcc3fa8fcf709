"""``auto`` pays for a look at pairs only where it could change what is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht


def actions(values: int, rho: str, folder: Path) -> list[str]:
    """The rounds of a release of six attributes, of which neighbours depend on each other."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, values, 20_000)]
    for _ in range(5):
        columns.append(np.where(rng.random(20_000) < 0.5, columns[-1], rng.integers(0, values, 20_000)))
    frame = pl.DataFrame({f"a{k}": column for k, column in enumerate(columns)})
    schema = ht.Schema.from_domain({f"a{k}": values for k in range(6)})
    session = ht.Session.open(frame, schema=schema, ledger=folder / "l", budget=ht.ZCDP(1000))
    made = session.release(ht.Workload.all_marginals(schema, order=3), budget=ht.ZCDP(rho), strategy="auto")
    assert made.history is not None
    return made.history["action"].to_list()


@pytest.mark.long
@pytest.mark.parametrize(
    ("values", "rho", "looks"), [(24, "0.02", True), (2, "20", False), (24, "50", False)]
)
def test_pairs_that_can_all_be_measured_well_are_not_looked_at(
    values: int, rho: str, looks: bool, tmp_path: Path
) -> None:
    assert ("dependence of pairs" in actions(values, rho, tmp_path)) == looks
