"""Verification of a ledger: the chain, the rules, the balances, the payloads and a published head.

An audit reports what it finds and raises only where there is no ledger.  It needs no open ledger, so a damaged one can
be audited; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from hushtable.errors import LedgerError
from hushtable.ledger.book import Book
from hushtable.ledger.entries import Draw, Entry, Reserve, Row, Settle, damaged, intact, seal
from hushtable.ledger.names import check_head
from hushtable.ledger.rules import account_of, check_charged, take_in
from hushtable.ledger.stores import Address, LedgerStore, store_at
from hushtable.ledger.values import LedgerReport
from hushtable.privacy import Cost


def verify_ledger(ledger: Address | LedgerStore, *, head: str | None = None) -> LedgerReport:
    """Recompute everything that a ledger at a path or URL states.

    With ``head``, a hash published earlier, a ledger cut short or restored from an older copy is found too.
    """
    wanted = None if head is None else check_head(head)
    store = ledger if isinstance(ledger, LedgerStore) else store_at(ledger)
    store.check()
    book, found, present = Book(), list[str](), list[int]()
    try:
        present = (
            store.present()
        )  # a charge is in the chain before its payload is there: so these are read first
    except LedgerError as error:
        found.append(error.message)
    try:
        with store.reading() as transaction:
            rows, findings = transaction.rows(start=-(2**63)), transaction.faults()
    except LedgerError as error:
        if error.code != "ledger.damaged":
            raise
        return LedgerReport(False, (error.message,), book.head, 0)
    entries, chain = _read_all(book, rows)
    findings += chain
    if not chain:
        findings += _check_balance(book, entries)
    findings += found + _check_payloads(book, store, present)
    if wanted is not None and wanted not in book.hashes:
        findings.append(
            "The published head is not in the chain: the ledger was cut short, replaced or rewritten."
        )
    return LedgerReport(not findings, tuple(findings), book.head, book.count)


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


def _check_payloads(book: Book, store: LedgerStore, present: Sequence[int]) -> list[str]:
    checks: list[Callable[[], object]] = [partial(check_charged, book, present)]
    checks += [partial(store.payload, charge, sha256) for charge, sha256 in book.payloads.items()]
    findings: list[str] = []
    for check in checks:
        try:
            check()
        except LedgerError as error:
            findings.append(error.message)
    return findings
