"""Releases, plans and bundles: everything a curator hands out, made from charged answers only."""

from hushtable.release.bundle import add_explanation, check_free
from hushtable.release.card import epsilon_by_delta, privacy_card
from hushtable.release.files import request_in
from hushtable.release.history import history_frame
from hushtable.release.loading import Bundle
from hushtable.release.microdata import Microdata, complete_priorities, make_microdata
from hushtable.release.plan import Plan
from hushtable.release.release import Release

__all__ = [
    "Bundle",
    "Microdata",
    "Plan",
    "Release",
    "add_explanation",
    "check_free",
    "complete_priorities",
    "epsilon_by_delta",
    "history_frame",
    "make_microdata",
    "privacy_card",
    "request_in",
]
