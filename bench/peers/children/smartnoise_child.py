"""Records by the AIM of ``smartnoise-synth``, inside its own environment: ``python smartnoise_child.py JOB.json``."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
from mbi import Dataset, Domain
from snsynth.aim.aim import AIMSynthesizer
from snsynth.utils import cdp_rho


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    np.random.seed(job["seed"])
    codes = np.load(job["codes"])
    names = [f"a{k}" for k in range(codes.shape[1])]
    data = Dataset({n: codes[:, k] for k, n in enumerate(names)}, domain=Domain(names, job["sizes"]))
    mechanism = AIMSynthesizer(
        epsilon=job["epsilon"], delta=job["delta"], max_model_size=job["model_mb"], degree=3
    )
    mechanism.rho = cdp_rho(job["epsilon"], job["delta"])
    mechanism.AIM(data, list(itertools.combinations(names, 3)))
    made = mechanism.synthesizer.synthetic_data(rows=len(codes))
    np.save(job["records"], np.column_stack([np.asarray(made.df[n]) for n in names]).astype(np.int64))


main()
