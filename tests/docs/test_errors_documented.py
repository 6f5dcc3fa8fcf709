"""The reference of error codes is what the source says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_of_error_codes_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("write_errors", ROOT / "docs" / "write_errors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run `python docs/write_errors.py`"


def test_every_code_has_a_sentence() -> None:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    assert len(rows) > 50
    assert [code for code, message, _ in rows if not message] == []
