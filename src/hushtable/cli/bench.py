"""``hush bench``: run one of the benchmark programs of a source checkout.

The programs are no part of the installed package: they compare with the papers and with peers, draw their own tables
and write their own pages.  None of them is given a ledger of the user's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import click

from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument
from hushtable.errors import UsageError

EXAMPLE = "Example: hush bench sampler"


def bench(
    name: Annotated[str | None, Argument("Benchmark; none lists them.", "NAME")] = None,
    options: Annotated[
        list[str] | None, Argument("Options of the benchmark, after --.", "-- OPTION...")
    ] = None,
    json: flags.Json = False,
) -> None:
    """Measure speed and accuracy against the papers and peers, in a checkout of the sources."""
    programs = find_programs()
    if name is None:
        if json:
            emit({"benchmarks": sorted(programs)})
        else:
            say(*(f"hush bench {program}" for program in sorted(programs)))
        return
    if name not in programs:
        known = ", ".join(sorted(programs))
        raise UsageError("bench.unknown", "There is no such benchmark.", f"Give one of: {known}.")
    root, module = programs[name]
    paths = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", module, *(options or [])]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False)
    raise click.exceptions.Exit(done.returncode)


def find_programs() -> dict[str, tuple[Path, str]]:
    """Every program of the folder ``bench`` beside the sources or here, by name: the checkout and the module."""
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        found = {
            path.stem: (root, f"bench.{path.parent.name}.{path.stem}")
            for path in sorted((root / "bench").glob("*/*.py"))
            if f"\n    hush bench {path.stem} " in path.read_text(encoding="utf-8")
        }
        if found:
            return found
    raise UsageError(
        "bench.no-checkout",
        "The benchmarks are not part of the installed package.",
        "Run `hush bench` in a checkout of the sources.",
    )
