"""A wrong schema is refused with a code, the line, the field and what to type instead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import SchemaError
from hushtable.schema import Schema

OF_AN_ATTRIBUTE = {
    "unknown-field": {
        "{tpye: boolean}": r"`attributes\.a\.tpye`.*`type`",
        "{type: boolean, bounds: [0, 1]}": "bounds.*not a field of type boolean",
    },
    "wrong-choice": {
        "{type: bool}": "boolean",
        "{type: categorical, values: [a], outside: clip}": "drop, other",
        "{type: boolean, null: keep}": "drop, category",
    },
    "missing-field": {
        "{}": "type",
        "{type: categorical}": "values",
        "{type: integer}": "bounds",
        "{type: real, bounds: [0, 1]}": "bins",
    },
    "duplicate-value": {
        "{type: categorical, values: [a, b, a]}": "entries 1 and 3",
        "{type: categorical, values: [1, '1']}": "",
        "{type: categorical, values: [a, b], labels: {b: a}}": "",
    },
    "wrong-type": {
        "{type: categorical, values: [1.5]}": "number 1.*real",
        "{type: categorical, values: [a, null]}": "null: category",
        "{type: categorical, values: [a, '']}": "null: category",
        "{type: integer, bounds: [0, 99], width: 0}": "width",
        "{type: integer, bounds: [0, 99], width: true}": "width",
        "{type: real, bounds: [0, 1], bins: 2, resolution: -1}": "resolution",
    },
    "unknown-value": {
        "{type: categorical, values: [a], labels: {b: B}}": "",
    },
    "wrong-bounds": {
        "{type: integer, bounds: [0, 010]}": "",
        "{type: integer, bounds: [0, .inf]}": "",
        "{type: integer, bounds: [0, 1.5]}": "",
        "{type: integer, bounds: [0, 1, 2]}": "",
        "{type: integer, bounds: [0, 1000000000000000000000]}": "",
        "{type: real, bounds: [1, 1], bins: 2}": "",
        "{type: date, bounds: [2020-01-01, 2020-02-30]}": "",
    },
    "wrong-bins": {
        "{type: integer, bounds: [0, 99], width: 5, bins: 3}": "contradicts",
        "{type: integer, bounds: [0, 9], bins: 11}": "at most 10",
        "{type: integer, bounds: [0, 9], cuts: [5, 5]}": "increase",
        "{type: integer, bounds: [0, 9], cuts: [0, 5]}": "",
        "{type: integer, bounds: [0, 99999]}": "width",
        "{type: integer, bounds: [0, 999999999999], width: 1}": "1,000,000",
        "{type: integer, bounds: [0, 999999999999], bins: 999999999}": "",
        "{type: real, bounds: [0, 1], width: 1e-9}": "",
        "{type: real, bounds: [1, 1.0000000000000002], bins: 5}": "told apart",
        "{type: date, bounds: [1900-01-01, 2020-01-01]}": "",
        "{type: date, bounds: [1900-01-01, 2020-01-01], width: 1 yr}": "1 year",
    },
    "duplicate-key": {
        "{type: boolean, type: real}": "",
    },
}
"""By code: what is wrong about an attribute `a` in line 2, and what the message says after that."""

BESIDE_ATTRIBUTES = {
    "wrong-type": {
        "max_rows_per_person: 0": "",
        "max_rows_per_person: 1.5": "",
        "person: 3": "person",
        "csv: {delimiter: ;;}": r"csv\.delimiter",
        "csv: {header: 'no'}": r"csv\.header",
        "csv: {header: false, columns: [a, 3]}": "",
        "csv: {header: false, columns: []}": "",
        "learnt_from_data: {unreviewed: [3]}": "",
    },
    "wrong-choice": {
        "csv: {quote: ';', delimiter: ';'}": "",
        "csv: {encoding: utf-16}": "utf-8",
        "csv: {columns: [a]}": "header: false",
    },
    "duplicate-value": {
        "csv: {header: false, columns: [a, a]}": "",
        "learnt_from_data: {unreviewed: [a], reviewed: [a]}": "",
    },
    "no-position": {
        "csv: {header: false, columns: [b]}": "'a'",
    },
    "multiline": {
        "csv: {multiline: true}": r"csv\.multiline.*a line.*Parquet",
    },
}
"""The same for a second line that follows a whole attribute."""

CASES = [
    ("atributes: {}", "schema.unknown-field", "Line 1.*`atributes`.*Did you mean `attributes`"),
    ("attributes:\n  a: boolean", "schema.wrong-type", "Line 2.*mapping"),
    ("attributes: {}", "schema.no-attributes", "Line 1"),
    ("max_rows_per_person: 1", "schema.no-attributes", "attributes"),
    ("a", "schema.wrong-type", "mapping"),
    ("attributes:\n  a:\n    type: integer\n    bounds: [9, 0]", "schema.wrong-bounds", "Line 4.*reversed"),
    (
        "csv: {header: false}\nperson: id\nattributes: {a: {type: boolean}}",
        "schema.no-position",
        "Line 2.*columns",
    ),
    ("attributes:\n  a: {type: boolean}\n  a: {type: boolean}", "schema.duplicate-key", "Line 3"),
    ('attributes:\n  "a\\nb": {type: boolean}', "schema.bad-name", "printable"),
    ("attributes:\n  upper: {type: boolean}", "schema.reserved-name", "released table"),
    ("attributes: &x {a: {type: boolean}}", "schema.yaml-feature", "Line 1.*anchor"),
    ("attributes:\n  a: *x", "schema.yaml-feature", "Line 2.*alias"),
    ("attributes:\n  <<: {a: {type: boolean}}", "schema.yaml-feature", "Line 2.*merge"),
    ("attributes: !!python/object/apply:os.system [ls]", "schema.yaml-feature", "Line 1.*tag"),
    ("attributes:\n  a: !!str 3", "schema.yaml-feature", "Line 2.*tag"),
    ("? [a, b]\n: 1", "schema.yaml-feature", "key"),
    ("a: 1\n---\nb: 2", "schema.yaml-feature", "second document"),
    ("[" * 500, "schema.yaml-feature", "nested"),
    ("a: [1, 2", "schema.not-yaml", "Line"),
    ("a:\n\t- b", "schema.not-yaml", "Line 2"),
    ("a: \x07", "schema.not-yaml", ""),
    ("", "schema.empty", ""),
    ("# nothing\n", "schema.empty", ""),
    *(
        (start + text, f"schema.{code}", f"Line 2.*{said}")
        for start, table in (
            ("attributes:\n  a: ", OF_AN_ATTRIBUTE),
            ("attributes: {a: {type: boolean}}\n", BESIDE_ATTRIBUTES),
        )
        for code, found in table.items()
        for text, said in found.items()
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_wrong_schema_is_refused_with_code_line_field_and_fix(case):
    text, code, pattern = CASES[case]
    with pytest.raises(SchemaError, match=f"(?s){pattern}") as caught:
        Schema.loads(text)
    assert caught.value.code == code
    assert caught.value.fix
    assert caught.value.__cause__ is None


def test_files_are_limited_and_must_be_utf8(tmp_path):
    path = tmp_path / "schema.yaml"
    for data, code in ((b"a: \xff", "schema.not-utf8"), (b"#" * 1_000_001, "schema.too-large")):
        path.write_bytes(data)
        with pytest.raises(SchemaError) as caught:
            Schema.load(path)
        assert caught.value.code == code
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / "nothing.yaml")
    assert caught.value.code == "schema.missing-file"


def test_a_file_with_a_byte_order_mark_and_windows_line_ends_is_read(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_bytes(b"\xef\xbb\xbfattributes:\r\n  a: {type: boolean}\r\n")
    schema = Schema.load(path)
    schema.save(path)
    assert Schema.load(path) == schema


@pytest.mark.long
def test_too_many_attributes_or_values_are_refused():
    for value in (
        {"attributes": {f"a{k}": {"type": "boolean"} for k in range(10_001)}},
        {"attributes": {"a": {"type": "categorical", "values": list(range(1_000_001))}}},
    ):
        with pytest.raises(SchemaError) as caught:
            Schema.from_dict(value)
        assert caught.value.code == "schema.too-large"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["type", "values", "bounds", "width", "bins", "cuts", "null", "outside", "labels", "resolution", "column"]
)
kinds = st.sampled_from(["categorical", "boolean", "integer", "real", "date"])


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(st.dictionaries(names, anything, max_size=4), kinds, anything)
def test_any_other_input_is_a_schema_or_a_schema_error(fields, kind, rest):
    for value in (
        rest,
        {"attributes": rest},
        {"attributes": {"a": {"type": kind} | fields}, "impossible": rest},
        {"attributes": {"a": fields | {"type": kind}}},
    ):
        try:
            Schema.from_dict(value)
        except SchemaError as error:
            assert error.code.startswith("schema.")


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text("ab:{}[],-\n '\"&*!?|>%@`#", max_size=60))
def test_any_other_text_is_a_schema_or_a_schema_error(text):
    try:
        Schema.loads(text)
    except SchemaError as error:
        assert error.code.startswith("schema.")


@pytest.mark.long
def test_many_attributes_of_many_bins_are_refused_before_they_fill_memory():
    lines = [f"  a{k}: {{type: integer, bounds: [0, 999999], width: 1}}" for k in range(5000)]
    with pytest.raises(SchemaError) as refused:
        Schema.loads("attributes:\n" + "\n".join(lines))
    assert refused.value.code == "schema.too-large"
