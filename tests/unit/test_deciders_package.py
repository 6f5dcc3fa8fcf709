"""The package as others use it: light to import, complete, and entered by its front door."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import hushtable
from hushtable import deciders

SOURCE = Path(hushtable.__file__).parent
HEAVY = {"polars", "sqlglot", "scipy", "pyarrow", "numba", "yaml", "hushtable.schema"}


def loaded(code: str) -> set[str]:
    """Which of the heavy modules a new process has loaded after running this."""
    told = f"{code}; import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=120
    )
    return HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


def test_a_price_or_an_error_loads_no_tables_parsers_or_schemas() -> None:
    asked = 'probability_satisfied("count-em", true=9, synthetic=8, tau=2, epsilon=1)'
    assert loaded(f"import hushtable as ht; ht.deciders.{asked}") == set()


def test_parsing_a_query_does_load_the_parser() -> None:
    """The instrument sees what is loaded."""
    assert "sqlglot" in loaded('from hushtable.deciders import parse; parse("COUNT")')


def test_every_public_name_is_there() -> None:
    assert {name for name in deciders.__all__ if getattr(deciders, name, None) is None} == set()


def test_other_packages_enter_by_the_front_door() -> None:
    past = re.compile(r"(?:from|import) hushtable\.deciders\.")
    inside = SOURCE / "deciders"
    others = (file for file in SOURCE.rglob("*.py") if inside not in file.parents)
    assert [str(file) for file in others if past.search(file.read_text(encoding="utf-8"))] == []
