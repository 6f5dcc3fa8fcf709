"""Where a release can be checked: its ledger, the hash of its schema, and the versions of what made it."""

from __future__ import annotations

from hushtable.report.pieces import Section
from hushtable.report.view import View


def record_section(view: View) -> Section:
    """Entry and head of the ledger, schema and versions."""
    card = view.card
    entry = card.ledger
    return Section(
        "record",
        "Hashes and versions",
        ("Whoever holds the ledger can find this release in it: hush ledger verify, with the head below.",),
        facts=(
            ("Ledger", f"{entry.name}, entry {entry.entry}, {entry.time}"),
            ("Ledger head", entry.head),
            ("Schema", f"SHA-256 {card.schema_sha256}"),
            ("Made with", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
        ),
    )
