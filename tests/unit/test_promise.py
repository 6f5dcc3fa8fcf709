"""The sentence about intervals is that of the strategy, wherever intervals are shown."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.measurement import Answers, MarginalPart
from hushtable.planning import STRATEGIES
from hushtable.privacy import GaussianNoise
from hushtable.reconstruct.mle import from_answers
from hushtable.release import Card
from hushtable.release.promise import approximate, interval_promise, value_promise
from hushtable.report.public import write_report

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks-intervals.md"


WRITTEN = Path(__file__).resolve().parents[1] / "fixtures" / "v0_1" / "identity" / "release.json"
REUSED = {"charges": [3], "full_price_rho": "0.1", "saved_rho": "0.05"}


def card(strategy: str, **more: object) -> Card:
    """A card that was written once, of another strategy."""
    written = json.loads(WRITTEN.read_text())["card"]
    return Card.from_dict({**written, "reconstruct": "mle", "plan": {"strategy": strategy}, **more})


def test_a_batch_promises_what_others_only_mean() -> None:
    for strategy in ("residual-planner", "identity"):
        assert interval_promise(card(strategy)) == (
            "Each interval holds the true count with probability 95%, or less where std is small, because noise comes "
            "in whole numbers."
        )
    for made in (
        card("auto", reconstruct="maxent"),
        card("aim"),
        card("choose"),
        card("identity", reuse=REUSED),
    ):
        assert "is meant to hold" in interval_promise(made) and "approximate" in interval_promise(made)
        assert approximate(made)
    assert not approximate(card("residual-planner"))


def test_reuse_names_every_strategy_whose_noise_follows_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    made = card("identity", reuse=REUSED)
    assert interval_promise(made).endswith("where earlier answers came from auto or aim.")
    monkeypatch.setitem(STRATEGIES, "mine", STRATEGIES["aim"])
    assert interval_promise(made).endswith("where earlier answers came from auto or aim or mine.")


def test_only_totals_say_what_was_adjusted() -> None:
    made = card("identity", benchmarks=["Adjusted to an official figure."])
    assert "Adjusted" in value_promise(made, "sum(income)")
    assert "Adjusted" not in value_promise(made, "mean(income)")
    assert "may be empty" in value_promise(made, "mean(income)")


@pytest.mark.parametrize(("variance", "held"), [(13.0, 0.938), (0.52, 0.874)])
def test_noise_in_whole_steps_makes_a_batch_hold_less_often(variance: float, held: float) -> None:
    """The sum of the two cells of one table: an integer, whose interval comes from the normal law.  Exact."""
    part = MarginalPart((2,), ((0,),), GaussianNoise, (1 / Fraction(variance),))
    answers = Answers(part, np.zeros(2, np.int64))
    width = from_answers(answers).model.half_widths([()])[0]
    x = np.arange(-99, 100)
    one = np.exp(-(x**2) / (2 * variance))
    both = np.convolve(one, one) / one.sum() ** 2
    inside = both[np.abs(np.arange(-198, 199)) <= width].sum()
    assert inside == pytest.approx(held, abs=5e-4)
    assert "or more" not in interval_promise(card("identity"))


@pytest.mark.parametrize(
    ("alpha", "level"), [(0.05, "95%"), (0.001, "99.9%"), (1e-6, "99.9999%"), (0.5, "50%")]
)
def test_no_level_is_rounded_to_certainty(alpha: float, level: str) -> None:
    assert f"probability {level}" in interval_promise(card("identity"), alpha)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["residual-planner", "auto", "aim"])
def test_table_json_report_bundle_and_notebook_say_the_same(
    strategy: str,
    tmp_path: Path,
    small_schema: ht.Schema,
    small_frame: pl.DataFrame,
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1)
    )
    workload = ht.Workload.all_marginals(small_schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.1"), strategy=strategy)
    release.save(tmp_path / "out")
    promise = release.promise()
    assert ("approximate" in promise) == (strategy != "residual-planner")
    for flags in ([], ["--json"]):
        assert run(["table", str(tmp_path / "out"), "age", "sex", *flags]) == 0
        assert promise in re.sub(r"\s+", " ", capsys.readouterr().out)
    assert promise in (tmp_path / "out" / "README.txt").read_text()
    assert promise in release._repr_html_()
    assert promise in write_report(tmp_path / "out").path.read_text()


def test_the_figures_of_the_sentence_are_those_of_the_page() -> None:
    """The least figure of each way, read from the table that the benchmark wrote."""
    found: dict[tuple[str, str], float] = {}
    for heading, body in re.findall(
        r"### (\S+ with \S+)\n(.*?)(?=\n### |\n<!--)", PAGE.read_text(), re.DOTALL
    ):
        strategy, _, reconstruct = heading.split()
        least = next(line for line in body.splitlines() if line.startswith("| least"))
        found[strategy, reconstruct] = min(float(x) for x in re.findall(r"\*\*([\d.]+)\*\*", least))
    trials = {(name, way): held for name, each in STRATEGIES.items() for way, held in each.trials}
    assert trials and {way: found[way] for way in trials} == trials
    assert found["residual-planner", "mle"] > 94.5
