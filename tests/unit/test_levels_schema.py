"""Levels as a schema declares them: trees, files, widths, prefixes; what is refused, and what stays the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hushtable as ht
from hushtable.axes import Axes
from hushtable.errors import SchemaError, WorkloadError

TREE = {"North": {"N1": ["a", "b"], "N2": ["c"]}, "South": {"S1": ["d", "e"]}, "Isles": ["g"]}


def schema(**attributes) -> ht.Schema:
    return ht.Schema.from_dict({"attributes": attributes})


def place(**more):
    return {"type": "categorical", "levels": ["region", "state", "county"], "tree": TREE, **more}


def test_a_tree_has_one_axis_for_each_level_and_blocks_of_children():
    made = schema(place=place(), sex={"type": "categorical", "values": ["F", "M"]})
    assert made.names == ("region", "state", "county", "sex")
    assert isinstance(made.sizes, Axes)
    assert tuple(made.sizes) == (3, 4, 6, 2)
    assert made.sizes.parents == (-1, 0, 1, -1)
    assert [b.tolist() for b in made.sizes.blocks] == [[0, 3], [0, 2, 3, 4], [0, 2, 3, 5, 6], [0, 2]]
    assert made.levels["state"].labels == ("N1", "N2", "S1", "g")
    assert made.levels["county"].labels == ("a", "b", "c", "d", "e", "g")
    assert (made.axis("place"), made.axis("county")) == (2, 2)
    assert made.domain_cells == 12


def test_nulls_and_others_stand_alone_on_every_level():
    made = schema(place=place(null="category", outside="other"))
    assert made.levels["region"].labels[-2:] == ("(null)", "(other)")
    assert [b.tolist() for b in made.sizes.blocks] == [[0, 5], [0, 2, 3, 4, 5, 6], [0, 2, 3, 5, 6, 7, 8]]
    assert made.sizes.codes_above(2, 0).tolist() == [0, 0, 0, 1, 1, 2, 3, 4]


def test_widths_cuts_and_prefixes_are_levels_too():
    made = schema(
        age={"type": "integer", "bounds": [0, 29], "levels": {"adult": [18], "six": 6, "year": 1}},
        born={
            "type": "date",
            "bounds": ["2000-01-01", "2001-12-31"],
            "levels": {"y": "1 year", "m": "1 month"},
        },
        pay={"type": "real", "bounds": [0, 1], "levels": {"half": 0.5, "tenth": 0.1}},
        sic={"type": "categorical", "values": ["B2", "A1", "B1", "A2"], "levels": {"section": 1, "sic": 2}},
    )
    assert made.levels["adult"].labels == ("0-17", "18-29")
    assert made.sizes.blocks[1].tolist() == [0, 3, 5]
    assert made.levels["m"].labels[12] == "2001-01"
    assert made.sizes.blocks[made.axis("tenth")].tolist() == [0, 5, 10]
    assert made.levels["sic"].labels == ("B2", "B1", "A1", "A2")
    assert made.levels["section"].labels == ("B", "A")
    assert made.aliases == {"age": 2, "born": 4, "pay": 6}


@pytest.mark.parametrize(
    ("levels", "said"), [({"section": 1, "sic": 3}, "sic: 4"), ({"section": 1, "sic": 6}, "sic: 4")]
)
def test_the_last_prefix_is_as_long_as_the_codes(levels, said):
    codes = {"type": "categorical", "values": ["B201", "A1", "B202"], "levels": levels}
    with pytest.raises(SchemaError, match="the last level is the codes themselves") as found:
        schema(sic=codes)
    assert said in str(found.value)
    old = ht.Schema.loads_stored(json.dumps({"attributes": {"sic": codes}}).encode())
    assert old.levels["sic"].labels == ("B201", "B202", "A1")


def test_a_row_of_a_tree_file_that_ends_at_a_category_with_others_below_is_refused(tmp_path):
    for text, row in (("up,down\nN,a\nN,\n", 3), ("up,mid,down\nN,,\nN,n,a\nS,s,\n", 2)):
        (tmp_path / "geo.csv").write_text(text)
        with pytest.raises(SchemaError, match=f"row {row} ends at a category") as found:
            ht.Schema.loads("attributes: {place: {type: categorical, tree: geo.csv}}", tmp_path)
        assert found.value.code == "schema.wrong-tree"
    (tmp_path / "geo.csv").write_text("up,down\nN,N\nN,a\nS,\n")
    made = ht.Schema.loads("attributes: {place: {type: categorical, tree: geo.csv}}", tmp_path)
    assert made.levels["down"].labels == ("N", "a", "S")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("up,down\nN,a\n\nS,a\n", "the down 'a' under two parents in row 4"),
        ("up,down\nN,a\nN,b\nN,a\n", "the down 'a' twice in row 4"),
        ("up,mid,down\nN,x,a\nS,x,b\n", "the mid 'x' under two parents in row 3"),
        ("up;down\nN;a\n", "apart by semicolons. Write commas"),
        ("up\tdown\nN\ta\n", "apart by tabs. Write commas"),
    ],
)
def test_what_is_wrong_in_a_tree_file_is_named_with_its_row(tmp_path, text, said):
    (tmp_path / "geo.csv").write_text(text)
    with pytest.raises(SchemaError) as found:
        ht.Schema.loads("attributes: {place: {type: categorical, tree: geo.csv}}", tmp_path)
    assert said in str(found.value) and found.value.code == "schema.wrong-tree"


def test_a_tree_file_is_read_beside_the_schema_and_kept_in_it(tmp_path):
    (tmp_path / "geo.csv").write_text(
        "region,state,county\nNorth,N1,a\nSouth,S1,d\nNorth,N2,c\nIsles,g,\nNorth,N1,b\nSouth,S1,e\n"
    )
    (tmp_path / "s.yaml").write_text("attributes: {place: {type: categorical, tree: geo.csv}}")
    made = ht.Schema.load(tmp_path / "s.yaml")
    assert made.levels["county"].labels == ("a", "b", "c", "d", "e", "g")
    assert made == ht.Schema.loads(made.to_yaml())
    assert ht.Schema.loads_stored(made.to_yaml().encode()).sizes == made.sizes
    with pytest.raises(SchemaError, match="stored"):
        ht.Schema.loads_stored(b"attributes: {place: {type: categorical, tree: geo.csv}}")


@pytest.mark.parametrize("given", [place(), place(null="category", outside="other")])
def test_a_schema_with_levels_is_written_and_read_back(given):
    made = schema(place=given, age={"type": "integer", "bounds": [0, 9], "levels": {"five": 5, "age": 1}})
    again = ht.Schema.loads(made.to_yaml())
    assert (again, again.version, again.names) == (made, made.version, made.names)
    assert again.sizes == made.sizes


def test_the_order_of_a_tree_is_part_of_the_version():
    other = dict(reversed(TREE.items()))
    assert schema(place=place()).version != schema(place={**place(), "tree": other}).version


@pytest.mark.parametrize(
    ("attribute", "code"),
    [
        ({**place(), "tree": {"N": {"x": ["a"]}, "S": {"x": ["b"]}}}, "schema.wrong-tree"),
        ({**place(), "tree": {"N": {"x": ["a"], "y": ["a"]}}}, "schema.wrong-tree"),
        ({**place(), "tree": {"N": {"x": ["a", "a"]}}}, "schema.wrong-tree"),
        ({**place(), "tree": {"N": {"x": {"y": {"z": ["a"]}}}}}, "schema.wrong-tree"),
        ({**place(), "tree": {}}, "schema.wrong-tree"),
        ({**place(), "tree": {"North": [], "South": []}}, "schema.wrong-tree"),
        ({**place(), "tree": {"North": ["N1"], "South": ["S1"]}}, "schema.wrong-tree"),
        ({**place(), "tree": "nowhere.csv"}, "schema.wrong-tree"),
        ({**place(), "values": ["a"]}, "schema.wrong-tree"),
        ({**place(), "levels": []}, "schema.wrong-levels"),
        ({**place(), "levels": ["a", "a", "b"]}, "schema.wrong-levels"),
        ({**place(), "levels": ["region", "state", "sex"]}, "schema.level-name"),
        ({**place(), "levels": ["region", "std", "county"]}, "schema.level-name"),
        ({**place(), "levels": ["place", "state", "county"]}, "schema.level-name"),
        ({"type": "integer", "bounds": [0, 9], "levels": {"x": 4, "y": 3}}, "schema.wrong-levels"),
        (
            {"type": "integer", "bounds": [0, 9], "levels": {"x": 5, "y": 1}, "width": 1},
            "schema.wrong-levels",
        ),
        ({"type": "integer", "bounds": [0, 9], "levels": ["x", "y"]}, "schema.wrong-levels"),
        ({"type": "integer", "bounds": [0, 9], "levels": {"x": -1}}, "schema.wrong-type"),
        ({"type": "categorical", "values": ["A1"], "levels": {"x": 2, "y": 1}}, "schema.wrong-levels"),
        ({"type": "boolean", "levels": {"x": 1}}, "schema.unknown-field"),
        ({"type": "integer", "bounds": [0, 29], "levels": {"x": 10, "y": 10, "z": 1}}, "schema.wrong-levels"),
        ({**place(), "levels": ["region", "county"], "tree": {"N": [], "S": ["b"]}}, "schema.wrong-tree"),
    ],
)
def test_levels_that_are_none_are_refused_by_name(attribute, code):
    with pytest.raises(SchemaError) as refused:
        schema(place=attribute, sex={"type": "categorical", "values": ["F", "M"]})
    assert refused.value.code == code
    assert "place" in str(refused.value)


def test_a_marginal_has_one_level_of_each_attribute():
    made = schema(place=place(), sex={"type": "categorical", "values": ["F", "M"]})
    assert ht.Workload([("state", "sex"), ("place",)]).resolve(made).sets == ((1, 3), (2,))
    assert ht.Workload.all_marginals(made, order=2).marginals == (("county", "sex"),)
    with pytest.raises(WorkloadError, match="two levels"):
        ht.Workload([("state", "county")]).resolve(made)


def test_what_is_impossible_may_be_said_on_any_level():
    base = {"place": place(), "sex": {"type": "categorical", "values": ["F", "M"]}}
    made = ht.Schema.from_dict({"attributes": base, "impossible": [{"region": "South", "sex": "M"}]})
    assert made.impossible[0].codes == ((2, (3, 4)), (3, (1,)))
    assert made.record_rules == (((0, (3, 4)), (1, (1,))),)


def test_plain_schemas_have_plain_sizes():
    made = schema(
        sex={"type": "categorical", "values": ["F", "M"]}, age={"type": "integer", "bounds": [0, 9]}
    )
    assert type(made.sizes) is tuple
    assert made.record_axes == (0, 1)
    assert Axes.of(made.sizes).finest == (0, 1)
    assert np.array_equal(Axes.of(made.sizes).codes_above(1, -1), np.zeros(10))
