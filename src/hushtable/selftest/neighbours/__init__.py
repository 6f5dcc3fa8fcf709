"""Neighbour fuzzing: whatever one person's rows hold, everybody else's codes are exactly the same without them."""

from hushtable.selftest.neighbours.kinds import KINDS, SourceKind
from hushtable.selftest.neighbours.pairs import Finding, TableRead, campaign, read

__all__ = ["KINDS", "Finding", "SourceKind", "TableRead", "campaign", "read"]
