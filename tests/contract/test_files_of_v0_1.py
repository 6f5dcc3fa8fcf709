"""What version 0.1 wrote (``tests/fixtures/v0_1``) opens, verifies, reads, resumes and finishes with this version."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import LedgerError
from hushtable.reconstruct import RECONSTRUCTIONS
from hushtable.session import open_choice

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
_spec = importlib.util.spec_from_file_location("write_v0_1", FIXTURES / "write_v0_1.py")
assert _spec is not None and _spec.loader is not None
v0_1 = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(v0_1)

FACTS: dict[str, Any] = json.loads((FIXTURES / "v0_1" / "facts.json").read_text())
LEDGERS = sorted(p.name for p in (FIXTURES / "v0_1").glob("*.ledger"))
CHOICES = [
    "marginals-finished",
    "marginals-open",
    "marginals-refined",
    "abandoned",
    "advanced",
    "buckets-finished",
    "buckets-open",
    "matrices-finished",
    "matrices-open",
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the files, with the permissions that a ledger's owner would have given them."""
    place = tmp_path / "v0_1"
    shutil.copytree(FIXTURES / "v0_1", place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return place


def opened(old: Path, ledger: str) -> ht.Session:
    return ht.Session.open(v0_1.table(), schema=old / "schema.yaml", ledger=old / ledger)


def same(release: ht.Release, request: str) -> None:
    """The release says what it said when it was made."""
    facts = FACTS[request]
    assert [int(v) for v in release.answers.values] == facts["values"]
    assert [list(s) for s in release.answers.layout.sets] == facts["sets"]
    assert release.card.charged.to_dict() == facts["charged"]
    table = release.table("age", "sex")
    if RECONSTRUCTIONS[release.reconstruction].unbiased:
        assert table["estimate"].to_list() == pytest.approx(facts["age-sex"], abs=0.05)
    else:  # a model reads the same integers, and may read them better than it did
        moved = np.abs(table["estimate"].to_numpy() - np.array(facts["age-sex"]))
        assert (moved < 0.25 * np.maximum(table["std"].fill_null(4.0).to_numpy(), 2.0)).all()


@pytest.mark.parametrize("ledger", LEDGERS)
def test_every_ledger_opens_and_verifies(old: Path, ledger: str) -> None:
    before = (old / ledger).read_bytes()
    account = ht.Ledger.open(old / ledger)
    assert account.verify(account.head).ok
    assert (old / ledger).read_bytes() == before


@pytest.mark.parametrize("request_id", [*v0_1.WAYS, "reuse", "reuse-free"])
def test_every_release_is_read_again_by_its_request(old: Path, request_id: str) -> None:
    session = opened(old, "zcdp.ledger")
    head = session.ledger.head
    options: dict[str, Any] = v0_1.WAYS.get(request_id, {"strategy": "residual-planner", "reuse": True})
    rho = {"reuse": "0.8", "reuse-free": "0.01"}.get(request_id, "0.3")
    made = session.release(v0_1.pairs(session), budget=ht.ZCDP(rho), request=request_id, **options)
    same(made, request_id)
    assert session.ledger.head == head
    assert made.history is None, "version 0.1 stored no rounds, and no claims: bounds follow from the noise"
    assert (made.card.l1_bounds is not None) == (options["strategy"] in ("auto", "aim"))


def test_releases_of_other_currencies_are_read_again(old: Path) -> None:
    session = opened(old, "pure.ledger")
    same(
        session.release(v0_1.pairs(session), budget=ht.PureDP(1), strategy="identity", request="laplace"),
        "laplace",
    )
    session = opened(old, "approx.ledger")
    same(
        session.release(
            v0_1.pairs(session),
            budget=ht.ApproxDP(epsilon=1, delta="1e-9"),
            strategy="residual-planner",
            request="approx",
        ),
        "approx",
    )


@pytest.mark.parametrize(
    ("ledger", "name"), [("zcdp", "check"), ("pure", "pure-check"), ("approx", "approx-check")]
)
def test_a_verdict_is_found_by_its_question(old: Path, ledger: str, name: str) -> None:
    session = opened(old, f"{ledger}.ledger")
    head = session.ledger.head
    asked = v0_1.CHECK
    verdict = session.check(
        asked["query"], str(old / "synthetic.csv"), tau=asked["tau"], budget=ht.PureDP(asked["epsilon"])
    )
    assert verdict.satisfied == FACTS[name]["satisfied"]
    assert session.ledger.head == head


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_stands_where_it_stood(old: Path, name: str) -> None:
    choice = open_choice(old / "choices.ledger", name, data=v0_1.table())
    facts = FACTS[name]
    assert (choice.state, choice.stage, choice.charged.rho) == (
        facts["state"],
        facts["stage"],
        facts["charged"],
    )
    assert choice.held.rho == facts["held"]
    assert choice.snr(len(choice.options) - 1).tolist() == pytest.approx(facts["signal"])
    if choice.state == "finished":
        assert choice.result().card.charged.rho


@pytest.mark.parametrize("name", [name for name in CHOICES if FACTS[name]["state"] == "open"])
def test_an_open_choice_can_be_finished_or_abandoned(old: Path, name: str) -> None:
    choice = open_choice(old / "choices.ledger", name, data=v0_1.table())
    if name.startswith("marginals") or name == "advanced":
        choice.finish(len(choice.options) - 1)
        assert choice.state == "finished" and choice.held.rho == 0
    else:
        choice.abandon()
        assert choice.state == "abandoned" and choice.charged.rho == FACTS[name]["charged"]
    assert ht.Ledger.open(old / "choices.ledger").verify().ok


@pytest.mark.parametrize("name", ["residual-planner", "identity", "aim", "auto"])
def test_every_bundle_loads(old: Path, name: str) -> None:
    release = ht.Release.load(old / name)
    same(release, name)
    assert (release.history is None) == (FACTS[name]["rounds"] is None)
    assert pl.read_parquet(old / name / "tables" / "order-2.parquet").height > 0


@pytest.mark.parametrize("name", ["aim-unfinished", "auto-unfinished", "aim-never-charged"])
def test_an_unfinished_adaptive_release_goes_on(old: Path, name: str) -> None:
    session = opened(old, f"{name}.ledger")
    before = session.ledger.find(name)
    assert before is not None and [p is not None for p in before.payloads] == FACTS[name]["stored"]
    strategy = v0_1.KILLED[name][0]
    session.release(v0_1.pairs(session), budget=ht.ZCDP("0.3"), strategy=strategy, request=name)
    after = session.ledger.find(name)
    assert after is not None and after.state == "settled"
    assert after.payloads[: len(before.payloads)] == before.payloads
    assert after.drawn.rho <= 3 * 10**11 and session.ledger.verify().ok


def test_a_batch_that_was_lost_stays_lost(old: Path) -> None:
    session = opened(old, "batch-lost.ledger")
    with pytest.raises(LedgerError) as lost:
        session.release(
            v0_1.pairs(session), budget=ht.ZCDP("0.3"), strategy="residual-planner", request="batch-lost"
        )
    assert lost.value.code == "ledger.draw-lost"
    assert session.ledger.spent().rho == FACTS["batch-lost"]["charged"]
