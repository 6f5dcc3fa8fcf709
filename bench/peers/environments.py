"""Environments of their own for the peers: each has pins that another's forbid.

They are made beside the checkout's own when they are missing, and kept.  Whatever prevents one is its reason.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.shared.places import ROOT

INSTALLING = 900
"""Seconds that an installation may take."""


class Unavailable(Exception):
    """Why there is nothing to compare with."""


@dataclass(frozen=True)
class Environment:
    """What is installed, in two steps: some with what they need, some alone, because most of that serves others."""

    name: str
    needs: tuple[str, ...]
    alone: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return ROOT / f".venv-peer-{self.name}" / "bin" / "python"

    def ready(self) -> Path:
        """Its interpreter, installed when it is not."""
        folder = self.python.parent.parent
        mark = folder / "ready"
        if not mark.exists():
            pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            self._run([sys.executable, "-m", "venv", str(folder)])
            if self.alone:
                self._run([*pip, "--no-deps", *self.alone])
            self._run([*pip, *self.needs])
            mark.touch()
        return self.python

    def versions(self) -> str:
        """What was asked for, with versions."""
        done = subprocess.run([str(self.python), "-m", "pip", "freeze"], capture_output=True, text=True)
        asked = {
            name.split("[")[0].split("<")[0].split("=")[0].lower() for name in (*self.alone, *self.needs)
        }
        return ", ".join(line for line in done.stdout.split() if line.split("==")[0].lower() in asked)

    def _run(self, command: list[str]) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALLING)
        except (subprocess.SubprocessError, OSError) as failure:
            said = (getattr(failure, "stderr", "") or str(failure)).strip().splitlines()
            raise Unavailable(f"it could not be installed: {said[-1] if said else failure}") from None


DPMM = Environment("dpmm", ("dpmm",))
SMARTNOISE = Environment(
    "smartnoise",
    (
        "mbi<2",
        "pandas",
        "opendp",
        "antlr4-python3-runtime==4.9.3",
        "PyYAML",
        "graphviz",
        "Faker",
        "sqlalchemy",
    ),
    alone=("smartnoise-synth", "smartnoise-sql"),
)
OPENDP = Environment("opendp", ("opendp[mbi]", "pandas"))
JUDGE = Environment("judge", ("scikit-learn", "sdmetrics"))
