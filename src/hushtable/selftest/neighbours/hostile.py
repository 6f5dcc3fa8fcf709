"""Texts and numbers that readers stumble over."""

from __future__ import annotations

from random import Random

TEXTS: tuple[str, ...] = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "\r",
        "\r\r",
        "\x0b",
        "\x0c",
        "\x1a",
        "\x1c",
        "\x7f",
        "\x85",
        "\u2028",
        "\u2029",
    ),
    *(
        '"',
        '""',
        '"""',
        '"x',
        'x"',
        '"x"y',
        "'",
        "''",
        "'x",
        "\\",
        '\\"',
        "\\'",
        "x\\",
        '"\\',
        ",",
        ";",
        "|",
        "\t",
    ),
    *("\ufeff", "\ufeffF", "\ufeff1", "\u202e", "\u200b", "é", "e\u0301", "ß", "ſ", "İ", "日本", "😀" * 50),
    *(
        "nan",
        "NaN",
        "NA",
        "None",
        "null",
        "inf",
        "-inf",
        "+Infinity",
        "1e999",
        "-1e999",
        "1e-999",
        "0x10",
        "1_000",
    ),
    *(
        "9" * 5000,
        "-" + "9" * 5000,
        "0." + "3" * 5000,
        "1e" + "9" * 300,
        "1e-" + "9" * 300,
        "." + "0" * 400 + "1",
    ),
    *(
        "+",
        "-",
        ".",
        "1.",
        ".1",
        "--1",
        "1e",
        "1e+",
        "1.0",
        "00",
        "+0",
        "-0",
        "١٢",
        "１２",
        "½",
        "4.0000000000000001",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "1,5",
        "1 000",
    ),
    *("2000-02-30", "0000-01-01", "9999-12-31", "2000-01-01T25:00", "2000-01-01T00:00:00Z", "10000-01-01"),
    *(
        "TRUE",
        "tRuE",
        "T",
        "yes",
        "0",
        "1",
        "F",
        "M",
        "f",
        "=cmd()",
        "../..",
        "[1, 2]",
        "{}",
        "%s",
        "x" * 70_000,
    ),
)
"""Valid text; a lone surrogate is none, and is among BYTES and the Python objects."""

BYTES: tuple[bytes, ...] = (
    *(
        b"\xff",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xc0\x80",
        b"\xf8\x88",
        b"\xe2\x82",
        b"\x80",
        b"\xc3",
    ),
    *(b"F\xff", b"1\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x00\x01\x02"),
)
"""Bytes that are not UTF-8."""

FLOATS: tuple[float, ...] = (
    *(float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7e308),
    *(2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 1e300, 0.1, 0.30000000000000004, 1e22, 4.35, 65504.0),
)

WHOLE: tuple[int, ...] = (
    *(
        0,
        1,
        -1,
        7,
        127,
        128,
        255,
        256,
        32_768,
        65_536,
        2**31 - 1,
        2**31,
        -(2**31),
        2**32,
        2**53 + 1,
        10**18,
        -(10**18),
    ),
    *(2**62 - 1, 2**62, 2**62 + 1, -(2**62) - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1),
)


def odd_bytes(chance: Random, *, valid: bool) -> bytes:
    """A hostile field as bytes; ``valid`` keeps it UTF-8."""
    luck = chance.random()
    if valid or luck < 0.6:
        return chance.choice(TEXTS).encode()
    return chance.choice(BYTES) if luck < 0.8 else chance.randbytes(chance.randint(1, 12))


def odd_whole(chance: Random, bits: int, *, signed: bool) -> int:
    """A hostile whole number that a machine type holds."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return chance.choice([low, low + 1, high, high - 1, *(n for n in WHOLE if low <= n <= high)])
