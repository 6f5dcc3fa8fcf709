"""A preflight names the right remedy, and where the schema can cure a file, what it names does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hinted_files import CASES, FIELDS, Case, text

import hushtable as ht
from hushtable.errors import HushtableError


def schema_of(case: Case, cure: dict[str, Any] | None = None) -> dict[str, Any]:
    fields = {name: dict(case.fields.get(name, given)) for name, given in FIELDS.items()}
    made: dict[str, Any] = {"attributes": fields, "csv": case.csv} | case.top
    for key, value in (cure or {}).items():
        if key == "attributes":
            for name, own in value.items():
                fields[name] |= own
        else:
            made[key] = value
    return made


def test_there_are_forty_labelled_cases() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_the_hint_names_the_remedy(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    file = tmp_path / case.name
    file.write_bytes(case.data if isinstance(case.data, bytes) else case.data.encode())
    try:
        found = ht.preflight(file, schema=schema_of(case))
    except HushtableError as error:
        assert error.code.startswith("source.") and case.fix in error.fix, error
    else:
        codes = {hint.code: hint.fix for hint in found.hints}
        assert case.code in codes and case.fix in codes[case.code], found.hints
        assert len(codes) <= 2, codes  # one thing is wrong, so that few things are said
    if case.cure is not None:
        cured = ht.preflight(file, schema=schema_of(case, case.cure))
        assert not any(hint.code == case.code for hint in cured.hints), cured.hints
        assert cured.counted > 40


def test_a_file_without_anything_wrong_gets_no_hint(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(text(), encoding="utf-8")
    found = ht.preflight(tmp_path / "d.csv", schema={"attributes": FIELDS})
    assert found.hints == () and found.lost == 0 and found.warning == ""
