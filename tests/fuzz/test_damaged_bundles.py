"""Every damage of a bundle is one ``bundle.*`` error, within bounded memory, and no file outside it is opened."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged_bundles import FILES, altered, lay, read_everything

import hushtable as ht
from hushtable.cli import app
from hushtable.errors import BundleError
from hushtable.release import Bundle, add_explanation, make_microdata
from hushtable.release.bundle_files import Damaged
from hushtable.release.parquet_check import Leaf, ParquetPart

OLD = Path(__file__).resolve().parents[1] / "fixtures" / "v0_1"
MOST_GROWTH = 400_000
"""Kilobytes that reading a hostile bundle may add to the process; the bombs below would take gigabytes."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with every kind of file."""
    place = tmp_path_factory.mktemp("good") / "out"
    shutil.copytree(OLD / "auto", place)
    add_explanation(place, make_microdata(ht.Release.load(place)).explanation)
    with_bounds(place, 0.5)
    return place


def with_bounds(place: Path, bound: object) -> None:
    """Bounds of whole tables in the manifest, which 0.1 did not write; ``bound`` is the first."""
    manifest = json.loads((place / "release.json").read_text())
    bounds = [bound, *[1.5] * (len(manifest["workload"]) - 1)]
    manifest["card"]["l1_bounds"] = {"confidence": 0.95, "records": bounds}
    (place / "release.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("bound", [0, 7, 2**63, 10**30, 10**400, None, 1e308])
def test_a_bound_may_be_any_number_that_json_has(bound: object, good: Path, tmp_path: Path) -> None:
    shutil.copytree(good, tmp_path / "out")
    with_bounds(tmp_path / "out", bound)
    assert read_everything(tmp_path / "out", drawn=True) == ("bundle.damaged" if bound == 10**400 else "read")


def campaign(good: Path, place: Path, name: str, count: int, *, drawn: int) -> Counter[str]:
    """Change one file again and again; every ``drawn``-th bundle that can be read is drawn as a report, too."""
    ends: Counter[str] = Counter()
    chance = random.Random(name)
    shutil.copytree(good, place)
    kept = {file: (good / file).read_bytes() for file in (name, "release.json")}
    for number in range(count):
        data, rehash = altered(name, good, chance), chance.random() < 0.5
        lay(name, data, place, rehash=rehash)
        end = read_everything(place, drawn=number % drawn == 0)
        assert end != "read" or rehash or name == "release.json" or data == kept[name], name
        ends[end] += 1
        for file, content in kept.items():
            (place / file).write_bytes(content)
    assert read_everything(place, drawn=False) == "read"
    return ends


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_read_or_refused_with_a_code(name: str, good: Path, tmp_path: Path) -> None:
    ends = campaign(good, tmp_path / "out", name, 150, drawn=50)
    assert ends["bundle.damaged"] + ends["bundle.missing"] >= 50


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_ten_thousand_changes_of_each_file(name: str, good: Path, memory_path: Path) -> None:
    ends = campaign(good, memory_path / "out", name, 10_000, drawn=100)
    assert ends["bundle.damaged"] + ends["bundle.missing"] >= 3_000


@pytest.mark.parametrize("name", ["residual-planner", "identity", "aim", "auto"])
def test_edited_bounds_do_not_reach_the_report(name: str, tmp_path: Path) -> None:
    place = tmp_path / "out"
    shutil.copytree(OLD / name, place)
    file = place / "tables" / "order-2.parquet"
    table = pq.read_table(file)
    at = table.column_names.index("upper")
    pq.write_table(table.set_column(at, "upper", pa.array(np.full(table.num_rows, 1e9))), file)
    for read in (ht.Release.load, Bundle.open):
        with pytest.raises(BundleError, match=r"bundle\.damaged"):
            read(place)
    assert app.run(["report", str(place)]) == 1
    assert not (place / "report.html").exists()


NAMES = (
    "/dev/zero",
    "../../etc/passwd",
    "/etc/passwd",
    "tables/../schema.yaml",
    "x",
    "tables/order-1.parquet",
    "",
)


@pytest.mark.parametrize("name", NAMES)
def test_no_other_name_is_opened(
    name: str, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "out"
    shutil.copytree(good, place)
    manifest = json.loads((place / "release.json").read_text())
    manifest["files"][name] = hashlib.sha256(b"").hexdigest()
    (place / "release.json").write_text(json.dumps(manifest))
    asked: list[str] = []
    real = os.open

    def watched(path: str, *rest: int, **more: int) -> int:
        asked.append(str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", watched)
    with pytest.raises(BundleError, match=r"bundle\.damaged"):
        ht.Release.load(place)
    assert set(asked) <= {str(place), "release.json", "schema.yaml"}


def _link(path: Path) -> None:
    target = path.with_name(f"{path.name}.real")
    path.rename(target)
    path.symlink_to(target)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("put", [_link, _pipe, _folder])
@pytest.mark.parametrize("name", FILES)
def test_links_pipes_and_folders_in_the_place_of_files_are_refused(
    name: str, put: Callable[[Path], None], good: Path, tmp_path: Path
) -> None:
    place = tmp_path / "out"
    shutil.copytree(good, place)
    put(place / name)
    with pytest.raises(BundleError, match=r"bundle\.(damaged|missing)"):
        ht.Release.load(place)


def test_a_linked_folder_of_tables_is_refused(good: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    shutil.copytree(good, place)
    _link(place / "tables")
    with pytest.raises(BundleError, match=r"bundle\.damaged"):
        ht.Release.load(place)


def test_nothing_is_written_through_links_in_a_bundle(good: Path, tmp_path: Path) -> None:
    place, mine = tmp_path / "out", tmp_path / "mine"
    shutil.copytree(good, place)
    mine.write_text("precious")
    for name in (".microdata.json.new", ".release.json.new", ".report.html.part", "report.html"):
        (place / name).symlink_to(mine)
    (place / "report-data").mkdir()
    (place / "report-data" / "marginals.csv").symlink_to(mine)
    add_explanation(place, make_microdata(ht.Release.load(place)).explanation)
    assert app.run(["report", str(place)]) == 0
    assert mine.read_text() == "precious"
    shutil.rmtree(place / "report-data")
    (place / "report-data").symlink_to(tmp_path)
    assert app.run(["report", str(place)]) == 1


BOMBS = ("history rows", "history text", "measured integers", "noise text", "table rows", "json lists")


def _repeated(file: Path, table: pa.Table, times: int) -> None:
    """One table written many times over: a few kilobytes that decode to gigabytes."""
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(table)


def plant(bomb: str, place: Path) -> None:
    """Make a small file of the bundle one that would fill memory, with its hash in the manifest."""
    name = {
        "h": "history.parquet",
        "m": "measurements.parquet",
        "n": "measurements.parquet",
        "j": "microdata.json",
    }
    file = name.get(bomb[0], "tables/order-2.parquet")
    path = place / file
    if bomb == "json lists":
        path.write_bytes(b'{"tables":[' + b"[]," * 30_000_000 + b"[]]}")
    else:
        table = pq.read_table(path)
        many = 3_000_000
        match bomb:
            case "history rows" | "table rows":
                _repeated(path, table.take(pa.array(np.zeros(many, np.int64))), 30)
            case "history text":
                text = pa.array(["x" * 10_000_000] * table.num_rows)
                pq.write_table(table.set_column(table.column_names.index("action"), "action", text), path)
            case "noise text":
                text = pa.array(["1" * 20_000_000] * table.num_rows)
                pq.write_table(table.set_column(1, "parameter", text), path)
            case _:
                lists = pa.LargeListArray.from_arrays(
                    pa.array(np.linspace(0, 200_000_000, table.num_rows + 1).astype(np.int64)),
                    pa.array(np.zeros(200_000_000, np.int64)),
                )
                pq.write_table(table.set_column(2, table.schema.field(2), lists), path)
    lay(file, path.read_bytes(), place, rehash=True)


_READ = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from damaged_bundles import read_everything
assert read_everything(Path(sys.argv[1]), drawn=False) == "read"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
end = read_everything(Path(sys.argv[2]), drawn=False)
print(end, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_cannot_fill_memory(bomb: str, good: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    shutil.copytree(good, place)
    plant(bomb, place)
    command = [sys.executable, "-c", _READ, str(good), str(place), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    code, growth = done.stdout.split()
    assert code == "bundle.damaged" and int(growth) < MOST_GROWTH, done.stdout


def test_a_page_that_holds_more_than_its_footer_says_is_not_decoded(tmp_path: Path) -> None:
    """The footer may lie: here it is made to say 100 where the page of the column holds 101."""
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": pa.array(np.zeros(101))}), file, compression="none", use_dictionary=False)
    data = file.read_bytes()
    start = data.rindex(b"PAR1", 0, 8)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    said, other = bytes([101 * 2 % 128 | 128, 101 * 2 // 128]), bytes([100 * 2 % 128 | 128, 100 * 2 // 128])
    assert start == 0 and data[footer:].count(said) >= 2
    file.write_bytes(data[:footer] + data[footer:].replace(said, other))
    with file.open("rb") as opened:
        part = ParquetPart(opened, {"x": Leaf("DOUBLE")})
        assert part.rows == part.values("x") == 100
        with pytest.raises(Damaged):
            part.read(["x"], most_bytes=10**6)


def test_no_change_of_one_byte_of_a_footer_ends_the_process() -> None:
    """Arrow's own accessors of a footer abort, without an exception, where a histogram has another length."""
    data = (OLD / "auto" / "measurements.parquet").read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    lists = {"attributes.list.element": Leaf("INT32", True), "values.list.element": Leaf("INT64", True)}
    for at in range(footer, len(data)):
        changed = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        with suppress(ValueError, LookupError, TypeError, OSError, pa.ArrowException):
            part = ParquetPart(BytesIO(changed), {**lists, "parameter": Leaf("BYTE_ARRAY")})
            for path in lists:
                part.values(path)
                part.read([path], most_bytes=10**6)


def test_encodings_that_we_never_write_are_not_decoded(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    long = pa.table({"x": pa.array([f"{'y' * 1000}{k}" for k in range(100)])})
    pq.write_table(long, file, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"})
    with file.open("rb") as opened, pytest.raises(Damaged):
        ParquetPart(opened, {"x": Leaf("BYTE_ARRAY")}).read(["x"], most_bytes=10**6)


def test_a_folder_of_answers_is_read_or_refused_with_a_code(tmp_path: Path) -> None:
    """Answers that are not marginals: with a hash since it is written, by their shape before."""
    import polars as pl

    from hushtable.release import Card
    from hushtable.release.query_release import QueryRelease

    card = Card.from_dict(json.loads((OLD / "auto" / "release.json").read_text())["card"])
    labels = pl.DataFrame({"age": ["young", "old"], "n": [1, 2]})
    place = tmp_path / "out"
    QueryRelease(labels, np.array([1.0, 2.0]), np.array([4.0, 9.0]), card).save(place)
    back = QueryRelease.load(place)
    assert back.labels.equals(labels) and back.variances.tolist() == [4.0, 9.0]
    chance = random.Random(5)
    kept = {name: (place / name).read_bytes() for name in ("release.json", "answers.parquet")}
    for number in range(300):
        name = chance.choice(list(kept))
        lay(name, altered(name, place, chance), place, rehash=number % 2 == 0)
        try:
            QueryRelease.load(place).table()
        except BundleError as error:
            assert error.code.startswith("bundle.")
        for file, content in kept.items():
            (place / file).write_bytes(content)
    old = json.loads(kept["release.json"])
    del old["files"]
    (place / "release.json").write_text(json.dumps(old))
    assert QueryRelease.load(place).estimates.tolist() == [1.0, 2.0]


def test_a_bundle_with_a_schema_of_many_values_is_read_back(tmp_path: Path) -> None:
    import polars as pl

    values = [f"a rather long name of a place, number {k}" for k in range(60_000)]
    schema = ht.Schema.from_dict({"attributes": {"place": {"type": "categorical", "values": values}}})
    session = ht.Session.open(
        pl.DataFrame({"place": values[:5]}), schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1)
    )
    made = session.release(
        ht.Workload([("place",)]), budget=ht.ZCDP(1), strategy="residual-planner", reconstruct="mle"
    )
    made.save(tmp_path / "out")
    assert (tmp_path / "out" / "schema.yaml").stat().st_size > 1_000_000
    assert ht.Release.load(tmp_path / "out").table("place").equals(made.table("place"))
