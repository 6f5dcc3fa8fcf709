"""That an entry is in the chain of a head, for whoever has the head and not the ledger.

The proof is the texts of the entries from that one to the head.  Each text holds the hash of the one before it, and the
hash of the last is the head: whoever changed the entry, or one after it, would have found a second text for a hash of
SHA-256.  ``SCRIPT`` checks it with nothing but Python's own library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushtable.errors import LedgerError
from hushtable.ledger import entries

if TYPE_CHECKING:
    from hushtable.ledger.ledger import Ledger

FORMAT = "hushtable-inclusion-1"
SCRIPT = '''\
"""Check a proof that an entry is in the chain of a head, with nothing but Python: python verify.py HEAD"""
import hashlib, json, pathlib, sys

proof = json.loads(pathlib.Path(__file__).with_name("proof.json").read_text(encoding="utf-8"))
lines = [json.loads(text) for text in proof["lines"]]
hashes = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in proof["lines"]]
numbers = list(range(lines[0]["number"], lines[0]["number"] + len(lines)))
linked = [line["number"] for line in lines] == numbers and [line["previous"] for line in lines[1:]] == hashes[:-1]
head = sys.argv[1] if len(sys.argv) > 1 else None
if not linked or head != hashes[-1]:
    sys.exit("NOT PROVEN: the chain from this entry does not end in the head that was given.")
print(f"Proven: entry {numbers[0]} is in the chain of the head that was given.")
print(json.dumps(lines[0]["entry"], indent=1))
'''
"""What lies beside a proof as ``verify.py``."""


@dataclass(frozen=True)
class InclusionProof:
    """The texts of the entries of a ledger from one to its head."""

    ledger: str
    head: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, ledger: Ledger, number: int | None = None) -> InclusionProof:
        """The proof of an entry, by its number from 1; of the last one if none is given."""
        chain = ledger.history()
        start = len(chain) if number is None else number
        if not 1 <= start <= len(chain):
            raise LedgerError(
                "ledger.no-entry",
                f"The ledger has {len(chain)} entries, and none of this number.",
                "Look at the numbers of `hush ledger export`.",
            )
        return cls(ledger.name, chain[-1].hash, tuple(entry.text for entry in chain[start - 1 :]))

    def holds(self, head: str) -> bool:
        """Whether the entry is in the chain of a head that was published, or seen, elsewhere."""
        previous, number = None, None
        for text in self.lines:
            line = json.loads(text)
            if number is not None and (line["number"], line["previous"]) != (number + 1, previous):
                return False
            number, previous = line["number"], entries.digest(text)
        return previous == head

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"format": FORMAT, "ledger": self.ledger, "head": self.head, "lines": list(self.lines)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> InclusionProof:
        """The proof that ``to_dict`` wrote."""
        return cls(given["ledger"], given["head"], tuple(given["lines"]))
