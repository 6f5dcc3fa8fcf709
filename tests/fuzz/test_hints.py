"""A preflight names the right remedy, and where the schema can cure a file, what it names does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hinted_files import CASES, FIELDS, Case, text

import hushtable as ht
from hushtable.cli.app import run
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
        assert case.code != "encoding" or list(codes) == ["encoding"], codes
    if case.cure is not None:
        cured = ht.preflight(file, schema=schema_of(case, case.cure))
        assert not any(hint.code == case.code for hint in cured.hints), cured.hints
        assert cured.counted > 40


def test_a_file_without_anything_wrong_gets_no_hint(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(text(), encoding="utf-8")
    found = ht.preflight(tmp_path / "d.csv", schema={"attributes": FIELDS})
    assert found.hints == () and found.lost == 0 and found.warning == ""


OFFICE = {"book.xlsx": b"PK\x03\x04", "answers.sav": b"$FL2@(#)", "panel.dta": b"<stata_dta><header>"}


@pytest.mark.parametrize("name", OFFICE)
def test_a_kind_whose_reader_is_not_installed_is_told_how_to_install_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("openpyxl", "pyreadstat"):
        monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(OFFICE[name] + bytes(300))
    for look in (ht.session.draft, lambda data: ht.preflight(data, schema={"attributes": FIELDS})):
        with pytest.raises(HushtableError) as caught:
            look(tmp_path / name)
        assert caught.value.code == "source.no-driver"
        assert caught.value.fix == "Type `pip install 'hushtable[office]'`."


def test_what_is_right_already_is_not_hinted_at(tmp_path: Path) -> None:
    """A draft reads a file as it looks: its separator and encoding are not what is wrong with it."""
    (tmp_path / "d.csv").write_bytes("größe;sex;größe\n1;F;2\n".encode("latin-1"))
    with pytest.raises(HushtableError) as caught:
        ht.session.draft(tmp_path / "d.csv", header=True)
    assert caught.value.code == "source.duplicate-column" and "Rename or remove" in caught.value.fix


@pytest.mark.parametrize("verb", ["preflight", "release", "init", "check"])
def test_an_empty_file_is_called_empty_by_every_command(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_bytes(b"")
    Path("s.yaml").write_text("attributes: {sex: {type: boolean}}")
    Path("r.csv").write_text("sex\nyes\n")
    ht.Ledger.create("d.ledger", ht.ZCDP(1))
    known = ["d.csv", "--schema", "s.yaml", "--ledger", "d.ledger"]
    asked = {
        "init": ["d.csv"],
        "preflight": known,
        "release": [*known, "--order", "1", "--budget", "rho=0.1", "--out", "out"],
        "check": [*known, "-q", "COUNT", "--synthetic", "r.csv", "--tau", "5", "--budget", "rho=0.1"],
    }
    before = Path("d.ledger").read_bytes()
    assert run([verb, *asked[verb]]) != 0
    assert "source.empty-file" in capsys.readouterr().err
    assert Path("d.ledger").read_bytes() == before
