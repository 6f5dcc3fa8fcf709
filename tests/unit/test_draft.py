"""Drafting a schema from a look at the data."""

import shlex
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from hushtable.cli.app import run
from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.draft import draft_schema
from hushtable.kernel.sources import open_source
from hushtable.schema import Schema
from hushtable.session import preflight

N = 306


def columns():
    return {
        "id": [f"p{k:04d}" for k in range(N)],
        "number": list(range(1_000_000, 1_000_000 + N)),
        "sex": ["F", "M", "F"] * (N // 3),
        "rare": ["common"] * (N - 1) + ["Ann Onymous"],
        "code": ["007", "012"] * (N // 2),
        "grade": [1, 2, 3] * (N // 3),
        "age": [k % 91 for k in range(N)],
        "income": [17.5 + 100 * k for k in range(N)],
        "smoker": ["yes", "No"] * (N // 2),
        "seen": [f"20{10 + k % 10}-0{1 + k % 9}-15" for k in range(N)],
        "note: #1": [f"text {k}" for k in range(N // 2)] * 2,
        "nothing": [None] * N,
        "maybe": [None, "a", "b"] * (N // 3),
    }


@pytest.fixture(params=["csv", "semicolons", "arrow", "pandas"])
def data(request, tmp_path):
    frame = pd.DataFrame(columns())
    if request.param == "csv":
        frame.to_csv(tmp_path / "d.csv")  # with pandas' nameless index column
        return str(tmp_path / "d.csv")
    if request.param == "semicolons":
        frame.to_csv(tmp_path / "d.csv", sep=";", index=False)
        return str(tmp_path / "d.csv")
    return pa.table(columns()) if request.param == "arrow" else frame


def test_the_draft_loads_and_is_refused_until_reviewed(data):
    text = draft_schema(data)
    schema = Schema.loads(text)
    with pytest.raises(SchemaError) as caught:
        schema.require_reviewed()
    assert caught.value.code == "schema.unreviewed"
    Schema.loads(text.replace("\n  reviewed: []", "").replace("unreviewed:", "reviewed:")).require_reviewed()


def test_every_line_that_was_learnt_is_marked_and_recorded(data):
    text = draft_schema(data)
    schema = Schema.loads(text)
    assert text.count("learnt from the data: review") == len(schema.unreviewed) > 0
    for name, attribute in schema.to_dict()["attributes"].items():
        for field in set(attribute) - {"outside"}:
            assert f"attributes.{name}.{field}" in schema.unreviewed


def test_types_are_guessed_and_identifiers_left_out(data):
    attributes = Schema.loads(draft_schema(data)).attributes
    assert {name: a.kind for name, a in attributes.items()} == {
        "sex": "categorical",
        "rare": "categorical",
        "code": "categorical",
        "grade": "categorical",
        "age": "integer",
        "income": "real",
        "smoker": "boolean",
        "seen": "date",
        "maybe": "categorical",
    }
    assert attributes["sex"].labels == ("F", "M", "(other)")
    assert attributes["code"].values == ("007", "012")
    assert attributes["grade"].values == (1, 2, 3)
    assert attributes["age"].bounds == (0, 99)
    assert attributes["maybe"].null == "category" and attributes["sex"].null == "drop"


def test_rare_values_and_numbers_of_rows_are_not_written_down(data):
    text = draft_schema(data)
    assert "Ann" not in text and "p0001" not in text and "text 1" not in text
    assert str(N) not in text


def test_bounds_lie_outside_of_what_was_seen(data):
    attributes = Schema.loads(draft_schema(data)).attributes
    low, high = attributes["income"].bounds
    assert low <= 17.5 and high > 17.5 + 100 * (N - 1)


def test_the_draft_can_be_used_to_read_the_data(data):
    source = open_source(data, Schema.loads(draft_schema(data)))
    assert sum(len(batch[0]) for batch in source.batches()) == N


def test_data_without_a_usable_column_is_refused(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n")
    with pytest.raises(SourceError) as caught:
        draft_schema(tmp_path / "d.csv")
    assert caught.value.code == "source.only-header"


@pytest.mark.parametrize(
    ("cell", "why"),
    [("{}%", "percent sign"), ('"$ {},200.50"', "currency"), ("Xq7 {} Lane", "nearly all different")],
)
def test_a_refusal_says_why_columns_are_left_out_and_names_none(cell: str, why: str, tmp_path: Path) -> None:
    rows = "".join(f"{k},{cell.format(k)}\n" for k in range(1, 90))
    (tmp_path / "d.csv").write_text("Xq7 number,Xq7 share\n" + rows)
    with pytest.raises(SourceError) as caught:
        draft_schema(tmp_path / "d.csv")
    assert caught.value.code == "source.nothing-to-draft"
    assert why in caught.value.message and "1 column (" in caught.value.message
    assert "Xq7" not in str(caught.value)


def test_codes_with_a_letter_and_columns_of_words_are_no_numbers_with_a_sign(tmp_path: Path) -> None:
    rows = "".join(f"A{k % 4},{k % 3 * 10}%\n" for k in range(90))
    (tmp_path / "d.csv").write_text("code,share\n" + rows)
    drafted = Schema.loads(draft_schema(tmp_path / "d.csv"))
    assert drafted.names == ("code", "share")


def test_columns_without_a_name_are_left_out_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",sex,,\n" + "1,F,2,x\n2,M,3,y\n" * 30)
    text = draft_schema(tmp_path / "d.csv")
    assert Schema.loads(text).names == ("sex",)
    assert text.count("# A column without a name is left out: name it in the first line") == 3


def test_the_command_that_goes_on_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("sex\n" + "F\nM\n" * 30)
    out = tmp_path / "my schema.yaml"
    assert run(["init", str(tmp_path / "d.csv"), "--out", str(out)]) == 0
    proposed = capsys.readouterr().out.split("`")[1]
    assert shlex.split(proposed) == ["hush", "review", str(out)]


def test_columns_of_other_types_are_left_out():
    table = pa.table({"a": [[1], [2]], "b": [True, False]})
    text = draft_schema(table)
    assert Schema.loads(text).names == ("b",)
    assert "# a is left out" in text


HEADLESS = {
    "numbers": "17,red\n18,blue\n",
    "days": "2020-01-02,red\n2021-02-03,blue\n",
    "a truth": "true,red\nfalse,blue\n",
    "the same twice": "red,red\nblue,green\n",
    "a value of the column": "Ann Onymous,HIV\nBob,flu\nCarol,HIV\n",
}


@pytest.mark.parametrize("case", HEADLESS)
def test_a_first_line_that_is_a_record_is_read_as_one_and_names_are_asked_for(case, tmp_path):
    lines = HEADLESS[case]
    (tmp_path / "d.csv").write_text(lines * 21)
    text = draft_schema(tmp_path / "d.csv")
    schema = Schema.loads(text)
    assert not schema.csv.header and schema.csv.columns == ("column_1", "column_2")
    assert {"csv.header", "csv.columns"} <= set(schema.unreviewed)
    assert set(schema.names) <= {"column_1", "column_2"} and "--header" in text
    rows = sum(len(batch[0]) for batch in open_source(tmp_path / "d.csv", schema).batches())
    assert rows == len((tmp_path / "d.csv").read_text().splitlines())


def test_the_curator_can_say_whether_there_is_a_header(tmp_path):
    (tmp_path / "d.csv").write_text("2019,2020\n" + "1,2\n3,4\n" * 30)
    assert Schema.loads(draft_schema(tmp_path / "d.csv", header=True)).names == ("2019", "2020")
    (tmp_path / "e.csv").write_text("alice,flu\n" + "bob,cold\ncarol,none\n" * 30)
    assert Schema.loads(draft_schema(tmp_path / "e.csv")).names == ("alice", "flu")
    drafted = Schema.loads(draft_schema(tmp_path / "e.csv", header=False))
    assert drafted.names == ("column_1", "column_2") and "alice" not in str(drafted.csv)


def test_names_of_a_header_are_marked_as_learnt_in_text_files_only(tmp_path):
    (tmp_path / "d.csv").write_text("sex,age\n" + "F,30\nM,41\n" * 30)
    schema = Schema.loads(draft_schema(tmp_path / "d.csv"))
    assert "attributes" in schema.unreviewed and schema.csv.header
    assert "attributes" not in Schema.loads(draft_schema(pa.table({"sex": ["F", "M"] * 30}))).unreviewed


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "source.empty-file"), ("a,b\n", "source.only-header"), ("a,b", "source.only-header")],
)
def test_a_file_without_rows_is_called_so(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as refused:
        draft_schema(tmp_path / "new.csv")
    assert refused.value.code == code


def drafted(folder: Path, text: str) -> Schema:
    (folder / "d.csv").write_text(text, encoding="utf-8")
    return Schema.loads(draft_schema(folder / "d.csv"))


STAFF = {
    "names": ("employee", ["Anna Kern", "Jon Doe", "Maria Rossi", "Q. Li"]),
    "turned names": ("booked by", ["Kern, Anna", "Doe, Jon", "Rossi, Maria"]),
    "titles": ("ward round", ["Dr. Anna Kern", "Prof. Paul Meier", "Dr. Zorx Blib"]),
    "marks": ("Sachbearbeiterin", ["Jürgen Groß", "Zoë Vögeli"]),
    "first names": ("nurse", ["Anna", "Paul", "Maria"]),
    "names that nobody listed": ("teacher", ["Wei Zhang", "Oyelaran Adebayo"]),
}


@pytest.mark.parametrize("case", STAFF)
def test_people_with_many_rows_each_are_left_out(case: str, tmp_path: Path) -> None:
    column, people = STAFF[case]
    rows = [f'{k % 2},"{people[k % len(people)]}"' for k in range(400)]
    schema = drafted(tmp_path, "\n".join([f"shift,{column}", *rows]) + "\n")
    assert schema.names == ("shift",)
    assert not any(name in draft_schema(tmp_path / "d.csv") for name in people)


GROUPS = {
    "town": ["New York", "Florence", "Victoria", "San Jose", "Baden-Baden", "Genève"],
    "state": ["Virginia", "West Virginia", "North Dakota", "Georgia", "South Carolina"],
    "client": ["private", "business"],
    "case": ["open", "closed"],
    "employee": ["full time", "part time", "temporary"],
    "industry": ["Mining", "Health care", "Real estate"],
}


@pytest.mark.parametrize("column", GROUPS)
def test_groups_of_people_are_drafted(column: str, tmp_path: Path) -> None:
    rows = [f"{GROUPS[column][k % len(GROUPS[column])]},{k % 2}" for k in range(400)]
    schema = drafted(tmp_path, "\n".join([f"{column},x", *rows]) + "\n")
    assert set(schema.attributes[column].labels) - {"(other)"} == set(GROUPS[column])


def test_semicolons_are_told_from_decimal_commas(tmp_path: Path) -> None:
    """Commas cut these rows into as many fields, or more; they do not cut the names."""
    text = "nr;pay;rate\n" + "".join(f"{100_000 + 7 * k};{k % 90},50;0,{k % 9}\n" for k in range(3000))
    schema = drafted(tmp_path, text)
    assert (schema.csv.delimiter, schema.csv.decimal) == (";", ",")
    assert {"pay", "rate"} <= set(schema.names)
    reason = next(line for line in draft_schema(tmp_path / "d.csv").splitlines() if "# nr " in line)
    assert "identifier" in reason and "decimal" not in reason


def test_whole_numbers_beside_decimal_commas_are_drafted(tmp_path: Path) -> None:
    text = "size;pay\n" + "".join(f"{k % 1700};{k % 90},5\n" for k in range(5000))
    assert drafted(tmp_path, text).attributes["size"].kind == "integer"


def test_numbers_with_a_point_beside_decimal_commas_are_left_out_for_that(tmp_path: Path) -> None:
    text = "size;pay\n" + "".join(f"{k % 1700}.5;{k % 90},5\n" for k in range(5000))
    assert drafted(tmp_path, text).names == ("pay",)
    assert "decimal point" in draft_schema(tmp_path / "d.csv")


def test_quarters_are_drafted_by_quarter(tmp_path: Path) -> None:
    schema = drafted(
        tmp_path, "when,x\n" + "".join(f"{2021 + k % 2}Q{1 + k % 4},{k % 3}\n" for k in range(300))
    )
    when = schema.attributes["when"]
    assert len(when.labels) == 8 and schema.to_dict()["attributes"]["when"]["format"] == "%YQ%q"


@pytest.mark.parametrize(
    ("written", "marks"),
    [("{:,.2f}", (".", ",")), ("{:.2f}", (".", "")), ("{:_.2f}", (",", ".")), ("{:.1f}", (",", ""))],
)
def test_numbers_for_a_null_are_found_among_reals_however_written(
    written: str, marks: tuple[str, str], tmp_path: Path
) -> None:
    def cell(k: int) -> str:
        if k % 7 == 0:
            return "-9"
        text = written.format(1000 + 37 * k % 9000 + 0.25)
        return text.replace(".", ",").replace("_", ".") if marks[0] == "," else text

    schema = drafted(tmp_path, "pay;x\n" + "".join(f"{cell(k)};{k % 3}\n" for k in range(400)))
    pay = schema.attributes["pay"]
    assert pay.kind == "real" and pay.nulls == ("-9",) and pay.bounds[0] >= 0
    assert (schema.csv.decimal, schema.csv.thousands) == marks


def test_a_negative_number_among_words_is_proposed_as_a_null(tmp_path: Path) -> None:
    rows = [("m", "a1", "-9"), ("w", "-9", "-8"), ("-9", "b2", "-9"), ("w", "b2", "-8"), ("m", "7", "-9")]
    schema = drafted(
        tmp_path, "sex;mixed;numbers\n" + "".join(f"{';'.join(rows[k % 5])}\n" for k in range(300))
    )
    found = schema.attributes
    assert (
        found["sex"].nulls == ("-9",)
        and found["sex"].values == ("m", "w")
        and found["sex"].null == "category"
    )
    assert found["mixed"].nulls == (), "7 is a number too: -9 may be one of them"
    assert found["numbers"].nulls == (), "nothing is left beside them"


def test_each_way_of_writing_is_proposed_with_its_reason(tmp_path: Path) -> None:
    """The reason stands on the line itself, or on that of its attribute."""
    words = ["nein", "ja"]
    rows = [
        f"{['NA', 'north', 'süd'][k % 3]};{k % 28 + 1:02d}.03.20{10 + k % 9};{k % 90},5;{words[k % 2]};{k % 40 or -9}"
        for k in range(600)
    ]
    (tmp_path / "d.csv").write_bytes("\n".join(["region;born;pay;member;score", *rows]).encode("latin-1"))
    lines = draft_schema(tmp_path / "d.csv").splitlines()

    def reason(start: str) -> str:
        return next(line for line in lines if line.strip().startswith(start)).partition("#")[2]

    assert "same number of fields" in reason("delimiter:") and "not UTF-8" in reason("encoding:")
    assert "written with it" in reason("decimal:") and "signs of a null" in reason("nulls: [NA]")
    assert "days are written so" in reason("format:") and "signs of a null" in reason("nulls: ['-9']")
    assert "word for yes" in reason("true: [ja]") and "word for no" in reason("false: [nein]")
    unexplained = [line for line in lines if line.startswith("  ") and ":" in line and "#" not in line]
    assert {line.split(":")[0].strip() for line in unexplained} <= {"outside", "unreviewed", "reviewed"}


def test_a_file_has_one_pair_of_marks_for_numbers_with_and_without_groups(tmp_path: Path) -> None:
    rows = (f"{k % 30},{k % 10};{1 + k % 9}.{k % 1000:03d},50;{k % 700}" for k in range(900))
    schema = drafted(tmp_path, "days;cost;size\n" + "\n".join(rows))
    assert (schema.csv.decimal, schema.csv.thousands) == (",", ".")
    assert {name: a.kind for name, a in schema.attributes.items()} == {
        "days": "real",
        "cost": "real",
        "size": "integer",
    }
    found = preflight(tmp_path / "d.csv", schema=schema)
    assert (found.rows, found.lost) == (900, 0)


def test_words_for_yes_no_and_nothing(tmp_path: Path) -> None:
    rows = [f"{('ja', 'nein', 'k.A.')[k % 3]},{'x-'[k % 2]}" for k in range(300)]
    schema = drafted(tmp_path, "smokes,seen\n" + "\n".join(rows))
    smokes, seen = schema.attributes["smokes"], schema.attributes["seen"]
    assert smokes.kind == "boolean" and smokes.nulls == ("k.A.",) and smokes.null == "category"
    assert seen.kind == "boolean" and seen.nulls == ()
    assert preflight(tmp_path / "d.csv", schema=schema).lost == 0


@pytest.mark.parametrize(
    "text",
    [
        "k{}@mail.example",
        "@user{}",
        "https://example.org/u{}",
        "+49 30 12345{}",
        "(212) 555-01{}",
        "020 7946 00{}",
        "123-45-67{}",
        "DE89 3704 0044 0532 01{}",
        "10.0.0.{}",
        "00:1b:44:11:3a:{}",
        "Lindenweg {}",
        "Bahnhofstr. {}a",
        "{} Mill Road",
        "{} rue Haute",
        "via Roma {}",
        "52.51{}, 13.40{}",
    ],
)
def test_frequent_ways_to_reach_people_are_left_out_under_any_name(text: str, tmp_path: Path) -> None:
    rows = [f'"{text.format(row % 20 + 10, row % 20 + 10)}",{"FM"[row % 2]}' for row in range(400)]
    (tmp_path / "reached.csv").write_text("\n".join(["c,sex", *rows]) + "\n")
    draft = draft_schema(tmp_path / "reached.csv")
    assert text.format(10, 10) not in draft
    assert "# c is left out: its values look like addresses, telephones or numbers of somebody" in draft


@pytest.mark.parametrize(
    "text", ["Ward {}", "01.1.1.{}", "20-{}", "A{}", "Type {} b", "{}-49 years", "2020/{}", "01/{}/2020 am"]
)
def test_frequent_codes_are_drafted(text: str, tmp_path: Path) -> None:
    rows = [f"{text.format(row % 20 + 10)},{'FM'[row % 2]}" for row in range(400)]
    (tmp_path / "codes.csv").write_text("\n".join(["c,sex", *rows]) + "\n")
    assert "# c is left out" not in draft_schema(tmp_path / "codes.csv")


@pytest.mark.parametrize(
    "name", ["Kundennummer", "CUSTOMER_NO", "patient_nr", "NHSNumber", "IPAddress", "lname"]
)
def test_names_of_columns_of_persons_in_compounds_and_capitals(name: str, tmp_path: Path) -> None:
    rows = [f"x{row % 5},{'FM'[row % 2]}" for row in range(400)]
    (tmp_path / "named.csv").write_text("\n".join([f"{name},sex", *rows]) + "\n")
    assert f"# {name} is left out: its name says that it points to persons" in draft_schema(
        tmp_path / "named.csv"
    )
