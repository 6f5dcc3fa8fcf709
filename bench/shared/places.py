"""Where benchmarks find and leave files: the checkout, its folder for figures, and the data beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "bench" / "out"
DATA = ROOT.parent / "shared" / "data"
