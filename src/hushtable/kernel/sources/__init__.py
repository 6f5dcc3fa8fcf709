"""Confidential tables of every kind: what is recognised as one, how it is opened, and its rows as integer codes."""

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.opener import Opener, TableOpener
from hushtable.kernel.sources.openers import (
    OPENERS,
    look_at,
    open_counter,
    open_source,
    open_table,
    place_of,
    register,
)
from hushtable.kernel.sources.records import record_frames
from hushtable.kernel.sources.row_tables import Table
from hushtable.kernel.sources.source import Source

__all__ = [
    "OPENERS",
    "Header",
    "Opener",
    "Source",
    "Table",
    "TableOpener",
    "look_at",
    "open_counter",
    "open_source",
    "open_table",
    "place_of",
    "record_frames",
    "register",
]
