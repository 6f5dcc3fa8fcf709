"""What every kind of source must do: the same rows give the same codes; refusals depend on header and types only."""

import gzip
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_kinds import COLUMNS, FIELDS, KINDS, ROWS, SCHEMA, kept

from hushtable.errors import HushtableError, SchemaError, SourceError
from hushtable.kernel.sources import open_source
from hushtable.schema import Schema


@pytest.fixture(params=list(KINDS))
def make(request, tmp_path):
    return lambda rows: KINDS[request.param](rows, tmp_path)


def codes(source, rows=1 << 18):
    return [
        tuple(row)
        for batch in source.batches(rows)
        for row in np.stack([c.astype(int) for c in batch]).T.tolist()
    ]


@pytest.mark.long
def test_rows_have_the_declared_codes_in_reading_order(make):
    assert codes(open_source(make(ROWS), SCHEMA)) == [code for _, code in ROWS if code is not None]


def test_a_second_pass_gives_the_same_rows(make):
    source = open_source(make(ROWS), SCHEMA)
    assert codes(source) == codes(source)


def test_batches_are_contiguous_small_and_of_the_declared_type(make):
    source = open_source(make(ROWS), SCHEMA)
    for batch in source.batches(rows=2):
        assert len(batch) == len(SCHEMA.names)
        assert {len(column) for column in batch} <= {1, 2}
        assert all(column.dtype == np.uint8 and column.flags.c_contiguous for column in batch)
    assert codes(source, rows=2) == codes(source)


def test_an_empty_table_runs_like_any_other(make):
    assert codes(open_source(make([]), SCHEMA)) == []


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 2])
def test_at_most_k_rows_of_each_person_are_kept(make, limit):
    schema = Schema.from_dict({"attributes": FIELDS, "person": "person", "max_rows_per_person": limit})
    expected = sorted(code for _, code in kept(ROWS, limit))
    for rows in (ROWS, ROWS[::-1], ROWS[5:] + ROWS[:5]):
        assert sorted(codes(open_source(make(rows), schema))) == expected


@pytest.mark.long
def test_one_row_more_changes_the_counts_by_one_row_only(make):
    everything = Counter(codes(open_source(make(ROWS), SCHEMA)))
    for k, (_, code) in enumerate(ROWS):
        fewer = Counter(codes(open_source(make(ROWS[:k] + ROWS[k + 1 :]), SCHEMA)))
        assert everything - fewer == (Counter([code]) if code else Counter())
        assert fewer - everything == Counter()


def test_a_column_that_is_not_there_is_named_and_no_name_of_the_data_is(make):
    schema = Schema.from_dict({"attributes": {"Sex": {"type": "categorical", "values": ["F"]}}})
    with pytest.raises(SchemaError, match="no column 'Sex'") as caught:
        open_source(make(ROWS), schema)
    assert caught.value.code == "source.unknown-column"
    assert not any(repr(name) in str(caught.value) for name in COLUMNS)
    with pytest.raises(SchemaError, match="'persn'"):
        open_source(make(ROWS), Schema.from_dict({"attributes": FIELDS, "person": "persn"}))


def test_stopping_in_the_middle_of_a_pass_leaves_nothing_running(make):
    source = open_source(make(ROWS), SCHEMA)
    stream = source.batches(rows=1)
    next(stream)
    stream.close()
    assert codes(source) == [code for _, code in ROWS if code is not None]


TYPED = {
    "boolean as integer": ({"type": "integer", "bounds": [0, 9]}, pa.bool_()),
    "number as date": ({"type": "date", "bounds": ["2000-01-01", "2000-01-09"]}, pa.int32()),
    "timestamp as categories": ({"type": "categorical", "values": ["a"]}, pa.timestamp("us")),
    "number as words": ({"type": "categorical", "values": ["a", "b", "007"]}, pa.int32()),
    "list": ({"type": "boolean"}, pa.list_(pa.bool_())),
    "time": ({"type": "integer", "bounds": [0, 9]}, pa.time32("s")),
    "bytes": ({"type": "categorical", "values": ["a"]}, pa.binary()),
}


@pytest.mark.parametrize("case", TYPED)
@pytest.mark.parametrize("rows", [0, 3])
def test_a_type_that_cannot_be_read_is_refused_whatever_the_column_holds(case, rows, tmp_path):
    fields, kind = TYPED[case]
    table = pa.table({"a": pa.nulls(rows, kind)})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        with pytest.raises(SchemaError, match="'a'") as caught:
            open_source(data, Schema.from_dict({"attributes": {"a": fields}}))
        assert caught.value.code == "source.column-type"


def test_person_columns_of_different_types_are_refused(tmp_path):
    pq.write_table(pa.table({"id": [1], "b": [True]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": ["1"], "b": [True]}), tmp_path / "b.parquet")
    schema = Schema.from_dict({"attributes": {"b": {"type": "boolean"}}, "person": "id"})
    with pytest.raises(SchemaError) as caught:
        open_source(str(tmp_path / "*.parquet"), schema)
    assert caught.value.code == "source.person-types"


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.binary(), pa.binary(2), pa.decimal128(5, 1)])
def test_a_person_may_be_a_number_text_or_bytes(kind):
    ids = {
        "string": ["aa", "bb", "aa", None],
        "binary": [b"aa", b"bb", b"aa", None],
        "fixed_size_binary[2]": [b"aa", b"bb", b"aa", None],
    }
    table = pa.table(
        {"id": pa.array(ids.get(str(kind), [1, 2, 1, None]), kind), "b": [True, False, True, True]}
    )
    schema = Schema.from_dict({"attributes": {"b": {"type": "boolean"}}, "person": "id"})
    assert sorted(codes(open_source(table, schema))) == [(0,), (1,)]


MESSAGES = {
    "no such file": (lambda f: f / "nothing.csv", "source.missing-file"),
    "no match": (lambda f: str(f / "*.csv"), "source.missing-file"),
    "a folder": (lambda f: f, "source.missing-file"),
    "no file at all": (lambda f: [], "source.missing-file"),
    "a web address": (lambda f: "https://example.org/a.csv", "source.unknown-scheme"),
    "a database": (lambda f: "oracle://me:word@host/db?table=t", "source.unknown-scheme"),
    "a password": (lambda f: "postgresql://me:word@host/db?table=t", "source.password-in-url"),
    "a password below": (lambda f: "postgresql://host/db?table=t&password=word", "source.password-in-url"),
    "no table": (lambda f: "postgresql://host/db", "source.no-table-named"),
    "no database file": (lambda f: f"duckdb://{f}/nothing.db?table=t", "source.missing-file"),
    "a path as a URL": (lambda f: _written(f / "a.csv", b"b\n").as_uri(), "source.unknown-scheme"),
    "a URL in a list": (lambda f: ["https://example.org/a.csv"], "source.url-in-list"),
    "a name with a colon": (lambda f: "s3:a.csv", "source.missing-file"),
    "a NUL in the name": (lambda f: "a\0.csv", "source.missing-file"),
    "unknown ending": (lambda f: _written(f / "a.ods", b"1"), "source.unknown-kind"),
    "another object": (lambda f: 3, "source.unknown-kind"),
    "an empty file": (lambda f: _written(f / "a.csv", b""), "source.empty-file"),
    "only a line break": (lambda f: _written(f / "a.csv", b"\nb\n1\n"), "source.bad-header"),
    "header is not UTF-8": (lambda f: _written(f / "a.csv", b"\xff,b\n"), "source.bad-header"),
    "header with an open quote": (lambda f: _written(f / "a.csv", b'"b\n1\n'), "source.bad-header"),
    "endless header": (lambda f: _written(f / "a.csv", b"b," * (1 << 21)), "source.bad-header"),
    "duplicate names": (lambda f: _written(f / "a.csv", b"b,b\n"), "source.duplicate-column"),
    "not gzip": (lambda f: _written(f / "a.csv.gz", b"b\n1\n"), "source.unreadable"),
    "not parquet": (lambda f: _written(f / "a.parquet", b"b\n1\n"), "source.unreadable"),
    "two kinds": (
        lambda f: [_written(f / "a.parquet", b"b"), _written(f / "a.csv", b"b\n")],
        "source.mixed-kinds",
    ),
    "two columns in a frame": (
        lambda f: pd.DataFrame([[1, 2]], columns=["b", "b"]),
        "source.duplicate-column",
    ),
}


def _written(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("case", MESSAGES)
def test_what_cannot_be_opened_is_refused_with_a_code(case, tmp_path):
    make, code = MESSAGES[case]
    with pytest.raises(HushtableError) as caught:
        open_source(make(tmp_path), Schema.from_dict({"attributes": {"b": {"type": "boolean"}}}))
    assert caught.value.code == code
    assert caught.value.__context__ is None


HOSTILE = [
    b"",
    b"\n\n\r\n",
    b"9,9,9\n",
    b'"1,1\n',
    b'"1"x,1\n',
    b"\xff,1\n",
    b"\0,1\n",
    b"1,1\r",
    b"1" * 5_000_000 + b",1\n",
    b'"' + b"1,1\n" * 5,
    b"1,\xed\xa0\x80\n",
    b"=cmd(),1\n",
    b"nan,inf\n",
    b"999999999999999999999999999999999999999,1e999\n",
]


@pytest.mark.parametrize("bad", range(len(HOSTILE)))
def test_hostile_rows_never_raise_and_never_change_another(bad, tmp_path):
    schema = Schema.from_dict(
        {
            "attributes": {
                "a": {"type": "integer", "bounds": [0, 9]},
                "b": {"type": "real", "bounds": [0, 1], "bins": 2},
            },
        }
    )
    path = _written(tmp_path / "a.csv", b"a,b\n3,0\n" + HOSTILE[bad] + b"\n4,1\n")
    found = codes(open_source(path, schema))
    assert found[0] == (3, 0) and found[-1] == (4, 1)


def test_a_file_that_breaks_during_a_pass_gives_a_code_and_no_row(tmp_path):
    data = gzip.compress(b"b\n" + b"true\nsecret\n" * 3_000_000, compresslevel=1)
    path = _written(tmp_path / "a.csv.gz", data[: len(data) // 2])
    source = open_source(path, Schema.from_dict({"attributes": {"b": {"type": "boolean"}}}))
    with pytest.raises(SourceError) as caught:
        for _ in source.batches():
            pass
    assert caught.value.code == "source.unreadable"
    assert caught.value.__context__ is None and "secret" not in str(caught.value)


def test_a_header_that_changed_between_passes_is_noticed(tmp_path):
    path = _written(tmp_path / "a.csv", b"b\n1\n")
    source = open_source(path, Schema.from_dict({"attributes": {"b": {"type": "boolean"}}}))
    _written(path, b"c\n1\n")
    with pytest.raises(SourceError) as caught:
        list(source.batches())
    assert caught.value.code == "source.changed"


def test_the_largest_numbers_that_may_be_categories_are_read_in_every_kind(tmp_path):
    values = [10**18, -(10**18), 7]
    schema = Schema.from_dict({"attributes": {"a": {"type": "categorical", "values": values}}})
    text = _written(tmp_path / "a.csv", b"a\n" + b"\n".join(b"%d" % value for value in values) + b"\n")
    for data in (text, pa.table({"a": values}), pa.table({"a": [float(v) for v in values]})):
        assert codes(open_source(data, schema)) == [(0,), (1,), (2,)]


def test_declared_dialects_are_obeyed(tmp_path):
    path = _written(tmp_path / "a.csv", "naïve;b\n'Zoë ''x'';';1\nother;0\n".encode("latin-1"))
    schema = Schema.from_dict(
        {
            "csv": {"delimiter": ";", "quote": "'", "encoding": "latin-1"},
            "attributes": {
                "a": {
                    "type": "categorical",
                    "column": "naïve",
                    "values": ["Zoë 'x';", "漢"],
                    "outside": "other",
                },
                "b": {"type": "boolean"},
            },
        }
    )
    assert codes(open_source(path, schema)) == [(0, 1), (2, 0)]


WRITTEN = {
    "nulls": (
        {"nulls": ["NA", "?", "-9"]},
        lambda v, k: ["NA", "?", "-9", ""][k % 4] if v is None else str(v),
    ),
    "days": ({"dates": "%d.%m.%Y"}, lambda v, k: v.strftime("%d.%m.%Y") if hasattr(v, "year") else plain(v)),
    "named months": (
        {"dates": "%d%b%Y"},
        lambda v, k: v.strftime("%d%b%Y") if hasattr(v, "year") else plain(v),
    ),
    "a decimal comma": (
        {"decimal": ","},
        lambda v, k: repr(v).replace(".", ",") if isinstance(v, float) else plain(v),
    ),
    "grouped numbers": (
        {"decimal": ",", "thousands": "."},
        lambda v, k: plain(v) if not isinstance(v, float) else f"{v:,.1f}".translate({44: ".", 46: ","}),
    ),
    "another encoding": ({"encoding": "mac-roman", "delimiter": ";"}, lambda v, k: plain(v)),
}


def plain(value):
    return "" if value is None else str(value)


@pytest.mark.parametrize("case", WRITTEN)
def test_rows_as_an_office_writes_them_have_the_declared_codes(case, tmp_path):
    dialect, write = WRITTEN[case]
    mark = dialect.get("delimiter", ",")
    lines = [mark.join(f'"{name}"' for name in COLUMNS)]
    lines += [mark.join(f'"{write(v, k)}"' for k, v in enumerate(raw)) for raw, _ in ROWS]
    (tmp_path / "d.csv").write_bytes("\n".join(lines).encode(dialect.get("encoding", "utf-8")))
    schema = Schema.from_dict({"attributes": FIELDS, "csv": dialect})
    assert codes(open_source(tmp_path / "d.csv", schema)) == [code for _, code in ROWS if code is not None]


def test_mixed_python_objects_never_raise():
    frame = pd.DataFrame(
        {"b": pd.Series([True, "no", 1, 0.0, None, float("nan"), {}, object(), b"1", [1]], dtype=object)}
    )
    schema = Schema.from_dict(
        {"attributes": {"b": {"type": "boolean", "null": "category", "outside": "other"}}}
    )
    assert codes(open_source(frame, schema)) == [(1,), (0,), (1,), (0,), (2,), (2,), (3,), (3,), (3,), (3,)]


def test_extension_types_are_read_as_what_they_store():
    ids = pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"a" * 16, b"b" * 16, b"a" * 16], pa.binary(16))
    )
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 1], pa.int8()))
    schema = Schema.from_dict({"attributes": {"b": {"type": "boolean"}}, "person": "id"})
    assert sorted(codes(open_source(pa.table({"id": ids, "b": flags}), schema))) == [(0,), (1,)]


HEADLESS = {
    "by attributes": (b"true,3\nfalse,4\n", {}),
    "by names": (b"x,true,7,3\ny,false,7,4\n", {"columns": ["id", "a", None, "b"]}),
    "other names": (b"3,true\n4,false\n", {"columns": ["b", "a"]}),
}


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv"])
@pytest.mark.parametrize("case", HEADLESS)
def test_a_file_without_a_header_is_read_by_position_from_its_first_line(case, ending, tmp_path):
    data, names = HEADLESS[case]
    data = data.replace(b",", b"\t") if ending == "tsv" else data
    path = _written(tmp_path / f"a.{ending}", gzip.compress(data) if ending == "csv.gz" else data)
    fields = {"a": {"type": "boolean"}, "b": {"type": "integer", "bounds": [0, 9]}}
    schema = Schema.from_dict({"attributes": fields, "csv": {"header": False} | names})
    assert codes(open_source(path, schema)) == [(1, 3), (0, 4)]
    assert codes(open_source([path, path], schema)) == [(1, 3), (0, 4)] * 2
    assert Schema.loads(schema.to_yaml()) == schema


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 19, 1 << 21])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_carriage_returns_at_the_end_of_a_row_read_the_same_in_every_place(end, size, tmp_path):
    fields = {"a": {"type": "integer", "bounds": [0, 9], "outside": "other"}}
    schema = Schema.from_dict({"attributes": fields})
    rows = [b"1\r", b"2", b"3\r\r", b"4\r5", b"\r"]
    rows += [b"6" + b"\r" * (1 << 21), b"7" + b"\r" * (1 << 21) + b"7"] if size > 5 else []
    counts = {(1,): 1, (2,): 1, (3,): 1, (10,): 1} | ({(6,): 1} if size > 5 else {})
    for first in range(len(rows)):
        lines = [b"a", *rows[first:], *rows[:first]]
        source = open_source(_written(tmp_path / "a.csv", end.join(lines)), schema)
        source._size = size
        assert Counter(codes(source)) == counts


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 21])
def test_a_byte_order_mark_reads_the_same_before_every_row_of_a_file_without_a_header(size, tmp_path):
    mark, long = b"\xef\xbb\xbf", b"F" + b"x" * (1 << 20)
    fields = {"a": {"type": "categorical", "values": ["F", "M"], "outside": "other"}}
    schema = Schema.from_dict({"attributes": fields, "csv": {"header": False}})
    rows = [mark + b"F", b"M", mark * 3 + b"M", b"?", *([mark + long, long[1:]] if size > 5 else [])]
    for first in range(len(rows)):
        for before in (b"", mark):
            lines = rows[first:] + rows[:first]
            source = open_source(_written(tmp_path / "a.csv", before + b"\n".join(lines)), schema)
            source._size = size
            assert Counter(codes(source)) == {(0,): 1, (1,): 2, (2,): 1 + (size > 5)}


def test_the_first_line_of_a_file_without_a_header_may_be_anything(tmp_path):
    schema = Schema.from_dict(
        {
            "person": "id",
            "attributes": {"b": {"type": "integer", "bounds": [0, 9]}},
            "csv": {"header": False, "columns": ["id", "b"]},
        }
    )
    for first in (b"", b"\n", b"\xff,1\n", b'"open,1\n', b"a,a\n", b"1,2,3\n", b"x" * 3_000_000 + b"\n"):
        path = _written(tmp_path / "a.csv", first + b"p,4\nq,5\n")
        assert codes(open_source(path, schema)) == [(4,), (5,)]


@pytest.mark.parametrize("wanted", ["diagnosis HIV", "Alice", "alise", "diagnosis"])
def test_messages_never_repeat_the_first_record_of_a_file_without_a_header(wanted, tmp_path):
    path = _written(tmp_path / "a.csv", b"alice,diagnosis: HIV,1980\nbob,diagnosis: flu,1981\n")
    schema = Schema.from_dict({"attributes": {wanted: {"type": "boolean"}}, "person": "person"})
    with pytest.raises(SchemaError) as caught:
        open_source(path, schema)
    assert caught.value.code == "source.unknown-column"
    assert not any(word in str(caught.value).replace(repr(wanted), "") for word in ("alice", "HIV", "1980"))
