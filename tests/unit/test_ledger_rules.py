"""Every field of every kind of entry, changed and chained anew, so that only the rules can notice."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hushtable.errors import LedgerError
from hushtable.ledger import Ledger, Unit, verify_ledger
from hushtable.ledger.book import Book
from hushtable.ledger.rules import take_in
from hushtable.privacy.budget import ApproxDP, Budget, Cost, PureDP

LEDGERS: dict[str, tuple[Budget, Budget, Budget, Cost]] = {
    "pure": (PureDP(1), PureDP("0.5"), PureDP(2), Cost(10**11, 0)),
    "zcdp": (Budget.parse("rho=1"), Budget.parse("rho=0.5"), Budget.parse("rho=2"), Cost(0, 10**11)),
    "approx": (
        ApproxDP(epsilon=1, delta="1e-9", pure="0.2"),
        ApproxDP(epsilon="0.6", delta="1e-9", pure="0.1"),
        ApproxDP(epsilon=2, delta="1e-9", pure="0.3"),
        Cost(10**10, 10**9),
    ),
    "truncated": (
        ApproxDP(epsilon=1, delta="1e-6", pure="0.2", truncation="4e-7"),
        ApproxDP(epsilon="0.6", delta="1e-6", pure="0.1", truncation="2e-7"),
        ApproxDP(epsilon=2, delta="1e-6", pure="0.3", truncation="5e-7"),
        Cost(10**10, 10**9, Fraction(1, 10**8)),
    ),
}
"""Budget, grant, raised budget and the cost of one charge, of each kind of ledger."""

Line = dict[str, Any]
Field = tuple[str, ...]


def build(path: Path, kind: str) -> list[Line]:
    """A ledger with every kind of entry; its lines."""
    budget, grant, more, cost = LEDGERS[kind]
    ledger = Ledger.create(path, budget, Unit(2, "id"), name="town")
    ledger.grant("ann", grant)
    ledger.raise_budget(more)
    ledger.schema_version('{"max_rows_per_person": 2, "person": "id"}')
    reservation = ledger.reserve(
        cost=cost + cost, kind="release", request="first", spender="ann", detail={"tables": [1, "a"]}
    )
    ledger.store(ledger.charge(reservation, cost), b"noisy")
    ledger.charge(reservation, cost)
    ledger.settle(reservation)
    return [{k: v for k, v in line.items() if k != "hash"} for line in ledger.export()]


def chained(lines: list[Line]) -> list[tuple[int, str, str]]:
    """The rows of a ledger with these lines, every hash computed anew."""
    rows: list[tuple[int, str, str]] = []
    previous = "0" * 64
    for number, line in enumerate(lines, 1):
        text = json.dumps({**line, "previous": previous}, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        rows.append((number, text, previous))
    return rows


def write(path: Path, lines: list[Line]) -> None:
    """Replace the entries of a ledger."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("DELETE FROM entry")
    connection.executemany("INSERT INTO entry VALUES (?, ?, ?)", chained(lines))
    connection.commit()
    connection.close()


def readable(lines: list[Line]) -> bool:
    """Whether the rules take these entries in."""
    book = Book()
    try:
        for row in chained(lines):
            take_in(book, row)
    except LedgerError as error:
        assert error.code == "ledger.damaged"
        return False
    return True


def opens(path: Path) -> bool:
    try:
        Ledger.open(path)
    except LedgerError as error:
        assert error.code == "ledger.damaged"
        return False
    return True


def fields(value: Any, at: Field = ()) -> Iterator[Field]:
    """Every place in an entry, inner ones and leaves; the inside of a detail is free."""
    if at:
        yield at
    if isinstance(value, dict) and at != ("detail",):
        for key, inner in value.items():
            yield from fields(inner, (*at, key))


def others(value: Any) -> list[Any]:
    """Values that might be written in place of one."""
    changed: list[Any] = [None, True, -1, 0, 1.5, 2**70, "", "x", [], {}, ["x"], {"x": "y"}]
    if isinstance(value, int):
        changed += [value + 1, value - 1, 2 * value, value // 2, str(value)]
    if isinstance(value, str):
        changed += [value + c for c in "\n\0\x1b\x7f\u0085\u202e\u2066\u2028\ue000 2"] + [value[:-1]]
        changed += [value * 300, value.upper(), "e\u0301"]
    if isinstance(value, dict):
        changed += [{**value, "x": 1}, dict(list(value.items())[1:])]
    return [v for v in changed if type(v) is not type(value) or v != value]


MISSING = object()
FILES = 40
"""One in so many forgeries is written to a file, opened and verified; all are read by the same function."""


def plain(value: Any, length: int) -> bool:
    """Of the names tried here, those that can be printed: the others have control characters, or spaces at an end."""
    return isinstance(value, str) and len(value) <= length and bool(re.fullmatch("[!-~]+", value))


def hexadecimal(value: Any, length: int) -> bool:
    return isinstance(value, str) and len(value) == length and set(value) <= set("0123456789abcdef")


def whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def keeps_the_rules(kind: str, at: Field, old: Line, new: Any) -> bool:
    """Whether a value may stand in place of another without contradicting the rest of that ledger."""
    if new is MISSING:
        return (old["type"], *at) == ("charge", "cost", "delta")
    match (old["type"], *at):
        case ("create", "ledger"):
            return hexadecimal(new, 32)
        case ("create", "name"):
            return plain(new, 100)
        case ("create" | "grant" | "raise", "limit", "rho") if kind in ("approx", "truncated"):
            return (
                type(new) is int and abs(new - old["limit"]["rho"]) <= 1
            )  # a converted rho, to its last digit
        case ("bind", "rows"):
            return whole(new, 1, 2**100)
        case ("bind", "person"):
            return new is None or plain(new, 200)
        case ("schema" | "store", "sha256"):
            return hexadecimal(new, 64)
        case ("reserve", "kind"):
            return new in ("x", "release2", "releas")
        case ("reserve", "request"):
            return new is None or plain(new, 200)
        case ("reserve", "spender"):
            return new is None
        case ("charge", "cost", "delta"):
            return new == "1e-82"
        case ("reserve", "cost", "delta"):
            return False
        case ("charge", "cost") if kind == "truncated":
            return new == {"xi": 10**10, "rho": 10**9}
        case ("reserve", "cost", part):
            drawn, limit = old["cost"][part], getattr(LEDGERS[kind][1].limit, part)
            return whole(new, drawn, limit)
        case ("charge", "cost", part):
            return whole(new, 0, old["cost"][part])
        case ("reserve", "detail"):
            return isinstance(new, dict)
    return False


def forgeries(lines: list[Line]) -> Iterator[tuple[int, Field, Any, list[Line]]]:
    """Every entry with one of its places changed or missing: which entry, which place, the new value, all lines."""
    for n, line in enumerate(lines):
        for at in fields(line["entry"]):
            old: Any = line["entry"]
            for key in at:
                old = old[key]
            for new in [MISSING, *others(old)]:
                forged = copy.deepcopy(lines)
                place: Any = forged[n]["entry"]
                for key in at[:-1]:
                    place = place[key]
                if new is MISSING:
                    del place[at[-1]]
                else:
                    place[at[-1]] = new
                yield n, at, new, forged


@pytest.mark.long
@pytest.mark.parametrize("kind", LEDGERS)
def test_a_changed_field_is_refused_unless_the_rules_leave_it_free(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "town.ledger"
    lines = build(path, kind)
    write(path, lines)
    assert verify_ledger(path).ok and readable(lines)
    assert {line["entry"]["type"] for line in lines} == {
        *("create", "bind", "grant", "raise", "schema", "reserve", "charge", "store", "settle")
    }
    tried, free = 0, 0
    for n, at, new, forged in forgeries(lines):
        entry = lines[n]["entry"]
        allowed = keeps_the_rules(kind, at, entry, new)
        what = f"{entry['type']}.{'.'.join(at)} = {new!r}"
        assert readable(forged) == allowed, what
        tried, free = tried + 1, free + allowed
        if tried % FILES == 0 or (at == ("sha256",) and allowed):
            write(path, forged)
            assert opens(path) == allowed, what
            of_payload = (entry["type"], *at) == ("store", "sha256")
            assert verify_ledger(path).ok == (allowed and not of_payload), what
    assert tried > 700 and free > 20


FORGED_BUDGETS = {
    "smaller limit": {"limit": {"xi": 0, "rho": 1}},
    "larger limit": {"limit": {"xi": 0, "rho": 10**15}},
    "limit of another currency": {"limit": {"xi": 10**12, "rho": 0}},
    "larger budget": {"budget": {"kind": "zcdp", "rho": "1000"}},
    "no budget": {"budget": {}},
    "not a number": {"budget": {"kind": "zcdp", "rho": "1/0"}},
}


@pytest.mark.parametrize("number", [1, 3, 4], ids=["create", "grant", "raise"])
@pytest.mark.parametrize("change", FORGED_BUDGETS.values(), ids=FORGED_BUDGETS.keys())
def test_the_limit_of_an_entry_is_that_of_its_budget(
    tmp_path: Path, number: int, change: dict[str, Any]
) -> None:
    path = tmp_path / "town.ledger"
    ledger = Ledger.create(path, Budget.parse("rho=1"), Unit(1))
    ledger.grant("ann", Budget.parse("rho=0.5"))
    ledger.raise_budget(Budget.parse("rho=2"))
    lines = [{k: v for k, v in line.items() if k != "hash"} for line in ledger.export()]
    write(path, lines)
    assert verify_ledger(path).ok
    lines[number - 1]["entry"].update(change)
    write(path, lines)
    assert not verify_ledger(path).ok
    with pytest.raises(LedgerError) as caught:
        Ledger.open(path)
    assert caught.value.code == "ledger.damaged"


def test_a_detail_that_is_not_plain_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "town.ledger"
    lines = build(path, "zcdp")
    for number in ("NaN", "Infinity", "1e999"):
        lines[5]["entry"]["detail"] = {"a": "@"}
        write(path, lines)
        connection = sqlite3.connect(path)
        (text,) = connection.execute("SELECT body FROM entry WHERE number = 6").fetchone()
        forged = text.replace('"@"', number)
        row = (forged, hashlib.sha256(forged.encode()).hexdigest())
        connection.execute("DELETE FROM entry WHERE number > 6")
        connection.execute("UPDATE entry SET body = ?, hash = ? WHERE number = 6", row)
        connection.commit()
        connection.close()
        shutil.rmtree(path.with_name("town.ledger.payloads"), ignore_errors=True)
        with pytest.raises(LedgerError) as caught:
            Ledger.open(path)
        assert caught.value.code == "ledger.damaged"
