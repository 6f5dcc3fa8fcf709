"""The declared domain: categories, bins, rules, structural zeros and the record of review."""

import re
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import SchemaError
from hushtable.kernel.sources import open_source
from hushtable.schema import Schema, build
from hushtable.schema import schema as schema_module
from hushtable.schema.dialect import DIALECT_FIELDS

EXAMPLE = """
max_rows_per_person: 1
attributes:
  sex:     {type: categorical, values: [F, M, X], null: category, outside: other}
  age:     {type: integer, bounds: [0, 115], width: 5}          # or bins: 23, or cuts: [18, 45, 65]
  income:  {type: real, bounds: [0, 500000], bins: 50, outside: clip}
  member:  {type: boolean, null: drop}
  born:    {type: date, bounds: [1900-01-01, 2025-12-31], width: 1 year}
impossible:                                                     # structural zeros
  - {age: "0-14", member: true}
"""


def one(**fields):
    return Schema.from_dict({"attributes": {"a": fields}}).attributes["a"]


def refusal(value):
    with pytest.raises(SchemaError) as caught:
        Schema.loads(value) if isinstance(value, str) else Schema.from_dict(value)
    return caught.value


def test_the_documented_example_means_what_it_says():
    schema = Schema.loads(EXAMPLE)
    assert schema.names == ("sex", "age", "income", "member", "born")
    assert schema.sizes == (5, 24, 50, 2, 126)
    assert schema.domain_cells == 5 * 24 * 50 * 2 * 126
    assert schema.attributes["sex"].labels == ("F", "M", "X", "(null)", "(other)")
    assert schema.attributes["age"].labels[:2] == ("0-4", "5-9")
    assert schema.attributes["age"].labels[-1] == "115"
    assert schema.attributes["income"].labels[0] == "[0, 10000)"
    assert schema.attributes["income"].labels[-1] == "[490000, 500000]"
    assert schema.attributes["born"].labels[-1] == "2025"
    assert schema.impossible[0].codes == ((1, (0, 1, 2)), (3, (1,)))
    assert schema.max_rows_per_person == 1 and schema.person is None
    assert [a.null for a in schema.attributes.values()] == ["category", "drop", "drop", "drop", "drop"]
    assert [a.outside for a in schema.attributes.values()] == ["other", "clip", "clip", "drop", "clip"]


def test_a_schema_survives_yaml_json_and_dicts():
    schema = Schema.loads(EXAMPLE)
    assert Schema.loads(schema.to_yaml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(yaml.safe_load(EXAMPLE)) == schema
    assert Schema.from_dict(yaml.safe_load(schema.to_yaml())).version == schema.version


values = st.lists(
    st.text(min_size=1, max_size=6).filter(lambda s: s.encode("utf-8", "ignore").decode() == s)
    | st.integers(-(10**18), 10**18)
    | st.sampled_from(
        [
            "no",
            "010",
            "1e5",
            "null",
            "~",
            "<<",
            "true",
            "2020-01-01",
            "0x1",
            ".nan",
            "1_0",
            "- a",
            "#x",
            "*a",
            "&a",
            "!t",
            "\x85",
        ]
    ),
    min_size=1,
    max_size=10,
    unique_by=str,
)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(values)
def test_values_come_back_as_given_through_yaml(given_values):
    schema = Schema.from_dict({"attributes": {"a": {"type": "categorical", "values": given_values}}})
    read = Schema.loads(schema.to_yaml()).attributes["a"].values
    assert list(read) == given_values and [type(v) for v in read] == [type(v) for v in given_values]


@pytest.mark.parametrize(
    "word",
    [
        "no",
        "NO",
        "yes",
        "on",
        "off",
        "y",
        "True",
        "FALSE",
        "010",
        "0o7",
        "0x1F",
        "1_000",
        "12:30",
        ".nan",
        "2020-01-01",
    ],
)
def test_words_that_other_readers_change_stay_text(word):
    schema = Schema.loads(f"attributes: {{a: {{type: categorical, values: [x, {word}]}}}}")
    assert schema.attributes["a"].values == ("x", word)


def test_only_true_false_and_plain_decimals_are_not_text():
    assert Schema.loads("attributes: {a: {type: categorical, values: [true, 3, -4, '3x']}}").attributes[
        "a"
    ].values == (True, 3, -4, "3x")


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ({"width": 50}, ("0-49", "50-99", "100-115")),
        ({"cuts": [18, 45, 65]}, ("0-17", "18-44", "45-64", "65-115")),
        ({"bins": 23}, (*(f"{5 * k}-{5 * k + 4}" for k in range(22)), "110-115")),
        ({}, tuple(str(k) for k in range(116))),
    ],
)
def test_bins_of_integers(fields, labels):
    attribute = one(type="integer", bounds=[0, 115], **fields)
    assert attribute.labels == labels
    assert [code for age in range(116) for code in [attribute.code_of(age)]] == [
        next(
            k for k in range(attribute.size) if attribute.values_of(k)[0] <= age <= attribute.values_of(k)[1]
        )
        for age in range(116)
    ]


def test_negative_bins_are_readable():
    assert one(type="integer", bounds=[-10, 9], width=5).labels == ("-10 to -6", "-5 to -1", "0-4", "5-9")


def test_edges_of_reals_are_the_floats_nearest_to_the_decimals_written():
    edges = one(type="real", bounds=[0, 1], width=0.1).edges
    assert edges.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert one(type="real", bounds=[0, 1], bins=3).edges.tolist() == [
        0.0,
        float(Fraction(1, 3)),
        float(Fraction(2, 3)),
        1.0,
    ]


def test_the_last_real_bin_is_closed_and_others_are_not():
    attribute = one(type="real", bounds=[0, 2], bins=2, outside="other")
    assert [attribute.code_of(x) for x in (0, 0.999, 1, 2, 2.001, -0.1, float("nan"))] == [
        0,
        0,
        1,
        1,
        2,
        2,
        2,
    ]


@pytest.mark.parametrize(
    ("bounds", "width", "labels"),
    [
        (["2020-01-01", "2022-06-30"], "1 year", ("2020", "2021", "2022-01-01 to 2022-06-30")),
        (
            ["2020-01-31", "2020-04-30"],
            "1 month",
            (
                "2020-01-31 to 2020-02-28",
                "2020-02-29 to 2020-03-30",
                "2020-03-31 to 2020-04-29",
                "2020-04-30",
            ),
        ),
        (["2020-01-01", "2020-03-31"], "1 month", ("2020-01", "2020-02", "2020-03")),
        (["2020-01-01", "2020-01-09"], "7 days", ("2020-01-01 to 2020-01-07", "2020-01-08 to 2020-01-09")),
        (["2020-01-01", "2029-12-31"], "5 years", ("2020-2024", "2025-2029")),
        (["9998-01-01", "9999-12-31"], "1 year", ("9998", "9999")),
    ],
)
def test_bins_of_dates(bounds, width, labels):
    assert one(type="date", bounds=bounds, width=width).labels == labels


def test_date_cuts_start_a_new_bin():
    attribute = one(type="date", bounds=[date(2000, 1, 1), "2009-12-31"], cuts=["2005-01-01"])
    assert attribute.labels == ("2000-2004", "2005-2009")
    assert attribute.values_of(0) == (date(2000, 1, 1), date(2004, 12, 31))


def test_labels_of_nulls_and_others_never_collide_with_values():
    attribute = one(
        type="categorical", values=["(null)", "(other)", "((other))"], null="category", outside="other"
    )
    assert attribute.labels == ("(null)", "(other)", "((other))", "((null))", "(((other)))")
    assert len(set(attribute.labels)) == attribute.size


def test_labels_and_columns_are_only_names():
    attribute = one(type="categorical", values=[1, 2], labels={1: "Male", "2": "Female"}, column="SEX")
    assert (attribute.labels, attribute.values, attribute.column) == (("Male", "Female"), (1, 2), "SEX")
    assert Schema.loads("attributes: {a: {type: categorical, values: [1, 2], labels: {1: Male}}}").attributes[
        "a"
    ].labels == ("Male", "2")


def test_code_of_follows_the_rules():
    attribute = one(type="categorical", values=["a", 1], null="category")
    assert [attribute.code_of(v) for v in ("a", 1, "1", None, "z")] == [0, 1, 1, 2, None]
    clip = one(type="integer", bounds=[0, 9])
    assert [clip.code_of(v) for v in (-(10**40), 10**40, "x", None, True)] == [0, 9, None, None, None]


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        ({"age": "0-14"}, ((1, (0, 1, 2)),)),
        ({"age": ["0-4", "10-14"]}, ((1, (0, 2)),)),
        ({"age": 115}, ((1, (23,)),)),
        ({"income": "[0, 20000)"}, ((2, (0, 1)),)),
        ({"income": "[0, 10000)"}, ((2, (0,)),)),
        ({"born": "1900"}, ((4, (0,)),)),
        ({"born": "1900-1902"}, ((4, (0, 1, 2)),)),
        ({"born": "1901-01-01 to 1902-12-31"}, ((4, (1, 2)),)),
        ({"sex": None, "member": False}, ((0, (3,)), (3, (0,)))),
        ({"sex": "(other)"}, ((0, (4,)),)),
    ],
)
def test_impossible_combinations_may_be_labels_values_or_ranges_of_whole_bins(entry, codes):
    schema = Schema.from_dict(Schema.loads(EXAMPLE).to_dict() | {"impossible": [entry]})
    assert schema.impossible[0].codes == codes


@pytest.mark.parametrize(
    "entry",
    [
        {"age": "0-13"},
        {"age": 7},
        {"age": "0-200"},
        {"sex": "f"},
        {"member": 3},
        {"born": "1900-02"},
        {"income": 5},
        {"x": 1},
        {},
        {"income": "[a, b)"},
    ],
)
def test_impossible_combinations_that_do_not_fit_are_refused(entry):
    error = refusal(Schema.loads(EXAMPLE).to_dict() | {"impossible": [entry]})
    assert error.code in ("schema.impossible", "schema.unknown-field") and error.fix


def test_axes_name_the_unknown_attribute_and_close_matches():
    schema = Schema.loads(EXAMPLE)
    assert schema.axes(["member", "sex"]) == (3, 0)
    with pytest.raises(SchemaError, match=r"'membr'.*`member`") as caught:
        schema.axes(["sex", "membr"])
    assert caught.value.code == "schema.unknown-attribute"


def test_review_clears_the_refusal_but_not_the_record():
    draft = (
        EXAMPLE
        + "learnt_from_data:\n  unreviewed: [attributes.age.bounds, attributes.sex.values]\n  reviewed: []\n"
    )
    schema = Schema.loads(draft)
    with pytest.raises(SchemaError, match=r"attributes\.age\.bounds") as caught:
        schema.require_reviewed()
    assert caught.value.code == "schema.unreviewed"
    reviewed = Schema.loads(draft.replace("unreviewed: [", "reviewed: [").replace("  reviewed: []\n", ""))
    reviewed.require_reviewed()
    assert [(mark.path, mark.reviewed) for mark in reviewed.learnt] == [
        ("attributes.age.bounds", True),
        ("attributes.sex.values", True),
    ]
    assert reviewed.version == schema.version == Schema.loads(EXAMPLE).version
    assert Schema.loads(reviewed.to_yaml()).learnt == reviewed.learnt


def test_the_version_depends_on_meaning_and_order_but_not_on_layout():
    schema = Schema.loads(EXAMPLE)
    assert (
        Schema.loads("# a comment\n" + EXAMPLE.replace("[F, M, X]", '["F", "M", "X"]')).version
        == schema.version
    )
    assert Schema.loads(EXAMPLE.replace("[F, M, X]", "[F, X, M]")).version != schema.version
    assert Schema.loads(EXAMPLE.replace("null: drop", "null: category")).version != schema.version
    swapped = schema.to_dict()
    swapped["attributes"] = dict(reversed(swapped["attributes"].items()))
    assert Schema.from_dict(swapped).version != schema.version


def test_resolution_is_exact():
    assert one(type="integer", bounds=[0, 9]).resolution == 1
    assert one(type="real", bounds=[0, 9], bins=3).resolution is None
    assert one(type="real", bounds=[0, 9], bins=3, resolution=0.01).resolution == Fraction(1, 100)


def test_edges_of_a_million_bins_are_built_quickly_and_hold_numbers():
    edges = one(type="integer", bounds=[0, 999_999], width=1).edges
    assert np.array_equal(edges, np.arange(1_000_001))


REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "schema.md"


def test_every_field_is_documented():
    text = REFERENCE.read_text(encoding="utf-8")
    for name in {*build.EVERY_FIELD, *DIALECT_FIELDS, *schema_module.TOP_FIELDS}:
        assert f"`{name}`" in text


def test_every_example_in_the_reference_is_a_schema():
    examples = re.findall(r"```yaml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 4
    for example in examples:
        assert Schema.loads(example).names


def test_a_stored_schema_with_multiline_stays_readable_but_opens_no_data(tmp_path):
    text = "csv: {multiline: true}\nattributes: {a: {type: boolean}}"
    (tmp_path / "schema.yaml").write_text(text)
    stored = Schema.loads_stored(text.encode())
    assert stored.to_dict()["csv"] == {"multiline": True}  # so that its hash is the one that the ledger knows
    (tmp_path / "data.csv").write_text("a\ntrue\n")
    with pytest.raises(SchemaError, match="Parquet") as caught:
        open_source(tmp_path / "data.csv", stored)
    assert caught.value.code == "source.multiline"
    for read in (Schema.load, lambda path: Schema.loads(path.read_text())):
        with pytest.raises(SchemaError) as caught:
            read(tmp_path / "schema.yaml")
        assert caught.value.code == "schema.multiline"


HALF = "\ud800"
ODD_PLACES = {
    "a value": {"attributes": {"a": {"type": "categorical", "values": ["x", HALF]}}},
    "a label": {"attributes": {"a": {"type": "boolean", "label": HALF}}},
    "labels": {"attributes": {"a": {"type": "boolean", "labels": {"true": HALF}}}},
    "a column": {"attributes": {"a": {"type": "boolean", "column": HALF}}},
    "a name": {"attributes": {HALF: {"type": "boolean"}}},
    "a field": {"attributes": {"a": {"type": "boolean", HALF: 1}}},
    "the person": {"person": HALF, "attributes": {"a": {"type": "boolean"}}},
    "a record of review": {
        "attributes": {"a": {"type": "boolean"}},
        "learnt_from_data": {"reviewed": [HALF]},
    },
    "columns": {"attributes": {"a": {"type": "boolean"}}, "csv": {"header": False, "columns": ["a", HALF]}},
}


@pytest.mark.parametrize("place", ODD_PLACES)
def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(place):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(ODD_PLACES[place])
    assert caught.value.code == "schema.not-utf8"
    str(caught.value).encode()


@pytest.mark.parametrize(
    "text", [f"# {HALF}", f"attributes: {{{HALF}: {{type: boolean}}}}", HALF * 1_000_001]
)
def test_a_text_with_half_of_a_surrogate_pair_is_refused(text):
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    assert caught.value.code == "schema.not-utf8"


def test_numbers_of_thousands_of_digits_are_refused():
    long = 10**5000
    fields = {"type": "integer", "bounds": [0, 9]}
    for made in (
        {"attributes": {"a": {**fields, "bounds": [0, long]}}},
        {"attributes": {"a": {"type": "categorical", "values": [long]}}},
        {"attributes": {"a": fields}, "impossible": [{"a": long}]},
        {"attributes": {"a": fields}, "impossible": [{"a": f"{'9' * 5000}-{'9' * 5000}"}]},
        {"attributes": {"a": fields}, "max_rows_per_person": long},
    ):
        with pytest.raises(SchemaError):
            Schema.from_dict(made)


days = st.dates() | st.dates(date(1, 1, 1), date(1100, 1, 1)) | st.dates(date(9990, 1, 1))
widths = st.sampled_from(["1 day", "2 weeks", "1 month", "5 months", "10 years", "1000000 years"])


@pytest.mark.long
@settings(max_examples=80, deadline=None)
@given(days, days, widths, st.integers(0, 3))
def test_dates_of_any_year_are_read_labelled_and_written(one, other, width, form):
    low, high = min(one, other), max(one, other)
    if "year" not in width:  # at most a few hundred bins
        high = min(high, date.fromordinal(min(low.toordinal() + 500, date.max.toordinal())))
    forms = [lambda day: day, date.isoformat, lambda day: datetime(day.year, day.month, day.day)]
    fields = {"type": "date", "bounds": [forms[form % 3](low), forms[form % 2](high)], "width": width}
    try:
        schema = Schema.from_dict({"attributes": {"born": fields}})
    except SchemaError as error:
        assert error.code == "schema.wrong-bins"
        return
    born = schema.attributes["born"]
    assert born.bounds == (low, high) and born.code_of(low) == 0 and born.code_of(high) == born.size - 1
    for code in {0, born.size // 2, born.size - 1}:
        assert born.codes_matching(born.labels[code]) == (code,)
        first, last = born.values_of(code)
        if first == last:
            assert born.codes_matching(forms[form % 3](first)) == (code,)
        impossible = {"attributes": {"born": fields}, "impossible": [{"born": [born.labels[code]]}]}
        made = Schema.from_dict(impossible)
        assert Schema.loads(made.to_yaml()) == made == Schema.from_dict(made.to_dict())


def test_impossible_dates_may_be_given_as_dates():
    fields = {"born": {"type": "date", "bounds": ["0999-01-01", "0999-01-09"]}}
    schemas = [
        Schema.from_dict({"attributes": fields, "impossible": [{"born": given}]})
        for given in ("0999-01-05", date(999, 1, 5), datetime(999, 1, 5), [date(999, 1, 5)])
    ]
    assert all(schema.impossible[0].codes == ((0, (4,)),) for schema in schemas)
    assert all(Schema.loads(schema.to_yaml()) == schema for schema in schemas)
    assert len({schema.version for schema in schemas[:3]}) == 1
