"""One durable account of privacy for a dataset, on SQLite."""

from typing import TYPE_CHECKING

from hushtable.lazily import lazily

if TYPE_CHECKING:
    from hushtable.ledger import failpoints
    from hushtable.ledger.audit import verify_file
    from hushtable.ledger.entries import Entry
    from hushtable.ledger.ledger import Ledger
    from hushtable.ledger.values import (
        Charge,
        Holding,
        Report,
        Reservation,
        Spend,
        Stored,
        StoredCharge,
        Unit,
    )
    from hushtable.ledger.wording import decimal, text, texts
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Charge",
    "Entry",
    "Holding",
    "Ledger",
    "Report",
    "Reservation",
    "Spend",
    "Stored",
    "StoredCharge",
    "Unit",
    "decimal",
    "failpoints",
    "text",
    "texts",
    "verify_file",
]
