"""Chromium for all browser tests, a folder for screenshots, and a published town to look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launched import launched, shots

import hushtable as ht
from hushtable.cli.simulate import town
from hushtable.release import add_explanation, make_microdata
from hushtable.report import write_confidential_report, write_report
from hushtable.session import evaluate_release

TOWN = Path(ht.__file__).parent / "cli" / "town.yaml"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shots(tmp_path_factory)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of a small town with records, two verdicts and a choice in its ledger, and the curator's own report."""
    folder = tmp_path_factory.mktemp("town")
    people = town(3000)
    schema = ht.Schema.load(TOWN)
    session = ht.Session.open(
        people,
        schema=schema,
        ledger=folder / "town.ledger",
        budget=ht.ApproxDP(epsilon=9, delta="1e-9", pure=2),
    )
    pairs = ht.Workload(
        [("age", "sex", "car"), ("employment", "education"), ("district", "car"), ("health",)]
    )
    release = session.release(pairs, budget=ht.ApproxDP(epsilon=2, delta="1e-9"))
    release.save(folder / "out")
    made = make_microdata(release)
    made.frame.write_csv(folder / "records.csv")
    add_explanation(folder / "out", made.explanation)
    synthetic = people.head(1500).select(list(schema.attributes))
    session.check(
        ["COUNT WHERE sex = 'F'", "COUNT WHERE age >= 30"], synthetic, tau="20%", budget=ht.PureDP(1)
    )
    options = [ht.linear.marginals(schema, order=1), ht.linear.marginals(schema, order=2)]
    session.choose(options, budget=ht.ZCDP("0.01")).finish(0)
    write_report(folder / "out", ledger=folder / "town.ledger", microdata=folder / "records.csv")
    frames = evaluate_release(people, release, confidential=True)
    write_confidential_report(folder / "out", frames, release.card)
    return folder / "out"
