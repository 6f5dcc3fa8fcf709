"""Edited, cut, swapped and replaced ledgers: whatever changes what ``export`` prints is found with one head."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from ledger_campaign import grains, new_ledger, quick_folder

from hushtable.errors import LedgerError
from hushtable.ledger import Ledger, entries, verify_ledger
from hushtable.privacy.budget import ZCDP

Printed = tuple[tuple[object, ...], ...] | None


@dataclass
class Scene:
    """A ledger with its payloads, an older copy, and the head that was published at the end."""

    folder: Path
    path: Path
    older: Path
    head: str
    printed: Printed

    def fresh_copy(self) -> Path:
        """The ledger as published, in a folder of its own."""
        target = self.folder / "copy"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.path.parent, target)
        return target / self.path.name


def build(folder: Path) -> Scene:
    (folder / "true").mkdir()
    path = folder / "true" / "a.ledger"
    older = folder / "older.ledger"
    ledger = new_ledger(path, 100)
    ledger.grant("ann", ZCDP("0.01"))
    for n in range(12):
        if n == 7:
            shutil.copy(path, older)
        reservation = ledger.reserve(
            cost=grains(2),
            kind="release",
            request=f"r{n}",
            spender="ann" if n % 3 == 0 else None,
            detail={"strategy": "aim", "filler": "x" * 300 * (n % 4)},
        )
        ledger.store(ledger.charge(reservation, grains(1)), bytes([n]) * 50)
        if n % 4:
            ledger.settle(reservation)
    return Scene(folder, path, older, ledger.head, printed(path))


def printed(path: Path) -> Printed:
    """What the file says, read without any of the ledger's code; None if it says nothing readable."""
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return tuple(
                connection.execute("SELECT number, body, hash FROM entry ORDER BY number").fetchall()
            )
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def found(path: Path, head: str) -> bool:
    try:
        return not verify_ledger(path, head=head).ok
    except LedgerError:
        return True


# Mutations: each takes the copy and a source of chance


def sql(path: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement, values in statements:
            connection.execute(statement, values)
    connection.close()


def rows(path: Path) -> list[tuple[int, str, str]]:
    return list(printed(path) or ())  # type: ignore[arg-type]


def edit_character(path: Path, chance: random.Random) -> None:
    number, body, _ = chance.choice(rows(path))
    at = chance.randrange(len(body))
    new = body[:at] + chance.choice('0123456789abcdef{}" ') + body[at + 1 :]
    sql(path, ("UPDATE entry SET body = ? WHERE number = ?", (new, number)))


def edit_hash(path: Path, chance: random.Random) -> None:
    number, _, stated = chance.choice(rows(path))
    at = chance.randrange(64)
    new = stated[:at] + chance.choice("0123456789abcdef") + stated[at + 1 :]
    sql(path, ("UPDATE entry SET hash = ? WHERE number = ?", (new, number)))


def edit_type(path: Path, chance: random.Random) -> None:
    column, kind = chance.choice(("body", "hash")), chance.choice(("BLOB", "INTEGER"))
    number = chance.choice(rows(path))[0]
    sql(path, (f"UPDATE entry SET {column} = CAST({column} AS {kind}) WHERE number = ?", (number,)))


def renumber(path: Path, chance: random.Random) -> None:
    number = chance.choice(rows(path))[0]
    new = chance.choice((0, -number, number + 1000, -(2**63), 2**63 - 1))
    sql(path, ("UPDATE entry SET number = ? WHERE number = ?", (new, number)))


def delete_rows(path: Path, chance: random.Random) -> None:
    start = chance.choice(rows(path))[0]
    sql(path, ("DELETE FROM entry WHERE number BETWEEN ? AND ?", (start, start + chance.randrange(4))))


def delete_tail(path: Path, chance: random.Random) -> None:
    sql(path, ("DELETE FROM entry WHERE number >= ?", (chance.randrange(1, len(rows(path)) + 1),)))


def swap(path: Path, chance: random.Random) -> None:
    first, second = chance.sample(rows(path), 2)
    update = "UPDATE entry SET body = ?, hash = ? WHERE number = ?"
    sql(path, (update, (*second[1:], first[0])), (update, (*first[1:], second[0])))


def repeat_row(path: Path, chance: random.Random) -> None:
    _, body, stated = chance.choice(rows(path))
    sql(path, ("INSERT INTO entry VALUES (?, ?, ?)", (len(rows(path)) + 1, body, stated)))


def rehash(path: Path, chance: random.Random) -> None:
    """What someone who knows the format would do: change an entry and compute every later hash anew."""
    lines = [json.loads(body) for _, body, _ in rows(path)]
    victim = chance.randrange(len(lines))
    entry = lines[victim]["entry"]
    if "cost" in entry:
        entry["cost"]["rho"] = chance.randrange(entry["cost"]["rho"] + 1)
    elif chance.random() < 0.5:
        del lines[victim]
    else:
        entry["sha256"] = "0" * 64
    previous = "0" * 64
    statements: list[tuple[str, tuple[object, ...]]] = [("DELETE FROM entry", ())]
    for number, line in enumerate(lines, 1):
        text = json.dumps(
            {**line, "number": number, "previous": previous}, sort_keys=True, separators=(",", ":")
        )
        previous = hashlib.sha256(text.encode()).hexdigest()
        statements.append(("INSERT INTO entry VALUES (?, ?, ?)", (number, text, previous)))
    sql(path, *statements)


def flip_bits(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 1, 4, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def flip_header(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(110)] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def cut(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    length = chance.choice((chance.randrange(len(data)), 4096 * chance.randrange(len(data) // 4096)))
    path.write_bytes(data[:length])


def blank_page(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    page = chance.randrange(len(data) // 4096)
    data[4096 * page : 4096 * (page + 1)] = chance.choice((bytes(4096), chance.randbytes(4096)))
    path.write_bytes(data)


def swap_pages(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    pages = [data[i : i + 4096] for i in range(0, len(data), 4096)]
    first, second = chance.sample(range(len(pages)), 2)
    pages[first], pages[second] = pages[second], pages[first]
    path.write_bytes(b"".join(pages))


def old_backup(path: Path, chance: random.Random) -> None:
    shutil.copy(path.parent.parent / "older.ledger", path)


def harm_payload(path: Path, chance: random.Random) -> None:
    files = sorted(path.with_name(path.name + ".payloads").iterdir())
    file, other = chance.sample(files, 2)
    action = chance.randrange(4)
    if action == 0:
        file.write_bytes(file.read_bytes() + b"x")
    elif action == 1:
        file.unlink()
    elif action == 2:
        shutil.copy(other, file)
    else:
        data = bytearray(file.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)


MUTATIONS: tuple[Callable[[Path, random.Random], None], ...] = (
    edit_character,
    edit_hash,
    edit_type,
    renumber,
    delete_rows,
    delete_tail,
    swap,
    repeat_row,
    rehash,
    flip_bits,
    flip_header,
    cut,
    blank_page,
    swap_pages,
    old_backup,
    harm_payload,
)


def campaign(scene: Scene, count: int, seed: int) -> tuple[int, list[str]]:
    """How many mutations changed something that matters, and the names of those that were missed."""
    chance = random.Random(seed)
    changed, missed = 0, list[str]()
    for n in range(count):
        mutate = MUTATIONS[n % len(MUTATIONS)]
        path = scene.fresh_copy()
        mutate(path, chance)
        if printed(path) != scene.printed or mutate is harm_payload:
            changed += 1
            if not found(path, scene.head):
                missed.append(f"{n}: {mutate.__name__}")
    return changed, missed


def test_an_untouched_copy_raises_no_alarm() -> None:
    with quick_folder() as folder:
        scene = build(folder)
        assert verify_ledger(scene.fresh_copy(), head=scene.head).ok
        assert Ledger.open(scene.fresh_copy(), head=scene.head).head == scene.head


def test_mutations_of_the_file_are_found() -> None:
    with quick_folder() as folder:
        changed, missed = campaign(build(folder), count=160, seed=3)
        assert missed == [] and changed > 100


@pytest.mark.slow
def test_a_thousand_mutations_of_the_file_are_found() -> None:
    with quick_folder() as folder:
        changed, missed = campaign(build(folder), count=1_300, seed=4)
        assert missed == [] and changed >= 1_000


def test_the_campaign_notices_a_verify_that_skips_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "intact", lambda row: True)
    with quick_folder() as folder:
        _, missed = campaign(build(folder), count=160, seed=3)
        assert missed != []
