"""Whether two versions draw the same noisy integers from the same random bits.

    hush bench same_integers -- REVISION [--cases "aim*" ...]
    hush bench same_integers -- --record > FILE; hush bench same_integers -- FILE

REVISION is checked out beside; or FILE holds what another tree has recorded.  Under both each case below runs once, in
one process a tree, through the public interface alone: every strategy, every kind of option of a choice, reuse, every
decider, runs that are interrupted and resumed.  The system's bits are replaced by a known stream that starts again with
each case, and long draws stay in one thread.  Compared are the noisy integers, the tables that follow from them, the
verdicts, what each request set aside and was charged, with its public facts, and how many random words were taken.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from bench.shared.places import ROOT
from bench.versions.against import checked_out
from hushtable import linear
from hushtable.privacy import bits, sampler

ROWS = 4000
DECIDERS = {
    "COUNT WHERE sex = 'F' AND age >= 30": (
        *("count-lm", "count-em", "count-naive", "count-optimal", "count-logistic", "auto"),
    ),
    "SUM(income) WHERE age >= 30": (
        *("sum-lm", "sum-r2t", "sum-svt", "sum-r2t-shared", "sum-r2t-centred", "sum-margin", "sum-logistic"),
        "auto",
    ),
    "MEDIAN(income) WHERE sex = 'M'": (
        *("median-em", "median-histogram", "median-em-tight", "median-histogram-tight", "median-margin"),
        *("median-logistic", "auto"),
    ),
    "AVG(age)": ("avg-margin", "avg-logistic", "auto"),
}
"""A query of each aggregate, and the deciders that it is put to."""


class KnownWords:
    """A stream that a name fixes, in place of the system's."""

    def __init__(self, name: str) -> None:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._stream = np.random.Generator(np.random.Philox(seed))
        self.taken = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next words."""
        self.taken += n
        return self._stream.integers(0, 2**64, size=n, dtype=np.uint64)


def people(rows_per_person: int = 1) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Made-up people, and their schema."""
    rng = np.random.default_rng(11)
    age = np.clip(rng.normal(42, 18, ROWS).astype(int), 0, 99)
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["F", "M", "X"], ROWS, p=[0.5, 0.45, 0.05]),
            "age": age,
            "income": np.clip(rng.gamma(2.0, 20.0, ROWS) * (age > 17), 0, 499).astype(int),
            "member": rng.random(ROWS) < 0.2 + 0.005 * age,
            "one": ["yes"] * ROWS,
        }
    )
    attributes = {
        "sex": {"type": "categorical", "values": ["F", "M", "X"]},
        "age": {"type": "integer", "bounds": [0, 99], "width": 10},
        "income": {"type": "integer", "bounds": [0, 499], "width": 25},
        "member": {"type": "boolean"},
        "one": {"type": "categorical", "values": ["yes"]},
    }
    return frame, {"max_rows_per_person": rows_per_person, "attributes": attributes}


class Interrupted(Exception):
    """Stands for whatever ends a run."""


class Case:
    """One run: a session on made-up people, and all that is to be compared."""

    def __init__(self, folder: Path, ledger: ht.privacy.Budget, rows_per_person: int = 1) -> None:
        frame, schema = people(rows_per_person)
        self.folder = folder
        self.seen: list[Any] = []
        self.session = ht.Session.open(frame, schema=schema, ledger=folder / "a.ledger", budget=ledger)

    def workload(self, order: int) -> ht.Workload:
        return ht.Workload.all_marginals(self.session.schema, order=order)

    def release(self, order: int = 2, budget: Any = None, stop: int | None = None, **more: Any) -> None:
        """A release; ``stop``: it is interrupted after so many steps first, and resumed."""
        spent = ht.ZCDP("0.1") if budget is None else budget
        workload = self.workload(order)
        if stop is not None:
            more["request"] = "interrupted"
            try:
                self.session.release(workload, budget=spent, progress=interrupt_after(stop), **more)
            except Interrupted:
                self.seen.append("interrupted")
        self.keep(self.session.release(workload, budget=spent, **more))

    def keep(self, released: Any) -> None:
        """The integers of a release as its folder holds them, and its tables."""
        place = self.folder / f"released-{len(self.seen)}"
        released.save(place)
        for path in sorted(place.rglob("*.parquet")):
            table = pq.read_table(path)
            self.seen.append({path.name: table.num_rows, **digests(table)})

    def check(self, query: Any, budget: Any, decider: str = "auto", tau: Any = "5%", **more: Any) -> None:
        frame = people()[0].sample(fraction=0.9, seed=3)
        verdicts = self.session.check(query, frame, tau=tau, budget=budget, decider=decider, **more)
        for verdict in verdicts if isinstance(verdicts, list) else [verdicts]:
            self.seen.append([verdict.satisfied, f"{verdict.error_bound:.8e}"])

    def charges(self) -> list[Any]:
        """What the ledger was told, in order, without names, times and hashes.

        Charges of a request stand as their sum: how many rounds share one is no part of what is released.
        """
        kept = ("type", "kind", "cost", "detail")
        told: list[Any] = []
        charged: dict[int, dict[str, int]] = {}
        for number, entry in enumerate((line["entry"] for line in self.session.ledger.export()), 1):
            if entry["type"] == "charge":
                total = charged[entry["reservation"]]
                for unit, amount in entry["cost"].items():
                    total[unit] = total.get(unit, 0) + amount
            elif entry["type"] != "store":
                told.append({k: entry[k] for k in kept if k in entry})
            if entry["type"] == "reserve":
                charged[number] = told[-1]["charged"] = {}
        return told


def interrupt_after(steps: int) -> Callable[[str, int, int], None]:
    """A progress that ends the run."""
    left = [steps]

    def progress(step: str, done: int, total: int) -> None:
        left[0] -= step.startswith("step")
        if left[0] == 0 and step.startswith("step"):
            raise Interrupted

    return progress


def digests(table: Any) -> dict[str, str]:
    """The values of each column of an Arrow table in a few letters; of floating-point numbers nine digits."""
    found: dict[str, str] = {}
    for name in table.column_names:
        values = [f"{v:.8e}" if isinstance(v, float) else v for v in table[name].to_pylist()]
        found[name] = hashlib.sha256(repr(values).encode()).hexdigest()[:16]
    return found


Action = Callable[[Case], None]
ZCDP = ht.ZCDP(20)
PURE = ht.PureDP(50)
CUT = ht.ApproxDP(epsilon=2, delta="0.3", truncation="0.3")
SPLIT = ht.ApproxDP(epsilon=20, delta="1e-6", pure=9)


def releases() -> dict[str, tuple[Any, Action]]:
    """Every strategy, in every currency and with every scorer and size of memory."""
    return {
        "residual-planner": (ZCDP, lambda c: c.release(3, strategy="residual-planner")),
        "residual-planner, largest variance": (
            ZCDP,
            lambda c: c.release(2, strategy="residual-planner", objective="max_variance"),
        ),
        "residual-planner, nonneg": (
            SPLIT,
            lambda c: c.release(2, strategy="residual-planner", reconstruct="nonneg"),
        ),
        "residual-planner, total": (ZCDP, lambda c: c.release(0, strategy="residual-planner")),
        "identity Gaussian": (ZCDP, lambda c: c.release(3, strategy="identity")),
        "identity Laplace": (PURE, lambda c: c.release(2, ht.PureDP("0.7"), strategy="identity")),
        "identity truncated": (CUT, truncated),
        "counts for sums": (ZCDP, lambda c: c.keep(c.session.release_counts(["sex"], budget=ht.ZCDP("0.1")))),
        "auto": (ZCDP, lambda c: c.release(3)),
        "auto, large budget": (ZCDP, lambda c: c.release(3, ht.ZCDP(5))),
        "auto, mle": (ZCDP, lambda c: c.release(2, strategy="auto", reconstruct="mle")),
        "auto, total": (ZCDP, lambda c: c.release(0)),
        "auto, little memory": (ZCDP, lambda c: c.release(3, memory="300KB")),
        "auto, interrupted": (ZCDP, lambda c: c.release(3, stop=2)),
        "aim": (ZCDP, lambda c: c.release(3, strategy="aim")),
        "aim, nonneg": (ZCDP, lambda c: c.release(2, strategy="aim", reconstruct="nonneg")),
        "aim, total": (ZCDP, lambda c: c.release(0, strategy="aim")),
        "aim, little time": (ZCDP, lambda c: c.release(3, strategy="aim", time="0.0001")),
        "aim, interrupted": (ZCDP, lambda c: c.release(3, strategy="aim", stop=9)),
        "aim against tables": (ZCDP, lambda c: c.release(3, strategy="aim", reconstruct="maxent")),
        "aim against tables, little time": (
            ZCDP,
            lambda c: c.release(3, strategy="aim", reconstruct="maxent", time="0.0001"),
        ),
        "aim against tables, interrupted": (
            ZCDP,
            lambda c: c.release(2, strategy="aim", reconstruct="maxent", stop=7),
        ),
        "reuse": (ZCDP, reuse),
        "reuse of everything": (ZCDP, reuse_all),
    }


def truncated(case: Case) -> None:
    budget = ht.ApproxDP(epsilon=1, delta="0.2", truncation="0.2")
    case.keep(case.session.release_counts(["sex", "age"], accurate="point", budget=budget))


def reuse(case: Case) -> None:
    case.release(1, strategy="residual-planner")
    case.release(1, ht.ZCDP("0.05"), strategy="identity")
    case.release(2, ht.ZCDP("0.05"))
    choice = case.session.choose(orders(case, 1, 2), budget=ht.ZCDP("0.02"))
    choice.finish(0)
    case.release(3, ht.ZCDP("0.7"), reuse=True)
    case.release(2, ht.ZCDP("0.9"), strategy="identity", reuse=True)


def reuse_all(case: Case) -> None:
    case.release(2, ht.ZCDP("0.5"), strategy="residual-planner")
    case.release(1, ht.ZCDP("0.01"), reuse=True)


def orders(case: Case, *wanted: int) -> list[Any]:
    return [linear.marginals(case.session.schema, order=k) for k in wanted]


def tables(case: Case) -> list[Any]:
    """One attribute over finer and finer buckets, beside another."""
    sizes = case.session.schema.sizes
    ages = [linear.buckets(sizes[1], cuts) for cuts in ((5,), (2, 5), (2, 4, 5, 8))]
    sex, rest = linear.buckets(sizes[0], (1, 2)), [(0,) * n for n in sizes[2:]]
    return [linear.bucket_table([sex, age, *rest]) for age in ages]


def matrices(case: Case) -> list[Any]:
    """Linear queries over the cells of a small table."""
    cells = int(np.prod(case.session.schema.sizes))
    rng = np.random.default_rng(2)
    one = rng.integers(0, 2, (3, cells)).astype(float)
    two = np.concatenate([one, rng.integers(0, 2, (2, cells)).astype(float)])
    return [linear.LinearGaussian(q, np.full(len(q), 900.0)) for q in (one, two)]


def choose(options: Callable[[Case], list[Any]], *, frozen: bool, ends: str) -> Action:
    """A choice that is walked to one of its ends."""

    def act(case: Case) -> None:
        if options is matrices:
            case = small(case)
        given = options(case)
        choice = case.session.choose(given, budget=ht.ZCDP("0.4"), frozen=frozen, request="choice")
        case.keep(choice.common)
        if "advance" in ends and len(given) > 2:
            choice.advance()
        if "refine" in ends:
            choice.refine(rho="0.05")
        choice = case.session.choice(choice.id)
        ratios = [f"{ratio:.8e}" for ratio in np.asarray(choice.snr(choice.stage)).ravel()]
        case.seen.append([ratios, choice.charged.rho])
        if "abandon" in ends:
            choice.abandon()
        else:
            case.keep(choice.finish(0 if "first" in ends else len(given) - 1))
        case.seen.append([choice.charged.rho, choice.state])

    return act


def small(case: Case) -> Case:
    """The same case on fewer attributes: matrices have a column for every cell."""
    frame, schema = people()
    kept = ("sex", "member")
    schema["attributes"] = {k: v for k, v in schema["attributes"].items() if k in kept}
    case.session = ht.Session.open(
        frame.select(kept), schema=schema, ledger=case.folder / "b.ledger", budget=ZCDP
    )
    return case


def choices() -> dict[str, tuple[Any, Action]]:
    """Every kind of option, frozen or not, to each end."""
    kinds = {
        "marginals": lambda c: orders(c, 0, 1, 2),
        "buckets": tables,
        "matrices": matrices,
    }
    found: dict[str, tuple[Any, Action]] = {}
    for name, options in kinds.items():
        for frozen in (False, True):
            for ends in ("first", "advance, last", "abandon"):
                label = f"choose {name}, {ends}{', frozen' if frozen else ''}"
                found[label] = (ZCDP, choose(options, frozen=frozen, ends=ends))
    found["choose marginals, refine, last"] = (
        ZCDP,
        choose(kinds["marginals"], frozen=False, ends="advance, refine, last"),
    )
    return found


def checks() -> dict[str, tuple[Any, Action]]:
    """Every decider in two currencies, and questions asked together."""
    found: dict[str, tuple[Any, Action]] = {}
    for query, deciders in DECIDERS.items():
        for decider in deciders:
            label = f"check {query.split('(')[0].split()[0]} by {decider}"
            found[f"{label}, pure"] = (PURE, checking(query, ht.PureDP("0.05"), decider))
            found[f"{label}, zCDP"] = (ZCDP, checking(query, ht.ZCDP("0.002"), decider))
    together = tuple(DECIDERS)
    found["check together"] = (SPLIT, lambda c: c.check(together, ht.PureDP("0.2")))
    found["check supposing the largest"] = (
        PURE,
        lambda c: c.check("SUM(income)", ht.PureDP("0.2"), tau="2%", largest=300),
    )
    return found


def checking(query: str, budget: Any, decider: str) -> Action:
    """A query with several tolerances: some verdicts are near calls."""

    def act(case: Case) -> None:
        for tau in ("2%", "10%"):
            case.check(query, budget, decider, tau)

    return act


def cases() -> dict[str, tuple[Any, Action]]:
    """All of them by name."""
    return {**releases(), **choices(), **checks()}


def record(patterns: list[str]) -> dict[str, Any]:
    """What this tree gives, case by case; a refusal is a result too."""
    sampler._SHARED = 1 << 62
    found: dict[str, Any] = {}
    for name, (ledger, act) in cases().items():
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        several = ledger is ZCDP and not name.startswith("check")
        for rows_per_person in (1, 2) if several else (1,):
            known = KnownWords(name)
            bits._SYSTEM = known
            with tempfile.TemporaryDirectory(prefix="hushtable-same-") as folder:
                case = Case(Path(folder), ledger, rows_per_person)
                try:
                    act(case)
                except ht.errors.HushtableError as error:
                    case.seen.append(f"refused: {error.code}")
                found[f"{name} ({rows_per_person})"] = {
                    "seen": case.seen,
                    "charges": case.charges(),
                    "words": known.taken,
                }
    return found


def recorded(tree: Path, patterns: list[str]) -> dict[str, Any]:
    """What a tree gives, in a process of its own."""
    path = os.pathsep.join([str(tree / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "bench.versions.same_integers", "--record", "--cases", *patterns],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"The cases failed under {tree}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def earlier(revision: str, patterns: list[str]) -> dict[str, Any]:
    """What another revision gives, or gave when it was recorded."""
    if Path(revision).is_file():
        return json.loads(Path(revision).read_text())
    with checked_out(revision) as other:
        return recorded(other, patterns)


def differences(before: Any, after: Any, place: str = "") -> list[str]:
    """Where two results differ, and what stands there."""
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(f"{place}.{key}", before.get(key), after.get(key)) for key in {**before, **after}]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(f"{place}[{k}]", *pair) for k, pair in enumerate(zip(before, after, strict=True))]
    else:
        return [] if before == after else [f"{place}: {before} became {after}"[:300]]
    return [line for where, one, two in pairs for line in differences(one, two, where)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--cases", nargs="+", default=["*"], help="names, with * and ?")
    parser.add_argument("--record", action="store_true", help="print what this tree gives")
    options = parser.parse_args()
    if options.record:
        print(json.dumps(record(options.cases)))
        return
    if options.revision is None:
        parser.error("name a revision to compare with")
    after = recorded(ROOT, options.cases)
    before = earlier(options.revision, options.cases)
    differing = [name for name in after if before.get(name) != after[name]]
    for name in differing:
        print(name, *differences(before.get(name, {}), after[name]), sep="\n  ")
    refused = sum(
        any(isinstance(s, str) and s.startswith("refused") for s in one["seen"]) for one in after.values()
    )
    words = sum(one["words"] for one in after.values())
    print(f"{len(after)} cases ({refused} refused), {words:,} random words: {len(differing)} differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
