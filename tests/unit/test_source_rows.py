"""Splitting text into rows: compared with a slow reader written from the rules, and with Python's csv module."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.kernel.sources import delimited, rows
from hushtable.kernel.sources.delimited import _RowReader
from hushtable.kernel.sources.rows import MAX_ROW, Delimiters

COMMA = Delimiters(ord(","), ord('"'), ord('"'), True)
BACKSLASH = COMMA._replace(escape=ord("\\"))
NO_QUOTE = COMMA._replace(quote=-1, escape=-1)


def split(text: bytes, width: int, marks: Delimiters = COMMA) -> list[list[bytes]]:
    data = np.frombuffer(bytearray(text), np.uint8)
    starts, ends = rows.split_rows(data, marks, np.arange(width, dtype=np.int32), width)
    return [[data[starts[c, r] : ends[c, r]].tobytes() for c in range(width)] for r in range(starts.shape[1])]


def slow_row(line: bytes, width: int, marks: Delimiters) -> list[bytes] | None:
    """One line by the documented rules; None when it is malformed."""
    if 0 in line or len(line) > MAX_ROW:
        return None
    try:
        line.decode("utf-8" if marks.utf8 else "latin-1")
    except UnicodeDecodeError:
        return None
    fields, i = [], 0
    while True:
        if line[i : i + 1] == bytes([marks.quote]) if marks.quote >= 0 else False:
            text, i = b"", i + 1
            while True:
                if i >= len(line):
                    return None
                following = line[i + 1] if i + 1 < len(line) else None
                if line[i] == marks.escape and following in (marks.quote, marks.escape):
                    text += line[i + 1 : i + 2]
                    i += 2
                elif line[i] == marks.quote:
                    i += 1
                    break
                else:
                    text += line[i : i + 1]
                    i += 1
            if i < len(line) and line[i] != marks.delimiter:
                return None
        else:
            end = line.find(bytes([marks.delimiter]), i)
            end = len(line) if end < 0 else end
            text, i = line[i:end], end
        fields.append(text)
        if i >= len(line):
            return fields if len(fields) == width else None
        i += 1


def slow_split(text: bytes, width: int, marks: Delimiters) -> list[list[bytes]]:
    found = []
    for line in text.split(b"\n"):
        line = line.rstrip(b"\r")
        if line and (fields := slow_row(line, width, marks)) is not None:
            found.append(fields)
    return found


hostile = st.lists(
    st.sampled_from(
        [
            b",",
            b'"',
            b'""',
            b"\n",
            b"\r\n",
            b"\r",
            b"\\",
            b"a",
            b"b1",
            b"\0",
            b"\xff",
            "é".encode(),
            b"\xed\xa0\x80",
        ]
    ),
    max_size=40,
).map(b"".join)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(hostile, st.integers(1, 3), st.sampled_from([COMMA, BACKSLASH, NO_QUOTE, COMMA._replace(utf8=False)]))
def test_a_line_is_read_as_the_rules_say(text, width, marks):
    assert split(text + b"\n", width, marks) == slow_split(text, width, marks)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(hostile, hostile, st.integers(1, 3))
def test_no_line_changes_how_another_is_read(before, after, width):
    together = split(before + b"\n" + b"x,y\n" + after + b"\n", width)
    assert together == split(before + b"\n", width) + split(b"x,y\n", width) + split(after + b"\n", width)


tables = st.lists(st.lists(st.text("ab,\"; é'", max_size=5), min_size=2, max_size=2), min_size=1, max_size=8)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(tables)
def test_what_pythons_csv_module_wrote_is_read_back(table):
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(table)
    assert split(file.getvalue().encode(), 2) == [[field.encode() for field in row] for row in table]


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(hostile, st.integers(1, 9))
def test_blocks_of_any_size_give_the_same_rows(text, size):
    whole = list(_RowReader(io.BytesIO(text), COMMA).blocks(1 << 20))
    small = list(_RowReader(io.BytesIO(text), COMMA).blocks(size))
    read = [row for data in small for row in split(data.tobytes(), 2)]
    assert read == [row for data in whole for row in split(data.tobytes(), 2)]


@pytest.mark.parametrize("size", [1 << 16, 1 << 20, 1 << 22])
@pytest.mark.parametrize("long", [b"x" * (MAX_ROW + 1), b'"' + b"x" * (3 * MAX_ROW), b'"' + b"y\n" * MAX_ROW])
def test_a_row_that_is_too_long_is_left_out_and_the_next_ones_are_read(size, long):
    text = b"1,2\n" + long + b",4,4\n5,6\n7,8"
    read = [
        row for data in _RowReader(io.BytesIO(text), COMMA).blocks(size) for row in split(data.tobytes(), 2)
    ]
    assert read[0] == [b"1", b"2"] and read[-2:] == [[b"5", b"6"], [b"7", b"8"]]
    assert len(read) == 3


def test_a_row_of_the_largest_length_is_read_with_any_line_break():
    row = b"x" * (MAX_ROW - 2) + b",1"
    for ending in (b"\n", b"\r\n", b""):
        for size in (1 << 16, MAX_ROW, MAX_ROW + 1, 1 << 22):
            blocks = _RowReader(io.BytesIO(row + ending), COMMA).blocks(size)
            assert sum(len(split(data.tobytes(), 2)) for data in blocks) == 1


@pytest.mark.long
@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=8) | st.text(max_size=3).map(lambda s: s.encode("utf-8", "surrogatepass")))
def test_utf8_is_judged_as_python_judges_it(data):
    try:
        data.decode()
        expected = True
    except UnicodeDecodeError:
        expected = False
    assert rows.valid_utf8(np.frombuffer(data, np.uint8), 0, len(data)) == expected


def test_header_names_may_be_hostile():
    line = np.frombuffer(b'a,"b ""q"" ; drop",,\xc3\xa9', np.uint8).copy()
    assert delimited._names(line, COMMA, "utf-8") == ["a", 'b "q" ; drop', "", "é"]
    assert delimited._names(np.frombuffer(b'a,"b', np.uint8).copy(), COMMA, "utf-8") is None
    assert delimited._names(np.frombuffer(b"a,\xff", np.uint8).copy(), COMMA, "utf-8") is None
