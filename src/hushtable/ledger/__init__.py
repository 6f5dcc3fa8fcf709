"""One durable account of privacy for a dataset, on SQLite."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.ledger import failpoints
    from hushtable.ledger.audit import verify_file
    from hushtable.ledger.entries import Entry
    from hushtable.ledger.ledger import Ledger
    from hushtable.ledger.statement import Remaining, Statement
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
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Charge",
    "Entry",
    "Holding",
    "Ledger",
    "Remaining",
    "Report",
    "Reservation",
    "Spend",
    "Statement",
    "Stored",
    "StoredCharge",
    "Unit",
    "failpoints",
    "verify_file",
]
