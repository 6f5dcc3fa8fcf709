"""Schemas from codebooks: what a codebook says, nothing that it counted, and never a look at data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import SchemaError

LISTED = """Variable;Code;Label
sex;1;male
sex;2;female
sex;;Sex of the person
zip;0100;Bern
zip;0200;Bern
estimate;a;
nothing;;Only a title
"""
DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><dataDscr>
 <var ID="V1" name="sex"><labl>Sex</labl>
  <sumStat type="vald">54321</sumStat>
  <catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">777123</catStat></catgry>
  <catgry><catValu>2</catValu><labl>Female</labl><catStat type="freq">888123</catStat></catgry>
  <catgry missing="Y"><catValu>9</catValu><labl>No answer</labl><catStat type="freq">5</catStat></catgry>
 </var>
 <var ID="V2" name="age"><labl>Age in years</labl><txt>At the last
   birthday.</txt>
  <valrng><range UNITS="INT" min="0" max="110"/></valrng><invalrng><item VALUE="-9"/></invalrng>
  <sumStat type="min">3</sumStat><sumStat type="max">97</sumStat></var>
 <var ID="V3" name="pay"><valrng><range min="0.5" max="99.5"/></valrng></var>
 <var ID="V4" name="free"><labl>Free text</labl><sumStat type="min">1</sumStat></var>
</dataDscr></codeBook>
"""
TABLE = {
    "fields": [
        {"name": "sex", "type": "string", "title": "Sex", "constraints": {"enum": ["F", "M"]}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
        {
            "name": "pay",
            "type": "number",
            "constraints": {"minimum": 0, "maximum": 9000},
            "decimalChar": ",",
            "groupChar": ".",
        },
        {
            "name": "born",
            "type": "date",
            "format": "%d.%m.%Y",
            "constraints": {"minimum": "1900-01-01", "maximum": "2020-12-31"},
        },
        {"name": "car", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
        {
            "name": "kind",
            "type": "integer",
            "categories": [{"value": 1, "label": "one"}, {"value": 2, "label": "two"}],
        },
        {"name": "note", "type": "string"},
    ],
    "missingValues": ["", "NA"],
}


def made(text: str, name: str, folder: Path) -> ht.Schema:
    (folder / name).write_text(text, encoding="utf-8")
    return ht.schema.from_codebook(folder / name)


def test_a_list_of_values_and_labels(tmp_path: Path) -> None:
    schema = made(LISTED, "book.csv", tmp_path)
    sex, town, odd = schema.attributes.values()
    assert (sex.values, sex.labels, sex.label) == ((1, 2), ("male", "female", "(other)"), "Sex of the person")
    assert town.values == ("0100", "0200") and town.labels == ("Bern (0100)", "Bern (0200)", "(other)")
    assert (odd.name, odd.column) == ("estimate_", "estimate")
    assert schema.learnt == () and "nothing is left out" in ht.schema.codebook_text(tmp_path / "book.csv")


def test_ddi_without_its_frequencies(tmp_path: Path) -> None:
    schema = made(DDI, "book.xml", tmp_path)
    sex, age, pay = schema.attributes.values()
    assert sex.values == (1, 2) and sex.nulls == ("9",) and sex.null == "category" and sex.label == "Sex"
    assert age.bounds == (0, 110) and age.nulls == ("-9",) and age.description == "At the last birthday."
    assert pay.kind == "real" and pay.bounds == (0.5, 99.5)
    text = ht.schema.codebook_text(tmp_path / "book.xml")
    assert "# free is left out" in text
    assert not any(number in text for number in ("777123", "888123", "54321", "97", "[3"))


def test_a_frictionless_table_schema_alone_and_in_a_package(tmp_path: Path) -> None:
    schema = made(json.dumps(TABLE), "table.json", tmp_path)
    kinds = {name: attribute.kind for name, attribute in schema.attributes.items()}
    assert kinds == {
        "sex": "categorical",
        "age": "integer",
        "pay": "real",
        "born": "date",
        "car": "boolean",
        "kind": "categorical",
    }
    assert schema.attributes["kind"].labels[:2] == ("one", "two")
    assert schema.attributes["car"].true_texts == ("ja",) and schema.attributes["born"].pattern == "%d.%m.%Y"
    assert schema.csv.nulls == ("NA",) and (schema.csv.decimal, schema.csv.thousands) == (",", ".")
    package = {"resources": [{"schema": TABLE, "dialect": {"delimiter": ";"}, "path": "d.csv"}]}
    packed = made(json.dumps(package), "datapackage.json", tmp_path)
    assert packed.csv.delimiter == ";" and packed.names == schema.names


WRONG = {
    "other headings": ("book.csv", "a,b\n1,2\n", "schema.codebook-columns"),
    "no XML": ("book.xml", "<a", "schema.codebook-unreadable"),
    "entities": ("book.xml", '<!DOCTYPE a [<!ENTITY x "xx">]><a>&x;</a>', "schema.codebook-unreadable"),
    "no JSON": ("book.json", "{", "schema.codebook-unreadable"),
    "another JSON": ("book.json", "[1]", "schema.codebook-unreadable"),
    "nothing in it": ("book.json", '{"fields": [{"name": "a", "type": "string"}]}', "schema.codebook-empty"),
    "another kind": ("book.pdf", "", "schema.codebook-kind"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_codebook_is_refused(case: str, tmp_path: Path) -> None:
    name, text, code = WRONG[case]
    with pytest.raises(SchemaError) as caught:
        made(text, name, tmp_path)
    assert caught.value.code == code


def test_the_command_writes_what_a_release_accepts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("book.xml").write_text(DDI)
    Path("d.csv").write_text("sex,age,pay\n" + "1,30,1.5\n9,-9,2.5\n" * 50)
    assert run(["init", "--codebook", "book.xml", "--out", "s.yaml"]) == 0
    assert "nothing learnt" in capsys.readouterr().out
    ht.Ledger.create("l", ht.ZCDP(1))
    known = ["release", "d.csv", "--schema", "s.yaml", "--ledger", "l", "--order", "1", "--budget", "rho=0.1"]
    assert run([*known, "--out", "out", "--no-report"]) == 0
    assert run(["init"]) == 2 and run(["init", "d.csv", "--codebook", "book.xml"]) == 2
