"""Verification of a ledger file: the chain, the rules, the balances, the payloads and a published head.

An audit reports what it finds and raises only for a path that names no ledger.  It needs no open ledger, so a damaged
one can be audited; it changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.book import Book
from hushtable.ledger.entries import Draw, Entry, Reserve, Row, Settle, damaged, intact, seal
from hushtable.ledger.names import check_head
from hushtable.ledger.payloads import Payloads
from hushtable.ledger.places import existing_file
from hushtable.ledger.rules import account_of, take_in
from hushtable.ledger.store import SQLiteStore, identify
from hushtable.ledger.values import Report
from hushtable.privacy import Cost

WAIT = 60.0
_CODES_OF_PLACE = ("ledger.foreign", "ledger.locked", "ledger.unreadable", "ledger.format", "ledger.journal")


def verify_file(path: str | os.PathLike[str], *, head: str | None = None) -> Report:
    """Recompute everything that a ledger file states.

    With ``head``, a hash published earlier, a ledger cut short or restored from an older copy is found too.
    """
    wanted = None if head is None else check_head(head)
    place = existing_file(path)
    book = Book()
    present, of_folder = _list_payloads(place)
    try:
        identify(place)
        with SQLiteStore(place, wait=WAIT).reading() as transaction:
            rows, findings = transaction.rows(start=-(2**63)), transaction.faults()
    except LedgerError as error:
        if error.code in _CODES_OF_PLACE:
            raise
        return Report(False, (error.message,), book.head, 0)
    entries, chain = _read_all(book, rows)
    findings += chain
    if not chain:
        findings += _check_balance(book, entries)
    findings += of_folder + _check_payloads(book, place, present)
    if wanted is not None and wanted not in book.hashes:
        findings.append(
            "The published head is not in the chain: the ledger was cut short, replaced or rewritten."
        )
    return Report(not findings, tuple(findings), book.head, book.count)


def _read_all(book: Book, rows: Sequence[Row]) -> tuple[list[Entry], list[str]]:
    entries: list[Entry] = []
    if not rows:
        return entries, ["The ledger has no entries."]
    for row in rows:
        try:
            previous = book.head
            entry = take_in(book, row)
            if seal(entry.body, number=entry.number, previous=previous).text != entry.text:
                raise damaged(entry.number, "is not spelled as a ledger spells it")
            entries.append(entry)
        except LedgerError as error:
            later = [r for r in rows[len(entries) + 1 :] if not intact(r)]
            more = [f"{len(later)} later entries do not match their hash."] if later else []
            return entries, [error.message, *more]
    return entries, []


def _check_balance(book: Book, entries: Sequence[Entry]) -> list[str]:
    """Add up the entries once more, without the book, and compare with the limits.

    A spend is what was charged, plus what open reservations have not charged yet.
    """
    reserves = {e.number: e.body for e in entries if isinstance(e.body, Reserve)}
    drawn = dict.fromkeys(reserves, Cost.ZERO)
    for entry in entries:
        if isinstance(entry.body, Draw):
            drawn[entry.body.reservation] += entry.body.cost.cost
    ended = {e.body.reservation for e in entries if isinstance(e.body, Settle)}
    used: dict[str | None, Cost] = {None: Cost.ZERO}
    for number, body in reserves.items():
        part = drawn[number] if number in ended else body.cost.cost
        used[None] += part
        if body.spender is not None:
            used[body.spender] = used.get(body.spender, Cost.ZERO) + part
    findings: list[str] = []
    for spender, cost in used.items():
        account = account_of(book, spender)
        whose = "the ledger" if spender is None else f"the grant of {spender!r}"
        if not cost <= account.limit:
            findings.append(f"{cost} was spent from {whose}, more than {account.limit}.")
        if cost != account.spent + account.held:
            findings.append(f"The balance of {whose} does not add up.")
    return findings


def _list_payloads(place: Path) -> tuple[list[int], list[str]]:
    """The charges whose payloads lie beside the ledger, and what is wrong with their folder.

    Listed before the chain is read: a charge is in the chain before its payload is in the folder.
    """
    try:
        return Payloads.beside(place).present(), []
    except LedgerError as error:
        return [], [error.message]


def _check_payloads(book: Book, place: Path, present: Sequence[int]) -> list[str]:
    payloads = Payloads.beside(place)
    findings: list[str] = []
    try:
        payloads.require_known(present, book.draws)
    except LedgerError as error:
        findings.append(error.message)
    for charge, sha256 in book.payloads.items():
        try:
            payloads.read(charge, sha256)
        except LedgerError as error:
            findings.append(error.message)
    return findings
