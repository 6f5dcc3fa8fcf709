"""Texts and numbers that readers stumble over."""

from __future__ import annotations

from random import Random

_NUMBERS = """
    nan NaN inf -inf +Infinity 1e999 -1e999 1e-999 0x10 1_000 + - . 1. .1 --1 1e 1e+ 1.0 00 +0 -0 0 1 1,5 ١٢ １２ ½
    4.0000000000000001 9223372036854775807 9223372036854775808 -9223372036854775809 18446744073709551616
"""
_WORDS = """
    NA None null TRUE tRuE T yes F M f =cmd() ../.. {} %s é e\u0301 ß ſ İ 日本 2000-02-30 0000-01-01 9999-12-31
    2000-01-01T25:00 2000-01-01T00:00:00Z 10000-01-01
"""
_QUOTES = """ " "" \"\"\" "x x" "x"y ' '' 'x \\ \\" \\' x\\ "\\ , ; | """
_DIGITS = "9" * 5000

TEXTS: tuple[str, ...] = (
    *("", "a\0b", "\r\r", "\ufeffF", "\ufeff1", "1 000", "[1, 2]", "😀" * 50, "x" * 70_000),
    *" \0\r\x0b\x0c\x1a\x1c\x7f\x85\u2028\u2029\t\ufeff\u202e\u200b",
    *_QUOTES.split(),
    *_NUMBERS.split(),
    *(_DIGITS, f"-{_DIGITS}", "0." + "3" * 5000, f"1e{_DIGITS[:300]}", f"1e-{_DIGITS[:300]}", f".{0:0400}1"),
    *_WORDS.split(),
)
"""Valid text; a lone surrogate is none, and is among BYTES and the Python objects."""

BYTES: tuple[bytes, ...] = (
    *(b"\xff", b"\xff\xfe", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xc0\x80", b"\xf8\x88", b"\xe2\x82", b"\x80"),
    *(b"\xc3", b"F\xff", b"1\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x00\x01\x02"),
)
"""Bytes that are not UTF-8."""

FLOATS: tuple[float, ...] = (
    *(float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7e308),
    *(2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 1e300, 0.1, 0.30000000000000004, 1e22, 4.35, 65504.0),
)

_EDGES = (7, 8, 15, 16, 31, 32, 62, 63, 64)
"""Bits at whose end a machine type, or the kernel's own limit of 62 bits, ends."""

WHOLE: tuple[int, ...] = (
    *(0, 1, -1, 7, 2**53 + 1, 10**18, -(10**18)),
    *(
        number
        for bits in _EDGES
        for number in (2**bits - 1, 2**bits, 2**bits + 1, -(2**bits), -(2**bits) - 1)
    ),
)


_NEAR_WORDS = ("k{}", "K{}", "k{} ", " k{}", "k\ufeff{}", "ké{}", "ke\u0301{}", "k" * 90 + "{}")
_NEAR_NUMBERS = ("0{}7", "{}7", "-{}7", "{}7.0")
_WITH_NUL = ("k\0{}", "k{}\0")


def near_key(number: int, *, nul: bool) -> str:
    """A person's key as text, one of several that differ in a blank, an accent, a sign, a zero or a NUL alone."""
    forms = _NEAR_WORDS + _NEAR_NUMBERS + (_WITH_NUL if nul else ())
    return forms[number % len(forms)].format(1000 + number // len(forms))


def odd_bytes(chance: Random, *, valid: bool) -> bytes:
    """A hostile field as bytes; ``valid`` keeps it UTF-8."""
    luck = chance.random()
    if valid or luck < 0.6:
        return chance.choice(TEXTS).encode()
    return chance.choice(BYTES) if luck < 0.8 else chance.randbytes(chance.randint(1, 12))


def odd_whole(chance: Random, low: int, high: int) -> int:
    """A hostile whole number of a machine type, given its least and largest."""
    return chance.choice([low, low + 1, high, high - 1, *(n for n in WHOLE if low <= n <= high)])
