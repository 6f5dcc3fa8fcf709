"""Published readers of office formats; where they are missing, as for the other tests, all is skipped.

``make test-office`` makes an environment that has them.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("xlsxwriter", "openpyxl", "pyreadstat", "pysdmx", "sdmx", "frictionless", "pyjstat", "pyaxis")
MISSING = [name for name in NEEDED if find_spec(name) is None]
collect_ignore_glob = ["test_read_*.py"] if MISSING else []
sys.path.append(str(Path(__file__).parents[1] / "fuzz"))  # its odd_files and odd_checks
