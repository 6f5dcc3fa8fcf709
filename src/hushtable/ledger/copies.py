"""Copies of a ledger as it stands at one moment, for backups: unlike a move they close nothing.

Two places that can both be spent from would spend one budget twice, so whoever puts a copy back sees to it that the
other place is gone, or closes the copy first.
"""

from __future__ import annotations

from functools import partial

from hushtable.ledger import rules
from hushtable.ledger.book import Book
from hushtable.ledger.stores import Address, store_at


def write_copy(source: Address, target: Address, *, snapshot: str | None = None) -> str:
    """Write entries and payloads of a ledger to a new place; the head of both.

    ``snapshot`` is one that a transaction of the same PostgreSQL database has exported, and still holds.
    """
    old, new, book = store_at(source), store_at(target), Book()
    with old.moment(snapshot) as transaction:
        chain = [rules.take_in(book, row) for row in transaction.rows(start=0)]
        rules.dataset(book)
        contents = {charge: partial(old.payload, charge, sha256) for charge, sha256 in book.payloads.items()}
        arrived = {number: old.content(number) for number in book.moves}
        here = {number: partial(bytes, content) for number, content in arrived.items() if content is not None}
        new.create(chain, {**contents, **here})
    return book.head


def is_ledger_at(address: Address) -> bool:
    """Whether something is at the place of a ledger."""
    return store_at(address).exists()
