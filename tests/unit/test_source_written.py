"""Days, numbers, nulls, truths and letters as offices write them, against other readers of the same texts."""

from __future__ import annotations

import random
import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hushtable.errors import SchemaError
from hushtable.kernel.sources import open_source
from hushtable.kernel.sources.guesses import marks_of, pattern_of, sentinels_of, words_of
from hushtable.kernel.sources.parse import NULL, VALUE
from hushtable.kernel.sources.text import from_arrow, plain_numbers, read_days_by, read_integers, read_reals
from hushtable.schema import ENCODINGS, Schema

EPOCH = date(1970, 1, 1)


def texts_of(words: list[str]):
    return from_arrow(pa.array([word.encode() for word in words], pa.large_binary()))


@pytest.mark.parametrize(
    "pattern", ["%d.%m.%Y", "%m/%d/%y", "%Y%m%d", "%d%b%Y", "%Y-%m", "%d-%m-%y", "%Y", "100%%%Y"]
)
def test_days_are_those_of_strptime(pattern: str) -> None:
    chance = random.Random(pattern)
    words = [
        date(chance.randint(1900, 2068), chance.randint(1, 12), chance.randint(1, 28)).strftime(pattern)
        for _ in range(300)
    ]
    for _ in range(300):
        letters = list(chance.choice(words))
        letters[chance.randrange(len(letters))] = chance.choice("0123456789./-JanFEBx ")
        words.append("".join(letters))
    words += ["", "31.02.2020", "29.2.2000", "29.2.1900", "1.1.2020", "31JAN99999", "00012020"]
    values = read_days_by(texts_of(words), pattern)
    for word, number, state in zip(words, values.numbers, values.states, strict=True):
        try:
            meant = (datetime.strptime(word, pattern).date() - EPOCH).days if " " not in word else None
        except ValueError:
            meant = None
        if not word:
            assert state == NULL
        elif meant is None:
            assert state != VALUE, (word, number)  # a blank is no digit here, which strptime takes for one
        else:
            assert state == VALUE and number == meant, word


@pytest.mark.parametrize(
    "decimal, thousands", [(",", ""), (",", "."), (".", ","), (".", "'"), (",", " "), (",", "\u202f")]
)
def test_numbers_are_those_of_a_grammar(decimal: str, thousands: str) -> None:
    group = rf"(?:\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d+)" if thousands else r"\d+"
    grammar = re.compile(rf"[+-]?(?:{group}(?:{re.escape(decimal)}\d*)?|{re.escape(decimal)}\d+)\Z", re.ASCII)
    chance = random.Random(decimal + thousands)
    words = [f"{chance.uniform(-1e7, 1e7):,.2f}".translate({44: thousands, 46: decimal}) for _ in range(300)]
    alphabet = "0123456789.,' +-" + thousands
    words += ["".join(chance.choices(alphabet, k=chance.randint(1, 9))) for _ in range(3000)]
    found = read_reals(plain_numbers(texts_of(words), decimal, thousands.encode()))
    wholes = read_integers(plain_numbers(texts_of(words), decimal, thousands.encode()))
    for k, word in enumerate(words):
        fits = grammar.match(word) is not None
        assert (found.states[k] == VALUE) == fits, word
        if fits:
            plain = word.replace(thousands, "") if thousands else word
            meant = Decimal(plain.replace(decimal, "."))
            assert found.numbers[k] == float(meant)
            if wholes.states[k] == VALUE:
                assert wholes.numbers[k] == meant


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "utf-8"])
def test_every_letter_of_an_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    assert bytes(range(128)).decode(encoding) == bytes(range(128)).decode("ascii")
    pairs = [(byte, bytes([byte]).decode(encoding, "ignore")) for byte in range(0x80, 0x100)]
    known = {letter: byte for byte, letter in pairs if letter and letter.isprintable() and letter.strip()}
    (tmp_path / "d.csv").write_bytes(
        "\nletter\n".lstrip().encode() + b"\n".join(bytes([b]) for b in known.values())
    )
    schema = Schema.from_dict(
        {
            "attributes": {"letter": {"type": "categorical", "values": list(known)}},
            "csv": {"encoding": encoding},
        }
    )
    found = [int(code) for batch in open_source(tmp_path / "d.csv", schema).batches() for code in batch[0]]
    assert found == list(range(len(known)))


def test_nulls_and_truths_mean_the_same_in_every_kind_of_table(tmp_path: Path) -> None:
    schema = Schema.from_dict(
        {
            "csv": {"nulls": ["NA"]},
            "attributes": {
                "age": {
                    "type": "integer",
                    "bounds": [-9, 99],
                    "width": 10,
                    "null": "category",
                    "nulls": [-9],
                },
                "pay": {"type": "real", "bounds": [-9, 90], "bins": 9, "null": "category", "nulls": ["-9"]},
                "code": {"type": "categorical", "values": [1, 2], "null": "category", "nulls": [9]},
                "yes": {
                    "type": "boolean",
                    "true": ["1", "ja"],
                    "false": [2, "Nein"],
                    "null": "category",
                    "nulls": [9],
                },
            },
        }
    )
    rows = {"age": [-9, 5, -9, 50], "pay": [-9.0, 1.5, 2.0, -9.0], "code": [9, 1, 2, 9], "yes": [1, 2, 9, 1]}
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "d.csv")
    frame.write_parquet(tmp_path / "d.parquet")
    kinds = [
        tmp_path / "d.csv",
        tmp_path / "d.parquet",
        frame,
        frame.to_pandas(),
        frame.to_pandas().astype(object),
        frame.cast(pl.String),
        pl.DataFrame(rows).to_arrow(),
    ]
    for data in kinds:
        [batch] = open_source(data, schema).batches()
        assert [list(map(int, column)) for column in batch] == [
            [11, 1, 11, 5],
            [9, 0, 1, 9],
            [2, 0, 1, 2],
            [1, 0, 2, 1],
        ]
    words = pl.DataFrame({"age": ["NA"], "pay": ["-9.00"], "code": ["NA"], "yes": ["NEIN"]})
    [batch] = open_source(words, schema).batches()
    assert [int(column[0]) for column in batch] == [11, 9, 2, 0]


def test_marks_and_patterns_are_for_texts_and_not_for_typed_values() -> None:
    schema = Schema.from_dict(
        {
            "csv": {"decimal": ",", "dates": "%d.%m.%Y"},
            "attributes": {
                "pay": {"type": "real", "bounds": [0, 10], "bins": 10, "outside": "other"},
                "day": {
                    "type": "date",
                    "bounds": ["2000-01-01", "2009-12-31"],
                    "width": "1 year",
                    "outside": "other",
                },
            },
        }
    )
    days = [date(2001, 2, 3), "03.02.2001", "2001-02-03"]
    objects = pd.DataFrame({"pay": [1.5, "1,5", "1.5"], "day": days}, dtype=object)
    [batch] = open_source(objects, schema).batches()
    assert [list(map(int, column)) for column in batch] == [[1, 1, 10], [1, 1, 10]]
    decimals = pa.table({"pay": pa.array([Decimal("1.5")]), "day": pa.array([date(2001, 2, 3)])})
    [batch] = open_source(decimals, schema).batches()
    assert [int(column[0]) for column in batch] == [1, 1]


WRONG = {
    "a null that is a value": {
        "attributes": {"a": {"type": "categorical", "values": ["NA"]}},
        "csv": {"nulls": ["NA"]},
    },
    "a null that is a truth": {"attributes": {"a": {"type": "boolean", "nulls": ["Yes"]}}},
    "a word for both": {"attributes": {"a": {"type": "boolean", "true": ["x"], "false": ["X"]}}},
    "a word for one": {"attributes": {"a": {"type": "boolean", "true": ["x"]}}},
    "no year": {"attributes": {"a": {"type": "boolean"}}, "csv": {"dates": "%d.%m."}},
    "a strange field": {"attributes": {"a": {"type": "boolean"}}, "csv": {"dates": "%d.%m.%Y %H"}},
    "one mark for two": {"attributes": {"a": {"type": "boolean"}}, "csv": {"decimal": ",", "thousands": ","}},
    "an encoding of two bytes": {"attributes": {"a": {"type": "boolean"}}, "csv": {"encoding": "shift_jis"}},
    "an empty null": {"attributes": {"a": {"type": "boolean"}}, "csv": {"nulls": [""]}},
}


@pytest.mark.parametrize("case", WRONG)
def test_what_would_be_ambiguous_is_refused(case: str) -> None:
    with pytest.raises(SchemaError):
        Schema.from_dict(WRONG[case])


def test_guesses_name_what_was_written() -> None:
    chance = random.Random(1)
    days = [
        date(chance.randint(1950, 2020), chance.randint(1, 12), chance.randint(1, 28)) for _ in range(100)
    ]
    for pattern in ("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%Y", "%Y-%m", "%d/%m/%y"):
        assert pattern_of({day.strftime(pattern): 1 for day in days}) == pattern
    assert pattern_of({f"{day.year}Q{(day.month + 2) // 3}": 1 for day in days}) == "%YQ%q"
    assert pattern_of({day.isoformat(): 1 for day in days}) is None
    numbers = [chance.uniform(0, 1e6) for _ in range(100)]
    for decimal, thousands in ((",", "."), (".", ","), (",", " "), (".", "'")):
        words = {f"{number:,.2f}".translate({44: thousands, 46: decimal}): 1 for number in numbers}
        assert marks_of(words) == (decimal, thousands)
    assert marks_of({f"{number:.1f}".replace(".", ","): 1 for number in numbers}) == (",", "")
    assert marks_of({f"{number:.1f}": 1 for number in numbers}) is None
    assert (
        sentinels_of({"-9": 7, "1": 3, "5": 2}) == ("-9",) and sentinels_of({"-9": 3, "-3": 2, "4": 1}) == ()
    )
    assert words_of(["Ja", "NEIN", "na"]) == ("ja", "nein") and words_of(["ja", "maybe"]) is None
