"""Sentences of a report say what its data say: numbers are read out of the text and computed again from the release."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.privacy import Cost
from hushtable.reconstruct import reconstruction_named
from hushtable.release import quality_column
from hushtable.report import public_report
from hushtable.report.page import Page

SCHEMA = {
    "about": {"unit": "people"},
    "attributes": {
        "town": {"type": "categorical", "values": [*"abcdefgh"], "outside": "other"},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "age": {"type": "integer", "bounds": [0, 79], "width": 20},
    },
}
NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"


class Words(HTMLParser):
    """What a reader of a page sees, without scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data.strip())


def people(rows: int) -> pl.DataFrame:
    """Uneven: the last towns are nearly empty."""
    return pl.DataFrame(
        {
            "town": ["aaaaaaaabbbbccdefgh?"[(r * r + r) % 20] for r in range(rows)],
            "sex": ["FM"[r % 2] for r in range(rows)],
            "age": [(r * r * 7) % 80 for r in range(rows)],
        }
    )


KINDS = [
    ("residual-planner", "mle", ht.ZCDP("0.001"), 4000),
    ("residual-planner", "nonneg", ht.ZCDP("0.01"), 4000),
    ("auto", "maxent", ht.ZCDP("0.001"), 800),
    pytest.param(("aim", "mle", ht.ZCDP("0.0001"), 0), marks=pytest.mark.slow),
    pytest.param(("identity", "mle", ht.PureDP("0.5"), 4000), marks=pytest.mark.slow),
    pytest.param(("residual-planner", "maxent", ht.ZCDP(5), 30_000), marks=pytest.mark.slow),
]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}-{kind[3]}")
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ht.Release, Page, str]:
    """A release, its report, and the words of it."""
    strategy, reconstruct, budget, rows = request.param
    session = ht.Session.open(people(rows), schema=SCHEMA, ledger=tmp_path / "l", budget=budget)
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=budget, strategy=strategy, reconstruct=reconstruct)
    release.save(tmp_path / "out")
    page = public_report(tmp_path / "out", ledger=tmp_path / "l")
    return release, page, " ".join(Words(page.html()).parts)


def read(pattern: str, text: str) -> list[float]:
    """The numbers of a sentence that must be there."""
    found = re.search(pattern, text)
    assert found is not None, pattern
    return [float(group.replace(",", "")) for group in found.groups()]


@pytest.mark.long
def test_what_a_report_says_is_what_was_released(made: tuple[ht.Release, Page, str]) -> None:
    release, page, text = made
    total = release.table().to_dicts()[0]
    tables = [release.table(*names) for names in release.marginals]
    every = pl.concat([t.select("estimate", "lower", "upper") for t in tables])
    numbers = read(rf"{NUMBER} tables about {NUMBER} people \(between {NUMBER} and {NUMBER} at 95%\)", text)
    assert numbers == [len(tables), *(round(total[name]) for name in ("estimate", "lower", "upper"))]
    words = quality_column(every, 0.05)
    reliable, hidden = read(rf"{NUMBER}% of the numbers are reliable; noise hides {NUMBER}%", text)
    assert abs(reliable - 100 * (words == "reliable").mean()) <= 0.5
    assert abs(hidden - 100 * (words == "near-zero").mean()) <= 0.5
    assert read(rf"{NUMBER} numbers, 3 attributes", text) == [every.height]
    (half,) = read(rf"± {NUMBER}", text)
    assert half == pytest.approx(float(((every["upper"] - every["lower"]) / 2).median()), rel=0.06, abs=0.5)
    best, worst = re.search(r"sharpest table is (.+?), where .*? the vaguest is (.+?) with", text).groups()
    good = [(quality_column(table, 0.05) == "reliable").mean() for table in tables]
    shares = dict(zip(map(" x ".join, release.marginals), good, strict=True))
    assert shares[best] == max(shares.values()) and shares[worst] == min(shares.values())
    groups = page.data()["groups"]
    near = sum(
        (quality_column(release.table(name), 0.05) == "near-zero").sum() for name in SCHEMA["attributes"]
    )
    assert (
        read(rf"Of {NUMBER} groups, noise hides the count of {NUMBER}", text)
        == [groups.height, near]
        == [15, near]
    )


@pytest.mark.long
def test_headlines_name_the_largest_count_of_their_table(made: tuple[ht.Release, Page, str]) -> None:
    release, _, text = made
    for name in ("town", "sex"):
        table = release.table(name).sort("estimate", descending=True).to_dicts()[0]
        shown = [f"{table[part]:,.0f}".replace("-0", "0") for part in ("estimate", "lower", "upper")]
        sentence = f"The largest is {table[name]} with about {shown[0]}, between {shown[1]} and {shown[2]}."
        assert sentence in text


@pytest.mark.long
def test_no_interval_begins_below_zero_and_only_unbiased_estimates_are_called_so(
    made: tuple[ht.Release, Page, str],
) -> None:
    release, page, text = made
    assert not re.search(r"between -\d|-\d[\d,.]* (?:–|to) ", text)
    for frame in page.data().values():
        if "lower" in frame.columns:
            assert frame["lower"].min() is None or frame["lower"].min() >= 0
    unbiased = reconstruction_named(release.reconstruction).unbiased
    assert ("unbiased" in text) == unbiased
    assert ("nonnegative model" in text) == (not unbiased)


@pytest.mark.long
def test_the_price_counts_checks_choices_and_other_releases(tmp_path: Path) -> None:
    frame = people(2000)
    budget = ht.ApproxDP(epsilon=9, delta="1e-9", pure=2)
    session = ht.Session.open(frame, schema=SCHEMA, ledger=tmp_path / "l", budget=budget)
    workload = ht.Workload.all_marginals(session.schema, order=1)
    for place, rho in (("other", "0.05"), ("out", "0.1")):
        session.release(workload, budget=ht.ZCDP(rho), strategy="residual-planner").save(tmp_path / place)
    session.check("COUNT WHERE sex = 'F'", frame, tau=90, budget=ht.PureDP("0.5"))
    options = [ht.linear.marginals(session.schema, order=1), ht.linear.marginals(session.schema, order=2)]
    session.choose(options, budget=ht.ZCDP("0.02")).finish(0)
    page = public_report(tmp_path / "out", ledger=tmp_path / "l")
    text = " ".join(Words(page.html()).parts)
    limit = ht.Ledger.open(tmp_path / "l").limit()
    line = re.search(r"Of this dataset's privacy budget \(.*?\), (.*?) is left; (.*?) is left\.", text)
    assert line is not None
    rho, epsilon = line.groups()
    whole = limit.rho / 10**12
    used = [float(part) for part in re.findall(r"(\d+\.\d)%", rho)]
    spent, own, choices, others, left = used
    assert own == pytest.approx(100 * 0.1 / whole, abs=0.06) and others == pytest.approx(
        100 * 0.05 / whole, abs=0.06
    )
    held = ht.Ledger.open(tmp_path / "l").reservations()
    drawn = sum((h.drawn for h in held), Cost.ZERO)
    assert spent == pytest.approx(100 * drawn.rho / limit.rho, abs=0.06) and choices > 0
    assert spent + left == pytest.approx(100, abs=0.11)
    assert "checks 25.0%" in epsilon and epsilon.startswith("25.0% of the pure epsilon is spent")
    course = page.data()["budget-course"].filter(pl.col("currency") == "zCDP rho")
    assert course["kind"].to_list() == ["release", "release", "check", "choice"]
    assert np.all(np.diff(course["spent"]) >= 0) and course["spent"][-1] == pytest.approx(
        drawn.rho / limit.rho
    )
