"""Published readers of office formats; where they are missing, as for the other tests, all is skipped.

``make test-office`` makes an environment that has them.
"""

from __future__ import annotations

from importlib.util import find_spec

NEEDED = ("xlsxwriter", "openpyxl", "pyreadstat", "pysdmx", "sdmx", "frictionless", "pyjstat", "pyaxis")
MISSING = [name for name in NEEDED if find_spec(name) is None]
collect_ignore_glob = ["test_read_*.py"] if MISSING else []
