"""Codes of single texts and typed values, against a slow reader written from the documented rules."""

import math
import re
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushtable.kernel.sources.encode import Encoder, code_type
from hushtable.kernel.sources.text import Texts
from hushtable.schema import Schema

RULES = [(null, outside) for null in ("drop", "category") for outside in ("drop", "clip", "other")]
DROP = -1


def attribute(**fields):
    return Schema.from_dict({"attributes": {"a": fields}}).attributes["a"]


def encode_texts(attr, texts):
    data = b"".join(texts)
    lengths = np.array([len(t) for t in texts], np.int32)
    ends = np.cumsum(lengths, dtype=np.int32)
    column = Texts(np.frombuffer(data or b"\0", np.uint8), ends - lengths, ends)
    return Encoder(attr, "utf-8").codes(column).tolist()


def encode_arrow(attr, array):
    return Encoder(attr, "utf-8").codes(array).tolist()


def special(attr, null):
    code = attr.null_code if null else attr.other_code
    return DROP if code is None else code


def slow_bin(attr, number):
    """Code of an exact number, by walking through the labels' intervals."""
    low, high = (
        Fraction(x) if not isinstance(x, date) else Fraction((x - date(1970, 1, 1)).days) for x in attr.bounds
    )
    if not low <= number <= high:
        if attr.outside != "clip":
            return special(attr, null=False)
        number = low if number < low else high
    for code in range(attr.regular):
        first, last = attr.values_of(code)
        if isinstance(first, date):
            first, last = ((x - date(1970, 1, 1)).days for x in (first, last))
        closed = attr.kind != "real" or code == attr.regular - 1
        if first <= number and (number <= last if closed else number < last):
            return code
    raise AssertionError("a number inside the bounds has a bin")


def slow_integer(attr, text):
    if text == "":
        return special(attr, null=True)
    match = re.fullmatch(r"([+-]?[0-9]+)(\.0*)?", text, re.ASCII)
    return slow_bin(attr, Fraction(int(match[1]))) if match else special(attr, null=False)


def slow_real(attr, text):
    if text == "":
        return special(attr, null=True)
    if re.fullmatch(r"[+-]?(inf|infinity)", text, re.ASCII | re.IGNORECASE):
        if attr.outside != "clip":
            return special(attr, null=False)
        return 0 if text[0] == "-" else attr.regular - 1
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text, re.ASCII):
        return special(attr, null=False)
    number = float(text)
    if math.isinf(number):
        return slow_real(attr, "-inf" if number < 0 else "inf")
    return slow_bin(attr, Fraction(number))


def slow_date(attr, text):
    if text == "":
        return special(attr, null=True)
    match = re.fullmatch(
        r"(\d{4}-\d{2}-\d{2})([T ]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d*)?)?(Z|[+-]\d{2}:\d{2})?)?",
        text,
        re.ASCII,
    )
    try:
        day = date.fromisoformat(match[1])
    except (ValueError, TypeError):
        return special(attr, null=False)
    return slow_bin(attr, Fraction((day - date(1970, 1, 1)).days))


digits = st.text("0123456789", max_size=24)
integer_texts = (
    st.integers(-(10**30), 10**30).map(str)
    | st.integers(-20, 130).map(str)
    | st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "+", "-", "--"]),
        digits,
        st.sampled_from(["", ".", ".0", ".00", ".5", " ", "e3"]),
    )
    | st.text(max_size=4)
)
real_texts = (
    st.floats(-2, 3, allow_nan=False).map(repr)
    | st.floats().map(repr)
    | st.builds(
        "{}{}.{}{}".format,
        st.sampled_from(["", "+", "-"]),
        digits,
        digits,
        st.sampled_from(["", "e5", "E-7", "e+400", "e-400", "e"]),
    )
    | st.builds("{}e{}".format, st.integers(-999, 999), st.integers(-400, 400))
    | st.sampled_from(
        [
            "",
            ".",
            "inf",
            "-Infinity",
            "+INF",
            "infin",
            "nan",
            "NaN",
            "1e",
            "1e+",
            "0x10",
            "1_0",
            "١",
            "1,5",
            "-",
            "+.5",
        ]
    )
    | st.text(max_size=4)
)
date_texts = (
    st.dates().map(date.isoformat)
    | st.builds("{:04d}-{:02d}-{:02d}".format, st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
    | st.builds(
        "{}{}".format,
        st.dates(date(1950, 1, 1), date(2030, 1, 1)),
        st.sampled_from(
            [
                "",
                " ",
                "T10:00",
                " 23:59:59",
                "T24:00",
                "T10:00:00.123Z",
                "T10:00+02:00",
                "T10:00:00.",
                "T10:00+2",
                "x",
                " 10:0",
            ]
        ),
    )
    | st.text("0123456789-", max_size=11)
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(integer_texts, max_size=20),
    st.sampled_from(RULES),
    st.sampled_from([{"width": 5}, {"bins": 7}, {"cuts": [18, 65]}, {}]),
)
@example(
    ["0", "-1", "115", "116", "12.0", "1e2", "", "99999999999999999999999999", "+7"],
    ("drop", "clip"),
    {"width": 5},
)
def test_integers_are_read_as_documented(texts, rules, how):
    attr = attribute(type="integer", bounds=[-3, 115], null=rules[0], outside=rules[1], **how)
    assert encode_texts(attr, [t.encode("utf-8", "replace") for t in texts]) == [
        slow_integer(attr, t) for t in texts
    ]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(real_texts, max_size=20),
    st.sampled_from(RULES),
    st.sampled_from([{"width": 0.1}, {"bins": 7}, {"cuts": [0.3, 1e-9 + 0.3]}]),
)
@example(
    ["0.1", "0.3", "0.30000000000000004", "1.7", "2.0", "-1", "0.7", "0.29999999999999999"],
    ("drop", "clip"),
    {"width": 0.1},
)
def test_reals_are_the_nearest_float_and_fall_into_the_bin_whose_label_contains_it(texts, rules, how):
    attr = attribute(type="real", bounds=[-1, 2], null=rules[0], outside=rules[1], **how)
    assert encode_texts(attr, [t.encode("utf-8", "replace") for t in texts]) == [
        slow_real(attr, t) for t in texts
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(date_texts, max_size=20),
    st.sampled_from(RULES),
    st.sampled_from([{"width": "1 month"}, {"width": "10 days"}, {"bins": 9}]),
)
def test_dates_are_read_as_documented(texts, rules, how):
    attr = attribute(type="date", bounds=["1960-01-31", "2020-02-29"], null=rules[0], outside=rules[1], **how)
    assert encode_texts(attr, [t.encode("utf-8", "replace") for t in texts]) == [
        slow_date(attr, t) for t in texts
    ]


words = st.text("abAB 01é", max_size=3)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(words.filter(bool), min_size=1, max_size=40, unique=True),
    st.lists(words, max_size=30),
    st.sampled_from(["drop", "category"]),
    st.sampled_from(["drop", "other"]),
)
def test_categories_match_exactly(values, texts, null, outside):
    attr = attribute(type="categorical", values=values, null=null, outside=outside)
    texts = texts + values
    expected = [
        special(attr, True) if t == "" else values.index(t) if t in values else special(attr, False)
        for t in texts
    ]
    assert encode_texts(attr, [t.encode() for t in texts]) == expected
    assert encode_arrow(attr, pa.array(texts)) == expected
    assert encode_arrow(attr, pa.array(texts).dictionary_encode()) == expected


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["true", "T", "Yes", "y", "1", "FALSE", "f", "nO", "N", "0", "", "2", "tru", "ye", " true"]
        ),
        max_size=30,
    )
)
def test_booleans_ignore_case_and_nothing_else(texts):
    attr = attribute(type="boolean", outside="other", null="category")
    true, false = {"true", "t", "yes", "y", "1"}, {"false", "f", "no", "n", "0"}
    expected = [2 if t == "" else 1 if t.lower() in true else 0 if t.lower() in false else 3 for t in texts]
    assert encode_texts(attr, [t.encode() for t in texts]) == expected


numbers = st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 20)


@settings(max_examples=60, deadline=None)
@given(st.lists(numbers, max_size=20), st.sampled_from(RULES))
def test_typed_whole_numbers_equal_their_text(values, rules):
    array, texts = pa.array(values, pa.int64()), [b"" if v is None else str(v).encode() for v in values]
    for fields in ({"type": "integer", "bounds": [0, 9]}, {"type": "real", "bounds": [0, 9], "bins": 3}):
        attr = attribute(null=rules[0], outside=rules[1], **fields)
        assert encode_arrow(attr, array) == encode_texts(attr, texts)
    other = "other" if rules[1] == "other" else "drop"
    for fields in ({"type": "categorical", "values": [3, "5", "05", -2]}, {"type": "boolean"}):
        attr = attribute(null=rules[0], outside=other, **fields)
        assert encode_arrow(attr, array) == encode_texts(attr, texts)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.none() | st.floats() | st.integers(-5, 20).map(float), max_size=20), st.sampled_from(RULES)
)
def test_typed_floats_equal_their_text(values, rules):
    array = pa.array(values, pa.float64(), from_pandas=False)
    real = attribute(type="real", bounds=[0, 9], bins=3, null=rules[0], outside=rules[1])
    assert encode_arrow(real, array) == encode_texts(
        real, [b"" if v is None else repr(v).encode() for v in values]
    )
    whole = attribute(type="integer", bounds=[0, 9], null=rules[0], outside=rules[1])
    texts = [b"" if v is None else format(Decimal(v), "f").encode() for v in values]
    assert encode_arrow(whole, array) == encode_texts(whole, texts)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.decimals(-20, 20, places=3), max_size=20))
def test_decimals_equal_their_text(values):
    attr = attribute(type="real", bounds=[0, 9], width=0.001)
    array = pa.array(values, pa.decimal128(12, 3))
    assert encode_arrow(attr, array) == encode_texts(
        attr, [b"" if v is None else str(v).encode() for v in values]
    )
    whole = attribute(type="integer", bounds=[0, 9])
    assert encode_arrow(whole, pa.array([Decimal("3.000"), Decimal("3.5")])) == [3, DROP]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.none() | st.dates(date(1678, 1, 1), date(2261, 1, 1)), max_size=20), st.sampled_from(RULES)
)
def test_typed_days_equal_their_text(values, rules):
    attr = attribute(
        type="date", bounds=["1960-01-31", "2020-02-29"], width="1 month", null=rules[0], outside=rules[1]
    )
    expected = encode_texts(attr, [b"" if v is None else v.isoformat().encode() for v in values])
    days = pa.array(values, pa.date32())
    assert encode_arrow(attr, days) == expected
    assert encode_arrow(attr, days.cast(pa.date64())) == expected
    for unit in ("s", "ms", "us", "ns"):
        late = pa.array(
            [
                None
                if v is None
                else np.datetime64(v, unit) + np.timedelta64(86399, "s").astype(f"m8[{unit}]")
                for v in values
            ],
            pa.timestamp(unit),
        )
        assert encode_arrow(attr, late) == expected


def test_unsigned_and_small_numbers_of_every_width():
    attr = attribute(type="integer", bounds=[0, 9])
    for kind in (
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
    ):
        assert encode_arrow(attr, pa.array([0, 7, None, 100], kind)) == [0, 7, DROP, 9]
    assert encode_arrow(attr, pa.array([2**64 - 1], pa.uint64())) == [9]
    assert encode_arrow(attr, pa.array(np.array([1.0, 2.5], np.float16))) == [1, DROP]


def test_slices_views_and_empty_arrays_are_read_in_place():
    attr = attribute(type="categorical", values=["a", "b"], outside="other")
    array = pa.array(["x", "a", None, "b", "a"])
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert encode_arrow(attr, array.cast(kind)[1:4]) == [0, DROP, 1]
        assert encode_arrow(attr, array.cast(kind)[:0]) == []
    assert encode_arrow(attr, array.dictionary_encode()[1:4]) == [0, DROP, 1]
    assert encode_arrow(attr, pa.nulls(2)) == [DROP, DROP]
    assert encode_arrow(
        attr, pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    ) == [DROP]


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)],
)
def test_codes_take_the_smallest_type(size, expected):
    assert code_type(size) is expected


def test_every_day_of_four_centuries_has_its_number():
    days = [date(1799, 1, 1) + timedelta(days=k) for k in range(0, 146_097, 7)]
    attr = attribute(type="date", bounds=["1799-01-01", "2200-12-31"], width="7 days")
    assert encode_texts(attr, [d.isoformat().encode() for d in days]) == list(range(len(days)))
