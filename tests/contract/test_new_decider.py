"""A decider from a file of its own, known by registration alone, goes through library, session, command and report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.deciders import COUNT, DECIDERS, AdditiveDecider, NoisyDecider, Tally, register, unregister
from hushtable.errors import QueryError
from hushtable.report.sections.verdicts_section import profile_data

NAME = "count-twice"
SCHEMA = {"attributes": {"age": {"type": "integer", "bounds": [0, 90], "width": 10}}}
TRUTH = pl.DataFrame({"age": [20, 30, 40, 50] * 50})


class CountTwice(AdditiveDecider, NoisyDecider):
    """Two noisy counts, each for half of the price, and both must be inside."""

    name = NAME
    aggregate = COUNT
    summary = "two noisy counts inside the interval"

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (2 / self.epsilon, 2 / self.epsilon)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return all(self.interval.contains(tally.rows + draw) for draw in noise)

    def probability(self, tally: Tally) -> float:
        inside = range(self.interval.first, self.interval.last + 1)
        return chance_inside(inside, tally.rows, float(self.epsilon)) ** 2


def chance_inside(inside: range, rows: int, epsilon: float) -> float:
    """That rows plus discrete Laplace noise of scale 2 / epsilon is in the range, term by term."""
    a = math.exp(-epsilon / 2)
    return sum((1 - a) / (1 + a) * a ** abs(place - rows) for place in inside)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(CountTwice)
    yield
    unregister(NAME)


def session(folder: Path, budget: ht.PureDP | ht.ZCDP) -> ht.Session:
    return ht.Session.open(TRUTH, schema=SCHEMA, ledger=folder / "a.ledger", budget=budget)


def test_the_library_answers_for_it() -> None:
    found = ht.deciders.probability_satisfied(NAME, true=200, synthetic=203, tau=20, epsilon=1)
    assert found == pytest.approx(chance_inside(range(184, 223), 200, 1) ** 2, rel=1e-12)
    tau = ht.deciders.effectiveness_threshold(NAME, epsilon=1, delta=0.05)

    def wrong(size: int) -> float:
        inside = range(-size + 1, size)
        return max(1 - chance_inside(inside, 0, 1) ** 2, chance_inside(inside, 2 * size, 1) ** 2)

    assert tau == next(size for size in range(1, 200) if wrong(size) <= 0.05)


@pytest.mark.long
def test_a_session_charges_draws_and_stores_it(tmp_path: Path) -> None:
    opened = session(tmp_path, ht.PureDP(100))
    near, far = TRUTH.head(196), TRUTH.head(60)
    yes = opened.check("COUNT", near, tau=20, budget=ht.PureDP(40), decider=NAME)
    no = opened.check("COUNT", far, tau=20, budget=ht.PureDP(40), decider=NAME)
    assert yes.satisfied and not no.satisfied  # each wrong with a probability below exp(-200)
    assert yes.decider == NAME and opened.remaining.epsilon == 20
    again = opened.check("COUNT", near, tau=20, budget=ht.PureDP(40), decider=NAME)
    assert again.repeated and opened.remaining.epsilon == 20


def test_one_that_nothing_can_draw_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    class CountBare(AdditiveDecider):
        name = "count-bare"
        aggregate = COUNT
        summary = "neither noise nor coin nor candidates"

        def probability(self, tally: Tally) -> float:
            return 0.5

    register(CountBare)
    opened = session(tmp_path, ht.PureDP(1))
    try:
        with pytest.raises(QueryError) as caught:
            opened.check("COUNT", TRUTH, tau=20, budget=ht.PureDP(1), decider="count-bare")
    finally:
        unregister("count-bare")
    assert caught.value.code == "query.no-draw" and opened.remaining.epsilon == 1


def test_its_error_is_said_and_its_rho_is_that_of_a_pure_epsilon(tmp_path: Path) -> None:
    made = session(tmp_path, ht.ZCDP("0.5")).plan_check(
        "COUNT WHERE age > 25", TRUTH, tau=20, budget=ht.ZCDP("0.1"), decider=NAME
    )
    epsilon = float(made.planned[0].epsilon)
    assert epsilon * math.tanh(epsilon / 2) == pytest.approx(0.1, rel=0.01)
    inside = chance_inside(range(131, 170), 150, epsilon) ** 2
    beyond = chance_inside(range(131, 170), 190, epsilon) ** 2
    assert made.planned[0].claim.error == pytest.approx(max(1 - inside, beyond), rel=1e-9)


def test_refusals_name_it(tmp_path: Path) -> None:
    opened = session(tmp_path, ht.PureDP(1))
    with pytest.raises(QueryError) as unknown:
        opened.check("COUNT", TRUTH, tau=3, budget=ht.PureDP(1), decider="count-thrice")
    assert unknown.value.code == "query.unknown-decider" and NAME in unknown.value.fix
    with pytest.raises(QueryError) as wrong:
        opened.check("SUM(age)", TRUTH, tau=3, budget=ht.PureDP(1), decider=NAME)
    assert wrong.value.code == "query.wrong-decider" and NAME not in wrong.value.fix


@pytest.mark.long
def test_the_command_and_the_report_know_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    TRUTH.write_csv("data.csv")
    TRUTH.head(196).write_csv("synthetic.csv")
    Path("schema.yaml").write_text(json.dumps(SCHEMA), encoding="utf-8")
    assert run(["ledger", "create", "a.ledger", "--budget", "epsilon=100"]) == 0
    asked = "check data.csv --schema schema.yaml --ledger a.ledger --synthetic synthetic.csv --query COUNT --tau 20"
    capsys.readouterr()
    assert run([*asked.split(), "--budget", "epsilon=40", "--decider", NAME, "--plan"]) == 0
    assert f"{NAME}: as asked" in capsys.readouterr().out
    assert run([*asked.split(), "--budget", "epsilon=40", "--decider", NAME, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["verdicts"][0]
    assert said["satisfied"] and said["decider"] == NAME
    stored = ht.Session.open("data.csv", schema=SCHEMA, ledger="a.ledger").check(
        "COUNT", TRUTH.head(196), tau=20, budget=ht.PureDP(40), decider=NAME
    )
    curve = profile_data([stored], rows_per_person=1)
    assert curve["probability"][0] > 0.99 > 0.01 > curve["probability"][-1]


def test_stored_verdicts_of_a_decider_that_is_no_longer_known_stay_readable(tmp_path: Path) -> None:
    opened = session(tmp_path, ht.PureDP(50))
    made = opened.check("COUNT", TRUTH, tau=20, budget=ht.PureDP(40), decider=NAME)
    payload = opened.ledger.payload(opened.ledger.reservations()[0].charges[0].number)
    register(CountTwice)
    unregister(NAME)
    try:
        (read,) = ht.deciders.read_verdicts(payload).values()
        assert read == made and profile_data([read], rows_per_person=1).is_empty()
    finally:
        register(CountTwice)


def test_every_decider_says_what_it_is() -> None:
    for name, kind in DECIDERS.items():
        assert kind.name == name and kind.summary
        assert (kind.preferred is None) == (kind.reason == "")
