"""Fresh processes that need not import everything first."""

from __future__ import annotations

import multiprocessing
from typing import Any

PRELOADED = [
    "hushtable.selftest.accounts",
    "hushtable.session",
    "hushtable.kernel.run",
    "hushtable.cli.release",
    "hushtable.cli.choose",
    "hushtable.cli.check",
    "hushtable.report",
]
"""Packages and commands import their modules when they are first used, so those that processes use are named."""


def forkserver() -> Any:
    """A context whose processes are forked from one that has imported what they will use, and has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context
