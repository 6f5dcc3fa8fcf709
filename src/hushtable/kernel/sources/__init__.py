"""Confidential tables of every kind: what is recognised as one, how it is opened, and its rows as integer codes."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.kernel.counter import Header
    from hushtable.kernel.sources.opener import Opener, TableOpener
    from hushtable.kernel.sources.openers import (
        OPENERS,
        look_at,
        open_counter,
        open_source,
        open_table,
        pinned,
        place_of,
        register,
    )
    from hushtable.kernel.sources.records import record_frames
    from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, Table
    from hushtable.kernel.sources.source import Source
    from hushtable.kernel.sources.text_opener import TextOpener
else:
    __getattr__, __dir__ = lazily(__name__)
