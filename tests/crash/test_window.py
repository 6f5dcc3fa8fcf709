"""Between a charge and its store nothing is loaded or compiled: a kill there costs what drawing, hashing, writing take.

How long these take against the whole window is measured by ``bench/spending/window.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHILD = Path(__file__).with_name("window_child.py")
SLOW = pytest.mark.slow


def windows(way: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(CHILD), way],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(said: dict[str, Any]) -> None:
    assert said["windows"] and said["compiled"] > 0, "the request used no compiled loop at all"
    for compiled, modules in said["windows"]:
        assert compiled == 0 and modules == [], (compiled, modules)


@pytest.mark.parametrize(
    "way",
    [
        "residual-planner",
        pytest.param("identity", marks=SLOW),
        pytest.param("choose", marks=SLOW),
        "check",
        "auto",
        pytest.param("aim", marks=SLOW),
    ],
)
def test_nothing_is_loaded_or_compiled_after_a_charge(way: str) -> None:
    check(windows(way))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["residual-planner", "identity", "choose", "check", "auto", "aim"])
def test_nothing_is_compiled_after_a_charge_on_a_new_machine(way: str, tmp_path: Path) -> None:
    check(windows(way, NUMBA_CACHE_DIR=str(tmp_path)))
