"""Compiled loops: none runs on after a helper or a constant has changed, and none needs a folder to write to."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hushtable
from hushtable import compiling
from hushtable.compiled import njit
from hushtable.compiling import sources_digest
from hushtable.watching import Watch

MOST_ARGUMENTS = 8
LONGEST_LOOP = 70

FILES = {
    "__init__.py": "",
    "facts.py": "STEP = 1\n",
    "helper.py": "from {njit} import njit\nfrom edited.facts import STEP\n\n"
    "@njit(cache=True)\ndef raised(x):\n    return x + STEP\n",
    "caller.py": "from {njit} import njit\nfrom edited.helper import (\n    raised,\n)\n\n"
    "@njit(cache=True)\ndef doubled(x):\n    return 2 * raised(x)\n",
}
ALONE = "from hushtable.compiled import njit\n\n@njit(cache=True)\ndef doubled(x):\n    return 2 * x + STEP\n"

FULL = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
FULL += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
"""What makes every write of more than a hundred bytes to a file fail."""


def answer(folder: Path, first: str = "", module: str = "edited.caller", **environment: str) -> int:
    """What a fresh interpreter computes with the module as it stands.

    Python's own kept code is left out: it takes a file of the same length in the same second for unchanged.
    """
    code = f"{first}from {module} import doubled; print(doubled(10))"
    known = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    paths = os.pathsep.join([str(folder), *sys.path])
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={**known, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return int(made.stdout)


def write(folder: Path, njit: str = "hushtable.compiled") -> Path:
    package = folder / "edited"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(text.format(njit=njit))
    return package


def edits(package: Path) -> list[int]:
    """Answers before, after a helper changed, and after a constant that the helper uses changed."""
    found = [answer(package.parent)]
    helper = package / "helper.py"
    helper.write_text(helper.read_text().replace("x + STEP", "x - STEP"))
    found.append(answer(package.parent))
    (package / "facts.py").write_text("STEP = 5\n")
    return [*found, answer(package.parent)]


@pytest.mark.long
def test_code_is_compiled_anew_after_a_helper_or_a_constant_of_another_module_changed(tmp_path: Path) -> None:
    package = write(tmp_path)
    assert edits(package) == [22, 18, 10]
    assert list(package.glob("__pycache__/caller.doubled*.nbc"))


@pytest.mark.long
def test_a_module_that_is_a_file_of_its_own_is_compiled_anew_after_it_changed(tmp_path: Path) -> None:
    """As a plugin may be: no package of the module's name is there."""
    alone, found = tmp_path / "alone.py", list[int]()
    for step in (1, 5):
        alone.write_text(FILES["facts.py"].replace("1", str(step)) + ALONE)
        found.append(answer(tmp_path, module="alone"))
    assert found == [21, 25] and list(tmp_path.glob("__pycache__/alone.doubled*.nbc"))


@pytest.mark.long
def test_the_cache_of_numba_alone_would_run_old_code(tmp_path: Path) -> None:
    assert edits(write(tmp_path, njit="numba")) == [22, 22, 22]


@pytest.mark.long
def test_what_was_compiled_is_read_again(tmp_path: Path) -> None:
    package = write(tmp_path)
    assert answer(tmp_path) == 22
    before = {p: p.stat().st_mtime_ns for p in package.glob("__pycache__/*.nbc")}
    assert before and answer(tmp_path) == 22
    assert {p: p.stat().st_mtime_ns for p in package.glob("__pycache__/*.nbc")} == before


@pytest.mark.long
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("kept", [0, 10, 200])
def test_a_file_that_was_cut_short_is_compiled_anew_and_written_again(
    tmp_path: Path, ending: str, kept: int
) -> None:
    package = write(tmp_path)
    assert answer(tmp_path) == 22
    files = list(package.glob(f"__pycache__/*.{ending}"))
    for file in files:
        file.write_bytes(file.read_bytes()[:kept])
    assert files and answer(tmp_path) == 22
    assert all(file.stat().st_size > 200 for file in files)


@pytest.mark.long
def test_where_the_disk_is_full_code_is_compiled_and_not_kept(tmp_path: Path) -> None:
    package = write(tmp_path)
    assert answer(tmp_path, FULL) == 22
    assert not list(package.glob("__pycache__/*.nbc"))


@pytest.mark.long
def test_code_for_a_type_that_was_renamed_since_is_left_alone(tmp_path: Path) -> None:
    package = write(tmp_path)
    text = (
        "from typing import NamedTuple\nfrom hushtable.compiled import njit\n\n"
        "class Pair(NamedTuple):\n    a: int\n    b: int\n\n"
        "@njit(cache=True)\ndef added(p):\n    return p.a + p.b\n\n"
        "def doubled(x):\n    return added(Pair(x, x + 2))\n"
    )
    for name in ("Pair", "Couple"):
        (package / "caller.py").write_text(text.replace("Pair", name))
        assert answer(tmp_path) == 22


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a folder that nobody can write to")
def test_where_no_folder_can_be_written_code_is_compiled_and_not_kept(tmp_path: Path) -> None:
    package = write(tmp_path)
    (package / "__pycache__").write_text("a file where the folder would be")
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), "/proc/nowhere")
    assert answer(tmp_path, **places) == 22


def test_the_key_covers_all_that_a_module_imports_from_its_package() -> None:
    one, other = sources_digest("hushtable.marginals.kernels"), sources_digest("hushtable.kernel.gap_loops")
    assert one != other and len(one) == len(other) == 32


def test_the_key_of_another_package_covers_what_it_imports_from_this_one() -> None:
    packages = frozenset({"alone", "hushtable"})
    text = "import numpy\nfrom hushtable.marginals.kernels import lift_sets\nimport alone\n"
    assert compiling._imported(text, packages) == [
        "hushtable.marginals.kernels", "hushtable.marginals.kernels.lift_sets", "alone"
    ]  # fmt: skip
    assert compiling._source("hushtable.marginals.kernels") == Path(hushtable.__file__).parent.joinpath(
        "marginals", "kernels.py"
    )
    assert compiling._source("hushtable") == Path(hushtable.__file__)
    assert compiling._source("sys") is None and compiling._source("no_such_module.inside") is None


def test_modules_with_loops_import_no_compiler() -> None:
    code = (
        "import sys, hushtable.privacy, hushtable.marginals, hushtable.ledger; print('numba' in sys.modules)"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert made.stdout.strip() == "False"


def compiled_functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path in sorted(Path(hushtable.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and "njit(" in "".join(
                map(ast.unparse, node.decorator_list)
            ):
                yield path, node


@pytest.mark.long
def test_loops_take_bundles_and_not_more_than_eight_arguments() -> None:
    long = [
        f"{path.name}: {node.name}"
        for path, node in compiled_functions()
        if len(node.args.args) > MOST_ARGUMENTS
    ]
    assert not long


@pytest.mark.long
def test_no_loop_is_longer_than_a_page() -> None:
    long = [
        f"{path.name}: {node.name}"
        for path, node in compiled_functions()
        if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_LOOP
    ]
    assert not long


@njit(cache=False)
def scaled(x, by):  # pyright: ignore
    return x * by


@njit(cache=False)
def summed(x):  # pyright: ignore
    return scaled(x, 2) + scaled(x, 3) + scaled(x, 5)


def test_a_helper_is_compiled_once_for_all_constants_and_somebody_is_told() -> None:
    told: list[bool] = []
    with Watch(told.append):
        assert summed(1.5) == 15.0
        assert summed(2.5) == 25.0
    assert len(scaled.inner.signatures) == 1
    assert told == [True, False] and gc.isenabled()
    assert scaled(4, 5) == 20, "Python may call it as well"
