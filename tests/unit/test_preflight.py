"""A preflight: exact numbers for the curator's eyes, that nothing else ever learns."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError, SchemaError, UsageError
from hushtable.ledger.preflights import REMINDER
from hushtable.texts import CONFIDENTIAL

SCHEMA = """
person: id
max_rows_per_person: 2
attributes:
  sex:    {type: categorical, values: [F, M], outside: other}
  region: {type: categorical, values: [north, south]}
  age:    {type: integer, bounds: [0, 99], width: 10}
  income: {type: real, bounds: [0, 1000], bins: 4, outside: drop, null: category}
"""
KNOWN = {"region": {"north", "south"}, "sex": {"F", "M"}}


def independent(lines: list[str]) -> dict[str, object]:
    """The same numbers by Python's csv module and plain rules, without any code of the package."""
    found = {"rows": 0, "malformed": 0, "dropped": 0, "nobody": 0, "cut": 0}
    columns = {
        name: dict.fromkeys(("nulls", "unreadable", "below", "above", "dropped"), 0)
        for name in ("sex", "region", "age", "income")
    }
    people: dict[str, int] = {}
    for line in lines:
        if not line:
            continue
        found["rows"] += 1
        row = next(csv.reader([line]))
        if len(row) != 6 or line.count('"') % 2:
            found["malformed"] += 1
            continue
        given = dict(zip(("id", "sex", "region", "age", "income", "note"), row, strict=True))
        lost = False
        for name, tally in columns.items():
            text, drops = given[name], False
            if not text:
                tally["nulls"] += 1
                drops = name != "income"
            elif name in KNOWN:
                if text not in KNOWN[name]:
                    tally["unreadable"] += 1
                    drops = name == "region"
            else:
                low, high = (0, 99) if name == "age" else (0, 1000)
                try:
                    number = int(text) if name == "age" else float(text)
                except ValueError:
                    tally["unreadable"] += 1
                    drops = True
                else:
                    beyond = number < low or number > high
                    tally["below"] += number < low
                    tally["above"] += number > high
                    drops = beyond and name == "income"
            tally["dropped"] += drops
            lost |= drops
        if lost:
            found["dropped"] += 1
        elif not given["id"]:
            found["nobody"] += 1
        else:
            people[given["id"]] = people.get(given["id"], 0) + 1
    found["cut"] = sum(max(0, rows - 2) for rows in people.values())
    return found | {"columns": columns, "persons": len(people), "most": max(people.values(), default=0)}


def lines_of(chance: random.Random, rows: int) -> list[str]:
    lines: list[str] = []
    for _ in range(rows):
        row = [
            chance.choice(["", *map(str, range(rows // 3 + 1))]),
            chance.choice(["F", "M", "f", "X", ""]),
            chance.choice(["north", "south", "south", "East", ""]),
            chance.choice(["", "NA", "-3", "120", *map(str, range(0, 99, 7))]),
            chance.choice(["", "12.5", "1000", "1000.01", "-0.5", "1e2", "1,5", "ten"]),
            chance.choice(["", "x", 'say "so"', "a,b"]),
        ]
        file = io.StringIO()
        csv.writer(file, lineterminator="").writerow(row)
        line = file.getvalue()
        luck = chance.random()
        lines.append(
            line + ",z"
            if luck < 0.03
            else line.rpartition(",")[0]
            if luck < 0.06
            else ""
            if luck < 0.08
            else line + ',"'
            if luck < 0.1
            else line
        )
    return lines


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_an_independent_reader(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    lines = lines_of(chance, chance.choice([0, 1, 40, 300]))
    meant = independent(lines)
    (tmp_path / "d.csv").write_text("\n".join(["id,sex,region,age,income,note", *lines]) + "\n")
    found = ht.preflight(tmp_path / "d.csv", schema=ht.Schema.loads(SCHEMA))
    assert found.rows == meant["rows"]
    assert sum(kind.rows for kind in found.malformed) == meant["malformed"]
    assert (found.dropped, found.nobody, found.cut) == (meant["dropped"], meant["nobody"], meant["cut"])
    for column in found.columns:
        assert {name: getattr(column, name) for name in meant["columns"][column.attribute]} == meant[
            "columns"
        ][column.attribute]
        assert (
            sum(offender.rows for offender in column.offenders)
            <= column.unreadable + column.below + column.above
        )
    assert found.people is not None
    assert (found.people.persons, found.people.most) == (meant["persons"], meant["most"])
    assert found.unused == ("note",)


def test_what_is_counted_is_what_a_release_counts(tmp_path: Path) -> None:
    from hushtable.kernel.sources import open_source

    for seed in range(20, 26):
        lines = lines_of(random.Random(seed), 200)
        (tmp_path / "d.csv").write_text("\n".join(["id,sex,region,age,income,note", *lines]) + "\n")
        schema = ht.Schema.loads(SCHEMA)
        counted = sum(len(batch[0]) for batch in open_source(tmp_path / "d.csv", schema).batches())
        assert ht.preflight(tmp_path / "d.csv", schema=schema).counted == counted


def test_frames_are_counted_like_files() -> None:
    frame = pl.DataFrame({"sex": ["F", "f", None, "M"], "age": [5, 200, None, 7]})
    schema = {
        "attributes": {
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "age": {"type": "integer", "bounds": [0, 99]},
        }
    }
    for data in (frame, frame.to_arrow(), frame.to_pandas()):
        found = ht.preflight(data, schema=schema)
        assert (found.rows, found.dropped, found.counted) == (4, 2, 2)
        sex, age = found.columns
        assert (sex.nulls, sex.unreadable, sex.alone) == (1, 1, 1)
        assert (age.nulls, age.above, age.clipped, age.dropped) == (1, 1, 1, 1)


def test_rows_that_never_end_are_counted_once(tmp_path: Path) -> None:
    long = b"F," + b"x" * 3_000_000
    (tmp_path / "d.csv").write_bytes(b"sex,note\nF,a\n" + long + b"\nM,b\n" + long)
    found = ht.preflight(
        tmp_path / "d.csv", schema={"attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}}}
    )
    assert (found.rows, found.counted) == (4, 2)
    assert [(kind.reason, kind.lines) for kind in found.malformed] == [
        ("longer than a row may be", ("3", "5"))
    ]


def test_the_wrong_encoding_is_said_loudly_and_named(tmp_path: Path) -> None:
    rows = "\n".join(["town,size", *("Zürich,1" for _ in range(50)), "Bern,2"])
    (tmp_path / "d.csv").write_bytes(rows.encode("latin-1"))
    schema = {"attributes": {"town": {"type": "categorical", "values": ["Zürich", "Bern"]}}}
    found = ht.preflight(tmp_path / "d.csv", schema=schema)
    assert found.loses_much and "98.0%" in found.warning
    assert [hint.code for hint in found.hints] == ["encoding"] and "latin-1" in found.hints[0].fix
    right = ht.preflight(tmp_path / "d.csv", schema=schema | {"csv": {"encoding": "latin-1"}})
    assert not right.loses_much and right.hints == () and right.counted == 51


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = ["id,sex,region,age,income,note", *lines_of(random.Random(1), 100)]
    Path("d.csv").write_text("\n".join(lines) + "\n")
    Path("s.yaml").write_text(SCHEMA)
    ht.Ledger.create("d.ledger", ht.ZCDP(1))
    return tmp_path


RELEASE = ["release", "d.csv", "--schema", "s.yaml", "--ledger", "d.ledger", "--order", "1", "--no-report"]


def test_release_reminds_in_the_same_words_until_a_preflight_was_run(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*RELEASE, "--budget", "rho=0.01", "--out", "a"]) == 0
    assert REMINDER in capsys.readouterr().err
    assert run(["preflight", "d.csv", "--schema", "s.yaml"]) == 0
    assert run([*RELEASE, "--budget", "rho=0.02", "--out", "b"]) == 0
    assert REMINDER in capsys.readouterr().err
    assert run(["preflight", "d.csv", "--schema", "s.yaml", "--ledger", "d.ledger"]) == 0
    capsys.readouterr()
    assert run([*RELEASE, "--budget", "rho=0.03", "--out", "c"]) == 0
    assert capsys.readouterr().err == ""
    assert REMINDER.isascii() and not any(letter.isdigit() for letter in REMINDER)


def test_the_note_and_the_ledger_hold_no_number_and_no_value_of_the_data(desk: Path) -> None:
    before = Path("d.ledger").read_bytes()
    notes = []
    for rows in (100, 37):
        lines = ["id,sex,region,age,income,note", *lines_of(random.Random(rows), rows)]
        Path("d.csv").write_text("\n".join(lines) + "\n")
        assert run(["preflight", "d.csv", "--schema", "s.yaml", "--ledger", "d.ledger"]) == 0
        notes.append(Path("d.ledger.preflights").read_bytes())
    assert notes[0] == notes[1] and Path("d.ledger").read_bytes() == before
    kept = json.loads(notes[0])
    assert set(kept) == {"key", "data"} and set(kept["data"]) == {"d.csv"}
    assert Path("d.ledger.preflights").stat().st_mode & 0o077 == 0


def test_what_changes_after_a_preflight_needs_a_review(desk: Path) -> None:
    assert run(["preflight", "d.csv", "--schema", "s.yaml", "--ledger", "d.ledger"]) == 0
    wider = SCHEMA.replace("values: [north, south]", "values: [north, south, East]")
    with pytest.raises(SchemaError) as caught:
        ht.Session.open("d.csv", schema=ht.Schema.loads(wider), ledger="d.ledger")
    assert caught.value.code == "schema.changed-after-preflight"
    assert "attributes.region.values" in caught.value.message and "East" not in str(caught.value)
    assert run(["preflight", "d.csv", "--schema", "s.yaml", "--ledger", "d.ledger"]) == 0
    ht.preflight("d.csv", schema=ht.Schema.loads(wider), ledger="d.ledger")
    with pytest.raises(SchemaError):  # a second preflight makes nothing public
        ht.Session.open("d.csv", schema=ht.Schema.loads(wider), ledger="d.ledger")
    Path("wider.yaml").write_text(wider + "learnt_from_data: {reviewed: [attributes.region.values]}\n")
    with pytest.raises(SchemaError):  # a mark says that there was a review, not of what
        ht.Session.open("d.csv", schema="wider.yaml", ledger="d.ledger")
    assert run(["review", "wider.yaml", "--ledger", "d.ledger", "--accept", "region"]) == 0
    ht.Session.open("d.csv", schema="wider.yaml", ledger="d.ledger")
    ht.Session.open("d.csv", schema=ht.Schema.loads(SCHEMA), ledger="d.ledger")
    fewer = {
        "attributes": {"note": {"type": "categorical", "values": ["x"]}},
        "person": "id",
        "max_rows_per_person": 2,
    }
    ht.Session.open("d.csv", schema=fewer, ledger="d.ledger")  # of this column nothing was shown


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        (
            "tree",
            "region: {type: categorical, levels: [side, region], tree: {up: [north, east], down: [south]}}",
            "region: {type: categorical, levels: [side, region], tree: {up: [north], down: [east, south]}}",
        ),
        (
            "tree",
            "region: {type: categorical, values: [north, east, south]}",
            "region: {type: categorical, levels: [side, region], tree: {up: [north], down: [east, south]}}",
        ),
        (
            "levels",
            "age: {type: integer, bounds: [0, 99], levels: {broad: [50], fine: 10}}",
            "age: {type: integer, bounds: [0, 99], levels: {broad: [30], fine: 10}}",
        ),
    ],
)
def test_what_stands_together_is_compared_with_what_did_before_a_preflight(
    desk: Path, field: str, before: str, after: str
) -> None:
    """Leaves in the same order under other parents: values alone would not tell."""

    def declared(line: str, marks: str = "") -> ht.Schema:
        return ht.Schema.loads(f"attributes:\n  {line}\n{marks}")

    ht.preflight("d.csv", schema=declared(before), ledger="d.ledger")
    ht.Session.open("d.csv", schema=declared(before), ledger="d.ledger")
    with pytest.raises(SchemaError) as caught:
        ht.Session.open("d.csv", schema=declared(after), ledger="d.ledger")
    assert caught.value.code == "schema.changed-after-preflight"
    path = f"attributes.{after.partition(':')[0]}.{field}"
    assert f": {path}." in caught.value.message
    Path("after.yaml").write_text(f"attributes:\n  {after}\n")
    ht.ledger.review_schema("after.yaml", ledger="d.ledger", accept=[after.partition(":")[0]])
    assert ht.Schema.load("after.yaml").is_reviewed(path)
    ht.Session.open("d.csv", schema="after.yaml", ledger="d.ledger")


@pytest.mark.parametrize(
    ("name", "before", "after", "path"),
    [
        ("age", "bounds: [0, 99]", "bounds: [0, 59]", "attributes.age.bounds"),
        ("region", "values: [north, south]", "values: [north, south, East]", "attributes.region.values"),
        ("age", "width: 10", "width: 10, nulls: [-3]", "attributes.age.nulls"),
        ("@file", "attributes:", "csv: {nulls: [NA]}\nattributes:", "csv.nulls"),
        ("seen", "[x]", "[x, v]", "attributes.seen.true"),
    ],
)
def test_a_review_is_of_what_was_declared_then(
    desk: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    before: str,
    after: str,
    path: str,
) -> None:
    """An old mark does not cover a new value, whoever wrote it, and each change is reviewed by itself."""
    words = "{type: boolean, true: [x], false: [y], column: note}"
    text = SCHEMA.replace("  sex: ", f"  seen: {words}\n  sex: ") if name == "seen" else SCHEMA
    marks = f"learnt_from_data: {{reviewed: [{path}]}}\n"
    Path("s.yaml").write_text(text + marks)
    known = ["--schema", "s.yaml", "--ledger", "d.ledger"]
    assert run(["preflight", "d.csv", *known]) == 0
    changed = text.replace(before, after, 1)
    assert changed != text
    Path("s.yaml").write_text(changed + marks)
    spent = Path("d.ledger").read_bytes()
    assert run([*RELEASE, "--budget", "rho=0.01", "--out", "a"]) == 2
    said = capsys.readouterr().err
    assert "schema.changed-after-preflight" in said and path in said and "hush review" in said
    assert Path("d.ledger").read_bytes() == spent and not Path("a").exists()
    assert run(["review", *known[1:2], "--ledger", "d.ledger", "--json"]) == 0
    left = json.loads(capsys.readouterr().out)["unreviewed"]
    assert [(item["name"], item["marks"]) for item in left] == [(name, [path])]
    assert ht.Schema.load("s.yaml").unreviewed == (path,)  # marked in the file, until it is reviewed
    with pytest.raises(SchemaError):
        ht.Session.open("d.csv", schema="s.yaml", ledger="d.ledger")
    assert run(["review", "s.yaml", "--ledger", "d.ledger", "--accept", name]) == 0
    ht.Session.open("d.csv", schema="s.yaml", ledger="d.ledger")
    again = after.replace("59", "69").replace("East", "West").replace("-3", "-4").replace("NA", "n/a")
    again = again.replace("[x, v]", "[x, v, z]")
    Path("s.yaml").write_text(Path("s.yaml").read_text().replace(after, again))
    with pytest.raises(SchemaError) as caught:
        ht.Session.open("d.csv", schema="s.yaml", ledger="d.ledger")
    assert caught.value.code == "schema.changed-after-preflight"


def test_a_draft_that_a_preflight_saw_is_reviewed_by_moving_its_marks(desk: Path) -> None:
    drafted = SCHEMA + "learnt_from_data: {unreviewed: [attributes.region.values]}\n"
    ht.preflight("d.csv", schema=ht.Schema.loads(drafted), ledger="d.ledger")
    moved = drafted.replace("unreviewed", "reviewed")
    ht.Session.open("d.csv", schema=ht.Schema.loads(moved), ledger="d.ledger")
    with pytest.raises(SchemaError):  # the mark is of what stood there
        edited = moved.replace("[north, south]", "[north, south, East]")
        ht.Session.open("d.csv", schema=ht.Schema.loads(edited), ledger="d.ledger")


def test_what_was_paid_for_before_a_preflight_is_finished_and_read_after_it(desk: Path) -> None:
    """Also when the preflight was of a draft with other values, whose declarations are the ones that it noted."""

    def opened() -> ht.Session:
        return ht.Session.open("d.csv", schema=ht.Schema.loads(SCHEMA), ledger="d.ledger")

    session = opened()
    workload, budget = ht.Workload.all_marginals(session.schema, order=1), ht.ZCDP("0.01")
    made = session.release(workload, budget=budget, request="paid")
    begun = session.choose([ht.linear.marginals(session.schema, order=k) for k in (0, 1)], budget=budget)
    other = SCHEMA.replace("values: [north, south]", "values: [north]")
    ht.preflight("d.csv", schema=ht.Schema.loads(other), ledger="d.ledger")
    again = opened().release(workload, budget=budget, request="paid")
    assert again.table("region").equals(made.table("region"))
    ht.session.open_choice("d.ledger", begun.id).finish(1)
    wider = SCHEMA.replace("values: [north, south]", "values: [north, south, East]")
    with pytest.raises(SchemaError) as caught:
        ht.Session.open("d.csv", schema=ht.Schema.loads(wider), ledger="d.ledger")
    assert caught.value.code == "schema.changed-after-preflight"


@pytest.mark.parametrize(
    "text",
    ["", "5", '{"key": "00", "data": {"d.csv": 5}}', '{"key": "%s", "data": {}}' % ("00" * 65), "[" * 9999],
)
def test_a_damaged_file_of_notes_ends_no_session(text: str, desk: Path) -> None:
    Path("d.ledger.preflights").write_text(text)
    ht.Session.open("d.csv", schema=ht.Schema.loads(SCHEMA), ledger="d.ledger")


def test_a_draft_that_was_looked_through_by_a_preflight_keeps_its_marks(desk: Path) -> None:
    drafted = SCHEMA + "learnt_from_data: {unreviewed: [attributes.region.values]}\n"
    ht.preflight("d.csv", schema=ht.Schema.loads(drafted), ledger="d.ledger")
    with pytest.raises(SchemaError) as caught:  # the mark was deleted instead of moved
        ht.Session.open("d.csv", schema=ht.Schema.loads(SCHEMA), ledger="d.ledger")
    assert caught.value.code == "schema.changed-after-preflight"


@pytest.mark.long
def test_nothing_of_it_reaches_a_release(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def bundle(name: str) -> dict[str, object]:
        assert run([*RELEASE, "--budget", "rho=0.01", "--again", "--out", name]) == 0
        manifest = json.loads(Path(name, "release.json").read_text())
        return {key: value for key, value in manifest.items() if key in ("schema", "format")} | {
            "card": set(manifest["card"])
        }

    first = bundle("a")
    assert run(["preflight", "d.csv", "--schema", "s.yaml", "--ledger", "d.ledger", "--json"]) == 0
    said = capsys.readouterr().out
    assert CONFIDENTIAL in said
    assert bundle("b") == first
    for file in Path("b").rglob("*.json"):
        assert "preflight" not in file.read_text()


def test_the_terminal_is_stamped_and_offenders_are_escaped(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("d.csv").write_text("id,sex,region,age,income,note\n1,F,\x1b[31mred\u202e,3,4,5\n", encoding="utf-8")
    assert run(["preflight", "d.csv", "--schema", "s.yaml"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(CONFIDENTIAL.upper()) and "\x1b" not in said and "\u202e" not in said
    assert "\\x1b[31mred\\u202e" in said and "!! 100.0%" in said


def test_an_unreadable_file_gets_a_remedy(desk: Path) -> None:
    text = Path("d.csv").read_text()
    Path("d.csv").write_text(text.replace(",", ";"))
    with pytest.raises(HushtableError) as caught:
        ht.preflight("d.csv", schema="s.yaml")
    assert caught.value.code == "source.unknown-column" and "delimiter: ;" in caught.value.fix


@pytest.mark.long
def test_the_confidential_report_shows_the_same_numbers(desk: Path) -> None:
    assert run([*RELEASE, "--budget", "rho=0.01", "--out", "a"]) == 0
    assert run(["report", "a", "--against", "d.csv", "--confidential"]) == 0
    page, found = (
        Path("a-confidential.html").read_text(encoding="utf-8"),
        ht.preflight("d.csv", schema="s.yaml"),
    )
    assert "What became of the rows" in page and CONFIDENTIAL in page
    columns = pl.read_csv("a-confidential-data/rows-by-attribute.csv")
    for row, column in zip(columns.to_dicts(), found.columns, strict=True):
        assert {name: getattr(column, name) for name in row} == row
    offenders = pl.read_csv("a-confidential-data/offenders.csv")
    assert offenders["rows"].sum() == sum(o.rows for column in found.columns for o in column.offenders)
    assert run(["report", "a"]) == 0
    public = Path("a/report.html").read_text(encoding="utf-8")
    assert "What became of the rows" not in public and "preflight" not in public


@pytest.mark.parametrize("url", ["postgresql://me:{}@h/d?table=t", "postgresql://h/{}", "duckdb:///{}"])
def test_what_is_refused_at_a_url_is_said_without_the_url(url: str) -> None:
    """A URL is not a path: no file of that name is looked for, or missed."""
    schema = ht.Schema.loads(SCHEMA)
    for look in (lambda given: ht.preflight(given, schema=schema), ht.session.draft):
        with pytest.raises(UsageError) as caught:
            look(url.format("horse"))
        assert caught.value.code in ("source.password-in-url", "source.no-table-named")
        assert "horse" not in str(caught.value)
