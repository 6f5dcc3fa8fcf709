"""Records by a synthesizer of ``dpmm``, inside its own environment: ``python dpmm_child.py JOB.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from dpmm import pipelines


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    codes = np.load(job["codes"])
    names = [f"a{k}" for k in range(codes.shape[1])]
    kind = {
        "mst": pipelines.MSTPipeline,
        "aim": pipelines.AIMPipeline,
        "privbayes": pipelines.PrivBayesPipeline,
    }
    pipeline = kind[job["method"]](
        epsilon=job["epsilon"],
        delta=job["delta"],
        disable_processing=True,
        max_model_size=job["model_mb"],
        n_jobs=1,
    )
    domain = dict(zip(names, job["sizes"], strict=True))
    pipeline.fit(pd.DataFrame(codes, columns=names), domain=domain, random_state=job["seed"])
    made = pipeline.generate(n_records=len(codes), random_state=job["seed"])
    np.save(job["records"], made[names].to_numpy().astype(np.int64))


main()
