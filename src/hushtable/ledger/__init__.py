"""One durable account of privacy for a dataset, on SQLite."""

from hushtable.ledger.audit import verify_file
from hushtable.ledger.entries import Entry
from hushtable.ledger.ledger import Ledger
from hushtable.ledger.values import Charge, Holding, Report, Reservation, Spend, Stored, StoredCharge, Unit

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
    "verify_file",
]
