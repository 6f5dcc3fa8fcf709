"""Records and tables of this product, as its user gets them: ``python own_child.py JOB.json``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import hushtable as ht


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    codes = np.load(job["codes"])
    names = [f"a{k}" for k in range(codes.shape[1])]
    sizes = dict(zip(names, job["sizes"], strict=True))
    schema = ht.Schema.from_dict(
        {"attributes": {n: {"type": "categorical", "values": list(range(size))} for n, size in sizes.items()}}
    )
    budget = ht.ApproxDP(epsilon=job["epsilon"], delta=job["delta"])
    with tempfile.TemporaryDirectory() as folder:
        session = ht.Session.open(
            pl.DataFrame(codes, schema=names, orient="row"),
            schema=schema,
            ledger=f"{folder}/ledger",
            budget=budget,
        )
        release = session.release(ht.Workload.all_marginals(schema, order=3), budget=budget)
    np.save(job["records"], release.microdata().select(names).to_numpy().astype(np.int64))
    answers = [release.table(*(names[k] for k in axes))["estimate"].to_numpy() for axes in job["tables"]]
    if answers:
        np.save(job["answers"], np.concatenate(answers))


main()
