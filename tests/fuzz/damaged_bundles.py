"""Bundles that a stranger or a broken disk has changed, made from a seed: one file of a good bundle, altered.

Half of the changes to other files than the manifest come with a manifest that has the new hash, so that the hash does
not hide what the reader of the file does.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.errors import BundleError
from hushtable.report.public import public_report
from hushtable.report.sections.budget_section import budget_data
from hushtable.report.sections.card_section import card_section
from hushtable.report.sections.marginals_section import marginals_data
from hushtable.report.sections.microdata_section import tables_data
from hushtable.report.sections.reading_section import reading_data
from hushtable.report.sections.rounds_section import rounds_data
from hushtable.report.view import View

FILES = (
    "release.json",
    "schema.yaml",
    "README.txt",
    "measurements.parquet",
    "history.parquet",
    "tables/order-2.parquet",
    "microdata.json",
)
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**400, 1e308, -0.5, "", "x" * 5000, "\ud800"),
    *([], {}, [[]], [None], {"": None}, [[0, 0]], [[1, 0]], [[99]], "0.1", "-1", "1e999", "../../etc/passwd"),
    *("/dev/zero", "tables/../release.json", "\x1b[31m", "nan", {"xi": "9", "rho": "9"}, [1e-300], [[]] * 50),
)
RAW = (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"[" * 20_000, b'{"a":' * 20_000, b"9" * 5000, b"\xff")
YAML = (
    *(
        "&a [*a]",
        "!!python/object:os.system",
        "[0, 1e308]",
        "[0, 10",
        "{type: integer, bounds: [0, 1e18]}",
        "~",
    ),
    *(
        "\x00",
        "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]",
        "1000000",
        "-1",
        "categorical",
        "'\\ud800'",
        "- - -",
    ),
)


def altered(name: str, folder: Path, chance: random.Random) -> bytes:
    """The bytes of one file, changed in one way."""
    data = (folder / name).read_bytes()
    ways: list[Callable[[], bytes]] = [lambda: _bytes(data, chance)]
    if name.endswith(".json"):
        ways += [lambda: _json(data, chance)] * 4
    elif name.endswith(".parquet"):
        ways += [lambda: _parquet(data, chance)] * 2
    elif name.endswith(".yaml"):
        ways += [lambda: _yaml(data, chance)] * 2
    return chance.choice(ways)()


def lay(name: str, data: bytes, folder: Path, *, rehash: bool) -> None:
    """Put a changed file in its place, with its hash in the manifest or without."""
    (folder / name).write_bytes(data)
    if rehash and name != "release.json":
        manifest = json.loads((folder / "release.json").read_text())
        manifest["files"][name] = hashlib.sha256(data).hexdigest()
        (folder / "release.json").write_text(json.dumps(manifest, indent=1))


def read_everything(folder: Path, *, drawn: bool) -> str:
    """Read a bundle as every command does: "read", or the code of the refusal; other errors come out."""
    try:
        view = View.open(folder)
        for names in view.release.marginals[:3]:
            view.release.table(*names)
        assert view.release.table().height == 1
        marginals_data(view), rounds_data(view), reading_data(view), card_section(view)
        budget_data(view, view.card.ledger.account)
        if view.explanation is not None:
            tables_data(view.explanation)
        if drawn:
            public_report(folder).html()
    except BundleError as error:
        assert error.code.startswith("bundle."), error.code
        return error.code
    return "read"


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    match chance.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + chance.randbytes(chance.randrange(1, 9)) + data[at:]
        case 2:
            return data[:at] + data[at + chance.randrange(1, 40) :]
        case 3:
            return data + data[at:]
        case 4:
            return data[:at] + bytes(chance.randrange(1, 40)) + data[at + 1 :]
        case _:
            changed = bytearray(data)
            for _ in range(chance.choice((1, 1, 1, 3, 20))):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            return bytes(changed)


def _json(data: bytes, chance: random.Random) -> bytes:
    tree = json.loads(data)
    holder, key = _somewhere(tree, chance)
    value: Any = chance.choice(HOSTILE)
    match chance.randrange(5):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, value)
        case 2 if isinstance(holder, dict):
            holder[chance.choice(("../x", "/dev/zero", "tables/order-9.parquet", "a" * 3000))] = holder[key]
        case 3:
            holder[key] = "@@"
            return json.dumps(tree, indent=1).encode().replace(b'"@@"', chance.choice(RAW))
        case _:
            holder[key] = value
    return json.dumps(tree, indent=1).encode()


def _somewhere(tree: Any, chance: random.Random) -> tuple[Any, Any]:
    holder, key = tree, chance.choice(list(tree))
    while isinstance(holder[key], dict | list) and holder[key] and chance.random() < 0.8:
        holder = holder[key]
        key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
    return holder, key


def _yaml(data: bytes, chance: random.Random) -> bytes:
    lines = data.decode().split("\n")
    at = chance.randrange(len(lines))
    head, colon, _ = lines[at].partition(":")
    match chance.randrange(3):
        case 0:
            lines[at] = head + (colon or ":") + " " + chance.choice(YAML)
        case 1:
            lines.insert(at, chance.choice(lines))
        case _:
            del lines[at]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _parquet(data: bytes, chance: random.Random) -> bytes:
    """The same table with other columns, types, rows or values, as a well-formed file."""
    table = pq.read_table(pa.BufferReader(data))
    name = chance.choice(table.column_names)
    at = table.column_names.index(name)
    column = table[name]
    match chance.randrange(9):
        case 0:
            table = table.drop_columns([name])
        case 1:
            table = table.rename_columns([f"{c}x" if c == name else c for c in table.column_names])
        case 2:
            table = table.append_column("more", column)
        case 3:
            table = table.slice(0, chance.randrange(table.num_rows))
        case 4:
            table = pa.concat_tables([table] * chance.choice((2, 300)))
        case 5:
            table = table.set_column(at, name, pa.nulls(table.num_rows, column.type))
        case 6:
            kind = chance.choice((pa.int8(), pa.float32(), pa.bool_(), pa.binary(), pa.list_(pa.float64())))
            table = table.set_column(at, name, pa.nulls(table.num_rows, kind))
        case 7:
            table = table.replace_schema_metadata(
                {b"hushtable": chance.choice((b"", b"{}", b"[" * 9999, b"1"))}
            )
        case _:
            table = table.set_column(at, name, _other_values(column, chance))
    sink = pa.BufferOutputStream()
    coding = chance.choice(("zstd", "none", "snappy", "gzip"))
    pq.write_table(table, sink, compression=coding, use_dictionary=chance.random() < 0.7)
    return sink.getvalue().to_pybytes()


def _other_values(column: pa.ChunkedArray, chance: random.Random) -> pa.Array:
    kind, rows = column.type, len(column)
    if pa.types.is_floating(kind):
        return pa.array(np.full(rows, chance.choice((np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 0.0))))
    if pa.types.is_integer(kind):
        return pa.array(np.full(rows, chance.choice((-(2**63), 2**63 - 1, -1, 10**12))), kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = chance.choice(([], [0], [-1], [99], [0, 0], [2**31 - 1], [None], None, [0] * 1000))
        return pa.array([inner] * rows, kind)
    texts = (
        "",
        "1e999999999",
        "-1",
        "0",
        "1/0",
        "9" * 5000,
        "1/" + "9" * 3999,
        "x" * 100_000,
        "\x1b]0;",
        None,
    )
    return pa.array([chance.choice(texts)] * rows, pa.string())
