"""Runs the graphical-model AIM of ``smartnoise-synth`` on one table, inside its own virtual environment.

    python -c "import model_child; model_child.main()" JOB.json

The job names the codes, the sizes, the privacy and a limit of processor seconds.  When time is up, the model of the
last complete round answers.  Estimates of all three-way marginals go to a ``.npy`` file, the rest to a JSON file.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from mbi import Dataset, Domain, estimation
from snsynth.aim.aim import AIMSynthesizer
from snsynth.utils import cdp_rho


class TimeUp(BaseException):
    """Raised when the processor time is used up."""


def stop(*_: object) -> None:
    raise TimeUp


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    names = [f"a{i}" for i in range(len(job["sizes"]))]
    domain = Domain(names, job["sizes"])
    codes = np.load(job["codes"])
    data = Dataset({name: codes[:, i] for i, name in enumerate(names)}, domain=domain)
    kept: dict[str, Any] = {"fits": 0}
    fit = estimation.mirror_descent

    def remembered(*arguments: Any, **options: Any) -> Any:
        kept["model"] = fit(*arguments, **options)
        kept["fits"] += 1
        return kept["model"]

    estimation.mirror_descent = remembered
    mechanism = AIMSynthesizer(
        epsilon=job["epsilon"], delta=job["delta"], max_model_size=job["model_mb"], degree=3, verbose=True
    )
    mechanism.rho = cdp_rho(job["epsilon"], job["delta"])
    workload = list(itertools.combinations(names, 3))
    signal.signal(signal.SIGPROF, stop)
    start, processor = time.perf_counter(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, job["limit"])
    finished = True
    try:
        mechanism.AIM(data, workload)
    except TimeUp:
        finished = False
    signal.setitimer(signal.ITIMER_PROF, 0)
    times = {"elapsed": time.perf_counter() - start, "processor": time.process_time() - processor}
    sys.stdout.flush()
    if "model" in kept:
        model = kept["model"]
        reading = time.perf_counter()
        with jax.disable_jit():
            flat = np.concatenate([np.asarray(model.project(s).datavector()) for s in workload])
        np.save(job["estimates"], flat)
        times["reading"] = time.perf_counter() - reading
    found = times | {"finished": finished, "rounds": kept["fits"], "rho": float(mechanism.rho)}
    Path(job["result"]).write_text(json.dumps(found))
