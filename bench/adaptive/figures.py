"""The figures of a benchmark on disk: one JSON file per part, written after every figure, so that a run can go on.

A page is made from what is there; every part says when and with which sources it was measured.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.shared.places import OUT, ROOT


class Figures:
    """Rows by key.  ``fresh`` forgets what an earlier run left."""

    def __init__(self, part: str, folder: Path = OUT, *, fresh: bool = False) -> None:
        self._path = folder / f"adaptive-{part}.json"
        self.part = part
        if fresh:
            self._path.unlink(missing_ok=True)
        known = json.loads(self._path.read_text()) if self._path.exists() else {}
        self.rows: dict[str, dict[str, Any]] = known.get("rows", {})
        self.runs: list[dict[str, Any]] = known.get("runs", [])
        self._begun: dict[str, Any] | None = None

    def begin(self, options: str) -> None:
        """Note how the figures that follow are measured; figures of earlier runs stay."""
        self._begun = surroundings() | {"options": options}

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def put(self, key: str, **row: Any) -> None:
        """Keep a row and print it."""
        self.rows[key] = row
        if self._begun is not None:
            self.runs.append(self._begun)
            self._begun = None
        self._write()
        shown = {name: f"{x:.5g}" if isinstance(x, float) else x for name, x in row.items()}
        print(key, *(f"{name}={x}" for name, x in shown.items()), flush=True)

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".part")
        fresh.write_text(json.dumps({"runs": self.runs, "rows": self.rows}, indent=1))
        fresh.replace(self._path)

    def where(self, **fields: Any) -> list[dict[str, Any]]:
        """Rows with these values."""
        return [r for r in self.rows.values() if all(r.get(k) == x for k, x in fields.items())]


def surroundings() -> dict[str, Any]:
    """When, with which sources and on how busy a machine."""
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": asked.stdout.strip() or "unknown",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


class Clock:
    """Elapsed and processor seconds since it was made; ``limit`` is elapsed."""

    def __init__(self, limit: float = float("inf")) -> None:
        self.limit = limit
        self._elapsed, self._processor = time.perf_counter(), time.process_time()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._elapsed

    @property
    def processor(self) -> float:
        return time.process_time() - self._processor

    @property
    def over(self) -> bool:
        return self.elapsed > self.limit


class Stopwatch:
    """Elapsed and processor seconds spent inside ``with``, summed."""

    def __init__(self) -> None:
        self._elapsed = self._processor = 0.0
        self._clock = Clock()

    def __enter__(self) -> None:
        self._clock = Clock()

    def __exit__(self, *_: object) -> None:
        self._elapsed += self._clock.elapsed
        self._processor += self._clock.processor

    @property
    def row(self) -> dict[str, float]:
        return {"updating": self._elapsed, "updating_processor": self._processor}
