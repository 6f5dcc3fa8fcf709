"""The tables that benchmarks run on: stand-ins that are drawn once and kept, and small real ones.

Tables lie in ``HUSHTABLE_DATA`` or in ``../shared/data`` beside the repository; stand-ins are drawn by the script
there into a folder of the system's temporary directory.  ``load`` gives the sizes and one array of codes per column.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.shared.made_tables import made
from bench.shared.places import DATA

Table = tuple[tuple[int, ...], list[np.ndarray]]

STANDINS = ("acs", "loans")


def data_folder() -> Path:
    """Where the tables are; ends the program with a hint when they are nowhere."""
    folder = Path(os.environ.get("HUSHTABLE_DATA", DATA))
    if not folder.is_dir():
        sys.exit(f"No data at {folder}: set HUSHTABLE_DATA to the folder of make_standins.py.")
    return folder


def load(name: str) -> Table:
    """A stand-in (``acs``, ``loans``), a made-up one (``chain16``), or one that is stored as CSV (``adult``, ...)."""
    if name in STANDINS:
        return _standin(name)
    return made(name) or _stored(name)


def _standin(name: str) -> Table:
    cache = Path(tempfile.gettempdir()) / f"hushtable-standins-{os.getuid()}"
    if not (cache / f"{name}.npz").exists():
        script = data_folder() / "make_standins.py"
        with tempfile.TemporaryDirectory(dir=tempfile.gettempdir()) as fresh:
            command = [sys.executable, str(script), fresh, "--which", name]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            cache.mkdir(exist_ok=True)
            for file in (f"{name}-domain.json", f"{name}.npz"):
                Path(fresh, file).replace(cache / file)
    with np.load(cache / f"{name}.npz") as stored:
        codes = stored["codes"]
    return _sizes(cache / f"{name}-domain.json"), [np.ascontiguousarray(column) for column in codes.T]


def _stored(name: str) -> Table:
    folder = data_folder()
    sizes = _sizes(folder / f"{name}-domain.json")
    packed = folder / f"{name}.csv.gz"
    path = packed if packed.exists() else folder / f"{name}.csv"
    codes = np.loadtxt(path, np.int64, delimiter=",", skiprows=1, ndmin=2)
    return sizes, [column.astype(np.min_scalar_type(n - 1)) for column, n in zip(codes.T, sizes, strict=True)]


def _sizes(path: Path) -> tuple[int, ...]:
    return tuple(json.loads(path.read_text()).values())
