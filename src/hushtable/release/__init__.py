"""Releases, plans and bundles: everything a curator hands out, made from charged answers only."""

from hushtable.release.bundle import check_free
from hushtable.release.card import epsilon_by_delta, privacy_card
from hushtable.release.history import history_frame
from hushtable.release.plan import Plan
from hushtable.release.release import Release

__all__ = ["Plan", "Release", "check_free", "epsilon_by_delta", "history_frame", "privacy_card"]
