"""Named points between durable steps, of the ledger and of writing what it paid for, where a test may kill its process.

Nothing happens at a failpoint unless Python code has armed a hook in this process; no environment variable, flag or
file can.  This is not a place for logging or metrics.
"""

from __future__ import annotations

from collections.abc import Callable

STEPS = ("bind", "grant", "raise", "schema", "reserve", "charge", "store", "settle")
LEDGER = (
    "create.written",
    "create.linked",
    "store.temporary",
    "store.renamed",
    *(f"{step}.{moment}" for step in STEPS for moment in ("locked", "inserted", "committed")),
)
COPY = ("copy.written", "copy.closed", "copy.done")
OUTPUTS = ("note.written", "bundle.filled", "bundle.moved")
NAMES = (*LEDGER, *COPY, *OUTPUTS)

_hook: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """Call the armed hook, if there is one."""
    if _hook is not None:
        _hook(name)


def arm(hook: Callable[[str], None] | None) -> None:
    """Call ``hook`` with the name of every failpoint reached from now on; ``None`` disarms."""
    global _hook
    _hook = hook
