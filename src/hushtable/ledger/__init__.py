"""One durable account of privacy for a dataset, on SQLite or wherever a store keeps it."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.ledger import failpoints
    from hushtable.ledger.audit import verify_ledger
    from hushtable.ledger.copies import is_ledger_at, write_copy
    from hushtable.ledger.entries import Entry
    from hushtable.ledger.inclusion import SCRIPT as INCLUSION_SCRIPT
    from hushtable.ledger.inclusion import InclusionProof
    from hushtable.ledger.known_data import KnownData, require_not_confidential
    from hushtable.ledger.ledger import Ledger
    from hushtable.ledger.preflights import PreflightNotes, other_name, review_schema
    from hushtable.ledger.statement import Remaining, SpentOn, Statement
    from hushtable.ledger.stores import Address, Turn, place_of
    from hushtable.ledger.values import (
        Charge,
        Holding,
        LedgerReport,
        Reservation,
        Spend,
        Stored,
        StoredCharge,
        Unit,
    )
else:
    __getattr__, __dir__ = lazily(__name__)
