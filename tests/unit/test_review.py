"""Reviews of a draft: mark by mark, on a terminal or by name, in the curator's own file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import SchemaError

ROWS = [
    "name,sex,age,town",
    *(f"p{k},{'FM'[k % 2]},{k % 90},{['Bern', 'Basel', 'Chur'][k % 3]}" for k in range(300)),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("\n".join(ROWS) + "\n")
    assert run(["init", "d.csv", "--out", "d.yaml"]) == 0
    return Path("d.yaml")


def marks(file: Path) -> tuple[set[str], set[str]]:
    schema = ht.Schema.load(file)
    return set(schema.unreviewed), {mark.path for mark in schema.learnt if mark.reviewed}


def test_a_walk_accepts_leaves_and_drops_one_by_one(
    draft: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", Terminal("y\ny\ny\nn\nd\n"))  # the unit, the names, sex, age, town
    assert run(["review", "d.yaml"]) == 0
    said = capsys.readouterr().out
    assert "values: [F, M]" in said and "categories: F, M, (other)" in said and "[5 of 5] town" in said
    schema = ht.Schema.load(draft)
    left, reviewed = marks(draft)
    assert schema.names == ("sex", "age") and "name is left out" in draft.read_text()
    assert left == {f"attributes.age.{field}" for field in ("type", "bounds", "width")}
    assert reviewed == {"max_rows_per_person", "attributes", "attributes.sex.type", "attributes.sex.values"}
    assert "1 item left to review" in said
    monkeypatch.setattr("sys.stdin", Terminal("q\n"))
    before = draft.read_text()
    assert run(["review", "d.yaml"]) == 0 and draft.read_text() == before


def test_names_on_the_command_line_ask_nothing(draft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert (
        run(
            [
                "review",
                "d.yaml",
                "--accept",
                "sex",
                "--accept",
                "@names",
                "--accept",
                "@unit",
                "--drop",
                "town",
                "--json",
            ]
        )
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert [item["name"] for item in printed["unreviewed"]] == ["age"]
    assert run(["review", "d.yaml", "--accept", "age"]) == 0
    ht.Schema.load(draft).require_reviewed()
    assert "learnt from the data: review" not in draft.read_text()
    assert run(["review", "d.yaml", "--accept", "height"]) == 2
    assert "schema.nothing-to-review" in capsys.readouterr().err


def test_the_name_of_an_attribute_stands_for_all_of_its_marks() -> None:
    text = """
attributes: {age: {type: integer, bounds: [0, 9]}, age.group: {type: boolean}}
learnt_from_data:
  unreviewed: [attributes.age.type, attributes.age.bounds, attributes.age.group.type]
  reviewed: [age]
"""
    schema = ht.Schema.loads(text)
    assert schema.unreviewed == ("attributes.age.group.type",)
    assert schema.is_reviewed("attributes.age.bounds") and not schema.is_reviewed("attributes.age.group.type")
    assert ht.Schema.from_dict(schema.to_dict()) == schema
    later = ht.Schema.loads(
        "attributes: {sex: {type: boolean}, sex.x: {type: boolean}}\nlearnt_from_data: {reviewed: [sex]}"
    )
    assert later.is_reviewed("attributes.sex.nulls") and not later.is_reviewed("attributes.sex.x.nulls")
    assert ht.Schema.from_dict(later.to_dict()).is_reviewed("attributes.sex.nulls")


def test_everything_else_in_the_file_stays_as_it_was(draft: Path) -> None:
    text = draft.read_text().replace("sex:  #", "sex:  # my own note;")
    made = ht.schema.reviewed_text(text, ["sex"])
    lines = made.partition("learnt_from_data:")[0]
    assert "# my own note;" in lines
    same = text.partition("learnt_from_data:")[0]
    assert lines.replace("data, reviewed", "data: review") == same


def test_an_attribute_on_one_line_with_others_is_not_cut_out() -> None:
    text = "attributes: {a: {type: boolean}, b: {type: boolean}}\nlearnt_from_data: {unreviewed: [attributes.a.type]}\n"
    with pytest.raises(SchemaError) as caught:
        ht.schema.reviewed_text(text, [], ["a"])
    assert caught.value.code == "schema.not-a-draft"
    assert ht.Schema.loads(ht.schema.reviewed_text(text, ["a"])).unreviewed == ()


def test_an_attribute_with_levels_is_one_item_and_its_tree_lies_beside_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "places.csv").write_text("region,district\nNorth,Alder\nNorth,Birch\nSouth,Elm\n")
    file = tmp_path / "levels.yaml"
    file.write_text(
        "attributes:\n  place:\n    type: categorical\n    tree: places.csv\n  sex:\n    type: boolean\n"
        "learnt_from_data:\n  unreviewed: [attributes.place.tree, attributes.sex.type]\n"
    )
    assert run(["review", str(file), "--json"]) == 0
    items = json.loads(capsys.readouterr().out)["unreviewed"]
    assert [item["name"] for item in items] == ["place", "sex"] and "Alder" in str(items[0]["public"])
    assert [item.name for item in ht.schema.review_file(file, accept=["place"], drop=["sex"]).left] == []
    assert "    tree: places.csv\n" in file.read_text() and list(ht.Schema.load(file).attributes) == ["place"]
    named = f"{file.read_text().partition('learnt_from_data')[0]}learnt_from_data: {{reviewed: [place]}}\n"
    assert ht.Schema.loads(named, tmp_path).is_reviewed("attributes.place.values")


TWICE = ["person_id,sex,region_id", *(f"{k // 2},{'FM'[k % 2]},{k % 5}" for k in range(300))]
"""Each person has two rows; regions are groups."""


def test_a_column_that_tells_people_apart_is_proposed_and_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("\n".join(TWICE) + "\n")
    assert run(["init", "d.csv", "--out", "d.yaml"]) == 0
    schema = ht.Schema.load("d.yaml")
    assert schema.person == "person_id" and {"person", "max_rows_per_person"} <= set(schema.unreviewed)
    capsys.readouterr()
    assert run(["review", "d.yaml", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["unreviewed"][0]
    assert first["name"] == "@unit" and first["public"][1].startswith("person: person_id")
    assert run(["review", "d.yaml", "--accept", "@unit"]) == 0
    assert {"person", "max_rows_per_person"} <= marks(Path("d.yaml"))[1]
    lines = Path("d.yaml").read_text().splitlines()
    assert all("reviewed" in line for line in lines if line.startswith(("person:", "max_rows")))


def test_a_preflight_says_loudly_that_the_unit_may_be_false(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("\n".join(TWICE) + "\n")
    fields = {"attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}}}
    found = ht.preflight(tmp_path / "d.csv", schema=fields)
    assert [hint.code for hint in found.hints] == ["unit"] and "'person_id'" in found.warning
    assert "region_id" not in found.warning and found.lost == 0
    capped = fields | {"person": "person_id", "max_rows_per_person": 2}
    assert not ht.preflight(tmp_path / "d.csv", schema=capped).warning
    once = [TWICE[0], *TWICE[1::2]]
    (tmp_path / "once.csv").write_text("\n".join(once) + "\n")
    assert not ht.preflight(tmp_path / "once.csv", schema=fields).warning


def test_one_word_for_no_alone_is_no_pair(tmp_path: Path) -> None:
    rows = ["sex,smoker", *(f"F,{['yes', 'no'][k % 2]}" for k in range(100))]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    kinds = {
        a.name: a.kind for a in ht.Schema.loads(ht.session.draft(tmp_path / "d.csv")).attributes.values()
    }
    assert kinds == {"sex": "categorical", "smoker": "boolean"}
