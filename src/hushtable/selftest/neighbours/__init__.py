"""Neighbour fuzzing: whatever one person's rows hold, everybody else's codes are exactly the same without them."""

from hushtable.selftest.neighbours.kinds import KINDS, Kind
from hushtable.selftest.neighbours.pairs import Finding, Reading, campaign, read

__all__ = ["KINDS", "Finding", "Kind", "Reading", "campaign", "read"]
