"""Stores of ledgers by scheme: the one list from which opening and refusals take them.

A new store is a file with a ``LedgerStore`` and a line here, or a call of ``register`` from somebody else's code.
"""

from __future__ import annotations

from hushtable.addresses import scheme_of
from hushtable.errors import LedgerError
from hushtable.ledger.stores.postgres_tables import PostgresStore
from hushtable.ledger.stores.sqlite_file import SQLiteStore
from hushtable.ledger.stores.store import (
    NO_CONTENTS,
    Address,
    Contents,
    LedgerStore,
    Payload,
    Transaction,
    Turn,
    exists_already,
    in_progress,
    missing,
    nothing,
    older_than_payloads,
)
from hushtable.plugins import Registry

__all__ = [
    "NO_CONTENTS",
    "STORES",
    "WAIT",
    "Address",
    "Contents",
    "LedgerStore",
    "Payload",
    "SQLiteStore",
    "Transaction",
    "Turn",
    "exists_already",
    "in_progress",
    "missing",
    "nothing",
    "older_than_payloads",
    "place_of",
    "register",
    "store_at",
]

WAIT = 60.0
"""Seconds that a call waits for others: they take milliseconds each, so one that takes longer is stuck or stopped."""

STORES: Registry[type[LedgerStore]] = Registry()


def register(store: type[LedgerStore]) -> None:
    """Make a store known by its schemes, in place of one that had them."""
    STORES.update(dict.fromkeys(store.schemes, store))


register(SQLiteStore)
register(PostgresStore)


def store_at(address: Address, *, wait: float = WAIT) -> LedgerStore:
    """The store of a ledger: that of its URL's scheme, or that of paths, which have none."""
    scheme = scheme_of(address, STORES) or ""
    if scheme not in STORES:
        known = dict.fromkeys(store.what for store in STORES.values())
        raise LedgerError(
            "ledger.unknown-scheme",
            f"A ledger cannot be kept at a {scheme}: URL, and a URL is not a path.",
            f"Give {' or '.join(known)}.",
        )
    return STORES[scheme](address, wait=wait)


def place_of(address: Address) -> str:
    """Where a ledger is, in words that may be kept."""
    return store_at(address).place
