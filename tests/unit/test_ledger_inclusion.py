"""A proof that an entry is in the chain of a head: it holds for that head alone, and finds every change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.errors import LedgerError
from hushtable.ledger import INCLUSION_SCRIPT, InclusionProof


@pytest.fixture
def ledger(tmp_path: Path) -> ht.Ledger:
    made = ht.Ledger.create(tmp_path / "a.ledger", ht.PureDP(5))
    for name in ("anna", "amir", "clara"):
        made.grant(name, ht.PureDP(1))
    return made


@pytest.mark.parametrize("number", [1, 2, 4])
def test_an_entry_is_proven_by_the_head_and_by_no_other(ledger: ht.Ledger, number: int) -> None:
    proof = InclusionProof.from_dict(json.loads(json.dumps(InclusionProof.of(ledger, number).to_dict())))
    assert json.loads(proof.lines[0])["entry"] == ledger.export()[number - 1]["entry"]
    assert proof.holds(ledger.head) and proof.head == ledger.head
    assert not proof.holds("0" * 64)
    assert number == 4 or not proof.holds(ledger.history()[number - 1].hash), "an earlier head is not the end"


def test_any_changed_missing_or_exchanged_line_is_found(ledger: ht.Ledger) -> None:
    whole = InclusionProof.of(ledger, 1)
    lines = list(whole.lines)
    for spoilt in (
        [lines[0].replace("5", "6"), *lines[1:]],
        [lines[0], lines[1].replace("anna", "olga"), *lines[2:]],
        [lines[0], *lines[2:]],
        [lines[0], lines[2], lines[1], lines[3]],
        [],
    ):
        assert not InclusionProof(whole.ledger, whole.head, tuple(spoilt)).holds(ledger.head)


def test_the_script_agrees_without_the_library(ledger: ht.Ledger, tmp_path: Path) -> None:
    proof = InclusionProof.of(ledger, 2)
    (tmp_path / "verify.py").write_text(INCLUSION_SCRIPT)
    place = tmp_path / "proof.json"

    def said(head: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-I", str(tmp_path / "verify.py"), head]
        return subprocess.run(words, capture_output=True, text=True, cwd="/")

    place.write_text(json.dumps(proof.to_dict()))
    assert said(ledger.head).returncode == 0 and "entry 2 is in the chain" in said(ledger.head).stdout
    assert said("0" * 64).returncode == 1 and "NOT PROVEN" in said("0" * 64).stderr
    told = proof.to_dict()
    told["lines"][0] = told["lines"][0].replace("anna", "olga")
    place.write_text(json.dumps(told))
    assert said(ledger.head).returncode == 1


@pytest.mark.parametrize("number", [0, -1, 5])
def test_an_entry_that_is_not_there_is_refused(ledger: ht.Ledger, number: int) -> None:
    with pytest.raises(LedgerError) as caught:
        InclusionProof.of(ledger, number)
    assert caught.value.code == "ledger.no-entry"
