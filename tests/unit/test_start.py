"""How ``hush`` starts: quickly, with nothing loaded that it does not use, and quiet when it is stopped."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import hushtable
import hushtable as ht
from hushtable.cli.app import COMMANDS
from hushtable.lazily import homes

LIBRARIES = {
    "altair",
    "clarabel",
    "cryptography",
    "highspy",
    "jinja2",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "sqlglot",
    "vl_convert",
    "yaml",
}
PACKAGES = sorted(
    module.name for module in pkgutil.walk_packages(hushtable.__path__, "hushtable.") if module.ispkg
)
LAZY = [name for name in ["hushtable", *PACKAGES] if hasattr(importlib.import_module(name), "__getattr__")]
VERBS = [
    *(["ledger", verb] for verb in ("create", "show", "grant", "raise", "end", "verify", "export", "copy")),
    *(["choose", verb] for verb in ("start", "finish", "abandon", "show", "advance", "refine", "outlook")),
]
HELPS = [*([command, "--help"] for command in COMMANDS), *([*verb, "--help"] for verb in VERBS)]
USAGE = [
    ["--version"],
    ["--help"],
    [],
    ["nonsense"],
    *([command, "--no-such-flag"] for command in COMMANDS),
    *([command] for command in COMMANDS if command not in ("demo", "bench", "selftest")),
    *VERBS,
    *HELPS,
]
GIVEN = ["d.csv", "--schema", "s.yaml", "--ledger", "l"]
RELEASE = ["release", *GIVEN, "--out", "o"]
PLAN = ["plan", "--schema", "s.yaml", "--order", "2"]
CHECK = ["check", *GIVEN, "--synthetic", "d.csv"]
CHOOSE = ["choose", *GIVEN, "--orders", "1", "2"]
PAID = ["--budget", "rho=0.1"]
SLIPS = [
    ("usage.out", ["release", *GIVEN, "--order", "2", *PAID]),
    ("usage.again", [*RELEASE, "--order", "2", *PAID, "--stored", "--again"]),
    ("usage.counts", [*RELEASE, *PAID, "--order", "2", "--counts", "sex"]),
    ("usage.counts", [*RELEASE, *PAID, "--objective", "max_variance", "--counts", "sex"]),
    ("budget.unreadable", [*RELEASE, "--order", "2", "--budget", "rho=bad"]),
    ("budget.unreadable", [*RELEASE, "--budget", "zz"]),
    ("budget.not-positive", [*RELEASE, "--order", "2", "--budget", "rho=-1"]),
    ("budget.too-small", [*RELEASE, "--order", "2", "--budget", "rho=1e-13"]),
    ("usage.budget", PLAN),
    ("usage.budget", [*PLAN, *PAID, "--want", "age=5"]),
    ("usage.want", [*PLAN, "--want", "age"]),
    ("budget.unreadable", [*PLAN, "--budget", "rho=bad"]),
    ("plan.adaptive", [*PLAN, *PAID, "--strategy", "auto"]),
    ("usage.query", [*CHECK, *PAID, "--tau", "5"]),
    ("budget.unreadable", [*CHECK, "--query", "COUNT", "--tau", "5", "--budget", "zz"]),
    ("export.format", ["export", "o", "--format", "xls"]),
    ("usage.bounds", ["bounds"]),
    ("usage.bounds", ["bounds", "--cells", "5"]),
    ("usage.flags", ["bounds", "--cells", "0", "--budget", "epsilon=1"]),
    ("budget.unreadable", ["bounds", "--cells", "5", "--budget", "zz"]),
    ("usage.shell", ["completion", "tcsh"]),
    ("usage.options", ["choose", *GIVEN, *PAID]),
    ("usage.snr", [*CHOOSE, *PAID, "--snr", "zz"]),
    ("linear.rule", [*CHOOSE, *PAID, "--rule", "zz"]),
    ("usage.out-without-snr", [*CHOOSE, *PAID, "--out", "o"]),
    ("usage.again", [*CHOOSE, *PAID, "--stored", "--again"]),
    ("budget.unreadable", [*CHOOSE, "--budget", "zz"]),
    ("budget.unreadable", ["ledger", "create", "l", "--budget", "zz"]),
    ("budget.not-positive", ["ledger", "grant", "l", "maria", "--budget", "rho=-1"]),
    ("budget.unreadable", ["ledger", "raise", "l", "--budget", "zz"]),
    ("memory.unreadable", [*RELEASE, *PAID, "--order", "2", "--memory", "zz"]),
    ("memory.unreadable", [*CHOOSE, *PAID, "--memory", "zz"]),
    ("usage.flags", [*PLAN, *PAID, "--alpha", "2"]),
    ("usage.flags", ["table", "o", "--alpha", "0"]),
    ("usage.flags", [*CHECK, *PAID, "--query", "COUNT", "--tau", "5", "--plan", "--beta", "1"]),
    ("usage.flags", ["microdata", "o"]),
    ("microdata.method", ["microdata", "o", "--out", "f.csv", "--fit", "nope"]),
    ("microdata.priorities", ["microdata", "o", "--out", "f.csv", "--priority", "sex"]),
    ("microdata.rows", ["microdata", "o", "--out", "f.csv", "--rows", "-3"]),
    ("microdata.format", ["microdata", "o", "--out", "f.txt"]),
    ("report.against", ["report", "o", "--confidential"]),
    ("usage.flags", ["quantile", "o", "age", "--at", "0.5", "--at", "2"]),
    ("usage.table", [*RELEASE, *PAID, "--order", "2", "--table", "t"]),
    ("usage.table", ["init", "a:b.csv", "--table", "t"]),
    ("source.no-table-named", ["preflight", "postgresql://h/d", "--schema", "s.yaml"]),
    ("source.no-table-named", ["init", "duckdb:///f?table=a.b.c"]),
    ("source.password-in-url", ["preflight", "postgres://u:p@h/d", "--schema", "s.yaml", "--table", "t"]),
]
"""What is refused before a file is opened; none of the files that are named is there."""

DECLARED = [
    ("usage.workload", [*RELEASE, *PAID]),
    ("usage.workload", [*RELEASE, *PAID, "--order", "2", "--workload", "w.yaml"]),
    ("usage.workload", ["plan", "--schema", "s.yaml", *PAID]),
    ("microdata.accurate", [*RELEASE, *PAID, "--counts", "sex", "--accurate", "zz"]),
    ("release.strategy", [*RELEASE, *PAID, "--order", "2", "--strategy", "nope"]),
    ("release.reuse", [*RELEASE, *PAID, "--order", "2", "--strategy", "aim", "--reuse"]),
    ("release.reconstruct", [*RELEASE, *PAID, "--order", "2", "--reconstruct", "nope"]),
    ("planning.objective", [*RELEASE, *PAID, "--order", "2", "--objective", "nope"]),
    ("time.unreadable", [*RELEASE, *PAID, "--order", "2", "--time", "nope"]),
    ("planning.objective", ["plan", "--schema", "s.yaml", *PAID, "--order", "2", "--objective", "nope"]),
    ("release.strategy", [*PLAN, *PAID, "--strategy", "nope"]),
    ("query.tau-unreadable", [*CHECK, *PAID, "--query", "COUNT", "--tau", "zz"]),
    ("query.unknown-decider", [*CHECK, *PAID, "--query", "COUNT", "--tau", "5", "--decider", "nope"]),
    ("choose.one-option", ["choose", *GIVEN, *PAID, "--orders", "1"]),
    ("schema.unknown-attribute", [*PLAN, "--want", "zz=5"]),
    ("planning.target", [*PLAN, "--want", "age,sex=0"]),
    ("planning.strategy", [*PLAN, "--want", "age,sex=5", "--strategy", "aim"]),
    ("query.unreadable", [*CHECK, *PAID, "--tau", "5", "--query", "COUNT WHERE age ="]),
    ("query.unknown-column", [*CHECK, *PAID, "--tau", "5", "--query", "COUNT WHERE zz = 1"]),
    ("query.unknown-column", [*CHECK, *PAID, "--tau", "5", "--query", "COUNT WHERE zz = 1", "--plan"]),
    ("query.not-a-number", [*CHECK, *PAID, "--tau", "5", "--query", "SUM(sex)"]),
    ("query.never-holds", [*CHECK, *PAID, "--tau", "5", "--query", "COUNT WHERE age < 3 AND age > 5"]),
    ("workload.syntax", ["choose", *GIVEN, *PAID, "--options", "ok.yaml", "broken.yaml"]),
    ("choose.option-file", ["choose", *GIVEN, *PAID, "--options", "ok.yaml", "buckets.yaml"]),
    ("workload.order", [*RELEASE, *PAID, "--order", "9"]),
    ("workload.unknown-attribute", [*RELEASE, *PAID, "--workload", "w.yaml"]),
    ("workload.unreadable", [*RELEASE, *PAID, "--workload", "missing.yaml"]),
    ("schema.unknown-attribute", [*RELEASE, *PAID, "--counts", "income"]),
    ("budget.not-pure", [*RELEASE, "--budget", "epsilon=1", "--order", "2", "--strategy", "aim"]),
    ("workload.order", ["plan", "--schema", "s.yaml", *PAID, "--order", "9"]),
    ("budget.not-pure", [*PLAN, "--budget", "epsilon=1", "--strategy", "aim"]),
    ("linear.order", ["choose", *GIVEN, *PAID, "--orders", "1", "9"]),
    ("workload.unreadable", ["choose", *GIVEN, *PAID, "--options", "missing.yaml", "w.yaml"]),
    ("workload.unknown-attribute", ["choose", *GIVEN, *PAID, "--options", "w.yaml", "w.yaml"]),
    ("schema.unknown-attribute", ["table", "o", "nope"]),
    ("table.repeated", ["table", "o", "age", "age"]),
    ("table.not-released", ["table", "o", "age", "sex", "town"]),
    ("range.bins", ["table", "o", "age=1-2x"]),
    ("table.simultaneous", ["table", "o", "age=0-4", "--simultaneous"]),
    ("table.one-interval", ["table", "o", "age=0-4", "age=5-9"]),
    ("table.repeated", ["table", "o", "age=0-4", "age"]),
    ("area.unknown", ["table", "o", "--area", "nope"]),
    ("replicates.number", ["table", "o", "age", "--csv", "--replicates", "-1"]),
    ("schema.unknown-attribute", ["table", "o", "zz", "--csv", "--replicates", "5"]),
    ("schema.unknown-attribute", ["quantile", "o", "nope"]),
    ("schema.unknown-attribute", ["quantile", "o", "age", "--by", "nope"]),
    ("quantile.order", ["quantile", "o", "sex"]),
    ("usage.weights", ["combine", "o", "missing.csv"]),
    ("combine.weights", ["combine", "o", "cells.csv"]),
    ("schema.unknown-attribute", ["combine", "o", "weights.csv"]),
    ("compare.shared", ["compare", "o", "o"]),
    ("schema.unknown-attribute", ["compare", "o", "p", "nope"]),
    ("table.repeated", ["compare", "o", "p", "sex", "sex"]),
    ("schema.no-language", ["report", "o", "--language", "zz"]),
    ("schema.unknown-attribute", ["report", "o", "--table", "age,nope"]),
    ("report.microdata", ["report", "o", "--microdata", "missing.csv"]),
    ("schema.unknown-attribute", ["microdata", "o", "--out", "f.csv", "--levels", "zz"]),
    ("microdata.level", ["microdata", "o", "--out", "f.csv", "--levels", "age"]),
    (
        "schema.unknown-attribute",
        ["microdata", "o", "--out", "f.csv", "--fit", "sequential", "--priority", "zz"],
    ),
    ("export.format", ["export", "o", "--format", "nope"]),
    ("schema.unknown-attribute", ["export", "o", "--format", "csv", "--table", "nope"]),
    ("export.repeated", ["export", "o", "--format", "csv", "--table", "age", "--table", "age"]),
    ("schema.no-language", ["export", "o", "--format", "csv", "--language", "zz"]),
    *(
        (code, [schema if word == "s.yaml" else word for word in line])
        for line in ([*RELEASE, *PAID, "--order", "1"], [*CHOOSE, *PAID])
        for code, schema in (
            ("schema.missing-file", "missing.yaml"),
            ("schema.wrong-choice", "bad.yaml"),
            ("schema.unreviewed", "draft.yaml"),
        )
    ),
]
"""What is refused by the schema, before data and ledger are opened, or the answers of a release."""


def write_declared(folder: Path) -> None:
    """The files that ``DECLARED`` names, but for those that are missing."""
    schema = "attributes: {age: {type: integer, bounds: [0, 9], width: 5}, sex: {type: boolean}}\n"
    (folder / "s.yaml").write_text(schema)
    (folder / "draft.yaml").write_text(f"{schema}learnt_from_data: {{unreviewed: [age.bounds]}}\n")
    (folder / "bad.yaml").write_text("attributes: {age: {type: nope}}\n")
    (folder / "w.yaml").write_text("- [age, income]\n")
    (folder / "ok.yaml").write_text("- [age]\n")
    (folder / "broken.yaml").write_text("- [age\n")
    (folder / "buckets.yaml").write_text("buckets: {age: many}\n")
    (folder / "cells.csv").write_text("age\n0-4\n")
    (folder / "weights.csv").write_text("agee,weight\n0-4,1\n")
    for name in ("o", "p"):
        write_outline(folder / name)


def write_outline(place: Path) -> None:
    """The two files of a release that say what it is about; the others are not there."""
    place.mkdir()
    schema = (
        "attributes:\n  age: {type: integer, bounds: [0, 9], width: 5}\n  sex: {type: boolean}\n"
        "  town: {type: categorical, levels: [region, town], tree: {North: [a, b], South: [c, d]}}\n"
    )
    (place / "schema.yaml").write_text(schema)
    stamp = {"name": place.name, "request": "r", "head": "h"}
    manifest = {
        "format": "hushtable-release-1",
        "card": {"plan": {"strategy": "residual-planner"}, "ledger": stamp},
        "workload": [[0, 1], [1, 3]],
        "files": {"schema.yaml": hashlib.sha256(schema.encode()).hexdigest()},
    }
    (place / "release.json").write_text(json.dumps(manifest))


CHILD = """
import contextlib, io, json, sys
from hushtable.cli.app import run
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = run(words)
    print(json.dumps([words, code, sorted({name.partition(".")[0] for name in sys.modules}), said.getvalue()]))
"""


class Outcome(NamedTuple):
    """How a command line ended, and the libraries loaded until then."""

    words: list[str]
    code: int
    libraries: set[str]
    said: str


def loaded(lines: list[list[str]], folder: Path | None = None) -> list[Outcome]:
    """Command lines, run one after the other in a new process."""
    told = [sys.executable, "-c", CHILD, json.dumps(lines)]
    done = subprocess.run(told, capture_output=True, text=True, check=True, timeout=60, cwd=folder)
    rows = map(json.loads, done.stdout.splitlines())
    return [Outcome(words, code, LIBRARIES & set(modules), said) for words, code, modules, said in rows]


def seconds(arguments: list[str], runs: int = 3, folder: Path | None = None) -> float:
    """Processor time of a new interpreter, the least of some runs."""
    found: list[float] = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=False, timeout=60, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


@pytest.mark.parametrize("package", LAZY)
def test_a_package_offers_what_it_imports_for_type_checkers(package: str) -> None:
    module = importlib.import_module(package)
    offered = {name for name in module.__all__ if name != "__version__"}
    submodules = {found.name for found in pkgutil.iter_modules(module.__path__)}
    assert offered <= set(homes(package)) | set(vars(module))
    marked = {name for name, (*_, public) in homes(package).items() if public}
    assert package == "hushtable" or (marked or set(homes(package))) <= offered
    for name, (home, there, _) in homes(package).items():
        try:
            importlib.import_module(home)
        except ModuleNotFoundError as missing:
            if str(missing.name).startswith("hushtable"):
                raise
            continue  # of an extra that is not installed here
        if home == package:
            assert getattr(module, name) is importlib.import_module(f"{package}.{there}")
        else:
            assert name not in submodules, "loading the submodule would hide the name"
            assert getattr(module, name) is getattr(importlib.import_module(home), there)
    with pytest.raises(AttributeError, match=package):
        module.no_such_name  # noqa: B018


def test_what_needs_no_data_loads_no_library() -> None:
    for words, code, libraries, _ in loaded(USAGE):
        assert libraries == set(), words
        assert code == 2 or words in ([], ["--version"]) or "--no-such-flag" not in words, words


def test_a_slip_is_refused_before_a_library_is_loaded(tmp_path: Path) -> None:
    for (expected, _), (words, code, libraries, said) in zip(
        SLIPS, loaded([words for _, words in SLIPS], tmp_path), strict=True
    ):
        assert code == 2 and f"[{expected}]" in said, (words, said)
        assert libraries == set(), words
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_what_the_schema_refuses_loads_what_reads_the_schema(tmp_path: Path) -> None:
    write_declared(tmp_path)
    listed = sorted(DECLARED, key=lambda row: row[1][0] == "check")  # the parser of queries stays loaded
    for (expected, _), (words, code, libraries, said) in zip(
        listed, loaded([words for _, words in listed], tmp_path), strict=True
    ):
        assert code == 2 and f"[{expected}]" in said, (words, said)
        assert libraries <= ({"sqlglot", "yaml"} if words[0] == "check" else {"yaml"}), words


PLAIN = "attributes: {age: {type: integer, bounds: [0, 9], width: 5}, sex: {type: boolean}}"
LEVELS = (
    "attributes: {place: {type: categorical, levels: [region, town], tree: {N: [a, b, c], S: [d, e], O: [f]}},"
    " sex: {type: boolean}}"
)
"""A region with one town: rows there pay for other residuals."""


def planning(folder: Path, *more: str, declared: str = PLAIN) -> list[str]:
    """A command that plans a small release."""
    schema = folder / "s.yaml"
    schema.write_text(declared)
    return ["plan", "--schema", str(schema), "--order", "2", *more]


ARRAYS = {"cryptography", "numpy", "pydantic", "rich", "yaml"}
PLANS = [
    PAID,
    (*PAID, "--json"),
    (*PAID, "--strategy", "auto", "--json"),
    (*PAID, "--strategy", "aim", "--json"),
    (*PAID, "--strategy", "identity"),
    (*PAID, "--objective", "max_variance"),
    ("--strategy", "identity", "--budget", "epsilon=1"),
    ("--strategy", "identity", "--budget", "epsilon=1,delta=1e-6"),
    ("--want", "age,sex=5"),
]
"""Small plans of every kind."""
ON_LEVELS = PLANS[:6]
"""Those that attributes with levels can have."""
EVERY = [(more, PLAIN) for more in PLANS] + [(more, LEVELS) for more in ON_LEVELS]


@pytest.mark.long
@pytest.mark.parametrize(
    ("more", "declared"),
    EVERY,
    ids=[f"{' '.join(more)} on {'levels' if declared == LEVELS else 'values'}" for more, declared in EVERY],
)
def test_plans_load_what_they_use(tmp_path: Path, more: tuple[str, ...], declared: str) -> None:
    """The numbers of a plan need arrays; neither scipy nor a compiler, which take longer to load than to plan."""
    [(_, code, libraries, said)] = loaded([planning(tmp_path, *more, declared=declared)])
    assert code == 0 and libraries <= ARRAYS, (libraries, said)


@pytest.mark.long
def test_ledgers_load_what_they_use(tmp_path: Path) -> None:
    """A ledger needs its database."""
    ledger = str(tmp_path / "a.ledger")
    [_, (_, code, libraries, _)] = loaded(
        [["ledger", "create", ledger, "--budget", "rho=1"], ["ledger", "show", ledger]]
    )
    assert code == 0 and libraries <= {"pydantic", "rich"}


def test_loading_is_seen_by_the_instrument(tmp_path: Path) -> None:
    [(_, code, libraries, _)] = loaded([["ledger", "show", str(tmp_path / "missing.ledger")]])
    assert code == 1 and "pydantic" in libraries


HUSH = ["-c", "from hushtable.cli import main; main()"]
USUAL = 0.0125
"""Processor seconds of ``python -c pass`` where the limits were set; elsewhere they grow in proportion."""


def slowness(runs: int) -> float:
    """How much slower this machine is than that one just now: others may be busy on the same cores."""
    return max(1.0, seconds(["-c", "pass"], runs) / USUAL)


@pytest.mark.long
def test_version_help_and_usage_errors_are_quick(tmp_path: Path) -> None:
    plain = (["--version"], ["--help"], ["nonsense"], ["release", "--no-such-flag"], ["check"], *HELPS)
    limit = max(0.25, 8 * seconds(["-c", "pass"]))
    for words in (*plain, *(words for _, words in SLIPS)):
        line = [*HUSH, *words]
        assert any(seconds(line, runs, tmp_path) <= limit for runs in (1, 3)), words


@pytest.mark.long
def test_what_the_schema_refuses_is_quick(tmp_path: Path) -> None:
    """The parser of queries takes 0.08 of its 0.22 seconds, and more where others share the caches; the rest, 0.14."""
    write_declared(tmp_path)
    limit = max(0.25, 0.25 * seconds(["-c", "pass"]) / USUAL)
    for _, words in DECLARED:
        line = [*HUSH, *words]
        most = limit * (1.5 if words[0] == "check" else 1.0)
        assert any(seconds(line, runs, tmp_path) <= most for runs in (1, 3)), words


@pytest.mark.long
def test_plans_and_ledgers_are_quick(tmp_path: Path) -> None:
    ledger = str(tmp_path / "a.ledger")
    subprocess.run([sys.executable, *HUSH, "ledger", "create", ledger, "--budget", "rho=1"], check=True)
    (tmp_path / "levels").mkdir()
    folders = {PLAIN: tmp_path, LEVELS: tmp_path / "levels"}
    plans = [planning(folders[declared], *more, declared=declared) for more, declared in EVERY]
    for words in (*plans, ["ledger", "show", ledger]):
        assert any(seconds([*HUSH, *words], runs) <= 0.6 * slowness(runs) for runs in (1, 3, 5)), words


def test_a_name_that_is_listed_is_the_name_of_what_is_loaded() -> None:
    for listed in (
        ht.deciders.DECIDERS,
        ht.planning.STRATEGIES,
        ht.reconstruct.RECONSTRUCTIONS,
        ht.microdata.METHODS,
    ):
        assert list(listed) == [found.name for found in listed.values()]


@pytest.mark.long
def test_ctrl_c_while_it_starts_prints_no_traceback(tmp_path: Path) -> None:
    """At moments all over the start of a command, from the first one at which it listens."""
    told = (
        "import hushtable.cli as cli; listen = cli.signal\n"
        "cli.signal = lambda *told: (listen(*told), print('.', flush=True)); cli.main()"
    )
    ends: Counter[int] = Counter()
    for moment in range(16):
        line = [sys.executable, "-c", told, "ledger", "show", str(tmp_path / "missing.ledger")]
        child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.read(1) == "."
        time.sleep(moment * 0.025)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert "Traceback" not in said and "Exception ignored" not in said
        ends[child.returncode] += 1
    missing, closing = (
        1,
        -signal.SIGINT,
    )  # the ledger is not there; Python itself no longer listens at its very end
    assert set(ends) <= {130, missing, closing} and ends[130] > 0
