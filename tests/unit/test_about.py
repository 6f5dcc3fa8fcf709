"""What the numbers are about: words that bundles and reports carry, and that change nothing that is counted."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import SchemaError

TEXT = """
about:
  title: Residents <of> the town
  universe: persons with an address
  period: 2025
  area: Alder
  unit: persons
  source: register
  contact: us@alder.example
  footnotes: ["The first.", "The second."]
  language: en
  labels: {de: {sex: {label: Geschlecht, values: {F: weiblich}}, car: {values: {true: mit Auto}}}}
attributes:
  sex: {type: categorical, values: [F, M], labels: {F: female}}
  car: {type: boolean}
"""


def test_it_is_read_back_and_changes_no_version() -> None:
    schema = ht.Schema.loads(TEXT)
    assert ht.Schema.from_dict(schema.to_dict()) == schema == ht.Schema.loads(schema.to_yaml())
    bare = ht.Schema.loads("attributes:" + TEXT.partition("attributes:")[2])
    assert schema.version == bare.version and schema != bare
    assert schema.about.period == "2025" and schema.about.facts[0] == ("Universe", "persons with an address")


def test_labels_of_a_language() -> None:
    schema = ht.Schema.loads(TEXT)
    german = schema.in_language("de")
    assert (
        german.attributes["sex"].labels == ("weiblich", "M")
        and german.attributes["sex"].label == "Geschlecht"
    )
    assert (
        german.attributes["car"].labels == ("false", "mit Auto")
        and schema.attributes["sex"].labels[0] == "female"
    )
    assert schema.in_language("en") is schema
    with pytest.raises(SchemaError) as caught:
        schema.in_language("fr")
    assert caught.value.code == "schema.no-language"


WRONG = {
    "an unknown field": "about: {name: x}",
    "a list as a title": "about: {title: [x]}",
    "no list of notes": "about: {footnotes: x}",
    "an unknown attribute": "about: {labels: {de: {height: {label: x}}}}",
    "an unknown value": "about: {labels: {de: {sex: {values: {X: x}}}}}",
    "one label for two": "about: {labels: {de: {sex: {values: {F: x, M: x}}}}}",
}


@pytest.mark.parametrize("case", WRONG)
def test_what_says_nothing_is_refused(case: str) -> None:
    with pytest.raises(SchemaError):
        ht.Schema.loads(WRONG[case] + "\nattributes: {sex: {type: categorical, values: [F, M]}}\n")


@pytest.mark.long
def test_the_bundle_keeps_it_and_the_report_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"sex": ["F", "M"] * 50, "car": [True, False] * 50})
    session = ht.Session.open(frame, schema=ht.Schema.loads(TEXT), ledger="l", budget=ht.ZCDP(1))
    session.release(
        ht.Workload.all_marginals(session.schema, order=1), budget=ht.ZCDP(1), strategy="residual-planner"
    ).save("out")
    assert ht.Release.load("out").in_language("de").table("sex")["sex"].to_list() == ["weiblich", "M"]
    assert run(["report", "out", "--out", "de.html", "--language", "de"]) == 0
    page = Path("de.html").read_text(encoding="utf-8")
    assert "<h1>Residents &lt;of&gt; the town</h1>" in page and "weiblich" in page and "Geschlecht" in page
    assert "persons with an address, Alder, 2025" in page and re.search(r"about \d+ persons \(between", page)
    assert "Reference period" in page and "2025" in page and "2. The second." in page
    assert run(["report", "out", "--out", "fr.html", "--language", "fr"]) == 2
