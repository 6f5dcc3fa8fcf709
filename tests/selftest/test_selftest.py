"""``hush selftest`` passes on a sound machine, and each of its parts fails when what it watches is broken."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import broken_spenders
import numpy as np
import pytest

from bit_sources import SeededBits
from hushtable import selftest
from hushtable.cli.app import run as hush
from hushtable.kernel.sources import people, rows
from hushtable.privacy import sampler
from hushtable.selftest import accounts, readers, replays
from hushtable.selftest import noise_check as noise
from hushtable.selftest.outcomes import Outcome, Unsound
from thresholds import Z


def silent(step: str, done: int, total: int) -> None:
    pass


@pytest.mark.parametrize("part", selftest.PARTS)
def test_every_part_passes_here(part: str) -> None:
    assert selftest.PARTS[part](silent)


# Noise


def wider(draw: Callable[..., Any], factor: Fraction) -> Callable[..., Any]:
    """The same law with another parameter, from seeded bits so that it is noticed in every run or in none."""
    return lambda parameter, size: draw(Fraction(parameter) * factor, size, bits=SeededBits(7))


def last_bit_stuck(parameter: Fraction, size: int) -> Any:
    drawn = sampler.discrete_gaussian(parameter, size, bits=SeededBits(8))
    return drawn & ~1 if parameter > 10**9 else drawn


BROKEN_NOISE = {
    "a Gaussian 2% too narrow": (
        "discrete_gaussian",
        wider(sampler.discrete_gaussian, Fraction(98**2, 100**2)),
    ),
    "a Gaussian 2% too wide": (
        "discrete_gaussian",
        wider(sampler.discrete_gaussian, Fraction(102**2, 100**2)),
    ),
    "a Laplace 2% too narrow": ("discrete_laplace", wider(sampler.discrete_laplace, Fraction(98, 100))),
    "no odd numbers": ("discrete_gaussian", last_bit_stuck),
    "a coin that favours heads": ("bernoulli", lambda p, size: sampler.bernoulli(p + Fraction(1, 100), size)),
    "an exponential coin": ("bernoulli_exp", lambda x, size: sampler.bernoulli_exp(Fraction(98, 100), size)),
    "integers without the last": (
        "uniform_below",
        lambda bound, size: sampler.uniform_below(bound - 1, size),
    ),
    "a selection at 1.2 epsilon": (
        "exponential_mechanism",
        lambda scores, factor: sampler.exponential_mechanism(scores, factor * Fraction(6, 5)),
    ),
}


@pytest.mark.parametrize("case", BROKEN_NOISE)
def test_noise_of_another_law_is_noticed(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, *BROKEN_NOISE[case])
    with pytest.raises(Unsound, match="exact probabilities"):
        noise.check_noise(silent)


def test_threads_that_share_a_stream_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "system_bits", lambda: SeededBits(3))
    with pytest.raises(Unsound, match="same random words"):
        noise._check_streams()


def test_thresholds_have_the_stated_false_alarm_rate() -> None:
    """Of statistics of the right law, a share of 1% exceeds the threshold for 1%: 100 of 10,000, give or take 60."""
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    seen = np.random.Generator(np.random.Philox(1)).multinomial(10_000, chances, size=10_000)
    alarms = sum(
        noise.Statistic("", row, chances).value > noise.Statistic("", row, chances).threshold(0.01)
        for row in seen
    )
    assert abs(alarms - 100) < Z * math.sqrt(100)


# Known bits


def with_ties_by_the_first_word(x: Fraction, bits: Any) -> bool:
    """A coin that decides a tie by nothing."""
    return bool(bits.words(1)[0] < int(math.exp(-float(x)) * 2**64))


BROKEN_REPLAYS = {
    "one more": ("discrete_gaussian", lambda v, n, bits: sampler.discrete_gaussian(v, n, bits=bits) + 1),
    "a scale off in the ninth digit": (
        "discrete_laplace",
        lambda s, n, bits: sampler.discrete_laplace(s * (1 + Fraction(1, 10**9)), n, bits=bits),
    ),
    "a word skipped": (
        "uniform_below",
        lambda b, n, bits: (bits.words(1), sampler.uniform_below(b, n, bits=bits))[1],
    ),
    "ties left open": ("bernoulli_exp", with_ties_by_the_first_word),
    "a selection at twice its epsilon": (
        "exponential_mechanism",
        lambda s, f, bits: sampler.exponential_mechanism(s, f * 2, bits=bits),
    ),
}


@pytest.mark.parametrize("case", BROKEN_REPLAYS)
def test_draws_that_the_reference_does_not_make_are_noticed(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, *BROKEN_REPLAYS[case])
    with pytest.raises(Unsound, match="reference"):
        replays.check_replays(silent)


def test_the_reference_has_the_law_it_names() -> None:
    """Frequencies of the reference itself, whose words are fixed, against probabilities that are summed here."""
    words = replays.known_words("law")
    drawn = [replays.reference_below(words, 5) for _ in range(5000)]
    assert np.allclose(np.bincount(drawn) / 5000, 0.2, atol=Z * math.sqrt(0.16 / 5000))
    modulus, cap = replays._gaussian_shape(Fraction(9, 4))
    drawn = [
        replays.reference(words, modulus, cap, lambda x: replays.gaussian(Fraction(9, 4), x))
        for _ in range(5000)
    ]
    mass = {x: math.exp(-x * x / 4.5) for x in range(-30, 31)}
    for x in range(-3, 4):
        chance = mass[x] / sum(mass.values())
        assert abs(drawn.count(x) / 5000 - chance) < Z * math.sqrt(chance / 5000)


# The ledger


@pytest.mark.parametrize("spender", [broken_spenders.spend_beyond, broken_spenders.claim_more])
def test_a_limit_that_is_not_kept_is_noticed(spender: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "spend_many", spender)
    with pytest.raises(Unsound, match="room for 60"):
        accounts.check_race(silent)


@pytest.mark.parametrize(
    ("spender", "found"),
    [
        (broken_spenders.draw_before_paying, "before its charge"),
        (broken_spenders.draw_twice, "drawn twice"),
        (broken_spenders.show_something_else, "not stored"),
    ],
)
def test_a_spender_that_breaks_the_order_is_noticed(
    spender: Any, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "spend_on", spender)
    with pytest.raises(Unsound, match=found):
        accounts.check_kills(silent)


# Readers


def test_people_who_collide_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = people.People.hashes
    monkeypatch.setattr(people.People, "hashes", lambda self, *where: hashes(self, *where) & np.uint64(1))
    with pytest.raises(Unsound, match="table"):
        readers.check_neighbours(silent)


def test_rows_that_are_lost_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    split = rows.split_rows

    def without_the_last(*arguments: Any) -> Any:
        starts, ends = split(*arguments)
        return starts[:, :-1], ends[:, :-1]

    monkeypatch.setattr(rows, "split_rows", without_the_last)
    with pytest.raises(Unsound, match="csv"):
        readers.check_neighbours(silent)


# The command


def stop(progress: Any) -> str:
    raise Unsound("the moon is full")


def stumble(progress: Any) -> str:
    raise ValueError("a secret value")


def test_the_command_says_what_passed_and_leaves_with_0(monkeypatch, capsys) -> None:
    monkeypatch.setattr(selftest, "PARTS", {"one": lambda progress: "two draws are equal"})
    assert hush(["selftest"]) == 0
    out = capsys.readouterr().out
    assert "✓" in out and "two draws are equal" in out and "Sound on this machine" in out and "✗" not in out


def test_the_command_names_what_failed_and_leaves_with_1(monkeypatch, capsys) -> None:
    monkeypatch.setattr(selftest, "PARTS", {"one": stop, "two": lambda progress: "fine", "three": stumble})
    assert hush(["selftest"]) == 1
    out = capsys.readouterr().out
    assert "✗" in out and "the moon is full" in out and "✓" in out and "NOT sound" in out
    assert "ValueError" in out and "secret" not in out
    assert hush(["selftest", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"] and [part["passed"] for part in found["parts"]] == [False, True, False]


def test_a_report_is_the_sum_of_its_parts() -> None:
    report = selftest.SelftestReport((Outcome("a", True, "x", 1.5), Outcome("b", False, "y", 2.0)))
    assert not report.ok and report.seconds == 3.5
    assert report.to_dict()["parts"][1] == {"name": "b", "passed": False, "said": "y", "seconds": 2.0}
