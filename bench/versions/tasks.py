"""One task of ``against``, run in a process of its own under one of the two trees.

    python -m bench.versions.tasks TASK FOLDER

Uses the public interface alone, so that it runs under any two versions that keep it.  Prints one JSON object: figures
of which less is better (processor seconds, gigabytes, errors).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

import hushtable as ht
from bench.shared.standins import load

DELTA = "1e-9"
ROWS = 2_000_000


def hush(*words: object) -> None:
    """A command, by the code behind ``hush``; its output is dropped."""
    from hushtable.cli.app import run

    with contextlib.redirect_stdout(io.StringIO()):
        code = run([str(word) for word in words])
    if code:
        sys.exit(f"hush {words[0]} ended with {code}")


def load_everything() -> None:
    """What another version does while it is imported: all modules, scipy, numba, a dispatcher for every loop.

    A whole process pays for what it needs of these once, sooner or later; the figure of the start is about that.
    """
    import numba  # noqa: F401
    import scipy.interpolate
    import scipy.optimize
    import scipy.special  # noqa: F401

    for module in pkgutil.walk_packages(ht.__path__, "hushtable."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    with contextlib.suppress(ImportError):
        from hushtable.compiled import Loop

        for thing in gc.get_objects():
            if isinstance(thing, Loop):
                thing.dispatcher  # noqa: B018
    gc.collect()
    gc.freeze()  # a collector that walks what only this function loaded would be charged to the task


@contextlib.contextmanager
def processor(figures: dict[str, float], name: str) -> Iterator[None]:
    load_everything()
    start = time.process_time()
    yield
    figures[f"{name}, s"] = time.process_time() - start


def least(figures: dict[str, float], name: str, passes: int, work: Callable[[int], object]) -> None:
    """The least of several passes, of which each gets its number: what the machine did beside is in none or in few."""
    found: dict[str, float] = {}
    for number in range(passes):
        with processor(found, str(number)):
            work(number)
    figures[f"{name}, s"] = min(found.values())


def adult(folder: Path) -> tuple[pl.DataFrame, Path, Path]:
    """Adult as a frame, its file and its schema."""
    sizes, columns = load("adult")
    frame = pl.DataFrame({f"a{i}": column for i, column in enumerate(columns)})
    data, schema = folder / "adult.parquet", folder / "adult.yaml"
    frame.write_parquet(data)
    ht.Schema.from_domain(dict(zip(frame.columns, sizes, strict=True))).save(schema)
    return frame, data, schema


def error(release: ht.Release, frame: pl.DataFrame, order: int) -> float:
    """Mean L1 over tables divided by the rows, on every seventh table."""
    found = []
    for names in list(combinations(frame.columns, order))[::7]:
        truth = frame.group_by(names).len()
        table = release.table(*names).with_columns(pl.col(n).cast(frame[n].dtype) for n in names)
        both = table.join(truth, on=names, how="left").with_columns(pl.col("len").fill_null(0))
        found.append(float((both["estimate"] - both["len"]).abs().sum()) / frame.height)
    return float(np.mean(found))


def release_by(
    strategy: str, *extra: str, epsilon: str = "1", order: int = 3
) -> Callable[[Path], dict[str, float]]:
    """A whole release of Adult by the command line, after one of a few of its rows.

    The small one imports what is needed and loads what is compiled: a version that does so at its start and one that
    does so on the way are then alike.  What the process took in all, from its first moment on, stands beside.
    """

    def task(folder: Path) -> dict[str, float]:
        frame, data, schema = adult(folder)
        small = folder / "small.parquet"
        frame.head(1000).write_parquet(small)
        budget = f"epsilon={epsilon},delta={DELTA}"

        def release(file: Path) -> Path:
            ledger, out = file.with_suffix(".ledger"), file.with_suffix(".out")
            hush("ledger", "create", ledger, "--budget", budget)
            hush(
                *("release", file, "--schema", schema, "--ledger", ledger, "--budget", budget),
                *("--order", order, "--strategy", strategy, *extra, "--no-report", "--out", out),
            )
            return out

        release(small)
        figures: dict[str, float] = {}
        with processor(figures, "release"):
            out = release(data)
        used = os.times()
        figures["process until then, s"] = used.user + used.system
        figures["memory, GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        figures["mean L1 / N"] = error(ht.Release.load(out), frame, order)
        if strategy == "auto" and not extra:
            with processor(figures, "microdata"):
                hush("microdata", out, "--out", folder / "records.parquet")
            figures["records, mean L1 / N"] = records_error(folder / "records.parquet", frame)
        return figures

    return task


def records_error(path: Path, frame: pl.DataFrame) -> float:
    records = pl.read_parquet(path)
    found = []
    for names in list(combinations(frame.columns, 3))[::7]:
        keys = [pl.col(n).cast(pl.Int64, strict=False) for n in names]
        one, two = (t.select(keys).group_by(names).agg(pl.len().cast(pl.Int64)) for t in (records, frame))
        both = one.join(two, on=names, how="full", coalesce=True).fill_null(0)
        found.append(float((both["len"] - both["len_right"]).abs().sum()) / frame.height)
    return float(np.mean(found))


def noise(folder: Path) -> dict[str, float]:
    figures: dict[str, float] = {}
    for variance in ("0.25", "1e4", "1e14"):
        ht.privacy.discrete_gaussian(variance, 100_000)
        name = f"Gaussian of variance {variance}"
        least(figures, name, 5, lambda _, v=variance: ht.privacy.discrete_gaussian(v, 4_000_000))
    ht.privacy.discrete_laplace("10", 100_000)
    least(figures, "Laplace of scale 10", 5, lambda _: ht.privacy.discrete_laplace("10", 4_000_000))
    return figures


def rows(kind: str) -> Callable[[Path], dict[str, float]]:
    """All pairs of ten attributes from a large file, with and without a person column, after a small one.

    The small one loads what is compiled; how long that takes is part of the start of a process, not of a row.
    """

    def task(folder: Path) -> dict[str, float]:
        rng = np.random.default_rng(1)
        names = [f"a{i}" for i in range(10)]
        frame = pl.DataFrame({n: rng.integers(0, 12, ROWS) for n in names})
        frame = frame.with_columns(person=pl.Series(rng.integers(0, ROWS // 2, ROWS)))
        small, data = folder / f"small.{kind}", folder / f"rows.{kind}"
        getattr(frame, f"write_{kind}")(data)
        getattr(frame.head(1000), f"write_{kind}")(small)
        figures: dict[str, float] = {}
        for person in (None, "person"):
            attributes = {n: {"type": "integer", "bounds": [0, 11], "width": 1} for n in names}
            declared = {"max_rows_per_person": 2, "attributes": attributes}
            schema = ht.Schema.from_dict(declared | ({} if person is None else {"person": person}))
            workload = ht.Workload.all_marginals(schema, order=2)

            def release(
                number: int,
                file: Path = data,
                schema: ht.Schema = schema,
                workload: ht.Workload = workload,
            ) -> None:
                ledger = file.with_suffix(f".{schema.person}.{number}.ledger")
                session = ht.Session.open(file, schema=schema, ledger=ledger, budget=ht.ZCDP(1))
                session.release(workload, budget=ht.ZCDP("0.1"), strategy="residual-planner")

            release(0, small)
            least(figures, f"all pairs, person {person}", 3, release)
        return figures

    return task


def checks(folder: Path) -> dict[str, float]:
    """Twenty questions of each kind, each with its plan and charge."""
    frame, data, _ = adult(folder)
    attributes = {
        n: {"type": "integer", "bounds": [0, int(frame[n].max())], "width": 1} for n in frame.columns
    }
    schema = ht.Schema.from_dict({"attributes": attributes})
    session = ht.Session.open(data, schema=schema, ledger=folder / "l", budget=ht.PureDP(9000))
    figures: dict[str, float] = {}
    for kind in ("COUNT", "SUM(a0)", "MEDIAN(a0)"):
        session.check(f"{kind} WHERE a1 >= 1", frame, tau="5%", budget=ht.PureDP("0.25"))

        def ask(number: int, kind: str = kind) -> None:
            for k in range(2, 22):
                query = f"{kind} WHERE a1 >= {1 + k % 3} AND a4 <= {k}"
                session.check(query, frame, tau=f"{5 + number}%", budget=ht.PureDP("0.25"))

        least(figures, f"20 of {kind}", 5, ask)
    return figures


def choices(folder: Path) -> dict[str, float]:
    _, data, schema = adult(folder)
    figures: dict[str, float] = {}
    session = ht.Session.open(data, schema=schema, ledger=folder / "l", budget=ht.ZCDP(90))
    options = [ht.linear.marginals(session.schema, order=k) for k in (1, 2)]
    for name, passes in (("first choice", 1), ("later choice", 5)):
        least(figures, name, passes, lambda _: session.choose(options, budget=ht.ZCDP("0.1")).finish(1))
    return figures


def fits(folder: Path) -> dict[str, float]:
    rng = np.random.default_rng(7)
    truth = rng.poisson(3.0, (9, 24))
    laplace = ht.microdata.Noise.laplace(8)
    figures: dict[str, float] = {}
    for method in ("ols", "nnls", "max", "sequential", "reweighted"):
        cases = []
        for _ in range(41):
            sums = {(): truth.sum(), (0,): truth.sum(1), (1,): truth.sum(0), (0, 1): truth}
            noisy = {axes: t + rng.laplace(0, 8, np.shape(t)) for axes, t in sums.items()}
            cases.append([ht.microdata.Measurement(axes, t, laplace) for axes, t in noisy.items()])
        ht.microdata.fit(cases[0], (9, 24), method=method)

        def work(_: int, cases: list[list[ht.microdata.Measurement]] = cases, method: str = method) -> None:
            for case in cases[1:]:
                ht.microdata.fit(case, (9, 24), method=method)

        least(figures, f"40 fits by {method}", 7, work)
    return figures


def start(folder: Path) -> dict[str, float]:
    """Everything that a command needs before it does anything; counted from the process's first moment."""
    hush("--version")
    used = os.times()
    return {"hush --version, s": used.user + used.system}


TASKS: dict[str, Callable[[Path], dict[str, float]]] = {
    "start": start,
    "noise": noise,
    "auto": release_by("auto"),
    "auto, epsilon 10": release_by("auto", epsilon="10"),
    "aim": release_by("aim"),
    "residual-planner": release_by("residual-planner"),
    "identity": release_by("identity", order=2),
    "nonneg": release_by("residual-planner", "--reconstruct", "nonneg", order=2),
    "parquet": rows("parquet"),
    "csv": rows("csv"),
    "checks": checks,
    "choices": choices,
    "fits": fits,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]](Path(sys.argv[2]))) + "\n")
