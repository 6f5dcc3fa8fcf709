"""What the budget page has for those who watch: proofs that hold offline, and slots that were missed."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from inside import Inside
from sites import Site

from hushtable.ledger import InclusionProof
from hushtable.service import Role
from hushtable.service.worker import Worker

P, PAGE = "/v1/datasets/people", "/datasets/people/budget"
RELEASE = {"order": 1, "budget": "epsilon=0.1", "strategy": "identity"}
NOTES = Path(__file__).resolve().parents[2] / "proofs"


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    site = Site(tmp_path, settings={"slots": False})
    site.let_in("clara", Role.CURATOR)
    site.let_in("audrey", Role.AUDITOR)
    site.let_in("anna", Role.ANALYST, grant="epsilon=5")
    return Inside(site)


def test_an_auditor_proves_an_entry_with_the_archive_and_a_head_alone(inside: Inside, tmp_path: Path) -> None:
    inside.made("clara", f"{P}/releases", RELEASE)
    shown = inside.ask("audrey", "GET", PAGE).text
    number = int(re.findall(rf'href="{PAGE}/proof\?entry=(\d+)"', shown)[0])
    with zipfile.ZipFile(
        io.BytesIO(inside.ask("audrey", "GET", f"{PAGE}/proof?entry={number}").content)
    ) as archive:
        archive.extractall(tmp_path / "taken")
    [folder] = (tmp_path / "taken").iterdir()
    notes = {one.name: one.read_text() for one in (folder / "notes").iterdir()}
    assert notes == {one.name: one.read_text() for one in NOTES.glob("*.md")}
    head = inside.ask("audrey", "GET", f"{P}/ledger").json()["head"]
    for given, code in ((head, 0), ("1" * 64, 1)):
        words = [sys.executable, "-I", str(folder / "verify.py"), given]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
    told = inside.ask("audrey", "GET", f"{P}/ledger/proof", params={"entry": number}).json()
    assert told == json.loads((folder / "proof.json").read_text())
    assert InclusionProof.from_dict(told).holds(head)
    missing = inside.ask("audrey", "GET", f"{P}/ledger/proof", params={"entry": 99})
    assert missing.json()["code"] == "ledger.no-entry"
    assert inside.ask("anna", "GET", f"{PAGE}/proof").status_code == 403


def test_overruns_are_told_to_curator_and_auditor_in_a_sentence(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for name, role in (("clara", Role.CURATOR), ("audrey", Role.AUDITOR), ("anna", Role.ANALYST)):
        site.let_in(name, role, grant="epsilon=5" if name == "anna" else None)
    inside = Inside(site)
    assert "Every answer has appeared at the time" in inside.ask("clara", "GET", PAGE).text
    handed = inside.spend("clara", f"{P}/releases", RELEASE)
    assert handed.status_code == 202
    with site.service.storage.writing() as rows:
        rows.run(
            "UPDATE job SET slot = slot - 100, submitted = submitted - 100 WHERE id = ?", handed.json()["id"]
        )
    inside.work()
    for name in ("clara", "audrey"):
        shown = inside.ask(name, "GET", PAGE).text
        assert (
            "Answers of kind release that missed their time, in all datasets: 1." in shown
            and "2 times as long" in shown
        )
        assert "Every answer has appeared" not in shown
    assert "missed their time" not in inside.ask("anna", "GET", PAGE).text


def test_a_curator_sees_live_rounds_and_an_analyst_never_does(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of a job is asked for each time that the worker tells how far it is, and by an analyst as well."""
    monkeypatch.setattr("hushtable.service.worker.worker.TELL", 0.0)
    seen: dict[str, list[str]] = {"clara": [], "anna": []}
    asked = {"order": 2, "budget": "epsilon=0.5", "strategy": "identity"}
    kinds = {"clara": asked, "anna": asked | {"budget": "epsilon=0.25"}}
    telling = Worker._telling

    def watched(worker: Worker, job: object) -> object:
        tell = telling(worker, job)
        name = "clara" if job.spender is None else "anna"

        def told(stage: str, done: int, total: int) -> None:
            tell(stage, done, total)
            seen[name].append(inside.ask(name, "GET", f"/datasets/people/jobs/{job.id}").text)

        return told

    monkeypatch.setattr(Worker, "_telling", watched)
    for name, body in kinds.items():
        assert inside.spend(name, f"{P}/releases", body).status_code == 202
    inside.work()
    assert seen["clara"] and seen["anna"], "both jobs had steps to tell"
    assert all("<progress" in page and "So far:" in page for page in seen["clara"])
    assert not any("<progress" in page for page in seen["anna"])
    jobs = inside.service.jobs.listed("people", None, "", 10, None)
    assert {job.spender: job.progress is not None for job in jobs} == {None: True, "anna": False}
