"""Which rows of a person count: people are counted exactly, and the choice is fair and knows nobody else."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from math import sqrt
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
import rows_kept
from hushtable.kernel.sources import open_source, people
from hushtable.kernel.sources.kept_rows import Held
from hushtable.kernel.sources.keys import as_names
from hushtable.kernel.sources.people import People, siphash128
from hushtable.kernel.sources.text import Texts
from hushtable.schema import ENCODINGS

KEY = np.frombuffer(bytes(range(16)), np.uint64)

# SipHash-2-4-128 of the empty message and of 00, 00 01 under the key 00..0f, from the reference test vectors.
VECTORS = [
    "a3817f04ba25a8e66df67214c7550293",
    "da87c1d86b99af44347659119b22fc45",
    "8177228da4a45dc7fca38bdef60affe4",
]


@pytest.mark.parametrize("length", [0, 1, 2])
def test_hash_matches_the_reference_vectors(length):
    low, high = siphash128(np.arange(length, dtype=np.uint8), 0, length, KEY[0], KEY[1])
    assert np.array([low, high], np.uint64).tobytes().hex() == VECTORS[length]


def test_hash_matches_its_definition_for_all_short_lengths():
    for length in range(70):
        message = bytes(7 * i & 255 for i in range(length))
        low, high = siphash128(np.frombuffer(message or b"\0", np.uint8), 0, length, KEY[0], KEY[1])
        assert np.array([low, high], np.uint64).tobytes() == rows_kept.siphash128(message, bytes(range(16)))


def keys_of(ids: np.ndarray) -> Texts:
    starts = np.arange(0, 8 * len(ids), 8, dtype=np.int64)
    return Texts(ids.astype(np.int64).view(np.uint8), starts, starts + 8)


@pytest.mark.parametrize("limit", [1, 3, 6])
def test_those_with_more_than_k_rows_are_found_while_the_table_grows(limit):
    """Nearly all of them, some or few: a table of everybody is looked into, or one of those."""
    ids = np.random.default_rng(3).integers(0, 20_000, 60_000)
    table = People(limit)
    for start in range(0, len(ids), 7_001):
        table.add(table.hashes(keys_of(ids[start : start + 7_001])))
    crowded = table.crowded()
    everyone = np.arange(25_000)
    found = crowded.find(keys_of(everyone))
    counts = np.bincount(ids, minlength=25_000)
    assert ((found >= 0) == (counts > limit)).all()
    assert sorted(found[found >= 0]) == list(range(crowded.size))


def test_two_tables_use_different_keys():
    keys = Texts(np.zeros(1, np.uint8), np.zeros(1, np.int64), np.ones(1, np.int64))
    assert not np.array_equal(People(1).hashes(keys), People(1).hashes(keys))


def test_the_table_holds_a_person_in_fewer_than_forty_bytes():
    table = People(1)
    hashes = np.random.default_rng(1).integers(0, 1 << 63, (400_000, 2)).astype(np.uint64)
    hashes[:, 0] *= 2
    for part in np.array_split(hashes, 40):
        table.add(part)
    assert table._table.nbytes / len(hashes) < 40
    assert people._FULLEST < 1


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_the_smallest_k_are_held_whatever_comes_first(limit):
    random = np.random.default_rng(limit)
    owners = random.integers(0, 40, 3_000)
    ranks = random.integers(0, 30, (3_000, 2)).astype(np.uint64)
    small, wide = ranks[:, 1].astype(np.uint8), ranks[:, 0].astype(np.float64)
    held = Held(40, limit, [small.dtype, wide.dtype])
    for part in np.array_split(np.arange(3_000), 11):
        held.add(owners[part], ranks[part], [small[part], wide[part]])
    rows = zip(owners.tolist(), map(tuple, ranks.tolist()), strict=True)
    expected = Counter(rows_kept.smallest(((owner, rank, rank) for owner, rank in rows), limit))
    low, high = held.arrays()
    assert Counter(zip(high.astype(int).tolist(), low.tolist(), strict=True)) == expected


SCHEMA = {
    "person": "id",
    "attributes": {
        "kind": {"type": "categorical", "values": ["a", "b", "c", "d"], "null": "category"},
        "size": {"type": "integer", "bounds": [0, 9], "width": 5},
        "share": {"type": "real", "bounds": [-1, 1], "bins": 2, "resolution": 0.01},
        "day": {"type": "date", "bounds": ["2000-01-01", "2000-12-31"], "bins": 4},
    },
}
COLUMNS = list(SCHEMA["attributes"])


def schema(limit: int) -> ht.Schema:
    return ht.Schema.from_dict(SCHEMA | {"max_rows_per_person": limit})


def crowd(people: int, rows: int, seed: int = 5) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    size = people * rows
    days = np.datetime64("2000-01-01") + random.integers(0, 366, size)
    frame = pl.DataFrame(
        {
            "id": np.repeat(np.arange(people), rows),
            "kind": random.choice(["a", "b", "c", "d", ""], size),
            "size": random.integers(0, 10, size),
            "share": random.integers(-100, 101, size) / 100,
            "day": days.astype("datetime64[D]"),
        }
    )
    return frame.with_columns(pl.col("kind").replace("", None)).sample(fraction=1, shuffle=True, seed=seed)


def rows_of(data: Any, limit: int, ledger: str = "") -> tuple[Counter[Any], Counter[Any]]:
    source = open_source(data, schema(limit)).keyed(ledger)
    found = []
    for batches in (source.batches(), source.plain_batches()):
        found.append(
            Counter(row for batch in batches for row in zip(*(c.tolist() for c in batch), strict=True))
        )
    return found[0], found[1]


@pytest.mark.long
def test_every_source_and_order_keeps_the_same_rows_as_the_definition(tmp_path: Path):
    frame = crowd(300, 4)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=99)
    named = frame.with_columns(pl.col("id").cast(pl.String))
    sources = [
        frame,
        frame.reverse(),
        frame.sort("kind", "share"),
        frame.lazy(),
        frame.to_arrow(),
        frame.to_pandas(),
        frame.to_pandas().astype({"id": object}),
        named,
        named.with_columns(pl.col("id").cast(pl.Categorical)),
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
    ]
    for limit, ledger in ((1, ""), (2, "x"), (3, "y")):
        declared = schema(limit)
        attributes = declared.attributes.values()
        ranked = [
            (row[0], rows_kept.rank(str(row[0]).encode(), declared, codes, row[1:], ledger), codes)
            for row in frame.iter_rows()
            for codes in [tuple(a.code_of(v) for a, v in zip(attributes, row[1:], strict=True))]
        ]
        expected = Counter(rows_kept.smallest(ranked, limit))
        for k, data in enumerate(sources):
            assert rows_of(data, limit, ledger)[0] == expected, k
        assert len({frozenset(rows_of(data, limit, ledger)[1].items()) for data in sources}) == 1


def test_uuids_of_any_kind_keep_the_rows_of_their_texts(tmp_path: Path):
    frame = crowd(200, 4)
    ids = [UUID(int=(n + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128) for n in frame["id"].to_list()]
    written = frame.with_columns(id=pl.Series([str(one) for one in ids]))
    table = frame.to_arrow()
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([one.bytes for one in ids], pa.binary(16)))
    typed = table.set_column(0, "id", stored)
    pq.write_table(typed, tmp_path / "t.parquet")
    objects = frame.to_pandas().assign(id=ids)
    expected = rows_of(written, 1, "x")
    assert expected[0].total() == 200
    for data in (typed, typed.slice(0, 800), tmp_path / "t.parquet", objects):
        assert rows_of(data, 1, "x") == expected


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_moments_of_any_kind_and_unit_keep_the_same_rows(zone: str | None):
    frame = crowd(200, 4)
    moments = pl.lit(datetime(1969, 12, 1, 3, 4, 5, 678901)) + pl.duration(microseconds=pl.col("id") * 10**12)
    timed = frame.with_columns(id=moments.dt.replace_time_zone(zone))
    finer = timed.with_columns(pl.col("id").dt.cast_time_unit("ns"))
    objects = frame.to_pandas().assign(id=timed["id"].to_list()).astype({"id": object})
    expected = rows_of(timed, 1, "x")
    assert expected[0].total() == 200
    for data in (finer, timed.reverse(), objects):
        assert rows_of(data, 1, "x") == expected


@pytest.mark.parametrize("step", [1, 3])
def test_whole_numbers_are_named_as_python_writes_them(step: int):
    """Also where only some of a block's rows are named."""
    powers = [s * (b**k + d) for s in (1, -1) for b in (2, 10) for k in range(63) for d in (-1, 0, 1)]
    numbers = [n for n in dict.fromkeys([*powers, 2**63 - 1, -(2**63)]) if -(2**63) <= n < 2**63]
    rows = np.arange(0, len(numbers), step)
    found = as_names(pa.array(numbers, pa.int64()), rows, "utf-8")
    texts = [found.data[a:b].tobytes().decode() for a, b in zip(found.starts, found.ends, strict=True)]
    assert texts == [str(numbers[row]) for row in rows]


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "utf-8"])
def test_any_bytes_of_a_single_byte_encoding_become_utf_8(encoding: str) -> None:
    """Field by field; a byte without a meaning there keeps its number, and refuses no row."""
    rng = np.random.default_rng(3)
    fields = [bytes([byte]) for byte in range(256)] + [rng.bytes(rng.integers(0, 9)) for _ in range(200)]
    ends = np.cumsum([len(field) for field in fields])
    texts = Texts(np.frombuffer(b"".join(fields), np.uint8), np.r_[0, ends[:-1]], ends)
    found = texts.in_utf8(encoding)
    for row, field in enumerate(fields):
        letters = [bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in field]
        assert found.data[found.starts[row] : found.ends[row]].tobytes() == "".join(letters).encode()


def test_rows_of_a_text_in_another_encoding_are_the_same(tmp_path: Path):
    lines = [
        f"{who},{kind},{n},0.5,2000-02-03" for who in ("Zoë", "Øse", "x") for n, kind in enumerate("abcd")
    ]
    text = "\n".join(["id,kind,size,share,day", *lines])
    found = []
    for encoding in ("utf-8", "latin-1"):
        (tmp_path / f"{encoding}.csv").write_bytes(text.encode(encoding))
        declared = ht.Schema.from_dict(SCHEMA | {"csv": {"encoding": encoding}})
        batches = open_source(tmp_path / f"{encoding}.csv", declared).batches()
        found.append(
            Counter(row for batch in batches for row in zip(*(c.tolist() for c in batch), strict=True))
        )
    assert found[0] == found[1] and found[0].total() == 3


def test_no_category_is_favoured_and_each_row_has_the_same_chance():
    """False alarms: below 1e-6 per comparison, at five standard errors."""
    frame = crowd(20_000, 5)
    codes, _ = rows_of(frame, 1)
    kept = Counter()
    for row, n in codes.items():
        kept[row[0]] += n
    shares = Counter(frame["kind"].to_list())
    for code, kind in enumerate(["a", "b", "c", "d", None]):
        share = shares[kind] / frame.height
        assert abs(kept[code] - 20_000 * share) < 5 * sqrt(20_000 * share * (1 - share)), kind


def test_the_same_rows_of_two_people_are_kept_independently():
    frame = crowd(1, 5).drop("id")
    many = frame.join(pl.DataFrame({"id": range(20_000)}), how="cross")
    codes, plain = rows_of(many, 1)
    assert codes.total() == 20_000 and len(plain) == 5
    assert all(abs(n - 4_000) < 5 * sqrt(20_000 * 0.2 * 0.8) for n in plain.values())


def test_two_ledgers_keep_different_rows():
    frame = crowd(500, 4)
    assert rows_of(frame, 1, "one") == rows_of(frame, 1, "one") != rows_of(frame, 1, "two")


@pytest.mark.long
def test_other_people_play_no_part():
    frame = crowd(60, 4)
    alone = {who: rows_of(frame.filter(pl.col("id") == who), 2) for who in range(60)}
    for codes, plain in (rows_of(frame, 2), rows_of(frame.reverse(), 2)):
        assert codes == sum((found[0] for found in alone.values()), Counter())
        assert plain == sum((found[1] for found in alone.values()), Counter())


def test_rows_that_the_schema_drops_are_dropped_first():
    frame = pl.DataFrame(
        {
            "id": [1] * 50,
            "kind": ["z"] * 49 + ["a"],
            "size": [3] * 50,
            "share": [0.5] * 50,
            "day": ["2000-05-05"] * 50,
        }
    )
    assert rows_of(frame, 1)[0].total() == 1


def test_a_session_keeps_the_rows_of_its_ledger_in_releases_and_checks(tmp_path: Path):
    frame = crowd(400, 3)
    session = ht.Session.open(frame, schema=schema(1), ledger=tmp_path / "l", budget=ht.ZCDP(30_000))
    expected = Counter(rows_of(frame, 1, session.ledger.id)[0])
    workload = ht.Workload([tuple(COLUMNS)])
    release = session.release(workload, budget=ht.ZCDP(10_000), strategy="identity")
    table = release.table(*COLUMNS).get_column("estimate").round().cast(pl.Int64).to_numpy()
    sizes = schema(1).sizes
    assert {row: n for row, n in zip(np.ndindex(*sizes), table.tolist(), strict=True) if n} == expected
    verdict = session.check("COUNT", frame.head(400).drop("id"), tau=1, budget=ht.ZCDP(5_000))
    assert verdict.satisfied


@pytest.mark.parametrize("how", ["release", "choice"])
def test_going_on_under_another_rule_is_refused_and_reading_is_not(
    how: str, tmp_path: Path, monkeypatch: Any
):
    from hushtable.kernel import spending

    frame, budget = crowd(100, 3), ht.ZCDP(0.5)
    declared = schema(1)
    workload = ht.Workload.all_marginals(declared, order=1)
    options = [ht.linear.marginals(declared, order=k) for k in (1, 2)]

    def opened() -> ht.Session:
        return ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(2))

    monkeypatch.setattr(spending, "_ROWS_KEPT", {})
    done = opened().release(workload, budget=budget, strategy="identity", request="done")
    if how == "choice":
        choice = opened().choose(options, budget=budget)
    else:
        stop: Any = KeyboardInterrupt()

        def interrupted(step: str, *_: object) -> None:
            if step == "step 2":
                raise stop

        with pytest.raises(KeyboardInterrupt):
            opened().release(workload, budget=budget, strategy="aim", request="begun", progress=interrupted)
    monkeypatch.undo()
    again = opened().release(workload, budget=budget, strategy="identity", request="done")
    assert again.table("kind").equals(done.table("kind"))
    left = opened().remaining
    with pytest.raises(ht.errors.LedgerError) as caught:
        if how == "choice":
            opened().choice(choice.id).finish(1)
        else:
            opened().release(workload, budget=budget, strategy="aim", request="begun")
    assert caught.value.code == "ledger.other-rows"
    assert opened().remaining == left


def test_a_frame_that_gives_other_rows_each_time_is_read_once():
    random, runs = np.random.default_rng(3), []

    def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(1)
        return frame.with_columns(pl.Series("id", random.integers(0, 50, frame.height)))

    lazy = crowd(100, 3).lazy().map_batches(shuffled)
    source = open_source(lazy, schema(2))
    passes = [
        Counter(row for b in source.batches() for row in zip(*map(list, b), strict=True)) for _ in range(3)
    ]
    assert len(runs) == 1 and passes[0] == passes[1] == passes[2]
    assert passes[0].total() <= 2 * 50
