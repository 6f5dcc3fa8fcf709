"""The compiled loops, the exact fallback and an independent twin draw the same integers from the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count

import mpmath
import numpy as np
import pytest

from bit_sources import FixedBits
from hushtable.privacy import exact, sampler, sampler_loops
from hushtable.privacy.exact import Stream, Uniform, exp_enclosure

SCALES = [
    Fraction(1, 20),
    Fraction(1, 2),
    Fraction(999, 1000),
    Fraction(1),
    Fraction(3, 2),
    Fraction(19, 10),
    Fraction(31, 10),
    Fraction(10),
    Fraction(355, 113),
    Fraction(10**4 + 1, 3),
    Fraction(2**61 - 1, 2**40 + 15),
    Fraction(10**12),
    Fraction(3**200, 7**130),
]

Law = Callable[[int, Fraction], Fraction]


def gaussian(x: int, variance: Fraction) -> Fraction:
    return Fraction(x * x) / (2 * variance)


def laplace(x: int, scale: Fraction) -> Fraction:
    return Fraction(abs(x)) / scale


def parameters(law: Law, scale: Fraction) -> tuple[Fraction, int, float]:
    """(parameter, modulus, cap) as the sampler chooses them; the cap is a number that the draw is defined with."""
    if law is laplace:
        modulus = max(1, int(float(scale)))
        return scale, modulus, float(sampler_loops.laplace_caps(*_tables(modulus, 1 / float(scale)))[0])
    spread = np.sqrt(float(scale**2))
    modulus = max(1, int(2 * spread))
    return scale**2, modulus, float(sampler_loops.gaussian_caps(*_tables(modulus, np.sqrt(0.5) / spread))[0])


def _tables(modulus: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([modulus], dtype=np.uint64), np.array([rate])


def order() -> Iterator[int]:
    for k in count():
        yield from (k, -k - 1)


def twin(law: Law, scale: Fraction, words: Iterator[int]) -> int:
    """One draw in 400-bit arithmetic: uniform residue, then inversion over quotients, as `exact` describes it."""
    parameter, modulus, cap = parameters(law, scale)
    while True:
        residue = 0
        while modulus > 1:
            product = next(words) * modulus
            if product % 2**64 >= 2**64 % modulus:
                residue = product >> 64
                break
        with mpmath.workprec(400):
            u, total = mpmath.mpf(next(words) >> 11) / 2**53, mpmath.mpf(0)
            for v in order():
                gap = law(residue + modulus * v, parameter)
                total += cap * mpmath.exp(-mpmath.mpf(gap.numerator) / gap.denominator)
                assert not total - mpmath.mpf(2) ** -53 < u < total, "53 bits do not decide: improbable"
                if u < total:
                    return residue + modulus * v
                if abs(v) > 100:
                    break


DRAW = {gaussian: sampler.discrete_gaussian, laplace: sampler.discrete_laplace}


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES, ids=lambda s: f"{float(s):.4g}")
@pytest.mark.parametrize("law", [gaussian, laplace])
def test_loops_draw_what_the_independent_twin_draws(law: Law, scale: Fraction) -> None:
    bits = FixedBits(seed=5)
    drawn = DRAW[law](parameters(law, scale)[0], 40, bits=bits)
    words = iter(bits.given)
    assert drawn.tolist() == [twin(law, scale, words) for _ in range(40)]


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_loops_draw_what_the_exact_fallback_draws_at_random_rationals(law: Law) -> None:
    rng = np.random.default_rng(11)
    for trial in range(60):
        top, bottom = (int(rng.integers(1, 2 ** int(rng.integers(2, 60)))) for _ in range(2))
        scale = min(Fraction(top, bottom), Fraction(2**40))
        parameter, modulus, cap = parameters(law, scale)
        if law is gaussian:
            scale = parameter
        bits = FixedBits(seed=trial)
        drawn = DRAW[law](parameter, 12, bits=bits).tolist()
        stream, again = Stream(FixedBits(bits.given), len(bits.given)), []
        while len(again) < 12:
            x = exact.attempt(stream, modulus, Fraction(cap), lambda x, s=scale: law(x, s))
            again += [] if x is None else [x]
        assert drawn == again


def boundary(law: Law, scale: Fraction, residue: int, terms: int, length: int) -> int:
    """The first `length` bits of the sum of the first `terms` probabilities."""
    parameter, modulus, cap = parameters(law, scale)
    with mpmath.workprec(length + 200):
        total = mpmath.mpf(0)
        for v, _ in zip(order(), range(terms), strict=False):
            gap = law(residue + modulus * v, parameter)
            total += mpmath.mpf(cap) * mpmath.exp(-mpmath.mpf(gap.numerator) / gap.denominator)
        return int(mpmath.floor(total * mpmath.mpf(2) ** length))


@pytest.mark.parametrize("extra", [1, 2, 5])
@pytest.mark.parametrize("terms", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(2**20)], ids=str)
@pytest.mark.parametrize("law", [gaussian, laplace])
def test_words_on_a_boundary_are_decided_exactly(law: Law, scale: Fraction, terms: int, extra: int) -> None:
    """u agrees with a boundary in 53 + 64 `extra` bits but for the last one: below it one quotient, above the next."""
    parameter, modulus, _ = parameters(law, scale)
    residue = modulus // 2
    first = [] if modulus == 1 else [-(-(residue << 64) // modulus) + 1]
    length = 53 + 64 * extra
    digits = boundary(law, scale, residue, terms, length)
    quotients = [v for v, _ in zip(order(), range(terms + 1), strict=False)]
    for shift, quotient in ((-1, quotients[terms - 1]), (1, quotients[terms])):
        u = digits + shift
        words = [(u >> 64 * extra) << 11] + [(u >> 64 * k) & (2**64 - 1) for k in reversed(range(extra))]
        drawn = DRAW[law](parameter, 1, bits=FixedBits(first + words))
        assert drawn[0] == residue + modulus * quotient


@pytest.mark.long
@pytest.mark.parametrize("word", [0, 2**64 - 1, 2**63, 2**11 - 1, 2**11])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 20), Fraction(1), Fraction(3), Fraction(4), Fraction(10**9)], ids=str
)
@pytest.mark.parametrize("law", [gaussian, laplace])
def test_extreme_words_draw_what_the_twin_draws(law: Law, scale: Fraction, word: int) -> None:
    bits = FixedBits([word] * 20, seed=3)
    drawn = DRAW[law](parameters(law, scale)[0], 30, bits=bits)
    words = iter(bits.given)
    assert drawn.tolist() == [twin(law, scale, words) for _ in range(30)]


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_a_uniform_just_below_the_total_reaches_the_far_tail_exactly(law: Law) -> None:
    """Between the last visible term and the total only the exact path can tell the tail from rejection."""
    scale = Fraction(1)
    parameter, modulus, _ = parameters(law, scale)
    residue, first = (0, []) if modulus == 1 else (0, [2**63 // modulus])
    digits = boundary(law, scale, residue, 400, 53 + 192)
    inside, beyond = digits - 5, digits + 5
    for u, tail in ((inside, True), (beyond, False)):
        words = [(u >> 192) << 11] + [(u >> 64 * k) & (2**64 - 1) for k in (2, 1, 0)]
        drawn = int(DRAW[law](parameter, 1, bits=FixedBits(first + words))[0])
        assert (abs(drawn) > 15) == tail


@pytest.mark.parametrize("law", [gaussian, laplace])
def test_segments_draw_each_scale_in_order_from_one_stream(law: Law) -> None:
    scales, lengths = [Fraction(1, 3), Fraction(50), Fraction(10**9), Fraction(2)], [5, 0, 7, 3]
    many = {gaussian: sampler.gaussian_segments, laplace: sampler.laplace_segments}[law]
    bits = FixedBits(seed=1)
    drawn = many([parameters(law, scale)[0] for scale in scales], lengths).draw(bits)
    words = iter(bits.given)
    pairs = zip(scales, lengths, strict=True)
    assert drawn.tolist() == [twin(law, scale, words) for scale, length in pairs for _ in range(length)]


@pytest.mark.parametrize("chunk", [8, 9, 16, 1000])
def test_draws_do_not_depend_on_how_words_are_fetched(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sampler.discrete_gaussian(10, 3000, bits=FixedBits(seed=9)).tolist()
    monkeypatch.setattr(sampler, "_CHUNK", chunk)
    assert sampler.discrete_gaussian(10, 3000, bits=FixedBits(seed=9)).tolist() == expected


def test_enclosures_of_the_exponential_hold_the_true_value_and_are_narrow() -> None:
    rng = np.random.default_rng(2)
    xs = [Fraction(0), Fraction(1), Fraction(1, 10**40), Fraction(44), Fraction(127), Fraction(10**6)]
    xs += [Fraction(int(rng.integers(1, 2**60)), int(rng.integers(1, 2**55))) for _ in range(300)]
    for precision in (53, 128, 600):
        with mpmath.workprec(precision + 300):
            for x in xs:
                low, high = exp_enclosure(x, precision)
                truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** precision
                assert low <= truth <= high
                assert high - low <= 4


def test_the_compiled_exponential_keeps_its_error_bound() -> None:
    rng = np.random.default_rng(3)
    xs = np.concatenate((rng.uniform(0, 44, 3000), rng.uniform(0, 1, 3000), np.arange(0, 44, 1 / 64)))
    worst = 0.0
    with mpmath.workprec(200):
        for x in xs.tolist():
            truth = mpmath.exp(-mpmath.mpf(x))
            worst = max(worst, float(abs(sampler_loops._exp_minus(x) - truth) / truth))
    assert worst < 5 * 2.0**-53


def test_high_halves_of_products_are_right() -> None:
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 2**64, size=200, dtype=np.uint64)
    for a in [*numbers[:50], np.uint64(2**64 - 1), np.uint64(0)]:
        for b in [*numbers[50:80], np.uint64(2**64 - 1), np.uint64(2**32)]:
            assert int(sampler_loops._high_half(a, b)) == int(a) * int(b) >> 64


@pytest.mark.long
def test_caps_leave_less_than_one_in_total_for_every_residue() -> None:
    for law in (gaussian, laplace):
        for scale in (
            Fraction(1, 20),
            Fraction(1, 2),
            Fraction(99, 100),
            Fraction(1),
            Fraction(5, 2),
            Fraction(9),
        ):
            parameter, modulus, cap = parameters(law, scale)
            with mpmath.workprec(200):
                for residue in range(modulus):
                    gaps = (law(residue + modulus * v, parameter) for v in range(-300, 301))
                    total = sum(mpmath.exp(-mpmath.mpf(g.numerator) / g.denominator) for g in gaps)
                    assert 0.7 < total * mpmath.mpf(cap) < 1


def test_bernoulli_ties_are_decided_by_later_bits() -> None:
    third = 2**64 // 3
    assert sampler.bernoulli("1/3", bits=FixedBits([third, third - 1]))
    assert not sampler.bernoulli("1/3", bits=FixedBits([third, third + 1]))
    assert sampler.bernoulli("1/3", bits=FixedBits([third, third, third, 0]))
    assert not sampler.bernoulli("1/2", bits=FixedBits([2**63]))
    assert sampler.bernoulli("1/2", bits=FixedBits([2**63 - 1]))
    with mpmath.workprec(300):
        digits = int(mpmath.floor(mpmath.exp(-1) * mpmath.mpf(2) ** 192))
    first, second, third = digits >> 128, digits >> 64 & (2**64 - 1), digits & (2**64 - 1)
    assert sampler.bernoulli_exp(1, bits=FixedBits([first, second, third - 1]))
    assert not sampler.bernoulli_exp(1, bits=FixedBits([first, second, third + 1]))
    assert sampler.bernoulli_exp(
        1, 3, bits=FixedBits([first, 0, first, second - 1, second + 1])
    ).tolist() == [
        True,
        True,
        False,
    ]


def test_a_long_draw_is_shared_by_threads_without_overlap_or_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half is what its own bits give, whichever segments the cut falls into."""
    variances, lengths = [Fraction(9), Fraction(10**8), Fraction(5, 2)], [3_000, 6_001, 1_000]
    given: list[FixedBits] = []

    def fresh(bits: object) -> FixedBits:
        given.append(FixedBits(seed=len(given)))
        return given[-1]

    monkeypatch.setattr(sampler, "_source", lambda bits: fresh(bits) if bits is None else bits)
    drawn = sampler.gaussian_segments(variances, lengths).draw()
    half = sum(lengths) // 2
    ends = [lengths[0], half - lengths[0]], [0, sum(lengths[:2]) - half, lengths[2]]
    second = sampler.gaussian_segments(variances, ends[1]).draw(FixedBits(seed=1))
    first = sampler.gaussian_segments(variances[:2], ends[0]).draw(FixedBits(seed=0))
    assert len(given) == 2
    assert (drawn == np.concatenate([first, second])).all()


def word_of(place: int, bound: int) -> int:
    """A word that is taken as a given uniform integer below a bound."""
    first = -(-(place << 64) // bound)
    return next(w for w in range(first, first + 9) if w * bound % 2**64 >= 2**64 % bound)


@pytest.mark.long
@pytest.mark.parametrize("candidates", [1, 2, 3, 700, 5_000])
def test_every_candidate_is_proposed_with_the_weight_of_its_level(candidates: int) -> None:
    """Levels never promise less than the exponential, waste at most a factor of two, and cover all places."""
    gaps = np.random.default_rng(candidates).integers(0, 60, candidates)
    gaps[0] = 0
    rate, deepest = 0.37, 62 - candidates.bit_length()
    levels, several = np.empty(candidates, np.uint8), np.zeros((4, deepest + 1), np.int64)
    sampler_loops.selection_levels(gaps, rate, deepest, levels, several)
    counts = several[0]
    assert (counts == np.bincount(levels, minlength=deepest + 1)).all()
    with mpmath.workprec(100):
        for gap, level in zip(gaps.tolist()[:700], levels.tolist(), strict=False):
            chance = mpmath.exp(-gap * mpmath.mpf(rate)) * mpmath.mpf(2) ** level
            assert mpmath.mpf("0.4999999") < chance <= 1
    place = 0
    for index in np.argsort(levels, kind="stable").tolist():
        width = 1 << (deepest - int(levels[index]))
        for spot in (place, place + width // 2, place + width - 1):
            assert sampler_loops.candidate_at(spot, levels, counts, deepest) == index
        place += width
    assert place == sum(int(n) << (deepest - k) for k, n in enumerate(counts)) < 2**62


def test_selection_ties_are_decided_by_later_bits() -> None:
    """Two candidates a gap of 1 apart: the worse one is proposed with half the weight, and kept if u < 2 exp(-1)."""
    with mpmath.workprec(300):
        digits = int(mpmath.floor(2 * mpmath.exp(-1) * mpmath.mpf(2) ** 117))
    head, rest = (digits >> 64) << 11, digits & (2**64 - 1)
    weights = [2**60, 2**59]
    better, worse = (word_of(place, sum(weights)) for place in (5, 2**60 + 5))
    assert sampler.exponential_mechanism([0, 1], 1, bits=FixedBits([worse, head, rest - 1])) == 0
    assert sampler.exponential_mechanism([0, 1], 1, bits=FixedBits([worse, head, rest + 1, better, 0])) == 1


def test_uniform_reals_are_refined_only_when_needed() -> None:
    stream = Stream(FixedBits([5 << 11, 7]), 2)
    u = Uniform.draw(stream)
    assert exact.below_exp(u, Fraction(1)) and (u.digits, u.length, stream.position) == (5, 53, 1)
    u.refine()
    assert (u.digits, u.length) == (5 * 2**64 + 7, 117)
