"""Records by AIM or MST of OpenDP, inside its own environment: ``python opendp_child.py JOB.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    codes = np.load(job["codes"])
    names = [f"a{k}" for k in range(codes.shape[1])]
    context = dp.Context.compositor(
        data=pl.LazyFrame({n: codes[:, k] for k, n in enumerate(names)}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=job["rho"]),
    )
    algorithm = (
        dp.mbi.AIM(queries=3, max_size=float(job["model_mb"])) if job["method"] == "aim" else dp.mbi.MST()
    )
    table = (
        context.query(rho=job["rho"])
        .select(*names)
        .contingency_table(
            keys={n: list(range(size)) for n, size in zip(names, job["sizes"], strict=True)},
            algorithm=algorithm,
        )
        .release()
    )
    made = table.synthesize(rows=len(codes)).select(names)
    # A column has a null beside its keys, which no row has; records that got one are no records of this table.
    np.save(job["records"], made.fill_nan(None).drop_nulls().to_numpy().astype(np.int64))


main()
