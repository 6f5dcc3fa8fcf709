"""How ``hush`` starts: quickly, with nothing loaded that it does not use, and quiet when it is stopped."""

from __future__ import annotations

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
    *(["ledger", verb] for verb in ("create", "show", "grant", "raise", "end", "verify", "export")),
    *(["choose", verb] for verb in ("start", "finish", "abandon", "show")),
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


CHILD = """
import contextlib, io, json, sys
from hushtable.cli.app import run
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = run(words)
    print(json.dumps([words, code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def loaded(lines: list[list[str]]) -> list[tuple[list[str], int, set[str]]]:
    """Command lines, run one after the other in a new process: exit code, and the libraries loaded until then."""
    told = [sys.executable, "-c", CHILD, json.dumps(lines)]
    done = subprocess.run(told, capture_output=True, text=True, check=True, timeout=60)
    rows = map(json.loads, done.stdout.splitlines())
    return [(words, code, LIBRARIES & set(modules)) for words, code, modules in rows]


def seconds(arguments: list[str], runs: int = 3) -> float:
    """Processor time of a new interpreter, the least of some runs."""
    found: list[float] = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=False, timeout=60)
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
        if home == package:
            assert getattr(module, name) is importlib.import_module(f"{package}.{there}")
        else:
            assert name not in submodules, "loading the submodule would hide the name"
            assert getattr(module, name) is getattr(importlib.import_module(home), there)
    with pytest.raises(AttributeError, match=package):
        module.no_such_name  # noqa: B018


def test_what_needs_no_data_loads_no_library() -> None:
    for words, code, libraries in loaded(USAGE):
        assert libraries == set(), words
        assert code == 2 or words in ([], ["--version"]) or "--no-such-flag" not in words, words


def planning(folder: Path) -> list[str]:
    """A command that plans a small release."""
    schema = folder / "s.yaml"
    schema.write_text("attributes: {age: {type: integer, bounds: [0, 9], width: 5}, sex: {type: boolean}}")
    return ["plan", "--schema", str(schema), "--order", "2", "--budget", "rho=0.1"]


def test_plans_and_ledgers_load_what_they_use(tmp_path: Path) -> None:
    """The numbers of a plan need arrays; a ledger needs its database."""
    ledger = str(tmp_path / "a.ledger")
    for more in ([], ["--json"]):
        [(_, code, libraries)] = loaded([[*planning(tmp_path), *more]])
        assert code == 0 and libraries <= {"cryptography", "numpy", "pydantic", "rich", "yaml"}
    [_, (_, code, libraries)] = loaded(
        [["ledger", "create", ledger, "--budget", "rho=1"], ["ledger", "show", ledger]]
    )
    assert code == 0 and libraries <= {"pydantic", "rich"}


def test_loading_is_seen_by_the_instrument(tmp_path: Path) -> None:
    [(_, code, libraries)] = loaded([["ledger", "show", str(tmp_path / "missing.ledger")]])
    assert code == 1 and "pydantic" in libraries


HUSH = ["-c", "from hushtable.cli import main; main()"]
USUAL = 0.0125
"""Processor seconds of ``python -c pass`` where the limits were set; elsewhere they grow in proportion."""


@pytest.mark.long
def test_version_help_and_usage_errors_are_quick() -> None:
    limit = max(0.25, 8 * seconds(["-c", "pass"]))
    for words in (["--version"], ["--help"], ["nonsense"], ["release", "--no-such-flag"], ["check"], *HELPS):
        assert seconds([*HUSH, *words], runs=1) <= limit or seconds([*HUSH, *words]) <= limit, words


@pytest.mark.long
def test_plans_and_ledgers_are_quick(tmp_path: Path) -> None:
    ledger, made = str(tmp_path / "a.ledger"), seconds(["-c", "pass"])
    subprocess.run([sys.executable, *HUSH, "ledger", "create", ledger, "--budget", "rho=1"], check=True)
    for words in (planning(tmp_path), ["ledger", "show", ledger]):
        assert seconds([*HUSH, *words]) <= 0.6 * max(1.0, made / USUAL), words


def test_a_name_that_is_listed_is_the_name_of_what_is_loaded() -> None:
    for listed in (ht.deciders.DECIDERS, ht.planning.STRATEGIES, ht.reconstruct.RECONSTRUCTIONS):
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
