"""The ``hush`` command: a thin shell over ``hushtable.session``, one module per command.

Nothing is loaded here: while modules load there is nothing to tidy up, and Ctrl-C ends the process on the spot.
Until ``main`` is called, Python itself starts and loads the package, for 20 ms or so; nothing of ours hears Ctrl-C
then, and Python answers it with a traceback.
"""

from __future__ import annotations

import os
import sys

from hushtable.lazily import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal
else:
    # what ``signal`` is made of; with its enumerations it would load while nobody listens yet
    from _signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal

__all__ = ["main"]

INTERRUPTED = 130
FAREWELL = "hush: interrupted; what was charged stays in the ledger."
interrupts: list[int] = []
"""Each Ctrl-C that a command heard: a library that is just being loaded may make some other error of it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``hush`` and leave with its exit code."""
    try:
        # a process in the background may have been told not to listen
        heard = getsignal(SIGINT) is default_int_handler
        if heard:
            signal(SIGINT, _leave)
        from hushtable.cli.app import run

        if heard:
            signal(SIGINT, _interrupt)
        code = run(sys.argv[1:] if arguments is None else list(arguments))
        if heard:
            signal(SIGINT, SIG_IGN)  # all is done and said: while Python ends, Ctrl-C has nothing to stop
    except KeyboardInterrupt:
        _leave()
    else:
        sys.exit(code)


def _interrupt(number: int, _: object) -> None:
    interrupts.append(number)
    raise KeyboardInterrupt


def _leave(*_: object) -> None:
    os.write(2, f"{FAREWELL}\n".encode())
    os._exit(INTERRUPTED)
